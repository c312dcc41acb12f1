/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of cuDNN's backend plans. What a plan does is read from the library once, when it is
 * finalized; an execution looks it up. Descriptors are followed whether recording is on or not.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/cudnn.h"
#include "tracer/cudnn_graph.h"
#include "tracer/cudnn_handle.h"
#include "tracer/cudnn_plans.h"
#include "tracer/gpu.h"
#include "tracer/hook.h"
#include "tracer/pages.h"
#include "tracer/sibling.h"

#define SUCCESS ((cudnnStatus_t)0)

enum { NOT_INITIALIZED = 1001 };
/* cuDNN's numbers: a plan's JSON among the attributes, text. */
enum { PLAN_JSON = 405, TYPE_CHAR = 24 };
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

/* The hooks themselves call these; `real` is NULL where the first pair of the slot is not the
 * caller's. */
#define ROW(family, symbol)                                                                        \
    HOOK HOT_TEXT cudnnStatus_t symbol(family##_PARAMS);                                           \
    HOT_TEXT cudnnStatus_t PASS_NAME(symbol)(family##_PARAMS);                                     \
    static cudnnStatus_t follow_##symbol(family##_PARAMS, const void *caller,                      \
                                         __typeof__(&symbol) real);
#include "tracer/cudnn_plan.def"
#undef ROW

#define RESOLVE(symbol) (real ? real : (__typeof__(real))slot_resolve(SLOT_##symbol, caller))
#define REAL            (const void *)(uintptr_t)real

static HOT_NOT cudnnStatus_t follow_cudnnBackendCreateDescriptor(
    CUDNN_CREATE_PARAMS, const void *caller, __typeof__(&cudnnBackendCreateDescriptor) real)
{
    cudnnStatus_t status = RESOLVE(cudnnBackendCreateDescriptor)(CUDNN_CREATE_ARGS);
    if (status == SUCCESS && (int)type == PASS_PLAN_TYPE && !tap_is_inert())
        cudnn_plans_put(*descriptor, &cudnn_graph_shapeless);
    return status;
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

static HOT_NOT cudnnStatus_t follow_cudnnBackendFinalize(CUDNN_FINALIZE_PARAMS, const void *caller,
                                                         __typeof__(&cudnnBackendFinalize) real)
{
    real = RESOLVE(cudnnBackendFinalize);
    cudnnStatus_t status = real(CUDNN_FINALIZE_ARGS);
    if (status == SUCCESS)
        finalized(REAL, descriptor);
    return status;
}

static HOT_NOT cudnnStatus_t follow_cudnnBackendDestroyDescriptor(
    CUDNN_DESTROY_PARAMS, const void *caller, __typeof__(&cudnnBackendDestroyDescriptor) real)
{
    cudnn_plans_forget(descriptor);
    return RESOLVE(cudnnBackendDestroyDescriptor)(CUDNN_DESTROY_ARGS);
}

struct plan_call {
    struct gpu_call gpu; /* mode GPU_OFF: nothing to do afterwards */
    struct handle_state handle;
    struct tilewise_signature key;
};

/* Asked before the real call: after it, the address may be another plan's. */
static void look_up(struct plan_call *p, const void *plan, uint32_t entry)
{
    if (!cudnn_plans_get(plan, &p->key))
        p->key = cudnn_graph_shapeless;
    p->key.entry = entry;
}

static void leave(const struct plan_call *p)
{
    gpu_leave(&p->gpu, p->handle.stream, p->handle.stream_number, &p->key);
}

static __attribute__((noinline)) cudnnStatus_t
follow_cudnnBackendExecute(CUDNN_EXECUTE_PARAMS, const void *caller,
                           __typeof__(&cudnnBackendExecute) real)
{
    real = RESOLVE(cudnnBackendExecute);
    struct plan_call p = { .gpu = gpu_enter(caller) };
    if (p.gpu.mode) {
        tap_open_journal();
        p.handle = cudnn_handle_state(handle, REAL);
        look_up(&p, plan, SLOT_cudnnBackendExecute);
        p.gpu.start_ticks = clock_ticks(); /* all that is no time of the call's */
    }
    cudnnStatus_t status = real(CUDNN_EXECUTE_ARGS);
    if (!p.gpu.mode)
        return status;
    p.gpu.end_ticks = clock_ticks();
    if (status == SUCCESS)
        leave(&p);
    else
        gpu_fail(&p.gpu);
    return status;
}

void cudnn_plan_read(const struct journal_call *j, struct tilewise_signature *key, uint32_t *stream)
{
    struct handle_state state;
    if (!cudnn_plans_key(j->word[PASS_PLAN_WORD], key))
        *key = cudnn_graph_shapeless;
    key->entry = SLOT_cudnnBackendExecute;
    handle_read((const void *)(uintptr_t)j->word[0], j->handle, &state);
    *stream = state.stream_number;
}

void cudnn_plan_launched(const struct journal_call *j)
{
    struct plan_call p = {
        .gpu = { .start_ticks = j->start_ticks, .end_ticks = j->end_ticks, .mode = GPU_RECORD }
    };
    cudnn_plan_read(j, &p.key, &p.handle.stream_number);
    leave(&p);
}

/* Work that the launches of a graph will do. */
static HOT_NOT cudnnStatus_t follow_cudnnBackendPopulateCudaGraph(
    CUDNN_POPULATE_PARAMS, const void *caller, __typeof__(&cudnnBackendPopulateCudaGraph) real)
{
    struct plan_call p;
    real = RESOLVE(cudnnBackendPopulateCudaGraph);
    bool is_followed = tap_enter_unrecorded();
    if (is_followed)
        look_up(&p, plan, SLOT_cudnnBackendPopulateCudaGraph);
    cudnnStatus_t status = real(CUDNN_POPULATE_ARGS);
    if (!is_followed)
        return status;
    tap_hold();
    if (status == SUCCESS)
        graph_add_work(graph, &p.key);
    tap_release();
    return status;
}

/* By family: nothing to do but the real call. Then the hook is a jump, as most are: of the
 * descriptors that a host makes for each execution none is a plan. */
#define CUDNN_EXECUTE_IDLE  gpu_is_off()
#define CUDNN_POPULATE_IDLE tap_is_inert()
#define CUDNN_CREATE_IDLE   (int)type != PASS_PLAN_TYPE
#define CUDNN_FINALIZE_IDLE !cudnn_plans_may_know(descriptor)
#define CUDNN_DESTROY_IDLE  !cudnn_plans_may_know(descriptor)

#define ROW(family, symbol)                                                                        \
    INLINE cudnnStatus_t run_##symbol(const void *caller, __typeof__(&symbol) real,                \
                                      family##_PARAMS)                                             \
    {                                                                                              \
        if (real && (family##_IDLE))                                                               \
            return real(family##_ARGS);                                                            \
        return follow_##symbol(family##_ARGS, caller, real);                                       \
    }                                                                                              \
    cudnnStatus_t PASS_NAME(symbol)(family##_PARAMS)                                               \
    {                                                                                              \
        const void *caller = CALLER;                                                               \
        return run_##symbol(caller, slot_first_real(SLOT_##symbol, caller), family##_ARGS);        \
    }                                                                                              \
    HOOK_BOUNDS(cudnnStatus_t, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/cudnn_plan.def"
#undef ROW

HOOK_TABLE(wrap_cudnn_plan_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/cudnn_plan.def"
#undef ROW
HOOK_TABLE_END
