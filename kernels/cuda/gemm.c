/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA gemm candidates: any gemm or gemv with strided batches, any sizes, transposes, leading
 * dimensions and alignment. One that picks its tile by the sizes for each family, and one for each
 * tile of its own.
 */
#include "kernels/cuda/gemm.h"

#include <errno.h>
#include <math.h>

#include "kernels/cuda/operand.h"

/* What a plan is made for: multiprocessors and shared memory of an H100 or H200. On another GPU the
 * result is the same, the time may not be. */
enum { PROCESSORS = 132, SHARED_BYTES = 227 * 1024, THREADS_MAX = 1024, SPLITS_MAX = 16 };
enum { STEPS_PER_SPLIT_MIN = 4, FEW_ROWS = 32, SKINNY_WAITS_MAX = 2 };

/* A vector has no second step: choose the one that makes its elements a line. */
static void make_matrices(struct cuda_gemm_problem *p)
{
    if (p->n != 1)
        return;
    p->b.column = p->b.row == 1 ? p->k : 1;
    p->c.column = p->c.row == 1 ? p->m : 1;
}

/* C in columns is the transpose of a C in rows. */
static void orient(struct cuda_gemm_problem *p)
{
    bool is_row = p->n == 1 && p->c.row == 1;
    if (p->c.column == 1 && !is_row)
        return;
    struct cuda_matrix a = p->a;
    int64_t m = p->m;
    p->a = cuda_read_transposed(p->b);
    p->b = cuda_read_transposed(a);
    p->c = cuda_read_transposed(p->c);
    p->m = p->n;
    p->n = m;
}

/* The signature as rows of C (launch.h), k in one part. */
static struct cuda_gemm_problem problem_of(const struct tilewise_signature *s,
                                           const struct tilewise_args *args)
{
    struct cuda_read_call r = cuda_read(s, args);
    struct cuda_gemm_problem p = {
        .a = r.a,
        .b = r.b,
        .c = r.c,
        .m = r.call.m,
        .n = r.call.n,
        .k = r.call.k,
        .batches = r.batches,
        .alpha = r.call.alpha,
        .beta = r.call.beta,
        .splits = 1,
        .stream = args->stream,
    };
    make_matrices(&p);
    orient(&p);
    return p;
}

/* Without operands. */
static struct cuda_gemm_problem shape_of(const struct tilewise_signature *s)
{
    const double one = 1;
    struct tilewise_signature doubles = *s;
    struct tilewise_args args = { .alpha = &one, .beta = &one };
    doubles.scale = TILEWISE_F64;
    return problem_of(&doubles, &args);
}

static double blocks_of(const struct cuda_gemm_tile *t, const struct cuda_gemm_problem *p)
{
    double rows = ceil((double)p->m / t->m), columns = ceil((double)p->n / t->n);
    return rows * columns * (double)p->batches;
}

/* Blocks that run at once. */
static double room_for(const struct cuda_gemm_tile *t)
{
    int by_shared = SHARED_BYTES / (t->shared_bytes + 1024);
    int by_threads = THREADS_MAX / t->threads;
    int each = by_shared < by_threads ? by_shared : by_threads;
    return (double)PROCESSORS * (each < 1 ? 1 : each > 2 ? 2 : each);
}

/* Work of all waves with this tile, padding included. A small tile reads its operands more often
 * for each product. */
static double cost_of(const struct cuda_gemm_tile *t, const struct cuda_gemm_problem *p)
{
    double waves = ceil(blocks_of(t, p) / room_for(t));
    double reads = 1. / t->m + 1. / t->n;
    return waves * t->m * t->n * (1 + 24 * reads);
}

static bool takes_any(enum cuda_gemm_family family, size_t tile)
{
    bool by_element = family == CUDA_GEMM_F32 || family == CUDA_GEMM_F64;
    return by_element || tile + 1 == cuda_gemm_tile_count(family);
}

/* Where the tiles leave multiprocessors idle, parts of k fill them. A skinny tile keeps one busy by
 * itself, and the second pass over its parts takes as long as a small product. */
static int splits_for(const struct cuda_gemm_tile *t, const struct cuda_gemm_problem *p)
{
    double steps = ceil((double)p->k / t->k), blocks = blocks_of(t, p);
    double wanted = floor((t->is_skinny ? PROCESSORS : room_for(t)) / blocks);
    double possible = floor(steps / STEPS_PER_SPLIT_MIN);
    double splits = fmin(fmin(wanted, possible), SPLITS_MAX);
    return splits < 2 ? 1 : (int)splits;
}

/* Alignment apart. */
static bool suits(const struct cuda_gemm_tile *t, const struct cuda_gemm_problem *p)
{
    bool along_k = p->a.column == 1 && p->b.row == 1;
    return !t->is_skinny || (p->m <= t->m && along_k && p->k % 8 == 0);
}

/* How often the warps of a skinny tile ask for all that fits into their registers and wait for it,
 * one wave of blocks after another. The other tiles ask ahead. */
static double waits_of(const struct cuda_gemm_tile *t, const struct cuda_gemm_problem *p)
{
    int splits = splits_for(t, p), in_flight = CUDA_GEMM_SKINNY_STEPS / (p->m > 8 ? 2 : 1);
    double waves = ceil(blocks_of(t, p) * splits / room_for(t));
    return waves * ceil((double)p->k / splits / t->k / in_flight);
}

