/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix times a few vectors: A is read once, in order, and everything else stays in L1. One
 * function per number of vectors and per orientation of A. Uses gemm_template.h.
 */

enum { THIN_ROWS = 1024 }; /* rows of A whose sums are kept in L1 */

/* Columns of A (contiguous) taken at once by thin_columns: no more, because columns a power of two
 * apart share their places in L1. Each asks for its like in the next two groups. */
enum { THIN_STEPS = 2 };

/* Rows of A taken at once by thin_rows. */
#if VECTOR_BYTES == 64
#define THIN_DOTS(columns) ((columns) == 1 ? 8 : 4)
#else
#define THIN_DOTS(columns) ((columns) == 1 ? 4 : 2)
#endif

struct thin {
    const real *a;
    int64_t step; /* elements between columns (thin_columns) or rows (thin_rows) of A */
    const real *x[ISA_THIN];
    int64_t x_step;      /* elements between the steps of one x */
    int64_t rows, depth; /* of A */
    real *sums;          /* [column][THIN_ROWS] */
};

/* sums += `steps` columns of A times their x, over all rows. */
SIMD_INLINE void thin_columns_step(const struct thin *t, int64_t p, const int columns,
                                   const int steps)
{
    vec x[THIN_STEPS][ISA_THIN];
    SIMD_FOR (s, steps)
        SIMD_FOR (c, columns)
            x[s][c] = vec_all(t->x[c][(p + s) * t->x_step]);
    const real *a = t->a + p * t->step;
    for (int64_t i = 0; i < t->rows; i += VL) {
        vec sum[ISA_THIN];
        bool full = t->rows - i >= VL;
        vec_mask mask = vec_first(t->rows - i);
        SIMD_FOR (c, columns)
            sum[c] = vec_load(t->sums + c * THIN_ROWS + i);
        SIMD_FOR (s, steps) {
            const real *from = a + s * t->step + i;
            vec y = full ? vec_load(from) : vec_load_part(from, mask);
            __builtin_prefetch(from + THIN_STEPS * t->step);
            __builtin_prefetch(from + 2 * THIN_STEPS * t->step);
            SIMD_FOR (c, columns)
                sum[c] = vec_fma(y, x[s][c], sum[c]);
        }
        SIMD_FOR (c, columns)
            vec_store(t->sums + c * THIN_ROWS + i, sum[c]);
    }
}

SIMD_INLINE void thin_columns(const struct thin *t, const int columns)
{
    int64_t p = 0;
    for (int c = 0; c < columns; c++)
        for (int64_t i = 0; i < t->rows; i += VL)
            vec_store(t->sums + c * THIN_ROWS + i, vec_all(0));
    for (; p + THIN_STEPS <= t->depth; p += THIN_STEPS)
        thin_columns_step(t, p, columns, THIN_STEPS);
    for (; p < t->depth; p++)
        thin_columns_step(t, p, columns, 1);
}

/* sum[c][d] += A[i + d][p ...] x[c][p ...], one vector of steps. */
SIMD_INLINE void thin_rows_vector(const struct thin *t, vec sum[ISA_THIN][8], const real *a,
                                  int64_t p, const int columns, const int dots, const bool part)
{
    vec_mask mask = vec_first(t->depth - p);
    vec x[ISA_THIN];
    SIMD_FOR (c, columns)
        x[c] = part ? vec_load_part(t->x[c] + p, mask) : vec_load(t->x[c] + p);
    SIMD_FOR (d, dots) {
        const real *from = a + d * t->step + p;
        vec y = part ? vec_load_part(from, mask) : vec_load(from);
        SIMD_FOR (c, columns)
            sum[c][d] = vec_fma(y, x[c], sum[c][d]);
    }
}

