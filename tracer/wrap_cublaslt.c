/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook of cublasLtMatmul. Everything that its descriptors say becomes part of the signature;
 * what no field can hold makes the call one that is counted and not replayed.
 */
#include <string.h>

#include "tracer/cublaslt.h"
#include "tracer/cuda_dtype.h"
#include "tracer/gpu.h"
#include "tracer/hook.h"
#include "tracer/ltattr.h"
#include "tracer/pages.h"
#include "tracer/stream.h"

#define SUCCESS ((cublasStatus_t)0)

enum { NOT_INITIALIZED = 1, LIBRARIES = 8 };
/* cublasLt's numbers. */
enum { FILL_FULL = 2, EPILOGUE_DEFAULT = 1, EPILOGUE_AUX = 128, ORDER_COL = 0, ORDER_ROW = 1 };
/* BIAS and the three that write a gradient of it. */
enum { EPILOGUE_WITH_BIAS = 4 | 16 | 256 | 512, EPILOGUE_MOST = 1 << 11 };
enum { POINTERS_HOST, POINTERS_DEVICE, POINTERS_VECTOR, POINTERS_BETA_ZERO, POINTERS_BETA_HOST };

/* Our part of `epilogue`: cublasLt's bits, above them the type of the bias. */
enum { BIAS_TYPE_SHIFT = 11 };

static cublasStatus_t missing(void)
{
    return (cublasStatus_t)NOT_INITIALIZED;
}

/* What was learned, by the function that calls went to. Append only: `real` is stored last. */
static struct {
    const void *_Atomic real;
    struct ltattr_library library;
} known[LIBRARIES];
static _Atomic bool learning;

/* `own` serves while another thread is learning, and when there are more libraries than places. */
static __attribute__((noinline)) const struct ltattr_library *learn(const void *real,
                                                                    struct ltattr_library *own)
{
    ltattr_learn(own, real);
    if (atomic_exchange_explicit(&learning, true, memory_order_acquire))
        return own;
    for (int i = 0; i < LIBRARIES && known[i].real != real; i++)
        if (!known[i].real) {
            known[i].library = *own;
            atomic_store_explicit(&known[i].real, real, memory_order_release);
            break;
        }
    atomic_store_explicit(&learning, false, memory_order_release);
    return own;
}

static const struct ltattr_library *find_library(const void *real)
{
    for (int i = 0; i < LIBRARIES; i++) {
        const void *found = atomic_load_explicit(&known[i].real, memory_order_acquire);
        if (found == real)
            return &known[i].library;
        if (!found)
            break;
    }
    return NULL;
}

struct matmul {
    const void *real, *a, *b, *c, *d;
    struct ltattr_objects objects;
    void *stream;
};

/* Keys by the content of their descriptors, of one thread. A call that finds its own needs not read
 * them. */
enum { SETS = 64, WAYS = 4 };
struct matmuls {
    uint64_t hash[SETS][WAYS];
    uint32_t replaced; /* how many rows were written */
    struct matmuls_row {
        struct ltattr_content content;
        uint32_t align;
        struct tilewise_signature key;
    } row[SETS][WAYS];
};

/* The descriptors' values while a signature is made of them; `strange`: hash of all that the
 * signature has no field for, 0 = nothing. */
struct reading {
    int64_t desc[LTATTR_COUNT], layout[4][LTATTR_COUNT];
    uint32_t strange;
};

#define DESC(r, name)       ((r)->desc[LTATTR_DESC_##name])
#define LAYOUT(r, of, name) ((r)->layout[of][LTATTR_LAYOUT_##name])

enum { A, B, C, D };

static void mix(struct reading *r, int what, int64_t value)
{
    uint64_t hash = (r->strange + (uint64_t)what) * 0x9e3779b97f4a7c15u + (uint64_t)value;
    r->strange = (uint32_t)(hash * 0xc2b2ae3d27d4eb4fu >> 32) | 1;
}

