/* SPDX-License-Identifier: Apache-2.0
 *
 * A plug-in of CUDA kernels that are wrong in one way each, as kernels have been seen to be, and of
 * some that are right: `wrong_FAULT_TYPE` must fail on every shape that it takes (it takes those on
 * which its fault shows), `right_WAY_TYPE` must pass, `varies_WAY_TYPE` must pass and be called not
 * deterministic. The same file runs emulated (tests/emulation/test_wrong.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define _Static_assert static_assert
#include "replayer/candidate.h"
#include "traces/dtype.h"
#include "wrong_kernels.cuh"

namespace
{
/* ---- which types ---- */

enum { F32 = 1, F16 = 2, BF16 = 4, TF32 = 8, ALL = 15, REAL = F32 | F16 | BF16 };

struct type {
    const char *name;
    unsigned bit;
    uint8_t dtype, compute;
};
const struct type types[] = {
    { "f32", F32, TILEWISE_F32, TILEWISE_F32 },
    { "f16", F16, TILEWISE_F16, TILEWISE_F32 },
    { "bf16", BF16, TILEWISE_BF16, TILEWISE_F32 },
    { "tf32", TF32, TILEWISE_F32, TILEWISE_TF32 },
};
enum { TYPES = sizeof types / sizeof types[0] };

/* ---- what is wrong ---- */

enum course {
    LAUNCH,
    NOTHING,          /* is launched */
    REFUSED,          /* run() says so */
    FIRST_CALLS_ONLY, /* then what they left is thought good for ever */
    ONCE_PER_POINTER, /* a known C is thought done */
    KEPT_RESULT,      /* of the first call, in the scratch memory */
    LAST_BLOCK_LEFT_OUT,
    TOO_MANY_THREADS, /* nothing is launched, and nobody asks */
    OTHER_STREAM,     /* that nobody waits for */
    ATOMIC_SPLITS,    /* right, but the order of the sums is any */
    ATOMIC_SPLITS_UNCLEARED,
    FIRST_SPLIT_ONLY,
};

using signature = struct tilewise_signature;
typedef bool shows_fn(const signature *s);
typedef void wreck_fn(struct wrong_problem *p, const signature *s);

struct fault {
    const char *kind, *name;
    unsigned types;
    enum flaw flaw;
    enum course course;
    shows_fn *shows = nullptr; /* everywhere */
    wreck_fn *wreck = nullptr; /* the arguments */
};

bool is_transposed(unsigned trans)
{
    return trans == TILEWISE_T || trans == TILEWISE_C;
}

/* Elements of a line of C, A or B as they lie in memory. */
int64_t line_of_c(const signature *s)
{
    return s->layout == TILEWISE_ROW_MAJOR ? s->n : s->m;
}
bool a_lies_along_k(const signature *s)
{
    return (s->layout == TILEWISE_ROW_MAJOR) != is_transposed(s->trans_a);
}
bool b_lies_along_k(const signature *s)
{
    return (s->layout == TILEWISE_ROW_MAJOR) == is_transposed(s->trans_b);
}

bool has_batches(const signature *s)
{
    return s->batch > 1;
}
bool has_edge(const signature *s)
{
    return s->m % WRONG_TILE || s->n % WRONG_TILE;
}
bool has_steps(const signature *s)
{
    return s->k > WRONG_TILE;
}
bool has_many_steps(const signature *s)
{
    return s->k >= 256 && s->m * s->n >= 1024;
}
bool has_no_beta(const signature *s)
{
    return s->beta == TILEWISE_SCALAR_ZERO;
}
bool has_beta(const signature *s)
{
    return s->beta == TILEWISE_SCALAR_ONE || s->beta == TILEWISE_SCALAR_OTHER;
}
bool has_alpha(const signature *s)
{
    return s->alpha == TILEWISE_SCALAR_OTHER;
}
bool has_gap(const signature *s)
{
    return s->ldc > line_of_c(s) && (s->n > 1 || s->op == TILEWISE_OP_GEMM);
}
bool is_matrix(const signature *s)
{
    return s->n > 1;
}