static size_t best_tile(enum cuda_gemm_family family, const struct cuda_gemm_problem *p,
                        bool whole_chunks)
{
    size_t count = cuda_gemm_tile_count(family), best = count;
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        const struct cuda_gemm_tile *t = cuda_gemm_tile_of(family, i);
        bool has_few_rows = t->m <= FEW_ROWS;
        double cost = cost_of(t, p);
        if (!whole_chunks && !takes_any(family, i))
            continue;
        if (t->is_skinny && suits(t, p) && waits_of(t, p) <= SKINNY_WAITS_MAX)
            return i;
        if (t->is_skinny)
            continue;
        if (has_few_rows && p->m > t->m)
            continue;
        if (has_few_rows) /* made for reading B once, at any number of blocks */
            cost = t->m;
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    return best;
}

struct cuda_gemm_plan cuda_gemm_plan(enum cuda_gemm_family family, size_t tile,
                                     const struct cuda_gemm_problem *p, bool whole_chunks)
{
    struct cuda_gemm_plan plan = { tile, 1 };
    if (tile == CUDA_GEMM_ANY_TILE)
        plan.tile = best_tile(family, p, whole_chunks);
    else if ((!whole_chunks && !takes_any(family, tile)) ||
             !suits(cuda_gemm_tile_of(family, tile), p))
        plan.tile = cuda_gemm_tile_count(family) - 1;
    plan.splits = splits_for(cuda_gemm_tile_of(family, plan.tile), p);
    return plan;
}

/* The context of a candidate. */
struct row {
    enum cuda_gemm_family family;
    size_t tile;
};

/* What each family multiplies and sums in. */
struct family {
    uint8_t dtype, compute, other_compute, other_result;
    uint8_t element_bytes, sum_bytes;
};

static const struct family families[] = {
    [CUDA_GEMM_F16] = { TILEWISE_F16, TILEWISE_F32, TILEWISE_F16, TILEWISE_F32, 2, 4 },
    [CUDA_GEMM_BF16] = { TILEWISE_BF16, TILEWISE_F32, TILEWISE_F32, TILEWISE_F32, 2, 4 },
    [CUDA_GEMM_TF32] = { TILEWISE_F32, TILEWISE_TF32, TILEWISE_TF32, TILEWISE_F32, 4, 4 },
    [CUDA_GEMM_F32] = { TILEWISE_F32, TILEWISE_F32, TILEWISE_NONE, TILEWISE_F32, 4, 4 },
    [CUDA_GEMM_F64] = { TILEWISE_F64, TILEWISE_F64, TILEWISE_NONE, TILEWISE_F64, 8, 8 },
};

static int supports(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    const struct row *row = self->context;
    const struct family *f = &families[row->family];
    bool op = s->op == TILEWISE_OP_GEMM || s->op == TILEWISE_OP_GEMV;
    uint8_t type = cuda_read_result_dtype(s);
    bool result = type == f->dtype || type == f->other_result;
    bool compute = s->compute == f->compute || s->compute == f->other_compute;
    bool one_target = s->op == TILEWISE_OP_GEMV && s->ldc == 0;
    bool plain = op && !one_target && s->uplo == TILEWISE_FULL && s->dtype_a == f->dtype &&
                 s->dtype_b == f->dtype && result && compute && cuda_read_is_plain(s);
    if (!plain || row->tile == CUDA_GEMM_ANY_TILE)
        return plain;
    struct cuda_gemm_problem p = shape_of(s);
    return suits(cuda_gemm_tile_of(row->family, row->tile), &p);
}

static size_t partial_bytes(const struct row *row, const struct cuda_gemm_problem *p,
                            bool whole_chunks)
{
    struct cuda_gemm_plan plan = cuda_gemm_plan(row->family, row->tile, p, whole_chunks);
    double bytes = (double)plan.splits * (double)p->m * (double)p->n * (double)p->batches *
                   families[row->family].sum_bytes;
    return plan.splits > 1 ? (size_t)bytes : 0;
}

/* The alignment is known when the operands are: enough for either. */
static size_t scratch_bytes(const struct tilewise_candidate *self,
                            const struct tilewise_signature *s, uint32_t threads)
{
    (void)threads;
    struct cuda_gemm_problem p = shape_of(s);
    size_t whole = partial_bytes(self->context, &p, true);
    size_t any = partial_bytes(self->context, &p, false);
    return whole > any ? whole : any;
}

static int run(const struct tilewise_candidate *self, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    const struct row *row = self->context;
    struct cuda_gemm_problem p = problem_of(s, args);
    int bytes = families[row->family].element_bytes;
    bool whole_chunks =
        operand_alignment(&p.a, bytes) == 16 && operand_alignment(&p.b, bytes) == 16;
    struct cuda_gemm_plan plan = cuda_gemm_plan(row->family, row->tile, &p, whole_chunks);
    p.splits = plan.splits;
    p.partial = args->scratch;
    return cuda_gemm_launch(row->family, plan.tile, &p);
}

/* clang-format off */
#define GEMM(id, family_number, tile_number, text)                                                 \
    static const struct row row_##id = { .family = family_number, .tile = tile_number };           \
    extern const struct tilewise_candidate id;                                                     \
    const struct tilewise_candidate id = {                                                         \
        .abi = TILEWISE_CANDIDATE_ABI, .bytes = sizeof(struct tilewise_candidate),                 \
        .name = #id, .target = "cuda", .summary = text, .context = &row_##id,                      \
        .supports = supports, .scratch_bytes = scratch_bytes, .run = run,                          \
    };
/* clang-format on */
#define ADD(id, dtype, text)
#include "kernels/cuda/candidates.def"
#undef ADD
#undef GEMM
