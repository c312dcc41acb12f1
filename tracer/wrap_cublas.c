/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of cuBLAS: every row of cublas.def is recorded when the library accepted it, every row
 * of cublas_state.def is remembered for its handle.
 */
#include <string.h>

#include "tracer/cublas.h"
#include "tracer/elf.h"
#include "tracer/gpu.h"
#include "tracer/handle.h"
#include "tracer/hook.h"
#include "tracer/stream.h"

#define SUCCESS ((cublasStatus_t)0)

enum { NOT_INITIALIZED = 1, MATH_TF32 = 3, MATH_BF16X9 = 4, MATH_FIXED = 8 };

static cublasStatus_t missing(void)
{
    return (cublasStatus_t)NOT_INITIALIZED;
}

/* A handle that no setter told us about: ask the library that it belongs to, once. */
static HOT_NOT struct handle_state ask_for_state(const void *handle, const void *real)
{
    struct handle_state state = { 0 };
    struct elf_object library;
    int (*get_stream)(const void *, void **) = NULL;
    int (*get_pointer_mode)(const void *, int *) = NULL,
                                              (*get_math_mode)(const void *, int *) = NULL;
    if (elf_at(real, &library)) {
        get_stream = elf_symbol(&library, "cublasGetStream_v2");
        get_pointer_mode = elf_symbol(&library, "cublasGetPointerMode_v2");
        get_math_mode = elf_symbol(&library, "cublasGetMathMode");
    }
    int pointer_mode = 0, math_mode = 0;
    if (get_stream)
        get_stream(handle, &state.stream);
    if (get_pointer_mode)
        get_pointer_mode(handle, &pointer_mode);
    if (get_math_mode)
        get_math_mode(handle, &math_mode);
    state.stream_number = stream_number(state.stream);
    state.pointer_mode = (uint8_t)pointer_mode;
    state.math_mode = (uint16_t)math_mode;
    handle_put(handle, &state);
    return state;
}

static struct handle_state state_of(const void *handle, const void *real)
{
    struct handle_state state;
    return handle_get(handle, &state) ? state : ask_for_state(handle, real);
}

/* The bits of the math mode that can change a call on such operands. */
static uint16_t math_that_matters(uint16_t math, uint8_t dtype)
{
    uint16_t mode = math & 15;
    if (__builtin_expect(mode == 0, 1))
        return math & 0xf0;
    bool single = dtype == TILEWISE_F32 || dtype == TILEWISE_C64;
    bool two = dtype == TILEWISE_F64 || dtype == TILEWISE_C128;
    if (!single && mode == MATH_TF32)
        mode = 0;
    if (!single && mode != MATH_TF32)
        mode &= ~MATH_BF16X9;
    if (!two)
        mode &= ~MATH_FIXED;
    return (math & 0xf0) | mode;
}

/* Hash of type numbers that we do not know, to tell their calls apart. */
static HOT_NOT uint16_t strange(const struct cublas_call *c)
{
    uint32_t hash = (uint32_t)c->type_a * 31 + (uint32_t)c->type_b * 7 + (uint32_t)c->type_c +
                    (uint32_t)c->compute_type * 131;
    return (uint16_t)(TILEWISE_NOT_REPLAYABLE | (hash & 0xff) << TILEWISE_OTHER_SHIFT);
}

static void set_types(struct tilewise_signature *key, const struct cublas_call *c)
{
    bool named = c->type_a >= 0;
    key->dtype_a = named ? cuda_dtype(c->type_a) : c->element.in;
    key->dtype_b = named ? cuda_dtype(c->type_b) : c->element.in;
    key->dtype_c = key->dtype_d = named ? cuda_dtype(c->type_c) : c->element.out;
    struct cuda_compute compute = cuda_compute_of(c->compute_type);
    key->compute = c->compute_type ? compute.compute : c->element.compute;
    key->scale = c->compute_type ? cuda_scale(compute, key->dtype_c) : c->element.scale;
    uint16_t math = math_that_matters(c->math_mode, key->dtype_a);
    key->math_mode = (uint16_t)(math | c->compute_type << 8);
    if ((math & 15) == MATH_TF32 && key->compute == TILEWISE_F32)
        key->compute = TILEWISE_TF32;
    bool is_known = (key->dtype_a != TILEWISE_UNKNOWN) & (key->dtype_b != TILEWISE_UNKNOWN) &
                    (key->dtype_c != TILEWISE_UNKNOWN) & (key->compute != TILEWISE_UNKNOWN);
    if (!is_known)
        key->flags |= strange(c);
}

