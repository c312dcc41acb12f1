/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake GPU and, made from graph.def, the CUDA runtime and driver around it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "tracer/driver_calls.h"
#include "tracer/graph_calls.h"

enum { NODES = 4096, PARTS = 16, INVALID = 1, NOT_CAPTURING = 2, NEW_GRAPH = 3, INVALIDATED = 901 };

/* A child graph stands in its parent as calls and, for a change, as a part. */
struct graph {
    struct fake_row *call[NODES];
    int count;
    struct part {
        void *node;
        int first, count;
    } part[PARTS];
    int parts;
    struct graph *body[2]; /* of its conditional node, whose condition never holds */
};

struct fake_stream {
    unsigned long long capture;
    struct graph *graph;
    bool invalid, joined;
};

int fake_nested, fake_runtime_version = 13000;
static struct graph *changing; /* that a node was added to last */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long captures;

enum {
#define ROW(family, symbol) AT_##symbol,
#include "tracer/graph.def"
#undef ROW
    ROWS
};

static struct fake_row rows[ROWS + 1] = {
#define ROW(family, symbol) { #symbol, 0, 0, 0 },
#include "tracer/graph.def"
#undef ROW
};

fake_rows fake_gpu_rows;

struct fake_row *fake_gpu_rows(void)
{
    return rows;
}

struct fake_stream *fake_stream(void)
{
    return calloc(1, sizeof(struct fake_stream));
}

void fake_join(struct fake_stream *other, const struct fake_stream *stream)
{
    *other = *stream;
    other->joined = true;
}

void fake_invalidate(struct fake_stream *stream)
{
    stream->invalid = true;
}

static void execute(const struct graph *graph)
{
    for (int i = 0; i < graph->count; i++)
        __atomic_fetch_add(&graph->call[i]->executed, 1, __ATOMIC_RELAXED);
}

static void append(struct graph *to, const struct graph *from)
{
    memcpy(to->call + to->count, from->call, (size_t)from->count * sizeof *from->call);
    to->count += from->count;
}

static struct graph *copy(const struct graph *graph)
{
    struct graph *made = malloc(sizeof *made);
    *made = *graph;
    return made;
}

/* The stream that `address` means to a function. */
static struct fake_stream *stream_at(const char *symbol, void *address)
{
    static _Thread_local struct fake_stream own;
    bool is_own = (uintptr_t)address == FAKE_PER_THREAD || (!address && strstr(symbol, "_ptsz"));
    return is_own ? &own : address;
}

void fake_work(void *address, struct fake_row *row)
{
    struct fake_stream *stream = stream_at("", address);
    __atomic_fetch_add(&row->called, 1, __ATOMIC_RELAXED);
    if (!stream || !stream->capture)
        __atomic_fetch_add(&row->executed, 1, __ATOMIC_RELAXED);
    else if (!stream->invalid)
        stream->graph->call[stream->graph->count++] = row;
}

void fake_graph_work(void *address, struct fake_row *row)
{
    struct graph *graph = address;
    graph->call[graph->count++] = row;
}

static int begin(struct fake_stream *stream, struct graph *into)
{
    pthread_mutex_lock(&lock);
    stream->capture = ++captures;
    pthread_mutex_unlock(&lock);
    stream->graph = into ? into : calloc(1, sizeof *stream->graph);
    return 0;
}

static int end(struct fake_stream *stream, void **graph)
{
    if (!stream->capture)
        return NOT_CAPTURING;
    *graph = stream->invalid ? NULL : stream->graph;
    int status = stream->invalid ? INVALIDATED : 0;
    *stream = (struct fake_stream){ 0 };
    return status;
}

static int launch(const struct graph *exec, struct fake_stream *stream)
{
    if (stream && stream->capture)
        append(stream->graph, exec);
    else
        execute(exec);
    return 0;
}

static int add_child(struct graph *to, const struct graph *child, void **node)
{
    *node = malloc(1);
    to->part[to->parts++] = (struct part){ *node, to->count, child->count };
    append(to, child);
    return 0;
}

