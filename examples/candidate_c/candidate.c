/* SPDX-License-Identifier: Apache-2.0
 *
 * A complete plug-in for tilewise: two candidates, a matrix product in f32 and in f64, of one set
 * of functions. It is an example of the interface, not of a fast kernel; but all of it is checked
 * like any other. docs/candidate-abi.md says what each field means.
 *
 *   cc -O3 -shared -fPIC -I/path/to/tilewise candidate.c -o candidate.so
 *   tilewise kernels --candidate $PWD/candidate.so
 *   tilewise replay --candidate $PWD/candidate.so TRACE.twt
 */
#include <errno.h>
#include <stdbool.h>

#include "replayer/candidate.h"

/* What makes one row of the table another than the next: self->context. */
struct kind {
    enum tilewise_dtype dtype;
    size_t element_bytes;
};
static const struct kind single = { TILEWISE_F32, sizeof(float) };
static const struct kind twice = { TILEWISE_F64, sizeof(double) };

/* Say 1 only for what run() really does. Whatever is not looked at here will be given: a call with
 * a batch, a triangle, an epilogue, conjugates, other types, rows instead of columns. */
static int supports(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    const struct kind *kind = self->context;
    bool types = s->dtype_a == kind->dtype && s->dtype_b == kind->dtype &&
                 s->dtype_c == kind->dtype && s->compute == kind->dtype && s->scale == kind->dtype;
    bool plain = s->batch_kind == TILEWISE_BATCH_NONE && s->uplo == TILEWISE_FULL &&
                 s->epilogue == 0 && s->scale_a == 0 && s->scale_b == 0 && s->flags == 0;
    /* cublasLt may write D somewhere else than C; this kernel knows C alone. */
    bool in_place = s->ldd == 0 || (s->ldd == s->ldc && s->dtype_d == s->dtype_c);
    bool trans = s->trans_a != TILEWISE_N || s->trans_b != TILEWISE_N;
    return s->op == TILEWISE_OP_GEMM && types && plain && in_place && !trans;
}

/* The signature is as it was called: cuBLAS and Fortran in columns, CBLAS often in rows. */
struct step {
    int64_t row, column; /* elements to the next */
};
static struct step step_of(const struct tilewise_signature *s, int64_t ld)
{
    bool rows = s->layout == TILEWISE_ROW_MAJOR;
    return (struct step){ rows ? ld : 1, rows ? 1 : ld };
}

/* One row of A as a line. The replayer allocates it, and overwrites what lies behind it. */
static size_t scratch_bytes(const struct tilewise_candidate *self,
                            const struct tilewise_signature *s, uint32_t threads)
{
    const struct kind *kind = self->context;
    (void)threads; /* this one computes in the calling thread */
    return (size_t)s->k * kind->element_bytes;
}

/* The same text for both types. C is not read when beta is 0: it holds NaN then. */
#define PRODUCT(name, real)                                                                        \
    static void name(const struct tilewise_signature *s, const struct tilewise_args *args)         \
    {                                                                                              \
        const real *a = args->a, *b = args->b, alpha = *(const real *)args->alpha;                 \
        const real beta = *(const real *)args->beta;                                               \
        real *c = args->c, *line = args->scratch;                                                  \
        struct step sa = step_of(s, s->lda), sb = step_of(s, s->ldb), sc = step_of(s, s->ldc);     \
        for (int64_t i = 0; i < s->m; i++) {                                                       \
            for (int64_t p = 0; p < s->k; p++)                                                     \
                line[p] = a[i * sa.row + p * sa.column];                                           \
            for (int64_t j = 0; j < s->n; j++) {                                                   \
                real sum = 0, *at = &c[i * sc.row + j * sc.column];                                \
                for (int64_t p = 0; p < s->k; p++)                                                 \
                    sum += line[p] * b[p * sb.row + j * sb.column];                                \
                *at = beta == 0 ? alpha * sum : alpha * sum + beta * *at;                          \
            }                                                                                      \
        }                                                                                          \
    }
PRODUCT(multiply_single, float)
PRODUCT(multiply_double, double)
#undef PRODUCT

static int run(const struct tilewise_candidate *self, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    const struct kind *kind = self->context;
    if (args->abi != TILEWISE_CANDIDATE_ABI || args->bytes < sizeof *args)
        return -EINVAL; /* another tilewise than this was built for */
    if (kind->dtype == TILEWISE_F64)
        multiply_double(s, args);
    else
        multiply_single(s, args);
    return 0;
}

/* init, complaint and flags are left out: nothing has to be prepared, nothing can fail, and the
 * same operands always give the same bits. */
#define ROW(what, kind)                                                                            \
    {                                                                                              \
        .abi = TILEWISE_CANDIDATE_ABI, .bytes = sizeof(struct tilewise_candidate), .name = what,   \
        .target = "cpu", .summary = "example: a row of A at a time", .supports = supports,         \
        .scratch_bytes = scratch_bytes, .run = run, .context = &kind                               \
    }
static const struct tilewise_candidate rows[] = {
    ROW("example_gemm_f32", single),
    ROW("example_gemm_f64", twice),
};

static const struct tilewise_candidate *const table[] = { &rows[0], &rows[1] };

/* The one symbol that a plug-in exports. */
const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count);
const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count)
{
    *count = sizeof table / sizeof table[0];
    return abi == TILEWISE_CANDIDATE_ABI ? table : NULL;
}