static inline uint8_t operand_align(const void *operand)
{
    return operand ? signature_align(operand) : 0;
}

static __attribute__((noinline)) void make_key(struct tilewise_signature *key,
                                               const struct cublas_call *c)
{
    *key = (struct tilewise_signature){
        .op = c->op,
        .layout = TILEWISE_COL_MAJOR,
        .trans_a = c->trans_a & 3, /* CUBLAS_OP_N, T, C, CONJG: our numbers */
        .trans_b = c->trans_b & 3,
        .alpha = c->scalar,
        .beta = c->op == TILEWISE_OP_OTHER ? 0 : c->scalar, /* none of these has one */
        .align_a = c->align_a,
        .align_b = c->align_b,
        .align_c = c->align_c,
        .align_d = c->align_c,
        .batch_kind = c->batch_kind,
        .uplo = c->uplo,
        .flags =
            c->other ? (uint16_t)(TILEWISE_NOT_REPLAYABLE | c->other << TILEWISE_OTHER_SHIFT) : 0,
        .entry = c->entry,
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .batch = c->batch,
        .lda = c->lda,
        .ldb = c->ldb,
        .ldc = c->ldc,
        .ldd = c->ldc,
        .stride_a = c->stride_a,
        .stride_b = c->stride_b,
        .stride_c = c->stride_c,
        .stride_d = c->stride_c,
    };
    set_types(key, c);
}

/* All that make_key makes a key of lies before the handle, with no gap. */
_Static_assert(offsetof(struct cublas_call, handle) == sizeof(struct table_call) &&
                   offsetof(struct cublas_call, entry) == TABLE_CALL_ENTRY,
               "the same bytes");

/* What the arguments do not tell. */
static inline void complete(struct cublas_call *c, const struct handle_state *state)
{
    c->math_mode = state->math_mode;
    c->scalar = state->pointer_mode ? TILEWISE_SCALAR_DEVICE : TILEWISE_SCALAR_UNREAD;
    c->align_a = operand_align(c->a);
    c->align_b = operand_align(c->b);
    c->align_c = operand_align(c->c);
}

/* A call from the hook's entry to its end. */
struct product {
    struct gpu_call gpu;
    bool is_complete; /* the handle's state was known: it is in `call`, its stream's number here */
    uint32_t stream;
    struct cublas_call call;
};

static HOT_NOT void enter(struct product *p, const void *caller)
{
    p->gpu = gpu_enter(caller);
    p->is_complete = false;
}

/* Not the call that was expected, or not recorded as others are. */
static __attribute__((noinline)) void leave_by_key(struct product *p, const void *real)
{
    struct handle_state state = state_of(p->call.handle, real);
    struct gpu_place place = { graph_is_capturing() ? graph_capture_of(state.stream) : 0,
                               state.stream_number };
    struct tilewise_signature key;
    complete(&p->call, &state);
    make_key(&key, &p->call);
    tap_hold();
    gpu_add(&p->gpu, place, &key, 0, 1);
    tap_learn((const void *)&p->call, &key);
    tap_release();
}

static __attribute__((noinline)) HOT_TEXT void leave(struct product *p, const void *real,
                                                     cublasStatus_t status)
{
    p->gpu.end_ticks = clock_ticks();
    if (__builtin_expect(status != SUCCESS, 0))
        gpu_fail(&p->gpu);
    else if (!p->is_complete || !gpu_leave_expected(&p->gpu, p->stream, (const void *)&p->call))
        leave_by_key(p, real);
}

/* enter for a thread that is ready. */
static __attribute__((noinline)) HOT_TEXT void enter_ready(struct product *p, const void *caller)
{
    struct handle_state state;
    p->is_complete = handle_get(p->call.handle, &state);
    if (__builtin_expect(p->is_complete, 1)) {
        p->stream = state.stream_number;
        complete(&p->call, &state);
    }
    p->gpu.caller = caller;
    p->gpu.mode = GPU_RECORD;
    p->gpu.start_ticks = gpu_enter_ready();
    if (__builtin_expect(tap_self.journal_room == 0, 0)) {
        tap_open_journal();
        p->gpu.start_ticks = clock_ticks(); /* that is no time of the call's */
    }
}

static int64_t element_of(const struct cublas_groups *g, const void *array, int64_t i)
{
    return g->wide ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}

