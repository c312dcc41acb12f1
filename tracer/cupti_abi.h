/* SPDX-License-Identifier: Apache-2.0
 *
 * As much of CUPTI's interface (CUDA 12.0 and later) as we use, so that its headers are not needed;
 * where they are there, cupti_check.c holds these declarations against them.
 */
#ifndef TILEWISE_TRACER_CUPTI_ABI_H
#define TILEWISE_TRACER_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_OK = 0,
    CUPTI_VERSION_MIN = 18, /* of CUDA 12.0 */
    CUPTI_KIND_COPY = 1,
    CUPTI_KIND_FILL = 2,
    CUPTI_KIND_KERNEL = 10, /* concurrent kernels */
    CUPTI_FLUSH_FORCED = 1,
    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RESOURCE = 3,
    CUPTI_SITE_ENTER = 0,
    CUPTI_SITE_EXIT = 1,
    CUPTI_NODE_CREATE_STARTING = 12,
    CUPTI_NODE_CREATED = 13,
    CUPTI_EXEC_CREATED = 18,
    CUPTI_EXEC_DESTROY_STARTING = 19,
    CUPTI_NODE_CLONED = 20,
    CUPTI_NODE_IS_KERNEL = 0,
};

struct cupti_kernel { /* the beginning of CUpti_ActivityKernel9 and 10 */
    uint32_t kind;
    uint8_t unused_a[12];
    uint64_t start, end; /* ns; 0: unknown */
    uint8_t unused_b[8];
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    uint8_t unused_e[4];
    int32_t shared_bytes; /* that the launch asked for */
    uint8_t unused_f[8];
    uint32_t correlation;
    uint8_t unused_c[8];
    const char *name;
    uint8_t unused_d[32];
    uint64_t node; /* of a graph, 0 otherwise */
};

struct cupti_move { /* the beginning of CUpti_ActivityMemcpy5 and 6, and of Memset4 */
    uint32_t kind;
    uint8_t direction; /* of a copy */
    uint8_t unused_a[11];
    uint64_t start, end; /* ns; 0: unknown */
    uint32_t device, context, stream, correlation;
    uint8_t unused_b[16];
    uint64_t node; /* of a graph, 0 otherwise */
};

struct cupti_call { /* CUpti_CallbackData */
    uint32_t site;
    const char *function;
    const void *parameters;
    const int *result; /* on exit */
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *own;
    uint32_t correlation;
};

struct cupti_resource { /* CUpti_ResourceData */
    void *context, *handle;
    const void *descriptor;
};

struct cupti_graph { /* CUpti_GraphData */
    void *graph, *original_graph, *node, *original_node;
    uint32_t node_kind;
    void *dependency, *exec;
};

typedef void cupti_callback(void *own, uint32_t domain, uint32_t id, const void *data);
typedef void cupti_request(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                             size_t valid);

#endif
