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

enum { NODES = 4096, INVALID = 1, NOT_CAPTURING = 2, NEW_GRAPH = 3, INVALIDATED = 901 };

struct graph {
    struct fake_row *node[NODES];
    int count;
};

struct fake_stream {
    unsigned long long capture;
    struct graph *graph;
    bool invalid, joined;
};

int fake_nested;
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
        __atomic_fetch_add(&graph->node[i]->executed, 1, __ATOMIC_RELAXED);
}

static void append(struct graph *to, const struct graph *from)
{
    memcpy(to->node + to->count, from->node, (size_t)from->count * sizeof *from->node);
    to->count += from->count;
}

static struct graph *copy(const struct graph *graph)
{
    struct graph *made = calloc(1, sizeof *made);
    append(made, graph);
    return made;
}

void fake_work(void *address, struct fake_row *row)
{
    struct fake_stream *stream = address;
    __atomic_fetch_add(&row->called, 1, __ATOMIC_RELAXED);
    if (!stream || !stream->capture)
        __atomic_fetch_add(&row->executed, 1, __ATOMIC_RELAXED);
    else if (!stream->invalid)
        stream->graph->node[stream->graph->count++] = row;
}

void fake_graph_work(void *address, struct fake_row *row)
{
    struct graph *graph = address;
    graph->node[graph->count++] = row;
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

int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id);
int cuStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id);
int cuStreamGetCaptureInfo(void *address, int *status, unsigned long long *id)
{
    const struct fake_stream *stream = address;
    *status = !stream->capture ? 0 : stream->invalid ? 2 : 1;
    *id = stream->capture;
    return 0;
}

int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id)
{
    return cuStreamGetCaptureInfo(stream, status, id);
}

int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *name, int bytes, int device);
int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    return snprintf(name, (size_t)bytes, "Fake GPU %d", device) < 0;
}

/* What each family does. */
#define GRAPH_BEGIN_DO ((void)capture_mode, begin(stream, NULL))
#define GRAPH_BEGIN_INTO_DO                                                                        \
    ((void)capture_mode, (void)dependencies, (void)edges, (void)count, begin(stream, graph))
#define GRAPH_END_DO          end(stream, graph)
#define GRAPH_INSTANTIATE_DO  ((void)x, (void)y, (void)z, *exec = copy(graph), 0)
#define GRAPH_UPDATE_DO       ((void)x, (void)y, *(struct graph *)exec = *(struct graph *)graph, 0)
#define GRAPH_LAUNCH_DO       launch(exec, stream)
#define GRAPH_CHILD_DO        ((void)node, (void)dependencies, (void)count, append(graph, child), 0)
#define GRAPH_CLONE_DO        (*clone = copy(graph), 0)
#define GRAPH_DESTROY_DO      (free(graph), 0)
#define GRAPH_DESTROY_EXEC_DO (free(exec), 0)

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW

/* The runtime reaches the driver by name where the test asks for it. */
#define GRAPH_BEGIN_DRIVER        cuStreamBeginCapture_v2
#define GRAPH_BEGIN_INTO_DRIVER   cuStreamBeginCaptureToGraph
#define GRAPH_END_DRIVER          cuStreamEndCapture
#define GRAPH_INSTANTIATE_DRIVER  cuGraphInstantiateWithFlags
#define GRAPH_UPDATE_DRIVER       cuGraphExecUpdate_v2
#define GRAPH_LAUNCH_DRIVER       cuGraphLaunch
#define GRAPH_CHILD_DRIVER        cuGraphAddChildGraphNode
#define GRAPH_CLONE_DRIVER        cuGraphClone
#define GRAPH_DESTROY_DRIVER      cuGraphDestroy
#define GRAPH_DESTROY_EXEC_DRIVER cuGraphExecDestroy

#define ROW(family, symbol)                                                                        \
    int symbol(family##_PARAMS)                                                                    \
    {                                                                                              \
        struct fake_row *row = &rows[AT_##symbol];                                                 \
        if (row->status)                                                                           \
            return row->status;                                                                    \
        row->called++;                                                                             \
        if (fake_nested && strncmp(#symbol, "cuda", 4) == 0)                                       \
            return family##_DRIVER(family##_ARGS);                                                 \
        return family##_DO;                                                                        \
    }
#include "tracer/graph.def"
#undef ROW

/* The driver gives its newest version of a name. */
#define ROW(family, symbol)                                                                        \
    int symbol(family##_PARAMS);                                                                   \
    int symbol(family##_PARAMS)                                                                    \
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
    }
#include "tracer/driver.def"
#undef ROW
