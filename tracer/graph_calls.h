/* SPDX-License-Identifier: Apache-2.0
 *
 * Argument lists of the families of graph.def. Handles are pointers whoever names them, and one row
 * serves several versions of CUDA: a function that had more arguments once (instantiate, update) is
 * declared with the most it ever had; they all travel in registers, and what a newer caller did not
 * pass goes on unread.
 */
#ifndef TILEWISE_TRACER_GRAPH_CALLS_H
#define TILEWISE_TRACER_GRAPH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_BEGIN_PARAMS void *stream, int capture_mode
#define GRAPH_BEGIN_ARGS   stream, capture_mode
#define GRAPH_BEGIN_INTO_PARAMS                                                                    \
    void *stream, void *graph, const void *dependencies, const void *edges, size_t count,          \
        int capture_mode
#define GRAPH_BEGIN_INTO_ARGS    stream, graph, dependencies, edges, count, capture_mode
#define GRAPH_END_PARAMS         void *stream, void **graph
#define GRAPH_END_ARGS           stream, graph
#define GRAPH_INSTANTIATE_PARAMS void **exec, void *graph, uintptr_t x, uintptr_t y, uintptr_t z
#define GRAPH_INSTANTIATE_ARGS   exec, graph, x, y, z
#define GRAPH_UPDATE_PARAMS      void *exec, void *graph, void *x, void *y
#define GRAPH_UPDATE_ARGS        exec, graph, x, y
#define GRAPH_LAUNCH_PARAMS      void *exec, void *stream
#define GRAPH_LAUNCH_ARGS        exec, stream
#define GRAPH_CHILD_PARAMS                                                                         \
    void **node, void *graph, const void *dependencies, size_t count, void *child
#define GRAPH_CHILD_ARGS node, graph, dependencies, count, child
/* The first version has count and params at x and y, the second edges, count and params. */
#define GRAPH_ADD_NODE_PARAMS                                                                      \
    void **node, void *graph, const void *dependencies, uintptr_t x, uintptr_t y, uintptr_t z
#define GRAPH_ADD_NODE_ARGS         node, graph, dependencies, x, y, z
#define GRAPH_ADD_NODE_1_PARAMS     GRAPH_ADD_NODE_PARAMS
#define GRAPH_ADD_NODE_1_ARGS       GRAPH_ADD_NODE_ARGS
#define GRAPH_ADD_NODE_2_PARAMS     GRAPH_ADD_NODE_PARAMS
#define GRAPH_ADD_NODE_2_ARGS       GRAPH_ADD_NODE_ARGS
#define GRAPH_SET_CHILD_PARAMS      void *exec, void *node, void *child
#define GRAPH_SET_CHILD_ARGS        exec, node, child
#define GRAPH_SET_NODE_PARAMS       void *exec, void *node, const void *params
#define GRAPH_SET_NODE_ARGS         exec, node, params
#define GRAPH_DESTROY_NODE_PARAMS   void *node
#define GRAPH_DESTROY_NODE_ARGS     node
#define GRAPH_CREATE_PARAMS         void **graph, unsigned flags
#define GRAPH_CREATE_ARGS           graph, flags
#define GRAPH_INSTANTIATE_BY_PARAMS void **exec, void *graph, const void *params
#define GRAPH_INSTANTIATE_BY_ARGS   exec, graph, params
#define GRAPH_CLONE_PARAMS          void **clone, void *graph
#define GRAPH_CLONE_ARGS            clone, graph
#define GRAPH_DESTROY_PARAMS        void *graph
#define GRAPH_DESTROY_ARGS          graph
#define GRAPH_DESTROY_EXEC_PARAMS   void *exec
#define GRAPH_DESTROY_EXEC_ARGS     exec

/* What is read of cudaGraphNodeParams and CUgraphNodeParams, which are laid out alike. */
enum { GRAPH_NODE_CHILD = 4, GRAPH_NODE_CONDITIONAL = 13, GRAPH_DEVICE_LAUNCH = 4 };
struct graph_node_params {
    int type, reserved[3];
    union {
        struct {
            void *graph;
        } child;
        struct {
            uint64_t handle;
            int type;
            unsigned count;
            void **graphs; /* written by the call */
        } conditional;
    };
};

#endif