static int add_node(struct graph *to, uintptr_t params, void **node)
{
    struct graph_node_params *p = (struct graph_node_params *)params;
    if (p->type == GRAPH_NODE_CHILD)
        return add_child(to, p->child.graph, node);
    *node = malloc(1);
    for (unsigned i = 0; p->type == GRAPH_NODE_CONDITIONAL && i < p->conditional.count; i++)
        to->body[i] = calloc(1, sizeof *to);
    if (p->type == GRAPH_NODE_CONDITIONAL)
        p->conditional.graphs = (void **)to->body;
    return 0;
}

static struct part *part_of(struct graph *graph, const void *node)
{
    for (int i = 0; i < graph->parts; i++)
        if (graph->part[i].node == node)
            return &graph->part[i];
    return NULL;
}

/* Cut the calls of a part out. */
static int cut(struct graph *graph, struct part *part)
{
    struct fake_row **at = &graph->call[part->first];
    graph->count -= part->count;
    memmove(at, at + part->count, (size_t)(graph->count - part->first) * sizeof *at);
    for (struct part *p = graph->part; p < graph->part + graph->parts; p++)
        p->first -= p->first > part->first ? part->count : 0;
    part->count = 0;
    return 0;
}

static int set_child(struct graph *exec, const void *node, const struct graph *child)
{
    struct part *part = part_of(exec, node);
    if (!part)
        return 1;
    cut(exec, part);
    *part = (struct part){ part->node, exec->count, child->count };
    append(exec, child);
    return 0;
}

static int destroy_node(const void *node)
{
    struct part *part = changing ? part_of(changing, node) : NULL;
    return part ? cut(changing, part) : 1;
}

int cudaRuntimeGetVersion(int *version);
int cudaRuntimeGetVersion(int *version)
{
    *version = fake_runtime_version;
    return 0;
}

/* With the graph, as all versions but the oldest. */
int cuStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id);
int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph);
int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph);
int cuStreamGetCaptureInfo_v2(void *address, int *status, unsigned long long *id, void **graph)
{
    const struct fake_stream *stream = stream_at("", address);
    if (graph)
        *graph = stream->graph;
    return cuStreamGetCaptureInfo(address, status, id);
}

int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph)
{
    return cuStreamGetCaptureInfo_v2(stream, status, id, graph);
}

int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id);
int cuStreamGetCaptureInfo(void *address, int *status, unsigned long long *id)
{
    const struct fake_stream *stream = stream_at("", address);
    *status = !stream->capture ? 0 : stream->invalid ? 2 : 1;
    *id = stream->capture;
    return 0;
}

