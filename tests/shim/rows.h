/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of every family, with arguments that differ from each other in every place: how a host
 * makes it, what the library must receive, what the trace must say. Written by hand, next to the
 * tables and not derived from the recorder's own code. Operands are addresses that nobody may
 * touch.
 */
#ifndef TILEWISE_TESTS_SHIM_ROWS_H
#define TILEWISE_TESTS_SHIM_ROWS_H

#include "tracer/blas.h"

#define ROWS_A ((void *)0x11114)
#define ROWS_B ((void *)0x22228)
#define ROWS_C ((void *)0x33340)

static const float rows_two_real32[2] = { 2, 0 }, rows_one_real32[2] = { 1, 0 };
static const double rows_two_real64[2] = { 2, 0 }, rows_one_real64[2] = { 1, 0 };

/* Scalars as cblas takes them, by element; Fortran takes the pointers. */
#define ROWS_TWO_s          2.0f
#define ROWS_TWO_sb         2.0f
#define ROWS_TWO_d          2.0
#define ROWS_TWO_c          rows_two_real32
#define ROWS_TWO_z          rows_two_real64
#define ROWS_ONE_s          1.0f
#define ROWS_ONE_sb         1.0f
#define ROWS_ONE_d          1.0
#define ROWS_ONE_c          rows_one_real32
#define ROWS_ONE_z          rows_one_real64
#define ROWS_TWO_POINTER_s  rows_two_real32
#define ROWS_TWO_POINTER_sb rows_two_real32
#define ROWS_TWO_POINTER_d  rows_two_real64
#define ROWS_TWO_POINTER_c  rows_two_real32
#define ROWS_TWO_POINTER_z  rows_two_real64
#define ROWS_ONE_POINTER_s  rows_one_real32
#define ROWS_ONE_POINTER_sb rows_one_real32
#define ROWS_ONE_POINTER_d  rows_one_real64
#define ROWS_ONE_POINTER_c  rows_one_real32
#define ROWS_ONE_POINTER_z  rows_one_real64

/* The value behind a scalar, however it was passed. */
#define ROWS_VALUE_s(v)  (v)
#define ROWS_VALUE_sb(v) (v)
#define ROWS_VALUE_d(v)  (v)
#define ROWS_VALUE_c(v)  ((v)[1] == 0 ? (v)[0] : 0)
#define ROWS_VALUE_z(v)  ((v)[1] == 0 ? (v)[0] : 0)

#define REF(I, value) (&(const I){ value })

