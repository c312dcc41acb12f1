/* SPDX-License-Identifier: Apache-2.0
 *
 * What is right. ref_compute() is the reference of every verification; the candidate "ref" is the
 * same arithmetic written as three plain loops.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/blas.h"
#include "kernels/builtin.h"
#include "traces/number.h"

enum { ROWS = 256, COLUMNS = 64, DEPTH = 64 }; /* blocks that stay in the caches */

static double load(struct blas_matrix x, unsigned dtype, int64_t i, int64_t j)
{
    return number_load(dtype, x.base, i * x.row + j * x.column);
}

static void store(struct blas_matrix x, unsigned dtype, int64_t at, long double value)
{
    if (dtype == TILEWISE_F64)
        ((double *)x.base)[at] = (double)value;
    else
        ((float *)x.base)[at] = (float)value;
}

/* alpha sum + beta c without reading c when beta is zero. */
static long double combine(const struct blas_call *call, unsigned dtype, long double sum, int64_t i,
                           int64_t j)
{
    long double old = call->beta == 0 ? 0 : (long double)call->beta * load(call->c, dtype, i, j);
    return call->alpha == 0 ? old : call->alpha * sum + old;
}

/* One step of y = alpha x + y, rounded once to the element type: what a bit-exact add returns. */
static double add_rounded(unsigned dtype, double alpha, double x, double y)
{
    return dtype == TILEWISE_F64 ? fma(alpha, x, y)
                                 : (double)fmaf((float)alpha, (float)x, (float)y);
}

/* One block of the sum: values in three arrays, so that the compiler can use vectors. */
struct block {
    double high[COLUMNS][ROWS], low[COLUMNS][ROWS], magnitude[COLUMNS][ROWS];
    double a[DEPTH][ROWS];
};

/* high + low += a b in twice the precision (Dekker's sum, and the product's error by fma), so that
 * an f64 kernel is checked by something better than itself. */
__attribute__((always_inline)) static inline void accumulate(double *restrict high,
                                                             double *restrict low,
                                                             double *restrict magnitude,
                                                             const double *restrict a, double b)
{
    for (int i = 0; i < ROWS; i++) {
        double product = a[i] * b;
        double error = __builtin_fma(a[i], b, -product);
        double sum = high[i] + product;
        double part = sum - high[i];
        low[i] += (high[i] - (sum - part)) + (product - part) + error;
        high[i] = sum;
        magnitude[i] += fabs(product);
    }
}

typedef void accumulate_fn(struct block *x, int64_t j, int64_t p, double b);

