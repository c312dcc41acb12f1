/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of graph.def: what the process does with CUDA graphs, told to graph.c. A launch is
 * recorded like a call; the others are followed whether recording is on or not, because a graph
 * made now may be launched when it is. The runtime calls the driver in turn: the outer one counts.
 */
#include <string.h>

#include "tracer/config.h"
#include "tracer/gpu.h"
#include "tracer/graph_calls.h"
#include "tracer/hook.h"
#include "tracer/sibling.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 3 };

/* A thread's own stream: CUDA's address of it (cudaStreamPerThread), for which the functions with
 * _ptsz take 0. In all others 0 is the legacy stream. */
enum { PER_THREAD = 2 };

static inline void *stream_at(const char *symbol, void *stream)
{
    size_t length = strlen(symbol);
    bool is_own = !stream && length > 5 && memcmp(symbol + length - 5, "_ptsz", 5) == 0;
    return is_own ? (void *)(uintptr_t)PER_THREAD : stream;
}

static int missing(void)
{
    return NOT_INITIALIZED;
}

struct graph_call {
    struct gpu_call gpu; /* mode GPU_OFF: inside another hooked call, or nothing to do */
    const void *real;
    uint64_t capture; /* that the stream is part of, before the real call */
};

static struct graph_call follow(const void *real)
{
    struct graph_call g = { .real = real };
    g.gpu.mode = tap_enter_unrecorded() ? GPU_CAPTURE_ONLY : GPU_OFF;
    if (g.gpu.mode) {
        cupti_look();
        tap_self.gpu_nodes = 0; /* of the graph that may be made now */
        tap_self.gpu_call = 0;
    }
    return g;
}

static struct graph_call follow_end(const void *real, void *stream)
{
    struct graph_call g = follow(real);
    if (g.gpu.mode)
        g.capture = graph_capture_of(stream);
    return g;
}

/* We forget first, then the library destroys: after that the address may be another thread's. */
static struct graph_call follow_destroy(const void *real, void (*forget)(const void *),
                                        const void *handle)
{
    struct graph_call g = follow(real);
    if (g.gpu.mode) {
        tap_hold();
        forget(handle);
        tap_self.phase = TAP_IN_CALL;
    }
    return g;
}

static struct graph_call enter_launch(const void *caller, void *stream)
{
    struct graph_call g = { .gpu = gpu_enter(caller) };
    if (g.gpu.mode && graph_is_capturing())
        g.capture = graph_capture_of(stream);
    return g;
}

/* The size of a graph, from the library that it is instantiated through: what a launch would take
 * longer is known by it. */
static uint64_t nodes_of(const struct graph_call *g, void *graph)
{
    static struct sibling runtime, driver;
    size_t count = 0;
    if (config.gpu_time != CONFIG_GPU_WINDOWS)
        return 0;
    void *found = sibling_find(&runtime, g->real, "cudaGraphGetNodes");
    if (!found)
        found = sibling_find(&driver, g->real, "cuGraphGetNodes");
    int (*get)(void *, void **, size_t *) = (int (*)(void *, void **, size_t *))(uintptr_t)found;
    return get && get(graph, NULL, &count) == SUCCESS ? count : 0;
}

/* A capture that could not be ended goes on, or is gone. */
static void ended(const struct graph_call *g, void *stream, const void *graph)
{
    if (graph || graph_capture_of(stream) == 0)
        graph_end(g->capture, graph);
}

static void launched(const struct graph_call *g, const void *exec, bool good)
{
    if (!good && g->gpu.mode == GPU_RECORD)
        tap_fail(g->gpu.caller);
    else if (good && g->capture)
        graph_capture_launch(g->capture, exec);
    else if (good && g->gpu.mode == GPU_RECORD)
        graph_launch(exec);
}

static void node_added(const void *graph, const void *node, uintptr_t address)
{
    const struct graph_node_params *p = (const struct graph_node_params *)address;
    if (p->type == GRAPH_NODE_CHILD)
        graph_add_child(graph, node, p->child.graph);
    for (unsigned i = 0; p->type == GRAPH_NODE_CONDITIONAL && i < p->conditional.count; i++)
        graph_add_body(graph, p->conditional.graphs[i]);
}

/* The runtime's name took the second version's arguments with CUDA 13. */
static bool is_second(const void *real)
{
    static struct sibling known;
    int version = 0, (*ask)(int *) = sibling_find(&known, real, "cudaRuntimeGetVersion");
    return ask && ask(&version) == 0 && version >= 13000;
}

static void node_set(const void *exec, const void *node, const struct graph_node_params *p)
{
    if (p->type == GRAPH_NODE_CHILD)
        graph_set_child(exec, node, p->child.graph);
}