static struct cublas_call group_of(const struct cublas_call *all, const struct cublas_groups *g,
                                   int64_t i)
{
    struct cublas_call c = *all;
    c.trans_a = (uint8_t)g->trans_a[i];
    c.trans_b = (uint8_t)g->trans_b[i];
    c.m = element_of(g, g->m, i);
    c.n = element_of(g, g->n, i);
    c.k = element_of(g, g->k, i);
    c.lda = element_of(g, g->lda, i);
    c.ldb = element_of(g, g->ldb, i);
    c.ldc = element_of(g, g->ldc, i);
    c.batch = element_of(g, g->batch, i);
    return c;
}

/* One record per group; the time of the call in equal parts. */
static __attribute__((noinline)) void leave_groups(struct product *p, const void *real,
                                                   cublasStatus_t status,
                                                   const struct cublas_groups *g)
{
    p->gpu.end_ticks = clock_ticks();
    if (status != SUCCESS) {
        gpu_fail(&p->gpu);
        return;
    }
    struct handle_state state = state_of(p->call.handle, real);
    struct gpu_place place = { graph_is_capturing() ? graph_capture_of(state.stream) : 0,
                               state.stream_number };
    tap_hold();
    for (int64_t i = 0; i < g->count; i++) {
        struct cublas_call c = group_of(&p->call, g, i);
        struct tilewise_signature key;
        complete(&c, &state);
        make_key(&key, &c);
        gpu_add(&p->gpu, place, &key, (uint64_t)i, (uint64_t)g->count);
    }
    tap_release();
}

#define LEAVE(I) leave(&p, (const void *)(uintptr_t)real, status)
#define LEAVE_GROUPS(I)                                                                            \
    leave_groups(&p, (const void *)(uintptr_t)real, status,                                        \
                 &(struct cublas_groups){ trans_a, trans_b, m, n, k, lda, ldb, ldc, group_size,    \
                                          group_count, sizeof(I) == sizeof(int64_t) })
#define CUBLAS_GEMM_LEAVE            LEAVE
#define CUBLAS_GEMM_STRIDED_LEAVE    LEAVE
#define CUBLAS_GEMM_BATCHED_LEAVE    LEAVE
#define CUBLAS_GEMM_GROUPED_LEAVE    LEAVE_GROUPS
#define CUBLAS_GEMM_TYPES_LEAVE      LEAVE
#define CUBLAS_GEMM_EX_LEAVE         LEAVE
#define CUBLAS_GEMM_STRIDED_EX_LEAVE LEAVE
#define CUBLAS_GEMM_BATCHED_EX_LEAVE LEAVE
#define CUBLAS_GEMM_GROUPED_EX_LEAVE LEAVE_GROUPS
#define CUBLAS_GEMV_LEAVE            LEAVE
#define CUBLAS_GEMV_BATCHED_LEAVE    LEAVE
#define CUBLAS_GEMV_STRIDED_LEAVE    LEAVE
#define CUBLAS_SYRK_LEAVE            LEAVE
#define CUBLAS_HERK_LEAVE            LEAVE
#define CUBLAS_SYRKX_LEAVE           LEAVE
#define CUBLAS_SYR2K_LEAVE           LEAVE
#define CUBLAS_HERKX_LEAVE           LEAVE
#define CUBLAS_HER2K_LEAVE           LEAVE
#define CUBLAS_SYMM_LEAVE            LEAVE
#define CUBLAS_TRSM_LEAVE            LEAVE
#define CUBLAS_TRSM_BATCHED_LEAVE    LEAVE
#define CUBLAS_TRMM_LEAVE            LEAVE