void turn(struct wrong_operand *o)
{
    int64_t row = o->row;
    o->row = o->column;
    o->column = row;
}

/* clang-format off */
const struct fault gemm_faults[] = {
    { "right", "plain", ALL, FLAW_NONE, LAUNCH },
    { "right", "backwards", ALL, FLAW_BACKWARDS, LAUNCH },
    { "varies", "atomics", F32 | TF32, FLAW_NONE, ATOMIC_SPLITS, has_many_steps },

    /* launches */
    { "wrong", "nothing", ALL, FLAW_NONE, NOTHING },
    { "wrong", "refused", F32, FLAW_NONE, REFUSED },
    { "wrong", "stale", F32 | F16, FLAW_NONE, FIRST_CALLS_ONLY },
    { "wrong", "known_pointer", BF16 | TF32, FLAW_NONE, ONCE_PER_POINTER },
    { "wrong", "kept_result", F32 | BF16, FLAW_NONE, KEPT_RESULT, has_no_beta },
    { "wrong", "last_block", F32 | BF16, FLAW_NONE, LAST_BLOCK_LEFT_OUT },
    { "wrong", "too_many_threads", F32 | BF16, FLAW_NONE, TOO_MANY_THREADS },
    { "wrong", "other_stream", ALL, FLAW_NONE, OTHER_STREAM },
    { "wrong", "uncleared", F32 | BF16, FLAW_NONE, ATOMIC_SPLITS_UNCLEARED, has_steps },
    { "wrong", "first_split", F32 | F16, FLAW_NONE, FIRST_SPLIT_ONLY, has_steps },

    /* inside */
    { "wrong", "edge", ALL, FLAW_EDGE, LAUNCH, has_edge },
    { "wrong", "no_sync", ALL, FLAW_NO_SYNC, LAUNCH, has_steps },
    { "wrong", "late_sync", ALL, FLAW_LATE_SYNC, LAUNCH, has_steps },
    { "wrong", "sum_bf16", F32 | F16 | TF32, FLAW_SUM_BF16, LAUNCH, has_steps },
    { "wrong", "sum_f16", F32 | TF32, FLAW_SUM_F16, LAUNCH, has_steps },
    { "wrong", "input_bf16", F32 | TF32, FLAW_INPUT_BF16, LAUNCH },
    { "wrong", "input_f16", F32, FLAW_INPUT_F16, LAUNCH },
    { "wrong", "input_tf32", F32, FLAW_INPUT_TF32, LAUNCH },
    { "wrong", "nan_hidden", ALL, FLAW_NAN_HIDDEN, LAUNCH },
    { "wrong", "inf_lost", ALL, FLAW_INF_LOST, LAUNCH },
    { "wrong", "negative_lost", F32 | F16, FLAW_NEGATIVE_LOST, LAUNCH },
    { "wrong", "truncated", F16 | BF16, FLAW_TRUNCATED, LAUNCH },
    { "wrong", "c_read", ALL, FLAW_C_READ, LAUNCH, has_no_beta },
    { "wrong", "rows_swapped", F16 | BF16, FLAW_ROWS_SWAPPED, LAUNCH, [](const signature *s) { return s->m > WRONG_TILE / 2; } },
    { "wrong", "one_element", ALL, FLAW_ONE_ELEMENT, LAUNCH },
    { "wrong", "writes_gap", F32 | F16, FLAW_WRITES_GAP, LAUNCH, has_gap },
    { "wrong", "writes_behind", ALL, FLAW_WRITES_BEHIND, LAUNCH },
    { "wrong", "writes_before", F32 | BF16, FLAW_WRITES_BEFORE, LAUNCH },
    { "wrong", "changes_a", F32 | F16, FLAW_CHANGES_A, LAUNCH },
    { "wrong", "changes_b", BF16 | TF32, FLAW_CHANGES_B, LAUNCH },

    /* arguments */
    { "wrong", "alpha", ALL, FLAW_NONE, LAUNCH, nullptr, [](wrong_problem *p, const signature *) { p->alpha *= 1.0625f; } },
    { "wrong", "alpha_ignored", F32 | F16, FLAW_NONE, LAUNCH, has_alpha, [](wrong_problem *p, const signature *) { p->alpha = 1; } },
    { "wrong", "beta_ignored", F32 | BF16, FLAW_NONE, LAUNCH, has_beta, [](wrong_problem *p, const signature *) { p->beta = 0; } },
    { "wrong", "beta_twice", F16 | TF32, FLAW_NONE, LAUNCH, has_beta, [](wrong_problem *p, const signature *) { p->beta *= 2; } },
    { "wrong", "first_batch", ALL, FLAW_NONE, LAUNCH, has_batches, [](wrong_problem *p, const signature *) { p->batches = 1; } },
    { "wrong", "last_batch", F16 | TF32, FLAW_NONE, LAUNCH, has_batches, [](wrong_problem *p, const signature *) { p->batches--; } },
    { "wrong", "one_b_for_all", F32 | BF16, FLAW_NONE, LAUNCH, has_batches, [](wrong_problem *p, const signature *) { p->b.batch = 0; } },
    { "wrong", "a_transposed", F32 | F16, FLAW_NONE, LAUNCH, [](const signature *s) { return s->m == s->k && s->m > 1; },
      [](wrong_problem *p, const signature *) { turn(&p->a); } },
    { "wrong", "b_transposed", BF16 | TF32, FLAW_NONE, LAUNCH, [](const signature *s) { return s->n == s->k && s->n > 1; },
      [](wrong_problem *p, const signature *) { turn(&p->b); } },
    { "wrong", "c_transposed", F32 | BF16, FLAW_NONE, LAUNCH, [](const signature *s) { return s->n == s->m && s->n > 1; },
      [](wrong_problem *p, const signature *) { turn(&p->c); } },
    { "wrong", "last_k_tile", ALL, FLAW_NONE, LAUNCH, [](const signature *s) { return s->k % WRONG_TILE != 0; },
      [](wrong_problem *p, const signature *) { p->k -= p->k % WRONG_TILE; } },
    { "wrong", "k_less", ALL, FLAW_NONE, LAUNCH, [](const signature *s) { return s->k > 1; },
      [](wrong_problem *p, const signature *) { p->k--; } },
    { "wrong", "k_more", F32 | F16, FLAW_NONE, LAUNCH, [](const signature *s) { return a_lies_along_k(s) && b_lies_along_k(s); },
      [](wrong_problem *p, const signature *) { p->k++; } },
    { "wrong", "ldc", F32 | BF16, FLAW_NONE, LAUNCH, [](const signature *s) { return has_gap(s) && s->m > 1 && s->n > 1; },
      [](wrong_problem *p, const signature *s) { (p->c.row == 1 ? p->c.column : p->c.row) = line_of_c(s); } },
    { "wrong", "lda", F16 | TF32, FLAW_NONE, LAUNCH, [](const signature *s) { return s->m > 1 && s->k > 1 && s->lda > (a_lies_along_k(s) ? s->k : s->m); },
      [](wrong_problem *p, const signature *s) { (p->a.row == 1 ? p->a.column : p->a.row) = a_lies_along_k(s) ? s->k : s->m; } },
};

