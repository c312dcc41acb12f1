/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenarios of host_graph: graphs with nodes that were added, and what a kernel may launch.
 */
#include "host_graph.h"

static void child(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream();
    void *inner = captured(s, 2, 1), *middle = captured(s, 1, 0), *outer = captured(s, 0, 1), *node;
    cudaGraphAddChildGraphNode(&node, middle, NULL, 0, inner);
    cudaGraphAddChildGraphNode(&node, outer, NULL, 0, middle);
    cuGraphAddChildGraphNode(&node, outer, NULL, 0, inner);
    launch(instantiated(outer), t, 7);
    launch(instantiated(inner), t, 1);
}

/* The second time with the arguments of CUDA 12. */
static void generic_child(void)
{
    struct fake_stream *s = fake_stream();
    for (int version = 13000; version >= 12000; version -= 1000) {
        void *outer, *node;
        struct graph_node_params p = { .type = GRAPH_NODE_CHILD };
        cudaGraphCreate(&outer, 0);
        fake_runtime_version = version;
        p.child.graph = captured(s, 2, 1);
        if (version < 13000)
            cudaGraphAddNode(&node, outer, NULL, 0, (uintptr_t)&p, 0);
        else
            cudaGraphAddNode(&node, outer, NULL, 0, 0, (uintptr_t)&p);
        p.child.graph = captured(s, 1, 0);
        cudaGraphAddNode_v2(&node, outer, NULL, 0, 0, (uintptr_t)&p);
        p.child.graph = captured(s, 0, 3);
        cuGraphAddNode(&node, outer, NULL, 0, (uintptr_t)&p, 0);
        cuGraphAddNode_v2(&node, outer, NULL, 0, 0, (uintptr_t)&p);
        launch(instantiated(outer), s, 3);
        cudaGraphDestroy(outer);
    }
}

static void deep(void)
{
    struct fake_stream *s = fake_stream();
    void *graph = captured(s, 1, 1), *node;
    for (int level = 0; level < 8; level++) {
        void *outer = captured(s, 1, 0);
        cudaGraphAddChildGraphNode(&node, outer, NULL, 0, graph);
        cudaGraphAddChildGraphNode(&node, outer, NULL, 0, graph);
        cudaGraphDestroy(graph);
        graph = outer;
    }
    launch(instantiated(graph), s, 2);
}

/* Child by child in the executable graph, more than once, and one taken out before. */
static void set_child(void)
{
    struct fake_stream *s = fake_stream();
    void *outer = captured(s, 1, 0), *a, *b, *c, *exec, *other;
    cudaGraphAddChildGraphNode(&a, outer, NULL, 0, captured(s, 2, 1));
    cudaGraphAddChildGraphNode(&b, outer, NULL, 0, captured(s, 0, 4));
    cudaGraphAddChildGraphNode(&c, outer, NULL, 0, captured(s, 9, 9));
    cudaGraphDestroyNode(c);
    exec = instantiated(outer);
    other = instantiated(outer);
    launch(exec, s, 2);
    cudaGraphExecChildGraphNodeSetParams(exec, a, captured(s, 0, 3));
    launch(exec, s, 5);
    const struct graph_node_params p = { .type = GRAPH_NODE_CHILD,
                                         .child.graph = captured(s, 7, 0) };
    cudaGraphExecNodeSetParams(exec, a, &p);
    cuGraphExecChildGraphNodeSetParams(exec, b, captured(s, 1, 1));
    launch(exec, s, 11);
    launch(other, s, 13);
    cudaGraphExecUpdate(exec, outer, NULL, NULL);
    launch(exec, s, 17);
}

/* Added to the graph of a capture that is under way, where the bodies are captured by another
 * stream. The fake's condition never holds: what a trace knows is what was executed. */
static void conditional(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream();
    cublasHandle_t h = handle_on(s);
    int status;
    unsigned long long id;
    void *graph, *node, *same, *child = captured(t, 0, 2);
    struct graph_node_params p = { .type = GRAPH_NODE_CONDITIONAL, .conditional.count = 2 };
    cudaStreamBeginCapture(s, 0);
    sgemm(h, 2);
    cudaStreamGetCaptureInfo_v2(s, &status, &id, &graph);
    cudaGraphAddNode(&node, graph, NULL, 0, 0, (uintptr_t)&p);
    cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child);
    cudaStreamBeginCaptureToGraph(t, p.conditional.graphs[1], NULL, NULL, 0, 0);
    dgemm(handle_on(t), 50);
    cudaStreamEndCapture(t, &same);
    sgemm(h, 1);
    launch(instantiated(end(s)), s, 6);
}

/* A condition around kernels that nobody hooks loses no call. */
static void conditional_empty(void)
{
    struct fake_stream *s = fake_stream();
    void *graph = captured(s, 1, 0), *node;
    struct graph_node_params p = { .type = GRAPH_NODE_CONDITIONAL, .conditional.count = 1 };
    cudaGraphAddNode(&node, graph, NULL, 0, 0, (uintptr_t)&p);
    launch(instantiated(graph), s, 6);
}

static void device_launch(void)
{
    struct fake_stream *s = fake_stream();
    const uint64_t by[4] = { GRAPH_DEVICE_LAUNCH };
    void *graph = captured(s, 1, 0), *exec;
    cudaGraphInstantiateWithParams(&exec, graph, by);
    launch(exec, s, 2);
    cudaGraphInstantiate(&exec, graph, GRAPH_DEVICE_LAUNCH, 0, 0);
    launch(exec, s, 1);
}

const struct scenario host_graph_nodes[] = {
    SCENARIO(child),         SCENARIO(generic_child),
    SCENARIO(deep),          SCENARIO(set_child),
    SCENARIO(conditional),   SCENARIO(conditional_empty),
    SCENARIO(device_launch), SCENARIO_END,
};
