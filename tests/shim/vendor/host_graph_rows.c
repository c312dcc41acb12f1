/* SPDX-License-Identifier: Apache-2.0
 *
 * A case for every row of graph.def and driver.def, in which the calls are counted wrongly by who
 * misses the row's function: `host_graph_rows SYMBOL [past]` prints what the fake GPU executed.
 * past: the function is called where the shim does not see it. A family without a case here does
 * not compile.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "tracer/cublas.h"
#include "tracer/driver_calls.h"
#include "tracer/graph_calls.h"

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/driver.def"
#include "tracer/graph.def"
#undef ROW
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
extern fake_rows fake_cublas_rows;

/* The row's function, and any other one past the shim. */
#define STEP(family)         ((int (*)(family##_PARAMS))step)
#define PAST(family, symbol) ((int (*)(family##_PARAMS))fake_gpu_past(#symbol))

enum { LAUNCHES = 3 };

static void *step;
static struct fake_stream *stream;
static cublasHandle_t handle;

static void sgemm(int times)
{
    for (int i = 0; i < times; i++)
        cublasSgemm_v2(handle, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static void *captured(int calls)
{
    void *graph = NULL;
    cudaStreamBeginCapture(stream, 0);
    sgemm(calls);
    cudaStreamEndCapture(stream, &graph);
    return graph;
}

static void *instantiated(void *graph)
{
    void *exec = NULL;
    cudaGraphInstantiate(&exec, graph, 0, 0, 0);
    return exec;
}

static void launch(void *exec)
{
    for (int i = 0; i < LAUNCHES; i++)
        cudaGraphLaunch(exec, stream);
}

static void launch_graph(void *graph)
{
    launch(instantiated(graph));
}

static void end_and_launch(void)
{
    void *graph = NULL;
    sgemm(2);
    cudaStreamEndCapture(stream, &graph);
    launch_graph(graph);
}

static void *created(void)
{
    void *graph = NULL;
    cudaGraphCreate(&graph, 0);
    return graph;
}

static void use_GRAPH_BEGIN(void)
{
    STEP(GRAPH_BEGIN)(stream, 0);
    end_and_launch();
}

static void use_GRAPH_BEGIN_INTO(void)
{
    STEP(GRAPH_BEGIN_INTO)(stream, created(), NULL, NULL, 0, 0);
    end_and_launch();
}

static void use_GRAPH_END(void)
{
    void *graph = NULL;
    cudaStreamBeginCapture(stream, 0);
    sgemm(2);
    STEP(GRAPH_END)(stream, &graph);
    launch_graph(graph);
}

static void use_GRAPH_INSTANTIATE(void)
{
    void *exec = NULL;
    STEP(GRAPH_INSTANTIATE)(&exec, captured(2), 0, 0, 0);
    launch(exec);
}

static void use_GRAPH_INSTANTIATE_BY(void)
{
    void *exec = NULL;
    STEP(GRAPH_INSTANTIATE_BY)(&exec, captured(2), &(const uint64_t[4]){ 0 });
    launch(exec);
}

static void use_GRAPH_UPDATE(void)
{
    void *exec = instantiated(captured(5));
    STEP(GRAPH_UPDATE)(exec, captured(2), NULL, NULL);
    launch(exec);
}

static void use_GRAPH_LAUNCH(void)
{
    void *exec = instantiated(captured(2));
    for (int i = 0; i < LAUNCHES; i++)
        STEP(GRAPH_LAUNCH)(exec, stream);
}

static void use_GRAPH_CHILD(void)
{
    void *outer = captured(1), *node;
    STEP(GRAPH_CHILD)(&node, outer, NULL, 0, captured(2));
    launch_graph(outer);
}

static void use_GRAPH_ADD_NODE_1(void)
{
    void *outer = captured(1), *node;
    struct graph_node_params p = { .type = GRAPH_NODE_CHILD, .child = { captured(2) } };
    STEP(GRAPH_ADD_NODE_1)(&node, outer, NULL, 0, (uintptr_t)&p, 0);
    launch_graph(outer);
}

static void use_GRAPH_ADD_NODE_2(void)
{
    void *outer = captured(1), *node;
    struct graph_node_params p = { .type = GRAPH_NODE_CHILD, .child = { captured(2) } };
    STEP(GRAPH_ADD_NODE_2)(&node, outer, NULL, 0, 0, (uintptr_t)&p);
    launch_graph(outer);
}
#define use_GRAPH_ADD_NODE use_GRAPH_ADD_NODE_2

/* A graph of one call and a child of two. */
static void *with_child(void **node)
{
    void *outer = captured(1);
    cudaGraphAddChildGraphNode(node, outer, NULL, 0, captured(2));
    return outer;
}

static void use_GRAPH_SET_CHILD(void)
{
    void *node, *exec = instantiated(with_child(&node));
    STEP(GRAPH_SET_CHILD)(exec, node, captured(5));
    launch(exec);
}

static void use_GRAPH_SET_NODE(void)
{
    void *node, *exec = instantiated(with_child(&node));
    struct graph_node_params p = { .type = GRAPH_NODE_CHILD, .child = { captured(5) } };
    STEP(GRAPH_SET_NODE)(exec, node, &p);
    launch(exec);
}

static void use_GRAPH_DESTROY_NODE(void)
{
    void *node, *outer = with_child(&node);
    STEP(GRAPH_DESTROY_NODE)(node);
    launch_graph(outer);
}

static void use_GRAPH_CLONE(void)
{
    void *clone = NULL;
    STEP(GRAPH_CLONE)(&clone, captured(2));
    launch_graph(clone);
}

/* The cases below need an address that is used again. */
static void must_be(const void *now, const void *before)
{
    if (now != before)
        exit(3);
}

static void use_GRAPH_CREATE(void)
{
    void *before = captured(2), *graph = NULL;
    PAST(GRAPH_DESTROY, cudaGraphDestroy)(before);
    STEP(GRAPH_CREATE)(&graph, 0);
    must_be(graph, before);
    cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 0);
    end_and_launch();
}

static void use_GRAPH_DESTROY(void)
{
    void *before = captured(2), *graph = NULL;
    STEP(GRAPH_DESTROY)(before);
    PAST(GRAPH_CREATE, cudaGraphCreate)(&graph, 0);
    must_be(graph, before);
    launch_graph(graph);
}

static void use_GRAPH_DESTROY_EXEC(void)
{
    void *empty = created(), *before = instantiated(captured(2)), *exec = NULL;
    STEP(GRAPH_DESTROY_EXEC)(before);
    PAST(GRAPH_INSTANTIATE, cudaGraphInstantiate)(&exec, empty, 0, 0, 0);
    must_be(exec, before);
    launch(exec);
}

static void use_DRIVER_ADDRESS(void)
{
    void *exec = instantiated(captured(2)), *address = NULL;
    STEP(DRIVER_ADDRESS)("cuGraphLaunch", &address, 13000, 0, NULL);
    for (int i = 0; i < LAUNCHES; i++)
        ((int (*)(GRAPH_LAUNCH_PARAMS))address)(exec, stream);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *symbol;
        void *function;
        void (*use)(void);
    } rows[] = {
#define ROW(family, symbol) { #symbol, (void *)(uintptr_t)symbol, use_##family },
#include "tracer/driver.def"
#include "tracer/graph.def"
#undef ROW
    };
    stream = fake_stream();
    cublasCreate_v2(&handle);
    cublasSetStream_v2(handle, (cudaStream_t)(void *)stream);
    sgemm(1);
    for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(argv[1], rows[i].symbol) != 0)
            continue;
        step = argc > 2 ? fake_gpu_past(argv[1]) : rows[i].function;
        rows[i].use();
        fake_print(fake_cublas_rows);
        return 0;
    }
    return 64;
}