const struct fault add_faults[] = {
    { "right", "add", REAL, FLAW_NONE, LAUNCH },
    { "wrong", "add_nothing", REAL, FLAW_NONE, NOTHING },
    { "wrong", "add_stale", F32, FLAW_NONE, FIRST_CALLS_ONLY },
    { "wrong", "add_other_stream", BF16, FLAW_NONE, OTHER_STREAM },
    { "wrong", "add_tail", REAL, FLAW_EDGE, LAUNCH, [](const signature *s) { return s->m % WRONG_TILE != 0; } },
    { "wrong", "add_via_bf16", F32 | F16, FLAW_INPUT_BF16, LAUNCH },
    { "wrong", "add_truncated", F16 | BF16, FLAW_TRUNCATED, LAUNCH },
    { "wrong", "add_one_ulp", REAL, FLAW_ONE_ULP, LAUNCH },
    { "wrong", "add_nan_hidden", REAL, FLAW_NAN_HIDDEN, LAUNCH },
    { "wrong", "add_inf_lost", REAL, FLAW_INF_LOST, LAUNCH },
    { "wrong", "add_writes_behind", F32 | BF16, FLAW_WRITES_BEHIND, LAUNCH },
    { "wrong", "add_writes_gap", F16, FLAW_WRITES_GAP, LAUNCH, [](const signature *s) { return is_matrix(s) && has_gap(s); } },
    { "wrong", "add_changes_x", F32, FLAW_CHANGES_B, LAUNCH },
    { "wrong", "add_alpha_ignored", F32 | F16, FLAW_NONE, LAUNCH, has_alpha, [](wrong_problem *p, const signature *) { p->alpha = 1; } },
    { "wrong", "add_first_batch", F32 | BF16, FLAW_NONE, LAUNCH, has_batches, [](wrong_problem *p, const signature *) { p->batches = 1; } },
    { "wrong", "add_ldb", F32 | F16, FLAW_NONE, LAUNCH, [](const signature *s) { return is_matrix(s) && s->m > 1 && s->ldb > line_of_c(s); },
      [](wrong_problem *p, const signature *s) { (p->b.row == 1 ? p->b.column : p->b.row) = line_of_c(s); } },
};
/* clang-format on */