#define CBLAS_GEMM_CALL(f, I, T)                                                                   \
    f(102, 112, 111, 3, 5, 7, ROWS_TWO_##T, ROWS_A, 11, ROWS_B, 13, ROWS_ONE_##T, ROWS_C, 17)
#define CBLAS_GEMM_RECEIVED(T)                                                                     \
    (order == 102 && trans_a == 112 && trans_b == 111 && m == 3 && n == 5 && k == 7 &&             \
     ROWS_VALUE_##T(alpha) == 2 && a == ROWS_A && lda == 11 && b == ROWS_B && ldb == 13 &&         \
     ROWS_VALUE_##T(beta) == 1 && c == ROWS_C && ldc == 17)

#define CBLAS_SYRK_CALL(f, I, T)                                                                   \
    f(101, 121, 112, 5, 7, ROWS_TWO_##T, ROWS_A, 11, ROWS_ONE_##T, ROWS_C, 17)
#define CBLAS_SYRK_RECEIVED(T)                                                                     \
    (order == 101 && uplo == 121 && trans == 112 && n == 5 && k == 7 &&                            \
     ROWS_VALUE_##T(alpha) == 2 && a == ROWS_A && lda == 11 && ROWS_VALUE_##T(beta) == 1 &&        \
     c == ROWS_C && ldc == 17)

#define CBLAS_GEMV_CALL(f, I, T)                                                                   \
    f(101, 112, 3, 5, ROWS_TWO_##T, ROWS_A, 11, ROWS_B, 13, ROWS_ONE_##T, ROWS_C, 17)
#define CBLAS_GEMV_RECEIVED(T)                                                                     \
    (order == 101 && trans == 112 && m == 3 && n == 5 && ROWS_VALUE_##T(alpha) == 2 &&             \
     a == ROWS_A && lda == 11 && x == ROWS_B && incx == 13 && ROWS_VALUE_##T(beta) == 1 &&         \
     y == ROWS_C && incy == 17)

#define CBLAS_AXPY_CALL(f, I, T) f(5, ROWS_TWO_##T, ROWS_B, 13, ROWS_C, 17)
#define CBLAS_AXPY_RECEIVED(T)                                                                     \
    (n == 5 && ROWS_VALUE_##T(alpha) == 2 && x == ROWS_B && incx == 13 && y == ROWS_C && incy == 17)

#define FORTRAN_GEMM_CALL(f, I, T)                                                                 \
    f("t", "N", REF(I, 3), REF(I, 5), REF(I, 7), ROWS_TWO_POINTER_##T, ROWS_A, REF(I, 11), ROWS_B, \
      REF(I, 13), ROWS_ONE_POINTER_##T, ROWS_C, REF(I, 17), 101, 102)
#define FORTRAN_GEMM_RECEIVED(T)                                                                   \
    (*trans_a == 't' && *trans_b == 'N' && *m == 3 && *n == 5 && *k == 7 && *alpha == 2 &&         \
     a == ROWS_A && *lda == 11 && b == ROWS_B && *ldb == 13 && *beta == 1 && c == ROWS_C &&        \
     *ldc == 17 && hidden_a == 101 && hidden_b == 102)

#define FORTRAN_SYRK_CALL(f, I, T)                                                                 \
    f("U", "T", REF(I, 5), REF(I, 7), ROWS_TWO_POINTER_##T, ROWS_A, REF(I, 11),                    \
      ROWS_ONE_POINTER_##T, ROWS_C, REF(I, 17), 101, 102)
#define FORTRAN_SYRK_RECEIVED(T)                                                                   \
    (*uplo == 'U' && *trans == 'T' && *n == 5 && *k == 7 && *alpha == 2 && a == ROWS_A &&          \
     *lda == 11 && *beta == 1 && c == ROWS_C && *ldc == 17 && hidden_uplo == 101 &&                \
     hidden_trans == 102)

#define FORTRAN_GEMV_CALL(f, I, T)                                                                 \
    f("T", REF(I, 3), REF(I, 5), ROWS_TWO_POINTER_##T, ROWS_A, REF(I, 11), ROWS_B, REF(I, 13),     \
      ROWS_ONE_POINTER_##T, ROWS_C, REF(I, 17), 101)
#define FORTRAN_GEMV_RECEIVED(T)                                                                   \
    (*trans == 'T' && *m == 3 && *n == 5 && *alpha == 2 && a == ROWS_A && *lda == 11 &&            \
     x == ROWS_B && *incx == 13 && *beta == 1 && y == ROWS_C && *incy == 17 &&                     \
     hidden_trans == 101)

#define FORTRAN_AXPY_CALL(f, I, T)                                                                 \
    f(REF(I, 5), ROWS_TWO_POINTER_##T, ROWS_B, REF(I, 13), ROWS_C, REF(I, 17))
#define FORTRAN_AXPY_RECEIVED(T)                                                                   \
    (*n == 5 && *alpha == 2 && x == ROWS_B && *incx == 13 && y == ROWS_C && *incy == 17)

/* What the trace says of these calls, but for types and entry point. */
#define ROWS_COMMON .batch = 1, .align_b = 3, .align_c = 4, .align_d = 4, .alpha = 2, .beta = 1
#define ROWS_GEMM                                                                                  \
    .op = TILEWISE_OP_GEMM, .trans_a = TILEWISE_T, .align_a = 2, .m = 3, .n = 5, .k = 7,           \
    .lda = 11, .ldb = 13, .ldc = 17, .ldd = 17
#define ROWS_SYRK                                                                                  \
    .op = TILEWISE_OP_GEMM, .trans_a = TILEWISE_T, .uplo = TILEWISE_UPPER, .align_a = 2, .m = 5,   \
    .n = 5, .k = 7, .lda = 11, .ldb = 11, .ldc = 17, .ldd = 17
#define ROWS_GEMV                                                                                  \
    .op = TILEWISE_OP_GEMV, .trans_a = TILEWISE_T, .align_a = 2, .m = 3, .n = 5, .k = 1,           \
    .lda = 11, .ldb = 13, .ldc = 17, .ldd = 17
#define ROWS_AXPY .op = TILEWISE_OP_ADD, .m = 5, .n = 1, .k = 1, .ldb = 13, .ldc = 17, .ldd = 17

#define CBLAS_GEMM_SIGNATURE                                                                       \
    {                                                                                              \
        ROWS_COMMON, ROWS_GEMM                                                                     \
    }
#define CBLAS_SYRK_SIGNATURE                                                                       \
    {                                                                                              \
        ROWS_COMMON, ROWS_SYRK, .layout = TILEWISE_ROW_MAJOR                                       \
    }
#define CBLAS_GEMV_SIGNATURE                                                                       \
    {                                                                                              \
        ROWS_COMMON, ROWS_GEMV, .layout = TILEWISE_ROW_MAJOR                                       \
    }
#define CBLAS_AXPY_SIGNATURE                                                                       \
    {                                                                                              \
        ROWS_COMMON, ROWS_AXPY                                                                     \
    }
#define FORTRAN_GEMM_SIGNATURE                                                                     \
    {                                                                                              \
        ROWS_COMMON, ROWS_GEMM                                                                     \
    }
#define FORTRAN_SYRK_SIGNATURE                                                                     \
    {                                                                                              \
        ROWS_COMMON, ROWS_SYRK                                                                     \
    }
#define FORTRAN_GEMV_SIGNATURE                                                                     \
    {                                                                                              \
        ROWS_COMMON, ROWS_GEMV                                                                     \
    }
#define FORTRAN_AXPY_SIGNATURE                                                                     \
    {                                                                                              \
        ROWS_COMMON, ROWS_AXPY                                                                     \
    }

#endif