/* Pass 1: the recorded call. */
#define ROW(family, symbol, I, E)                                                                  \
    HOOK cublasStatus_t symbol(family##_PARAMS(I, E));                                             \
    cublasStatus_t hook_##symbol(family##_PARAMS(I, E));                                           \
    INLINE cublasStatus_t run_##symbol(const void *caller, __typeof__(&symbol) real,               \
                                       family##_PARAMS(I, E))                                      \
    {                                                                                              \
        struct product p;                                                                          \
        p.call = (struct cublas_call){ .entry = SLOT_##symbol, family##_CALL(E) };                 \
        if (gpu_is_ready())                                                                        \
            enter_ready(&p, caller);                                                               \
        else                                                                                       \
            enter(&p, caller);                                                                     \
        cublasStatus_t status = real(family##_ARGS);                                               \
        if (p.gpu.mode)                                                                            \
            family##_LEAVE(I);                                                                     \
        return status;                                                                             \
    }
#include "tracer/cublas.def"
#undef ROW

/* What a row makes of its arguments, with the result behind them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define ROW(...)
#define HOT_ROW(family, symbol, I, E)                                                              \
    static void describe_##symbol(family##_PARAMS(I, E), struct cublas_call *out)                  \
    {                                                                                              \
        *out = (struct cublas_call){ .entry = SLOT_##symbol, family##_CALL(E) };                   \
    }
#include "tracer/cublas.def"
#undef ROW
#undef HOT_ROW
#pragma GCC diagnostic pop

/* As pass_entry.S writes them, where it does: each argument is a word, and more words than a
 * function takes do it no harm. */
typedef void description(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t);

enum { REGISTERS = 6 };

static void describe(const struct journal_call *j, struct cublas_call *call)
{
    description *of = NULL;
    uint64_t w[JOURNAL_WORDS];
    int words = 0;
    switch (j->slot) {
#define ROW(...)
#define HOT_ROW(family, symbol, I, E)                                                              \
    case SLOT_##symbol:                                                                            \
        of = (description *)(void (*)(void))describe_##symbol;                                     \
        words = REGISTERS + family##_STACK;                                                        \
        break;
#include "tracer/cublas.def"
#undef ROW
#undef HOT_ROW
    default:
        *call = (struct cublas_call){ .op = TILEWISE_OP_OTHER, .other = 1 };
        return;
    }
    memcpy(w, j->word, sizeof w);
    w[words] = (uintptr_t)call;
    of(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13],
       w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23]);
}

/* What another handle wrote over is the state that a handle is made with, if nothing else is known.
 */
void cublas_read(const struct journal_call *j, struct tilewise_signature *key, uint32_t *stream)
{
    struct cublas_call call;
    struct handle_state state;
    describe(j, &call);
    if (!handle_read(call.handle, j->handle, &state) && !handle_get(call.handle, &state))
        state = (struct handle_state){ 0 };
    complete(&call, &state);
    make_key(key, &call);
    *stream = state.stream_number;
}

void cublas_launched(const struct journal_call *j)
{
    struct product p = {
        .gpu = { .start_ticks = j->start_ticks, .end_ticks = j->end_ticks, .mode = GPU_RECORD }
    };
    describe(j, &p.call);
    leave_by_key(&p, NULL);
}

/* What the setters tell, for handles that are known; the others are asked when they are used. And
 * when they tell nothing that is new. */
#define CUBLAS_SET_STREAM_TOLD       handle_set_stream(handle, stream)
#define CUBLAS_SET_STREAM_IDLE       handle_has_stream(handle, stream)
#define CUBLAS_SET_POINTER_MODE_TOLD handle_set_pointer_mode(handle, (int)mode != 0)
#define CUBLAS_SET_POINTER_MODE_IDLE handle_has_pointer_mode(handle, (int)mode != 0)
#define CUBLAS_SET_MATH_MODE_TOLD    handle_set_math_mode(handle, (uint16_t)(int)mode)
#define CUBLAS_SET_MATH_MODE_IDLE    handle_has_math_mode(handle, (uint16_t)(int)mode)
#define CUBLAS_DESTROY_TOLD          handle_forget(handle)
#define CUBLAS_DESTROY_IDLE          false

#define ROW(family, symbol)                                                                        \
    HOOK_SETTER(cublasStatus_t, SUCCESS, symbol, HOOK_LIST(family##_PARAMS),                       \
                HOOK_LIST(family##_ARGS), family##_IDLE, family##_TOLD)
#include "tracer/cublas_state.def"
#undef ROW

/* Pass 2: the hooks themselves. Of a product: what pass_entry.S makes its hook of. */
#define DEFINE(where, family, symbol, I, E)                                                        \
    where HOOK_LINKED(hook_##symbol, cublasStatus_t, symbol, HOOK_LIST(family##_PARAMS(I, E)),     \
                      HOOK_LIST(family##_ARGS))                                                    \
        HOOK_BOUNDS(cublasStatus_t, symbol, HOOK_LIST(family##_PARAMS(I, E)),                      \
                    HOOK_LIST(family##_ARGS))
#define ROW(family, symbol, I, E)     DEFINE(, family, symbol, I, E)
#define HOT_ROW(family, symbol, I, E) DEFINE(HOT_TEXT, family, symbol, I, E)
#include "tracer/cublas.def"
#undef ROW
#undef DEFINE

HOOK_TABLE(wrap_cublas_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/cublas.def"
#include "tracer/cublas_state.def"
#undef ROW
HOOK_TABLE_END