/* ---- candidates ---- */

enum { CANDIDATES_MAX = 256, NAME_BYTES = 40 };

/* The context of a candidate, and what those remember that remember. */
struct row {
    struct tilewise_candidate candidate;
    const struct fault *fault;
    const struct type *type;
    char name[NAME_BYTES];
    unsigned calls;
    const void *last_c;
};
struct row rows[CANDIDATES_MAX];
const struct tilewise_candidate *table[CANDIDATES_MAX];
size_t row_count;

struct row *row_of(const struct tilewise_candidate *self)
{
    return (struct row *)self->context;
}

bool is_add(const struct row *row)
{
    return row->fault >= add_faults &&
           row->fault < add_faults + sizeof add_faults / sizeof add_faults[0];
}

int supports(const struct tilewise_candidate *self, const signature *s)
{
    const struct row *row = row_of(self);
    const struct type *t = row->type;
    bool add = is_add(row);
    bool operands = add ? s->op == TILEWISE_OP_ADD && s->ldb >= 1 && s->ldc >= 1
                        : s->op == TILEWISE_OP_GEMM && s->dtype_a == t->dtype;
    bool compute =
        add ? s->compute == TILEWISE_F32 || s->compute == TILEWISE_NONE : s->compute == t->compute;
    bool result = (s->dtype_d == s->dtype_c || s->dtype_d == TILEWISE_NONE) &&
                  (s->ldd == 0 || s->ldd == s->ldc) &&
                  (s->stride_d == 0 || s->stride_d == s->stride_c);
    bool plain = s->uplo == TILEWISE_FULL && s->epilogue == 0 && s->flags == 0 &&
                 (s->batch_kind == TILEWISE_BATCH_NONE || s->batch_kind == TILEWISE_BATCH_STRIDED);
    bool scaled = s->alpha != TILEWISE_SCALAR_ZERO && s->scale == TILEWISE_F32;
    bool right = operands && compute && result && plain && scaled && s->dtype_b == t->dtype &&
                 s->dtype_c == t->dtype;
    return right && (row->fault->shows == NULL || row->fault->shows(s));
}

size_t scratch_bytes(const struct tilewise_candidate *self, const signature *s, uint32_t)
{
    enum course course = row_of(self)->fault->course;
    bool wants = course == KEPT_RESULT || course == ATOMIC_SPLITS ||
                 course == ATOMIC_SPLITS_UNCLEARED || course == FIRST_SPLIT_ONLY;
    return wants ? (size_t)(s->m * s->n * s->batch) * sizeof(float) : 0;
}

