/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that look like CBLAS: each writes its signature down and hands over to
 * tilewise_tile_run().
 */
#include <errno.h>
#include <stdbool.h>

#include "kernels/tile.h"
#include "replayer/candidate.h"

enum { BAD = 0xff }; /* no layout or transpose: signature_is_sane() refuses it */

static uint8_t layout_of(int layout)
{
    return layout == TILEWISE_CALL_ROW_MAJOR   ? TILEWISE_ROW_MAJOR
           : layout == TILEWISE_CALL_COL_MAJOR ? TILEWISE_COL_MAJOR
                                               : BAD;
}

static uint8_t trans_of(int trans)
{
    return trans >= TILEWISE_CALL_N && trans <= TILEWISE_CALL_C
               ? (uint8_t)(trans - TILEWISE_CALL_N + TILEWISE_N)
               : BAD;
}

static uint8_t class_of(double value)
{
    return value == 0   ? TILEWISE_SCALAR_ZERO
           : value == 1 ? TILEWISE_SCALAR_ONE
                        : TILEWISE_SCALAR_OTHER;
}

static struct tilewise_signature signature_of(enum tilewise_op op, uint8_t dtype, int layout,
                                              const double scalars[2])
{
    return (struct tilewise_signature){
        .op = (uint8_t)op,
        .layout = layout_of(layout),
        .dtype_a = op == TILEWISE_OP_ADD ? TILEWISE_NONE : dtype,
        .dtype_b = dtype,
        .dtype_c = dtype,
        .dtype_d = dtype,
        .compute = dtype,
        .scale = dtype,
        .alpha = class_of(scalars[0]),
        .beta = class_of(scalars[1]),
        .batch = 1,
        .k = 1,
    };
}

/* A matrix add has lines of this length, a vector has increments. */
static bool add_is_sane(const struct tilewise_signature *s)
{
    int64_t line = s->layout == TILEWISE_ROW_MAJOR ? s->n : s->m;
    return s->op != TILEWISE_OP_ADD || s->n == 1 || (s->ldb >= line && s->ldc >= line);
}

static int run(struct tilewise_signature *s, const struct tilewise_args *args)
{
    s->ldd = s->ldc;
    if (!signature_is_sane(s) || !add_is_sane(s))
        return -EINVAL;
    return tilewise_tile_run(s, args);
}

/* clang-format off */
#define GEMM(name, real, dtype)                                                                    \
    int name(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, real alpha,    \
             const real *a, int64_t lda, const real *b, int64_t ldb, real beta, real *c,           \
             int64_t ldc)                                                                          \
    {                                                                                              \
        struct tilewise_signature s = signature_of(TILEWISE_OP_GEMM, dtype, layout,                \
                                                   (double[]){ alpha, beta });                     \
        s.trans_a = trans_of(trans_a), s.trans_b = trans_of(trans_b);                              \
        s.m = m, s.n = n, s.k = k, s.lda = lda, s.ldb = ldb, s.ldc = ldc;                          \
        return run(&s, &(struct tilewise_args){ .a = a, .b = b, .c = c, .alpha = &alpha,           \
                                                .beta = &beta });                                  \
    }
GEMM(tilewise_sgemm, float, TILEWISE_F32)
GEMM(tilewise_dgemm, double, TILEWISE_F64)
#undef GEMM

#define GEMV(name, real, dtype)                                                                    \
    int name(int layout, int trans, int64_t m, int64_t n, real alpha, const real *a, int64_t lda,  \
             const real *x, int64_t incx, real beta, real *y, int64_t incy)                        \
    {                                                                                              \
        struct tilewise_signature s = signature_of(TILEWISE_OP_GEMV, dtype, layout,                \
                                                   (double[]){ alpha, beta });                     \
        s.trans_a = trans_of(trans);                                                               \
        s.m = m, s.n = n, s.lda = lda, s.ldb = incx, s.ldc = incy;                                 \
        return run(&s, &(struct tilewise_args){ .a = a, .b = x, .c = y, .alpha = &alpha,           \
                                                .beta = &beta });                                  \
    }
GEMV(tilewise_sgemv, float, TILEWISE_F32)
GEMV(tilewise_dgemv, double, TILEWISE_F64)
#undef GEMV

/* A matrix of one column is a vector whose increment is 1 when it lies in columns, and its leading
 * dimension when it lies in rows. */
static int64_t step_of(int layout, int64_t columns, int64_t ld)
{
    return columns == 1 && layout == TILEWISE_CALL_COL_MAJOR ? 1 : ld;
}

#define ADD(name, real, dtype)                                                                     \
    int name(int layout, int64_t m, int64_t n, real alpha, const real *x, int64_t ldx, real *y,    \
             int64_t ldy)                                                                          \
    {                                                                                              \
        struct tilewise_signature s = signature_of(TILEWISE_OP_ADD, dtype, layout,                 \
                                                   (double[]){ alpha, 1 });                        \
        s.m = m, s.n = n, s.ldb = step_of(layout, n, ldx), s.ldc = step_of(layout, n, ldy);        \
        return run(&s, &(struct tilewise_args){ .b = x, .c = y, .alpha = &alpha });                \
    }
ADD(tilewise_sadd, float, TILEWISE_F32)
ADD(tilewise_dadd, double, TILEWISE_F64)
#undef ADD

#define AXPY(name, real, dtype)                                                                    \
    int name(int64_t n, real alpha, const real *x, int64_t incx, real *y, int64_t incy)            \
    {                                                                                              \
        struct tilewise_signature s = signature_of(TILEWISE_OP_ADD, dtype,                         \
                                                   TILEWISE_CALL_COL_MAJOR,                        \
                                                   (double[]){ alpha, 1 });                        \
        s.m = n, s.n = 1, s.ldb = incx, s.ldc = incy;                                              \
        return run(&s, &(struct tilewise_args){ .b = x, .c = y, .alpha = &alpha });                \
    }
AXPY(tilewise_saxpy, float, TILEWISE_F32)
AXPY(tilewise_daxpy, double, TILEWISE_F64)
#undef AXPY
/* clang-format on */
