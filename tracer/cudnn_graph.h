/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cuDNN execution plan does, from the operation graph in the plan's own JSON
 * (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION): the only way that a finalized plan tells it, and
 * the same for a plan that was itself restored from JSON. What is not understood is not guessed:
 * the plan has no shape then.
 */
#ifndef TILEWISE_TRACER_CUDNN_GRAPH_H
#define TILEWISE_TRACER_CUDNN_GRAPH_H

#include "tracer/json.h"
#include "traces/signature.h"

enum { CUDNN_GRAPH_RANK = 8, CUDNN_GRAPH_TENSORS = 256, CUDNN_GRAPH_NODES = 256 };

/* Working memory of one reading, 60 KB: for a mapping rather than a host's stack. */
struct cudnn_graph {
    struct cudnn_tensor {
        struct json name;
        uint32_t hash;   /* of everything but the name */
        uint16_t number; /* in order of use, from 1; 0 = not used yet */
        uint8_t dtype;
        bool is_virtual, is_plain; /* a step between two operations; sizes are those of values */
        int rank;
        int64_t size[CUDNN_GRAPH_RANK], stride[CUDNN_GRAPH_RANK];
    } tensor[CUDNN_GRAPH_TENSORS];
    struct cudnn_node {
        struct json text;
        const struct cudnn_operation *operation; /* NULL: one that we do not know */
    } node[CUDNN_GRAPH_NODES];
    int tensors, nodes;
    uint16_t numbers;
    bool is_dynamic; /* sizes come with each execution */
};

/* A call of which nothing more is known. */
extern const struct tilewise_signature cudnn_graph_shapeless;

/* Fill `key`, apart from `entry`, from the text of a plan. Graphs that differ in something that the
 * signature has no field for get another hash; names and identifiers do not count. Any thread. */
void cudnn_graph_read(struct cudnn_graph *scratch, struct json plan,
                      struct tilewise_signature *key);

#endif
