/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/cuda_api.h"

/* The replayer's own table says what these functions look like. */
#define X(name, result, parameters) result name parameters;
CUDA_DRIVER_LIST(X)
CUDA_RUNTIME_LIST(X)
#undef X

/* Long graphs are there to be timed: only their beginning really works. */
enum { WORKING_NODES = 3 };
static const double call_ns = 1000; /* of the host */
enum { NODES_MAX = 8192, ERROR_MEMORY = 2, ERROR_ILLEGAL = 700, ERROR_INVALID = 1 };

struct node {
    fake_work *work;
    void *context;
    double ns;
    struct event *event;
};

struct graph {
    size_t count;
    struct node nodes[NODES_MAX];
};

struct event {
    double ns;
};

struct stream {
    struct graph *capturing;
};

static double clock_ns;
static int broken;
static size_t in_use;

long fake_setting(const char *word, long otherwise)
{
    const char *all = getenv("FAKE_CUDA");
    size_t length = strlen(word);
    for (const char *at = all; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && at[length] == '=')
            return atol(at + length + 1);
    return otherwise;
}

void fake_break(int error)
{
    broken = error;
}

/* ---- the driver ---- */

int cuInit(unsigned flags)
{
    (void)flags;
    if (fake_setting("dies", 0))
        abort();
    return (int)fake_setting("start", 0);
}

int cuDriverGetVersion(int *version)
{
    *version = (int)fake_setting("driver", 13000);
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = (int)fake_setting("devices", 1);
    return 0;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "Simulated GPU");
    return 0;
}

static size_t memory_bytes(void)
{
    return (size_t)fake_setting("memory", 1L << 28);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = memory_bytes();
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    return cudaDeviceGetAttribute(value, attribute, device);
}

/* ---- the runtime ---- */

int cudaSetDevice(int device)
{
    (void)device;
    return 0;
}

const char *cudaGetErrorString(int error)
{
    return error == ERROR_ILLEGAL  ? "an illegal memory access was encountered"
           : error == ERROR_MEMORY ? "out of memory"
                                   : "some error";
}

int cudaGetLastError(void)
{
    return broken;
}

int cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    long capability = fake_setting("capability", 90);
    *value = (int)(attribute == 75   ? capability / 10
                   : attribute == 76 ? capability % 10
                   : attribute == 38 ? 1 << 20
                                     : 132);
    return 0;
}

int cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    snprintf(id, (size_t)bytes, "0000:%02d:00.0", device);
    return 0;
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *total_bytes = memory_bytes();
    *free_bytes = *total_bytes - in_use;
    return broken;
}

/* Every block begins with its size. */
int cudaMalloc(void **memory, size_t bytes)
{
    size_t whole = (bytes + 511) / 256 * 256;
    if (broken)
        return broken;
    if (in_use + whole > memory_bytes())
        return ERROR_MEMORY;
    char *block = aligned_alloc(256, whole);
    if (block == NULL)
        return ERROR_MEMORY;
    memcpy(block, &whole, sizeof whole);
    in_use += whole;
    *memory = block + 256;
    return 0;
}

int cudaFree(void *memory)
{
    size_t whole;
    if (memory == NULL)
        return broken;
    memcpy(&whole, (char *)memory - 256, sizeof whole);
    in_use -= whole;
    free((char *)memory - 256);
    return broken;
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    if (!broken)
        memcpy(to, from, bytes);
    return broken;
}

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

static void copy_now(const void *context)
{
    const struct copy *c = context;
    memmove(c->to, c->from, c->bytes);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    (void)kind;
    struct copy c = { to, from, bytes };
    return fake_enqueue(stream, copy_now, &c, sizeof c, (double)bytes * 2 / 4000 + 2000);
}

int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    (void)flags;
    *stream = calloc(1, sizeof(struct stream));
    return *stream ? 0 : ERROR_MEMORY;
}

int cudaStreamDestroy(void *stream)
{
    free(stream);
    return 0;
}

int cudaStreamSynchronize(void *stream)
{
    (void)stream;
    return broken;
}

int cudaStreamBeginCapture(void *stream, int mode)
{
    (void)mode;
    struct stream *s = stream;
    s->capturing = calloc(1, sizeof *s->capturing);
    return s->capturing ? 0 : ERROR_MEMORY;
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    struct stream *s = stream;
    *graph = s->capturing;
    s->capturing = NULL;
    return *graph ? 0 : ERROR_INVALID;
}

/* A graph that can be launched is the graph. */
int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    (void)flags;
    *exec = malloc(sizeof(struct graph));
    if (*exec == NULL)
        return ERROR_MEMORY;
    memcpy(*exec, graph, sizeof(struct graph));
    ((struct graph *)graph)->count = 0; /* the contexts have moved */
    return 0;
}

int cudaGraphUpload(void *exec, void *stream)
{
    (void)exec;
    (void)stream;
    return broken;
}

static void do_node(const struct node *n, bool works)
{
    if (n->event)
        n->event->ns = clock_ns;
    else if (!broken && works)
        n->work(n->context);
    if (n->work && n->work != copy_now)
        fake_kernel(clock_ns, n->ns);
    clock_ns += fake_setting("late", 0) ? call_ns : n->ns;
}

int cudaGraphLaunch(void *exec, void *stream)
{
    (void)stream;
    const struct graph *g = exec;
    for (size_t i = 0; i < g->count; i++)
        do_node(&g->nodes[i], i < WORKING_NODES);
    return 0;
}

int cudaGraphDestroy(void *graph)
{
    struct graph *g = graph;
    for (size_t i = 0; i < g->count; i++)
        free(g->nodes[i].context);
    free(g);
    return 0;
}

int cudaGraphExecDestroy(void *exec)
{
    return cudaGraphDestroy(exec);
}

int cudaEventCreate(void **event)
{
    *event = calloc(1, sizeof(struct event));
    return *event ? 0 : ERROR_MEMORY;
}

int cudaEventDestroy(void *event)
{
    free(event);
    return 0;
}

static int add_node(struct graph *g, struct node n)
{
    if (g->count == NODES_MAX)
        return ERROR_MEMORY;
    g->nodes[g->count++] = n;
    return 0;
}

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    struct stream *s = stream;
    if (s->capturing)
        return flags == 1 ? add_node(s->capturing, (struct node){ .event = event }) : ERROR_INVALID;
    ((struct event *)event)->ns = clock_ns;
    return broken;
}

int cudaEventElapsedTime(float *ms, void *start, void *end)
{
    *ms = (float)((((struct event *)end)->ns - ((struct event *)start)->ns) * 1e-6);
    return broken;
}

int fake_enqueue(void *stream, fake_work *work, const void *context, size_t bytes, double ns)
{
    struct stream *s = stream;
    struct node n = { .work = work, .context = malloc(bytes), .ns = ns };
    if (n.context == NULL || broken) {
        free(n.context);
        return broken ? broken : ERROR_MEMORY;
    }
    memcpy(n.context, context, bytes);
    if (s->capturing)
        return add_node(s->capturing, n);
    do_node(&n, true);
    free(n.context);
    return 0;
}
