/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA add candidates: y = alpha x + y for vectors with any increments and for matrices, with
 * strided batches; x and y of one type. Not with incy = 0, where all steps meet in one element.
 */
#include "kernels/cuda/read.h"

/* A candidate's context is its element type. */
static int supports(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    enum tilewise_dtype dtype = *(const enum tilewise_dtype *)self->context;
    enum tilewise_dtype sum = dtype == TILEWISE_F64 ? TILEWISE_F64 : TILEWISE_F32;
    bool one_target = s->n == 1 && s->ldc == 0;
    bool compute = s->compute == sum || s->compute == TILEWISE_NONE;
    return s->op == TILEWISE_OP_ADD && s->dtype_b == dtype && s->dtype_c == dtype &&
           s->scale == sum && compute && !one_target && cuda_read_is_plain(s);
}

/* Lines along memory, and a matrix without gaps as one line. */
static void orient(struct cuda_add_problem *p)
{
    if (p->n != 1 && p->y.row != 1) {
        int64_t m = p->m;
        p->x = cuda_read_transposed(p->x);
        p->y = cuda_read_transposed(p->y);
        p->m = p->n;
        p->n = m;
    }
    if (p->n > 1 && p->x.row == 1 && p->y.row == 1 && p->x.column == p->m && p->y.column == p->m) {
        p->m *= p->n;
        p->n = 1;
        p->x.column = p->y.column = 0;
    }
}

static int run(const struct tilewise_candidate *self, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    (void)self;
    struct cuda_read_call r = cuda_read(s, args);
    struct cuda_add_problem p = {
        .x = r.b,
        .y = r.c,
        .m = r.call.m,
        .n = r.call.n,
        .batches = r.batches,
        .alpha = r.call.alpha,
        .stream = args->stream,
    };
    orient(&p);
    return cuda_add_launch(&p);
}

/* clang-format off */
#define ADD(id, element, text)                                                                     \
    static const enum tilewise_dtype dtype_##id = element;                                         \
    extern const struct tilewise_candidate id;                                                     \
    const struct tilewise_candidate id = {                                                         \
        .abi = TILEWISE_CANDIDATE_ABI, .bytes = sizeof(struct tilewise_candidate),                 \
        .name = #id, .target = "cuda", .summary = text,                                            \
        .supports = supports, .run = run, .context = &dtype_##id,                                  \
    };
/* clang-format on */
#define GEMM(id, family, tile, text)
#include "kernels/cuda/candidates.def"
#undef GEMM
#undef ADD