/* `flags` is a pointer where an old version has no flags. */
static void instantiated(const struct graph_call *g, const void *exec, void *graph, uint64_t flags)
{
    graph_instantiate(exec, graph, nodes_of(g, graph), flags < 256 && flags & GRAPH_DEVICE_LAUNCH);
}

/* By family: before the real call, and after it while the recorder is held. */
#define STREAM                      stream_at(symbol_name, stream)
#define FOLLOW                      follow((const void *)(uintptr_t)real)
#define GRAPH_BEGIN_BEFORE          FOLLOW
#define GRAPH_BEGIN_AFTER           good ? graph_begin(STREAM, g.real, false) : (void)0
#define GRAPH_BEGIN_INTO_BEFORE     FOLLOW
#define GRAPH_BEGIN_INTO_AFTER      good ? graph_begin(STREAM, g.real, true) : (void)0
#define GRAPH_END_BEFORE            follow_end((const void *)(uintptr_t)real, STREAM)
#define GRAPH_END_AFTER             ended(&g, STREAM, good ? *graph : NULL)
#define GRAPH_INSTANTIATE_BEFORE    FOLLOW
#define GRAPH_INSTANTIATE_AFTER     good ? instantiated(&g, *exec, graph, x) : (void)0
#define GRAPH_INSTANTIATE_BY_BEFORE FOLLOW
#define GRAPH_INSTANTIATE_BY_AFTER                                                                 \
    good ? instantiated(&g, *exec, graph, *(const uint64_t *)params) : (void)0
#define GRAPH_ADD_NODE_BEFORE   FOLLOW
#define GRAPH_ADD_NODE_AFTER    good ? node_added(graph, *node, is_second(g.real) ? z : y) : (void)0
#define GRAPH_ADD_NODE_1_BEFORE FOLLOW
#define GRAPH_ADD_NODE_1_AFTER  good ? node_added(graph, *node, y) : (void)0
#define GRAPH_ADD_NODE_2_BEFORE FOLLOW
#define GRAPH_ADD_NODE_2_AFTER  good ? node_added(graph, *node, z) : (void)0
#define GRAPH_SET_CHILD_BEFORE  FOLLOW
#define GRAPH_SET_CHILD_AFTER   good ? graph_set_child(exec, node, child) : (void)0
#define GRAPH_SET_NODE_BEFORE   FOLLOW
#define GRAPH_SET_NODE_AFTER    good ? node_set(exec, node, params) : (void)0
#define GRAPH_DESTROY_NODE_BEFORE                                                                  \
    follow_destroy((const void *)(uintptr_t)real, graph_remove_node, node)
#define GRAPH_DESTROY_NODE_AFTER (void)good
#define GRAPH_CREATE_BEFORE      FOLLOW
#define GRAPH_CREATE_AFTER       good ? graph_destroy(*graph) : (void)0 /* an address used again */
#define GRAPH_UPDATE_BEFORE      FOLLOW
#define GRAPH_UPDATE_AFTER       good ? instantiated(&g, exec, graph, 0) : (void)0
#define GRAPH_LAUNCH_BEFORE      enter_launch(caller, STREAM)
#define GRAPH_LAUNCH_AFTER       launched(&g, exec, good)
#define GRAPH_CHILD_BEFORE       FOLLOW
#define GRAPH_CHILD_AFTER        good ? graph_add_child(graph, *node, child) : (void)0
#define GRAPH_CLONE_BEFORE       FOLLOW
#define GRAPH_CLONE_AFTER        good ? graph_clone(*clone, graph) : (void)0
#define GRAPH_DESTROY_BEFORE     follow_destroy((const void *)(uintptr_t)real, graph_destroy, graph)
#define GRAPH_DESTROY_AFTER      (void)good
#define GRAPH_DESTROY_EXEC_BEFORE                                                                  \
    follow_destroy((const void *)(uintptr_t)real, graph_destroy_exec, exec)
#define GRAPH_DESTROY_EXEC_AFTER (void)good

#define ROW(family, symbol)                                                                        \
    HOOK int symbol(family##_PARAMS);                                                              \
    INLINE int run_##symbol(const void *caller, __typeof__(&symbol) real, family##_PARAMS)         \
    {                                                                                              \
        const char *const symbol_name = #symbol;                                                   \
        (void)caller, (void)symbol_name;                                                           \
        struct graph_call g = family##_BEFORE;                                                     \
        int status = real(family##_ARGS);                                                          \
        if (!g.gpu.mode)                                                                           \
            return status;                                                                         \
        bool good = status == SUCCESS;                                                             \
        tap_hold();                                                                                \
        family##_AFTER;                                                                            \
        tap_release();                                                                             \
        return status;                                                                             \
    }                                                                                              \
    HOOK_DEFINE(int, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/graph.def"
#undef ROW

HOOK_TABLE(wrap_graph_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/graph.def"
#undef ROW
HOOK_TABLE_END