/* Dot products of `dots` rows of A, from row i on, with every x (contiguous here). */
SIMD_INLINE void thin_rows_step(const struct thin *t, int64_t i, const int columns, const int dots)
{
    vec sum[ISA_THIN][8];
    SIMD_FOR (c, columns)
        SIMD_FOR (d, dots)
            sum[c][d] = vec_all(0);
    const real *a = t->a + i * t->step;
    int64_t p = 0;
    for (; p + VL <= t->depth; p += VL)
        thin_rows_vector(t, sum, a, p, columns, dots, false);
    if (p < t->depth)
        thin_rows_vector(t, sum, a, p, columns, dots, true);
    SIMD_FOR (c, columns)
        SIMD_UNROLL
    for (int d = 0; d < dots; d += VL)
        vec_sums(t->sums + c * THIN_ROWS + i + d, sum[c] + d, dots < VL ? dots : VL);
}

SIMD_INLINE void thin_rows(const struct thin *t, const int columns)
{
    int64_t i = 0;
    for (; i + THIN_DOTS(columns) <= t->rows; i += THIN_DOTS(columns))
        thin_rows_step(t, i, columns, THIN_DOTS(columns));
    for (; i < t->rows; i++)
        thin_rows_step(t, i, columns, 1);
}

typedef void thin_fn(const struct thin *t);

#define X(way, columns)                                                                            \
    static void way##_##columns(const struct thin *t)                                              \
    {                                                                                              \
        way(t, columns);                                                                           \
    }
X(thin_columns, 1)
X(thin_columns, 2)
X(thin_columns, 3)
X(thin_columns, 4)
X(thin_rows, 1)
X(thin_rows, 2)
X(thin_rows, 3)
X(thin_rows, 4)
#undef X

static thin_fn *const thin_table[2][ISA_THIN + 1] = {
    { NULL, thin_columns_1, thin_columns_2, thin_columns_3, thin_columns_4 },
    { NULL, thin_rows_1, thin_rows_2, thin_rows_3, thin_rows_4 },
};

/* C = alpha sums + beta C for the rows from `first` on. */
static void thin_finish(const struct blas_call *call, const struct thin *t, int64_t first)
{
    real alpha = (real)call->alpha, beta = (real)call->beta;
    for (int64_t j = 0; j < call->n; j++) {
        real *c = (real *)call->c.base + first * call->c.row + j * call->c.column;
        const real *sum = t->sums + j * THIN_ROWS;
        if (beta == 0)
            for (int64_t i = 0; i < t->rows; i++)
                c[i * call->c.row] = alpha * sum[i];
        else
            for (int64_t i = 0; i < t->rows; i++)
                c[i * call->c.row] = alpha * sum[i] + beta * c[i * call->c.row];
    }
}

static size_t thin_bytes(int64_t n, int64_t k)
{
    return (size_t)(n * (THIN_ROWS + round_up(k, VL))) * sizeof(real);
}

/* The vectors x, made contiguous when A is read along k and they are not. */
static void thin_vectors(const struct blas_call *call, struct thin *t, real *room, bool contiguous)
{
    t->x_step = call->b.row;
    for (int64_t j = 0; j < call->n; j++)
        t->x[j] = element(call->b, 0, j);
    if (!contiguous || call->b.row == 1)
        return;
    for (int64_t j = 0; j < call->n; j++, room += call->k) {
        for (int64_t p = 0; p < call->k; p++)
            room[p] = t->x[j][p * call->b.row];
        t->x[j] = room;
    }
}

static void thin_run(const struct blas_call *call, void *scratch)
{
    bool by_rows = call->a.row != 1;
    struct thin t = { .step = by_rows ? call->a.row : call->a.column,
                      .depth = call->k,
                      .sums = scratch };
    thin_vectors(call, &t, t.sums + call->n * THIN_ROWS, by_rows);
    for (int64_t i = 0; i < call->m; i += THIN_ROWS) {
        t.a = element(call->a, i, 0);
        t.rows = smaller(call->m - i, THIN_ROWS);
        thin_table[by_rows][call->n](&t);
        thin_finish(call, &t, i);
    }
}