struct wrong_operand operand(const void *base, int64_t ld, bool by_rows, int64_t batch)
{
    return { (void *)base, by_rows ? ld : 1, by_rows ? 1 : ld, batch };
}

struct wrong_problem problem_of(const struct row *row, const signature *s,
                                const struct tilewise_args *args)
{
    struct wrong_problem p = {};
    bool by_rows = s->layout == TILEWISE_ROW_MAJOR, batched = s->batch_kind != TILEWISE_BATCH_NONE;
    bool vector = s->op == TILEWISE_OP_ADD && s->n == 1; /* ldb and ldc are increments */
    p.a = operand(args->a, s->lda, by_rows != is_transposed(s->trans_a), batched ? s->stride_a : 0);
    p.b = operand(args->b, s->ldb, vector || by_rows != is_transposed(s->trans_b),
                  batched ? s->stride_b : 0);
    p.c = operand(args->c, s->ldc, vector || by_rows, batched ? s->stride_c : 0);
    p.m = s->m;
    p.n = s->n;
    p.k = s->k;
    p.batches = s->batch;
    p.alpha = *(const float *)args->alpha;
    p.beta = s->op == TILEWISE_OP_ADD ? 1 : *(const float *)args->beta;
    p.as_tf32 = row->type->bit == TF32;
    p.flaw = row->fault->flaw;
    p.splits = 1;
    return p;
}

#ifndef TILEWISE_EMULATION
cudaStream_t other_stream;

int init(const struct tilewise_candidate *self)
{
    if (row_of(self)->fault->course != OTHER_STREAM || other_stream)
        return 0;
    return cudaStreamCreateWithFlags(&other_stream, cudaStreamNonBlocking) == cudaSuccess ? 0
                                                                                          : -EIO;
}

__global__ void wait_long()
{
    for (int i = 0; i < 20000; i++)
        __nanosleep(1000);
}

void *stream_of(const struct row *row, void *stream)
{
    if (row->fault->course != OTHER_STREAM)
        return stream;
    wait_long<<<1, 1, 0, other_stream>>>();
    return other_stream;
}
const bool is_emulated = false;
#else
int init(const struct tilewise_candidate *)
{
    return 0;
}
void *stream_of(const struct row *, void *stream)
{
    return stream;
}
/* There a launch is done at once, and none is refused. */
const bool is_emulated = true;
#endif

dim3 some_blocks(int64_t count)
{
    int64_t blocks = (count + WRONG_THREADS - 1) / WRONG_THREADS;
    return dim3((unsigned)(blocks < 256 ? blocks : 256));
}

template <typename T>
void launch_gemm(const struct row *row, const struct wrong_problem &p, void *stream)
{
    enum course course = row->fault->course;
    int64_t tiles = (p.m + WRONG_TILE - 1) / WRONG_TILE * ((p.n + WRONG_TILE - 1) / WRONG_TILE);
    dim3 grid((unsigned)(tiles - (course == LAST_BLOCK_LEFT_OUT)),
              (unsigned)(course == FIRST_SPLIT_ONLY ? 1 : p.splits), (unsigned)p.batches);
    int threads = course == TOO_MANY_THREADS ? 2048 : WRONG_THREADS;
    bool never = is_emulated && (course == TOO_MANY_THREADS || course == OTHER_STREAM);
    if (grid.x > 0 && !never)
        device_launch(wrong_gemm<T>, grid, threads, WRONG_SHARED_BYTES, stream, p);
}

template <typename T>
void launch_splits(const struct row *row, struct wrong_problem p, float *partial, void *stream)
{
    int64_t steps = (p.k + WRONG_TILE - 1) / WRONG_TILE, count = p.m * p.n * p.batches;
    p.splits = (int)(steps < 32 ? steps : 32);
    p.partial = partial;
    if (row->fault->course != ATOMIC_SPLITS_UNCLEARED)
        device_launch(wrong_clear, some_blocks(count), WRONG_THREADS, 0, stream, partial, count);
    launch_gemm<T>(row, p, stream);
    device_launch(wrong_finish<T>, some_blocks(count), WRONG_THREADS, 0, stream, p);
}

