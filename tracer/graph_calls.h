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
#define GRAPH_CHILD_ARGS          node, graph, dependencies, count, child
#define GRAPH_CLONE_PARAMS        void **clone, void *graph
#define GRAPH_CLONE_ARGS          clone, graph
#define GRAPH_DESTROY_PARAMS      void *graph
#define GRAPH_DESTROY_ARGS        graph
#define GRAPH_DESTROY_EXEC_PARAMS void *exec
#define GRAPH_DESTROY_EXEC_ARGS   exec

#endif
