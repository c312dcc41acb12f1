/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of cuDNN's backend plans. What a plan does is read from the library once, when it is
 * finalized; an execution looks it up. Descriptors are followed whether recording is on or not.
 */
#include <errno.h>
#include <sys/mman.h>

#include "tracer/cudnn.h"
#include "tracer/cudnn_graph.h"
#include "tracer/cudnn_plans.h"
#include "tracer/gpu.h"
#include "tracer/hook.h"
#include "tracer/pages.h"
#include "tracer/sibling.h"
#include "tracer/stream.h"

#define SUCCESS ((cudnnStatus_t)0)

enum { NOT_INITIALIZED = 1001 };
/* cuDNN's numbers: a plan among the descriptors, its JSON among the attributes, text. */
enum { DESCRIPTOR_PLAN = 5, PLAN_JSON = 405, TYPE_CHAR = 24 };
/* A plan that was compiled carries its code. */
enum { TEXT_MOST = 16 << 20 };

static cudnnStatus_t missing(void)
{
    return (cudnnStatus_t)NOT_INITIALIZED;
}

struct scratch {
    struct cudnn_graph graph;
    char text[];
};

static void read_plan(const void *real, const void *plan, struct tilewise_signature *key)
{
    static struct sibling known;
    int (*get)(const void *, int, int, int64_t, int64_t *, void *) =
        sibling_find(&known, real, "cudnnBackendGetAttribute");
    int64_t bytes = 0, got = 0;
    if (!get || get(plan, PLAN_JSON, TYPE_CHAR, 0, &bytes, NULL) != 0 || bytes <= 0 ||
        bytes > TEXT_MOST)
        return;
    size_t mapped = sizeof(struct scratch) + (size_t)bytes;
    struct scratch *s = pages_map(mapped);
    if (!s)
        return;
    if (get(plan, PLAN_JSON, TYPE_CHAR, bytes, &got, s->text) == 0 && got > 0 && got <= bytes)
        cudnn_graph_read(&s->graph, (struct json){ s->text, s->text + got }, key);
    munmap(s, mapped);
}

static void created(int type, const void *descriptor)
{
    if (type == DESCRIPTOR_PLAN && !tap_is_inert())
        cudnn_plans_put(descriptor, &cudnn_graph_shapeless);
}

static void finalized(const void *real, const void *descriptor)
{
    struct tilewise_signature key;
    int kept = errno;
    if (!cudnn_plans_get(descriptor, &key))
        return;
    key = cudnn_graph_shapeless;
    read_plan(real, descriptor, &key);
    cudnn_plans_put(descriptor, &key);
    errno = kept;
}

struct plan_call {
    struct gpu_call gpu; /* mode GPU_OFF: nothing to do afterwards */
    const void *real;
    struct tilewise_signature key;
};

/* Asked before the real call: after it, the address may be another plan's. */
static void look_up(struct plan_call *p, const void *plan, uint32_t entry)
{
    if (!cudnn_plans_get(plan, &p->key))
        p->key = cudnn_graph_shapeless;
    p->key.entry = entry;
}

static struct plan_call enter(const void *caller, const void *real, const void *plan)
{
    struct plan_call p = { .gpu = gpu_enter(caller), .real = real };
    if (p.gpu.mode)
        look_up(&p, plan, SLOT_cudnnBackendExecute);
    return p;
}

static __attribute__((noinline)) void executed(struct plan_call *p, const void *handle, bool good)
{
    static struct sibling known;
    p->gpu.end_ticks = clock_ticks();
    if (!good) {
        gpu_fail(&p->gpu);
        return;
    }
    int (*ask)(const void *, void **) = sibling_find(&known, p->real, "cudnnGetStream");
    void *stream = NULL;
    if (ask)
        ask(handle, &stream);
    gpu_leave(&p->gpu, stream, stream_number(stream), &p->key);
}

/* Work that the launches of a graph will do. */
static struct plan_call enter_populate(const void *plan)
{
    struct plan_call p = { .gpu.mode = tap_enter_unrecorded() ? GPU_CAPTURE_ONLY : GPU_OFF };
    if (p.gpu.mode)
        look_up(&p, plan, SLOT_cudnnBackendPopulateCudaGraph);
    return p;
}

static void populated(const struct plan_call *p, const void *graph, bool good)
{
    tap_hold();
    if (good)
        graph_add_work(graph, &p->key);
    tap_release();
}

static struct plan_call enter_destroy(const void *descriptor)
{
    cudnn_plans_forget(descriptor);
    return (struct plan_call){ .gpu.mode = GPU_OFF };
}

/* By family: before the real call, and after it. */
#define REAL (const void *)(uintptr_t)real
#define FOLLOW                                                                                     \
    {                                                                                              \
        .gpu.mode = GPU_CAPTURE_ONLY                                                               \
    }
#define CUDNN_EXECUTE_BEFORE  enter(caller, REAL, plan)
#define CUDNN_EXECUTE_AFTER   executed(&p, handle, good)
#define CUDNN_POPULATE_BEFORE enter_populate(plan)
#define CUDNN_POPULATE_AFTER  populated(&p, graph, good)
#define CUDNN_CREATE_BEFORE   FOLLOW
#define CUDNN_CREATE_AFTER    good ? created((int)type, *descriptor) : (void)0
#define CUDNN_FINALIZE_BEFORE FOLLOW
#define CUDNN_FINALIZE_AFTER  good ? finalized(REAL, descriptor) : (void)0
#define CUDNN_DESTROY_BEFORE  enter_destroy(descriptor)
#define CUDNN_DESTROY_AFTER   (void)good

#define ROW(family, symbol)                                                                        \
    HOOK cudnnStatus_t symbol(family##_PARAMS);                                                    \
    INLINE cudnnStatus_t run_##symbol(const void *caller, __typeof__(&symbol) real,                \
                                      family##_PARAMS)                                             \
    {                                                                                              \
        (void)caller;                                                                              \
        struct plan_call p = family##_BEFORE;                                                      \
        cudnnStatus_t status = real(family##_ARGS);                                                \
        if (!p.gpu.mode)                                                                           \
            return status;                                                                         \
        bool good = status == SUCCESS;                                                             \
        family##_AFTER;                                                                            \
        return status;                                                                             \
    }                                                                                              \
    HOOK_DEFINE(cudnnStatus_t, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/cudnn_plan.def"
#undef ROW

HOOK_TABLE(wrap_cudnn_plan_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/cudnn_plan.def"
#undef ROW
HOOK_TABLE_END