static void accumulate_plain(struct block *x, int64_t j, int64_t p, double b)
{
    accumulate(x->high[j], x->low[j], x->magnitude[j], x->a[p], b);
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void accumulate_fma(struct block *x, int64_t j,
                                                               int64_t p, double b)
{
    accumulate(x->high[j], x->low[j], x->magnitude[j], x->a[p], b);
}
#endif

static accumulate_fn *choose_accumulate(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return accumulate_fma;
#endif
    return accumulate_plain;
}

struct range {
    int64_t begin, count;
};

static struct range range_of(int64_t begin, int64_t end, int64_t most)
{
    return (struct range){ begin, end - begin < most ? end - begin : most };
}

/* Sum one block of rows and columns over all of k. Rows behind the end are zero. */
static void sum_block(struct block *x, const struct tilewise_signature *s,
                      const struct blas_call *call, struct range rows, struct range columns)
{
    accumulate_fn *step = choose_accumulate();
    memset(x, 0, sizeof *x);
    for (int64_t p0 = 0; p0 < call->k; p0 += DEPTH) {
        struct range depth = range_of(p0, call->k, DEPTH);
        for (int64_t p = 0; p < depth.count; p++)
            for (int64_t i = 0; i < rows.count; i++)
                x->a[p][i] = load(call->a, s->dtype_a, rows.begin + i, p0 + p);
        for (int64_t j = 0; j < columns.count; j++)
            for (int64_t p = 0; p < depth.count; p++)
                step(x, j, p, load(call->b, s->dtype_b, p0 + p, columns.begin + j));
    }
}

static void finish_block(const struct block *x, const struct tilewise_signature *s,
                         const struct blas_call *call, struct range rows, struct range columns,
                         double *out[2])
{
    for (int64_t j = 0; j < columns.count; j++)
        for (int64_t i = 0; i < rows.count; i++) {
            int64_t row = rows.begin + i, column = columns.begin + j;
            int64_t at = row + column * call->m;
            if (!blas_writes(call, row, column)) {
                out[0][at] = 0;
                out[1][at] = -1;
                continue;
            }
            /* After an overflow the low part is NaN and the high part says what IEEE says. */
            long double sum = x->high[j][i];
            if (isfinite(x->high[j][i]))
                sum += x->low[j][i];
            out[0][at] = (double)combine(call, s->dtype_c, sum, row, column);
            out[1][at] = call->alpha == 0 ? 0 : fabs(call->alpha) * x->magnitude[j][i];
            if (call->beta != 0)
                out[1][at] += fabs(call->beta * load(call->c, s->dtype_c, row, column));
        }
}

static int compute_product(const struct tilewise_signature *s, struct blas_call call,
                           double *result, double *magnitude)
{
    struct block *x = malloc(sizeof *x);
    if (x == NULL)
        return -ENOMEM;
    if (call.alpha == 0)
        call.k = 0; /* BLAS does not read A and B then */
    for (int64_t j = 0; j < call.n; j += COLUMNS)
        for (int64_t i = 0; i < call.m; i += ROWS) {
            struct range rows = range_of(i, call.m, ROWS), columns = range_of(j, call.n, COLUMNS);
            sum_block(x, s, &call, rows, columns);
            finish_block(x, s, &call, rows, columns, (double *[2]){ result, magnitude });
        }
    free(x);
    return 0;
}

static void compute_add(const struct tilewise_signature *s, const struct blas_call *call,
                        double *result, double *magnitude)
{
    bool one_target = call->n == 1 && call->c.row == 0; /* incy = 0: all steps add to one y */
    for (int64_t j = 0; j < call->n; j++)
        for (int64_t i = 0; i < call->m; i++) {
            int64_t at = i + j * call->m;
            double x = load(call->b, s->dtype_b, i, j);
            double y = one_target && i > 0 ? result[at - 1] : load(call->c, s->dtype_c, i, j);
            result[at] = call->alpha == 0 ? y : add_rounded(s->dtype_c, call->alpha, x, y);
            magnitude[at] = call->alpha == 0 ? fabs(y) : fabs(call->alpha * x) + fabs(y);
        }
    for (int64_t i = 0; one_target && i < call->m; i++)
        result[i] = result[call->m - 1];
}

static bool is_known(const struct tilewise_signature *s)
{
    struct tilewise_signature probe = *s;
    probe.dtype_a = probe.dtype_b = probe.dtype_c = probe.dtype_d = TILEWISE_F64;
    probe.compute = probe.scale = TILEWISE_F64;
    bool scale = s->scale == TILEWISE_F32 || s->scale == TILEWISE_F64;
    bool a = s->op == TILEWISE_OP_ADD || number_is_known(s->dtype_a);
    return blas_is_plain(&probe, TILEWISE_F64) && scale && a && number_is_known(s->dtype_b) &&
           number_is_known(s->dtype_c);
}

int ref_compute(const struct tilewise_signature *s, const struct tilewise_args *args,
                double *result, double *magnitude)
{
    if (!is_known(s))
        return -ENOTSUP;
    int error = 0;
    for (int64_t index = 0; index < blas_batches(s) && error == 0; index++) {
        struct blas_call call = blas_read(s, args, index);
        if (s->op == TILEWISE_OP_ADD)
            compute_add(s, &call, result, magnitude);
        else
            error = compute_product(s, call, result, magnitude);
        result += call.m * call.n;
        magnitude += call.m * call.n;
    }
    return error;
}

static int supports(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    (void)self;
    return blas_is_plain(s, TILEWISE_F32) || blas_is_plain(s, TILEWISE_F64);
}

static void run_one(const struct tilewise_signature *s, const struct blas_call *call)
{
    for (int64_t j = 0; j < call->n; j++)
        for (int64_t i = 0; i < call->m; i++) {
            int64_t at = i * call->c.row + j * call->c.column;
            long double sum = 0;
            if (!blas_writes(call, i, j))
                continue;
            for (int64_t p = 0; p < call->k && call->alpha != 0; p++)
                sum +=
                    (long double)load(call->a, s->dtype_a, i, p) * load(call->b, s->dtype_b, p, j);
            store(call->c, s->dtype_c, at, combine(call, s->dtype_c, sum, i, j));
        }
}

static void run_add(const struct tilewise_signature *s, const struct blas_call *call)
{
    for (int64_t j = 0; j < call->n && call->alpha != 0; j++)
        for (int64_t i = 0; i < call->m; i++) {
            double x = load(call->b, s->dtype_b, i, j), y = load(call->c, s->dtype_c, i, j);
            int64_t at = i * call->c.row + j * call->c.column;
            store(call->c, s->dtype_c, at, add_rounded(s->dtype_c, call->alpha, x, y));
        }
}

static int run(const struct tilewise_candidate *self, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    (void)self;
    for (int64_t index = 0; index < blas_batches(s); index++) {
        struct blas_call call = blas_read(s, args, index);
        if (s->op == TILEWISE_OP_ADD)
            run_add(s, &call);
        else
            run_one(s, &call);
    }
    return 0;
}

const struct tilewise_candidate ref_candidate = {
    .abi = TILEWISE_CANDIDATE_ABI,
    .bytes = sizeof(struct tilewise_candidate),
    .name = "ref",
    .target = "cpu",
    .summary = "three plain loops in long double: slow, any gemm, gemv or add in f32 or f64",
    .supports = supports,
    .run = run,
};
