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

/* The hooks themselves call these; `real` is NULL where the first pair of the slot is not the
 * caller's. */
#define ROW(family, symbol)                                                                        \
    HOOK HOT_TEXT cudnnStatus_t symbol(family##_PARAMS);                                           \
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
    if (status == SUCCESS && (int)type == DESCRIPTOR_PLAN && !tap_is_inert())
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

/* An execution in the words of the table's rows. */
struct plan_words {
    uint64_t plan; /* cudnn_plans_number */
    uint64_t none[TABLE_CALL_ENTRY / sizeof(uint64_t) - 1];
    uint32_t entry; /* enum slot_id */
    uint32_t rest[(sizeof(struct table_call) - TABLE_CALL_ENTRY) / sizeof(uint32_t) - 1];
};
_Static_assert(offsetof(struct plan_words, entry) == TABLE_CALL_ENTRY &&
                   sizeof(struct plan_words) == sizeof(struct table_call),
               "as the other hooks' calls");

struct plan_call {
    struct gpu_call gpu; /* mode GPU_OFF: nothing to do afterwards */
    uint64_t plan;       /* cudnn_plans_number */
    struct handle_state handle;
    /* `own`, or where the call was expected the one of `row`, in the thread's table. */
    const struct tilewise_signature *key;
    const struct table_row *row; /* else NULL */
    struct tilewise_signature own;
};

/* Asked before the real call: after it, the address may be another plan's. */
static HOT_NOT void look_up(struct plan_call *p, const void *plan, uint32_t entry)
{
    p->plan = cudnn_plans_get(plan, &p->own);
    if (!p->plan)
        p->own = cudnn_graph_shapeless;
    p->own.entry = entry;
    p->key = &p->own;
    p->row = NULL;
}

static HOT_NOT void enter(struct plan_call *p, const void *caller, const void *real,
                          const void *handle, const void *plan)
{
    p->gpu = gpu_enter(caller);
    if (!p->gpu.mode)
        return;
    p->handle = cudnn_handle_state(handle, real);
    look_up(p, plan, SLOT_cudnnBackendExecute);
}

static HOT_NOT void leave_by_key(const struct plan_call *p)
{
    struct gpu_place place = { graph_is_capturing() ? graph_capture_of(p->handle.stream) : 0,
                               p->handle.stream_number };
    struct plan_words words = { .plan = p->plan, .entry = SLOT_cudnnBackendExecute };
    tap_hold();
    gpu_add(&p->gpu, place, p->key, 0, 1);
    tap_learn((const void *)&words, p->key);
    tap_release();
}

/* Only executions have their entry in their words. */
static inline bool is_of(const struct table_row *row, uint64_t plan)
{
    uint64_t number;
    uint32_t entry;
    memcpy(&number, row->call.byte + offsetof(struct plan_words, plan), sizeof number);
    memcpy(&entry, row->call.byte + offsetof(struct plan_words, entry), sizeof entry);
    return number == plan && entry == SLOT_cudnnBackendExecute;
}

/* enter for a thread that is ready. */
static inline void enter_ready(struct plan_call *p, const void *caller, const void *real,
                               const void *handle, const void *plan)
{
    p->gpu.caller = caller;
    p->gpu.mode = GPU_RECORD;
    p->gpu.start_ticks = gpu_enter_ready();
    p->handle = cudnn_handle_state(handle, real);
    p->plan = cudnn_plans_number(plan);
    p->row = tap_expected();
    if (__builtin_expect(p->row && is_of(p->row, p->plan), 1))
        p->key = &p->row->key;
    else
        look_up(p, plan, SLOT_cudnnBackendExecute);
}

static __attribute__((noinline)) HOT_TEXT cudnnStatus_t follow_cudnnBackendExecute(
    CUDNN_EXECUTE_PARAMS, const void *caller, __typeof__(&cudnnBackendExecute) real)
{
    struct plan_call p;
    real = __builtin_expect(real != NULL, 1) ? real : RESOLVE(cudnnBackendExecute);
    if (gpu_is_ready())
        enter_ready(&p, caller, REAL, handle, plan);
    else
        enter(&p, caller, REAL, handle, plan);
    cudnnStatus_t status = real(CUDNN_EXECUTE_ARGS);
    if (!p.gpu.mode)
        return status;
    p.gpu.end_ticks = clock_ticks();
    if (__builtin_expect(status != SUCCESS, 0))
        gpu_fail(&p.gpu);
    else if (!gpu_leave_row(&p.gpu, p.handle.stream_number, p.row))
        leave_by_key(&p);
    return status;
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
        graph_add_work(graph, p.key);
    tap_release();
    return status;
}

/* By family: nothing to do but the real call. Then the hook is a jump, as most are: of the
 * descriptors that a host makes for each execution none is a plan. */
#define CUDNN_EXECUTE_IDLE  gpu_is_off()
#define CUDNN_POPULATE_IDLE tap_is_inert()
#define CUDNN_CREATE_IDLE   (int)type != DESCRIPTOR_PLAN
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
    cudnnStatus_t symbol(family##_PARAMS)                                                          \
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