/* Where `name` is not `usual`, the call is strange. */
#define MIX_UNLESS(r, name, usual)                                                                 \
    (DESC(r, name) != (usual) ? mix(r, LTATTR_DESC_##name, DESC(r, name)) : (void)0)
#define MIX_POINTER(r, name) (DESC(r, name) ? mix(r, LTATTR_DESC_##name, 1) : (void)0)

static void read_all(struct reading *r, const struct ltattr_library *library,
                     const struct matmul *call)
{
    r->strange = 0;
    if (!ltattr_read(library, LTATTR_DESC, call->objects.desc, r->desc))
        mix(r, LTATTR_COUNT, 0);
    for (int i = A; i <= D; i++)
        if (!ltattr_read(library, LTATTR_LAYOUT, call->objects.layout[i], r->layout[i]))
            mix(r, LTATTR_COUNT, i + 1);
}

static uint8_t dtype(struct reading *r, int64_t type)
{
    uint8_t found = cuda_dtype((int)type);
    if (found == TILEWISE_UNKNOWN)
        mix(r, LTATTR_LAYOUT_TYPE, type);
    return found;
}

static void set_scalars(struct tilewise_signature *key, struct reading *r)
{
    int64_t mode = DESC(r, POINTER_MODE);
    key->alpha = mode == POINTERS_HOST ? TILEWISE_SCALAR_UNREAD : TILEWISE_SCALAR_DEVICE;
    key->beta = mode == POINTERS_HOST || mode == POINTERS_BETA_HOST ? TILEWISE_SCALAR_UNREAD
                : mode == POINTERS_BETA_ZERO                        ? TILEWISE_SCALAR_ZERO
                                                                    : TILEWISE_SCALAR_DEVICE;
    if (mode > POINTERS_DEVICE)
        mix(r, LTATTR_DESC_POINTER_MODE, mode);
}

static void set_types(struct tilewise_signature *key, struct reading *r)
{
    int compute = (int)DESC(r, COMPUTE_TYPE);
    key->dtype_a = dtype(r, LAYOUT(r, A, TYPE));
    key->dtype_b = dtype(r, LAYOUT(r, B, TYPE));
    key->dtype_c = dtype(r, LAYOUT(r, C, TYPE));
    key->dtype_d = dtype(r, LAYOUT(r, D, TYPE));
    key->scale = dtype(r, DESC(r, SCALE_TYPE));
    key->compute = cuda_compute(compute);
    key->math_mode = (uint16_t)(compute << 8);
    if (key->compute == TILEWISE_UNKNOWN)
        mix(r, LTATTR_DESC_COMPUTE_TYPE, compute);
}

/* Rows and columns are stored ones; D says what m and n are, op(A) what k is. */
static void set_shape(struct tilewise_signature *key, struct reading *r)
{
    key->trans_a = DESC(r, TRANS_A) & 3;
    key->trans_b = DESC(r, TRANS_B) & 3;
    bool turned = key->trans_a == TILEWISE_T || key->trans_a == TILEWISE_C;
    key->m = LAYOUT(r, D, ROWS);
    key->n = LAYOUT(r, D, COLS);
    key->k = turned ? LAYOUT(r, A, ROWS) : LAYOUT(r, A, COLS);
    key->lda = LAYOUT(r, A, LD);
    key->ldb = LAYOUT(r, B, LD);
    key->ldc = LAYOUT(r, C, LD);
    key->ldd = LAYOUT(r, D, LD);
    MIX_UNLESS(r, TRANS_C, 0);
    MIX_UNLESS(r, FILL_MODE, FILL_FULL);
    int64_t order = LAYOUT(r, D, ORDER);
    key->layout = order == ORDER_ROW ? TILEWISE_ROW_MAJOR : TILEWISE_COL_MAJOR;
    for (int i = A; i <= D; i++) {
        if (LAYOUT(r, i, ORDER) != order || order > ORDER_ROW)
            mix(r, LTATTR_LAYOUT_ORDER, LAYOUT(r, i, ORDER) * 4 + i);
        if (LAYOUT(r, i, PLANE_OFFSET))
            mix(r, LTATTR_LAYOUT_PLANE_OFFSET, LAYOUT(r, i, PLANE_OFFSET));
    }
}

static void set_batch(struct tilewise_signature *key, struct reading *r)
{
    bool pointers = LAYOUT(r, D, BATCH_MODE) != 0;
    key->batch = LAYOUT(r, D, BATCH);
    for (int i = A; i <= D; i++)
        if (LAYOUT(r, i, BATCH_MODE) != pointers || LAYOUT(r, i, BATCH) != key->batch)
            mix(r, LTATTR_LAYOUT_BATCH, LAYOUT(r, i, BATCH) * 8 + LAYOUT(r, i, BATCH_MODE) * 4 + i);
    if (pointers)
        key->batch_kind = TILEWISE_BATCH_POINTERS;
    if (pointers || key->batch == 1)
        return;
    key->batch_kind = TILEWISE_BATCH_STRIDED;
    key->stride_a = LAYOUT(r, A, STRIDE);
    key->stride_b = LAYOUT(r, B, STRIDE);
    key->stride_c = LAYOUT(r, C, STRIDE);
    key->stride_d = LAYOUT(r, D, STRIDE);
}

/* cublasLt's mode + 1 where scales are given, so that 0 is none. */
static uint8_t scale_of(struct reading *r, int64_t pointer, int64_t mode)
{
    if (mode < 0 || mode > 100)
        mix(r, LTATTR_DESC_A_SCALE_MODE, mode);
    return pointer ? (uint8_t)(mode + 1) : 0;
}

static void set_scales(struct tilewise_signature *key, struct reading *r)
{
    key->scale_a = scale_of(r, DESC(r, A_SCALE_POINTER), DESC(r, A_SCALE_MODE));
    key->scale_b = scale_of(r, DESC(r, B_SCALE_POINTER), DESC(r, B_SCALE_MODE));
    key->scale_c = scale_of(r, DESC(r, C_SCALE_POINTER), DESC(r, C_SCALE_MODE));
    key->scale_d = scale_of(r, DESC(r, D_SCALE_POINTER), DESC(r, D_SCALE_MODE));
    if (DESC(r, FAST_ACCUM))
        key->flags |= TILEWISE_FAST_ACCUM;
    MIX_POINTER(r, AMAX_POINTER);
    MIX_POINTER(r, OUT_SCALE_POINTER);
    MIX_UNLESS(r, OUT_SCALE_MODE, 0);
    MIX_UNLESS(r, SM_COUNT, 0);
}

static void set_epilogue(struct tilewise_signature *key, struct reading *r)
{
    int64_t epilogue = DESC(r, EPILOGUE);
    if (epilogue < 0 || epilogue >= EPILOGUE_MOST)
        mix(r, LTATTR_DESC_EPILOGUE, epilogue);
    key->epilogue = epilogue == EPILOGUE_DEFAULT ? 0 : (uint16_t)(epilogue & (EPILOGUE_MOST - 1));
    if (epilogue & EPILOGUE_WITH_BIAS && DESC(r, BIAS_TYPE) != -1)
        key->epilogue |= (uint16_t)(dtype(r, DESC(r, BIAS_TYPE)) << BIAS_TYPE_SHIFT);
    MIX_UNLESS(r, BIAS_STRIDE, 0);
    MIX_UNLESS(r, ALPHA_STRIDE, 0);
    if (!(epilogue & EPILOGUE_AUX))
        return;
    mix(r, LTATTR_DESC_AUX_LD, DESC(r, AUX_LD));
    MIX_UNLESS(r, AUX_STRIDE, 0);
    MIX_UNLESS(r, AUX_TYPE, -1);
    MIX_UNLESS(r, AUX_SCALE_MODE, 0);
    MIX_POINTER(r, AUX_SCALE_POINTER);
    MIX_POINTER(r, AUX_AMAX_POINTER);
}

static HOT_NOT void make_key(struct tilewise_signature *key, const struct ltattr_library *library,
                             const struct matmul *call)
{
    struct reading r;
    read_all(&r, library, call);
    *key = (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .align_a = signature_align(call->a),
        .align_b = signature_align(call->b),
        .align_c = call->c ? signature_align(call->c) : 0,
        .align_d = signature_align(call->d),
        .entry = SLOT_cublasLtMatmul,
    };
    set_scalars(key, &r);
    set_types(key, &r);
    set_shape(key, &r);
    set_batch(key, &r);
    set_scales(key, &r);
    set_epilogue(key, &r);
    if (r.strange)
        key->flags |=
            (uint16_t)(TILEWISE_NOT_REPLAYABLE | (r.strange >> 8 & 0xff) << TILEWISE_OTHER_SHIFT);
}

/* The alignments that a key has, in one word. */
static uint32_t align_of(const struct matmul *call)
{
    return (uint32_t)signature_align(call->a) | (uint32_t)signature_align(call->b) << 8 |
           (call->c ? (uint32_t)signature_align(call->c) << 16 : 0) |
           (uint32_t)signature_align(call->d) << 24;
}

/* The calling thread's; NULL: nothing can be kept. */
static struct matmuls *kept(void)
{
    struct thread *t = tap_self.thread;
    if (t && __builtin_expect(!t->matmuls, 0))
        t->matmuls = pages_map(sizeof *t->matmuls);
    return t ? t->matmuls : NULL;
}

static const struct tilewise_signature *find_key(const struct matmuls *of, uint64_t hash,
                                                 const struct ltattr_library *library,
                                                 const struct matmul *call)
{
    for (int i = 0; i < WAYS; i++) {
        const struct matmuls_row *row = &of->row[hash % SETS][i];
        if (of->hash[hash % SETS][i] == hash && row->align == align_of(call) &&
            ltattr_is_kept(library, &call->objects, &row->content))
            return &row->key;
    }
    return NULL;
}

static void keep_key(struct matmuls *of, uint64_t hash, const struct ltattr_library *library,
                     const struct matmul *call, const struct tilewise_signature *key)
{
    uint32_t way = of->replaced++ % WAYS;
    struct matmuls_row *row = &of->row[hash % SETS][way];
    of->hash[hash % SETS][way] = hash;
    ltattr_keep(library, &call->objects, &row->content);
    row->align = align_of(call);
    row->key = *key;
}

static void leave_with(const struct gpu_call *call, const struct matmul *matmul,
                       const struct tilewise_signature *key)
{
    gpu_leave(call, matmul->stream, stream_number(matmul->stream), key);
}

/* The descriptors are read. `of` NULL: nothing is kept. */
static HOT_NOT void leave_unknown(const struct gpu_call *call, const struct matmul *matmul,
                                  const struct ltattr_library *library, struct matmuls *of,
                                  uint64_t hash)
{
    struct ltattr_library own;
    struct tilewise_signature key;
    make_key(&key, library ? library : learn(matmul->real, &own), matmul);
    if (of)
        keep_key(of, hash, library, matmul, &key);
    leave_with(call, matmul, &key);
}

static __attribute__((noinline)) void leave(const struct gpu_call *call,
                                            const struct matmul *matmul)
{
    const struct ltattr_library *library = find_library(matmul->real);
    struct matmuls *of = library && ltattr_are_open(library, &matmul->objects) ? kept() : NULL;
    uint64_t hash = of ? ltattr_hash(library, &matmul->objects) : 0;
    const struct tilewise_signature *key = of ? find_key(of, hash, library, matmul) : NULL;
    if (__builtin_expect(key != NULL, 1))
        leave_with(call, matmul, key);
    else
        leave_unknown(call, matmul, library, of, hash);
}

#define CUBLASLT_MATMUL_LEAVE                                                                      \
    leave(&call, &(struct matmul){ (const void *)(uintptr_t)real,                                  \
                                   a,                                                              \
                                   b,                                                              \
                                   c,                                                              \
                                   d,                                                              \
                                   { desc, { a_layout, b_layout, c_layout, d_layout } },           \
                                   stream })

#define ROW(family, symbol)                                                                        \
    HOOK cublasStatus_t symbol(family##_PARAMS);                                                   \
    INLINE cublasStatus_t run_##symbol(const void *caller, __typeof__(&symbol) real,               \
                                       family##_PARAMS)                                            \
    {                                                                                              \
        struct gpu_call call = gpu_enter(caller);                                                  \
        cublasStatus_t status = real(family##_ARGS);                                               \
        if (!call.mode)                                                                            \
            return status;                                                                         \
        call.end_ticks = clock_ticks();                                                            \
        if (status == SUCCESS)                                                                     \
            family##_LEAVE;                                                                        \
        else                                                                                       \
            gpu_fail(&call);                                                                       \
        return status;                                                                             \
    }                                                                                              \
    HOOK_DEFINE(cublasStatus_t, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/cublaslt.def"
#undef ROW

HOOK_TABLE(wrap_cublaslt_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/cublaslt.def"
#undef ROW
HOOK_TABLE_END