template <typename T>
void launch_kept(struct row *row, const struct wrong_problem &p, T *kept, void *stream)
{
    bool again = row->calls > 1;
    if (!again)
        launch_gemm<T>(row, p, stream);
    device_launch(wrong_copy<T>, some_blocks(p.m * p.n * p.batches), WRONG_THREADS, 0, stream, p,
                  kept, again);
}

template <typename T>
void launch(struct row *row, const struct wrong_problem &p, const struct tilewise_args *args)
{
    void *stream = stream_of(row, args->stream);
    if (is_add(row)) {
        if (!is_emulated || row->fault->course != OTHER_STREAM)
            device_launch(wrong_add<T>, some_blocks(p.m * p.n * p.batches), WRONG_THREADS, 0,
                          stream, p);
        return;
    }
    switch (row->fault->course) {
    case ATOMIC_SPLITS:
    case ATOMIC_SPLITS_UNCLEARED:
    case FIRST_SPLIT_ONLY:
        return launch_splits<T>(row, p, (float *)args->scratch, stream);
    case KEPT_RESULT:
        return launch_kept<T>(row, p, (T *)args->scratch, stream);
    default:
        return launch_gemm<T>(row, p, stream);
    }
}

/* Is there nothing to do, as this one sees it? */
bool is_done(struct row *row, const void *c)
{
    bool known = row->last_c == c;
    row->last_c = c;
    row->calls++;
    switch (row->fault->course) {
    case NOTHING:
        return true;
    case FIRST_CALLS_ONLY:
        return row->calls > 2;
    case ONCE_PER_POINTER:
        return known;
    default:
        return false;
    }
}

int run(const struct tilewise_candidate *self, const signature *s, const struct tilewise_args *args)
{
    struct row *row = row_of(self);
    struct wrong_problem p = problem_of(row, s, args);
    if (row->fault->course == REFUSED)
        return -EIO;
    if (is_done(row, args->c))
        return 0;
    if (row->fault->wreck)
        row->fault->wreck(&p, s);
    switch (row->type->dtype) {
    case TILEWISE_F16:
        launch<__half>(row, p, args);
        break;
    case TILEWISE_BF16:
        launch<__nv_bfloat16>(row, p, args);
        break;
    default:
        launch<float>(row, p, args);
    }
    return device_failed() && row->fault->course != TOO_MANY_THREADS ? -EIO : 0;
}

void add_rows(const struct fault *faults, size_t count)
{
    for (size_t f = 0; f < count; f++)
        for (size_t t = 0; t < TYPES; t++) {
            struct row *row = &rows[row_count];
            if (!(faults[f].types & types[t].bit) || row_count == CANDIDATES_MAX)
                continue;
            snprintf(row->name, sizeof row->name, "%s_%s_%s", faults[f].kind, faults[f].name,
                     types[t].name);
            row->fault = &faults[f];
            row->type = &types[t];
            row->candidate.abi = TILEWISE_CANDIDATE_ABI;
            row->candidate.bytes = sizeof row->candidate;
            row->candidate.name = row->name;
            row->candidate.target = "cuda";
            row->candidate.summary = faults[f].kind;
            row->candidate.supports = supports;
            row->candidate.scratch_bytes = scratch_bytes;
            row->candidate.init = init;
            row->candidate.run = run;
            row->candidate.context = row;
            table[row_count++] = &row->candidate;
        }
}
} // namespace

extern "C" const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count)
{
    if (abi != TILEWISE_CANDIDATE_ABI)
        return NULL;
    if (row_count == 0) {
        add_rows(gemm_faults, sizeof gemm_faults / sizeof gemm_faults[0]);
        add_rows(add_faults, sizeof add_faults / sizeof add_faults[0]);
    }
    *count = row_count;
    return table;
}