int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id)
{
    return cuStreamGetCaptureInfo(stream, status, id);
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

/* What each family does. */
#define STREAM         stream_at(row->symbol, stream)
#define GRAPH_BEGIN_DO ((void)capture_mode, begin(STREAM, NULL))
#define GRAPH_BEGIN_INTO_DO                                                                        \
    ((void)capture_mode, (void)dependencies, (void)edges, (void)count, begin(STREAM, graph))
#define GRAPH_END_DO         end(STREAM, graph)
#define GRAPH_INSTANTIATE_DO ((void)x, (void)y, (void)z, *exec = copy(graph), 0)
#define GRAPH_UPDATE_DO      ((void)x, (void)y, *(struct graph *)exec = *(struct graph *)graph, 0)
#define GRAPH_LAUNCH_DO      launch(exec, STREAM)
#define GRAPH_CHILD_DO                                                                             \
    ((void)dependencies, (void)count, changing = graph, add_child(graph, child, node))
#define GRAPH_ADD_NODE_1_DO                                                                        \
    ((void)dependencies, (void)x, (void)z, changing = graph, add_node(graph, y, node))
#define GRAPH_ADD_NODE_2_DO                                                                        \
    ((void)dependencies, (void)x, (void)y, changing = graph, add_node(graph, z, node))
#define GRAPH_ADD_NODE_DO  fake_runtime_version < 13000 ? GRAPH_ADD_NODE_1_DO : GRAPH_ADD_NODE_2_DO
#define GRAPH_SET_CHILD_DO set_child(exec, node, child)
#define GRAPH_SET_NODE_DO                                                                          \
    set_child(exec, node, ((const struct graph_node_params *)params)->child.graph)
#define GRAPH_DESTROY_NODE_DO   destroy_node(node)
#define GRAPH_CREATE_DO         ((void)flags, *graph = calloc(1, sizeof(struct graph)), 0)
#define GRAPH_INSTANTIATE_BY_DO ((void)params, *exec = copy(graph), 0)
#define GRAPH_CLONE_DO          (*clone = copy(graph), 0)
#define GRAPH_DESTROY_DO        (free(graph), 0)
#define GRAPH_DESTROY_EXEC_DO   (free(exec), 0)

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW

/* The runtime reaches the driver by name where the test asks for it. */
#define GRAPH_BEGIN_DRIVER          cuStreamBeginCapture_v2
#define GRAPH_BEGIN_INTO_DRIVER     cuStreamBeginCaptureToGraph
#define GRAPH_END_DRIVER            cuStreamEndCapture
#define GRAPH_INSTANTIATE_DRIVER    cuGraphInstantiateWithFlags
#define GRAPH_UPDATE_DRIVER         cuGraphExecUpdate_v2
#define GRAPH_LAUNCH_DRIVER         cuGraphLaunch
#define GRAPH_CHILD_DRIVER          cuGraphAddChildGraphNode
#define GRAPH_ADD_NODE_DRIVER       (fake_runtime_version < 13000 ? cuGraphAddNode : cuGraphAddNode_v2)
#define GRAPH_ADD_NODE_1_DRIVER     cuGraphAddNode
#define GRAPH_ADD_NODE_2_DRIVER     cuGraphAddNode_v2
#define GRAPH_SET_CHILD_DRIVER      cuGraphExecChildGraphNodeSetParams
#define GRAPH_SET_NODE_DRIVER       cuGraphExecNodeSetParams
#define GRAPH_DESTROY_NODE_DRIVER   cuGraphDestroyNode
#define GRAPH_CREATE_DRIVER         cuGraphCreate
#define GRAPH_INSTANTIATE_BY_DRIVER cuGraphInstantiateWithParams
#define GRAPH_CLONE_DRIVER          cuGraphClone
#define GRAPH_DESTROY_DRIVER        cuGraphDestroy
#define GRAPH_DESTROY_EXEC_DRIVER   cuGraphExecDestroy

#define ROW(family, symbol)                                                                        \
    static int own_##symbol(family##_PARAMS)                                                       \
    {                                                                                              \
        struct fake_row *row = &rows[AT_##symbol];                                                 \
        if (row->status)                                                                           \
            return row->status;                                                                    \
        row->called++;                                                                             \
        if (fake_nested && strncmp(#symbol, "cuda", 4) == 0)                                       \
            return family##_DRIVER(family##_ARGS);                                                 \
        return family##_DO;                                                                        \
    }                                                                                              \
    int symbol(family##_PARAMS)                                                                    \
    {                                                                                              \
        return own_##symbol(family##_ARGS);                                                        \
    }
#include "tracer/graph.def"
#undef ROW

/* The driver gives its newest version of a name. */
#define ROW(family, symbol)                                                                        \
    int symbol(family##_PARAMS);                                                                   \
    static int own_##symbol(family##_PARAMS)                                                       \
    {                                                                                              \
        static void *own;                                                                          \
        char second[64];                                                                           \
        (void)version, (void)flags, (void)found;                                                   \
        if (!own)                                                                                  \
            own = dlopen("libfake_gpu.so", RTLD_LAZY | RTLD_NOLOAD);                               \
        snprintf(second, sizeof second, "%s_v2", name);                                            \
        *address = dlsym(own, second);                                                             \
        if (!*address)                                                                             \
            *address = dlsym(own, name);                                                           \
        return *address ? 0 : 500;                                                                 \
    }                                                                                              \
    int symbol(family##_PARAMS)                                                                    \
    {                                                                                              \
        return own_##symbol(family##_ARGS);                                                        \
    }
#include "tracer/driver.def"
#undef ROW

void *fake_gpu_past(const char *symbol)
{
    static const struct {
        const char *symbol;
        void *own;
    } table[] = {
#define ROW(family, symbol) { #symbol, (void *)(uintptr_t)own_##symbol },
#include "tracer/driver.def"
#include "tracer/graph.def"
#undef ROW
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].symbol, symbol) == 0)
            return table[i].own;
    return NULL;
}
