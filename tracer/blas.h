/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU BLAS as the tables cblas.def and fblas.def name it: argument lists by family, and how the
 * arguments of a call become a signature. Scalars of CPU BLAS live in host memory by definition, so
 * alpha and beta are read to tell 0 and 1 from the rest; no operand is ever touched.
 */
#ifndef TILEWISE_TRACER_BLAS_H
#define TILEWISE_TRACER_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/signature.h"

/* How the scalars of an element type are passed: cblas by value where they are real, by pointer
 * where they are complex; Fortran always by pointer. */
typedef float blas_value_s, blas_value_sb;
typedef double blas_value_d;
typedef const float *blas_value_c;
typedef const double *blas_value_z;
typedef const float *blas_pointer_s, *blas_pointer_sb, *blas_pointer_c;
typedef const double *blas_pointer_d, *blas_pointer_z;

struct blas_element {
    uint8_t in, out, compute; /* enum tilewise_dtype */
    bool complex;
};
#define BLAS_ELEMENT_s  ((struct blas_element){ TILEWISE_F32, TILEWISE_F32, TILEWISE_F32, false })
#define BLAS_ELEMENT_d  ((struct blas_element){ TILEWISE_F64, TILEWISE_F64, TILEWISE_F64, false })
#define BLAS_ELEMENT_c  ((struct blas_element){ TILEWISE_C64, TILEWISE_C64, TILEWISE_C64, true })
#define BLAS_ELEMENT_z  ((struct blas_element){ TILEWISE_C128, TILEWISE_C128, TILEWISE_C128, true })
#define BLAS_ELEMENT_sb ((struct blas_element){ TILEWISE_BF16, TILEWISE_F32, TILEWISE_F32, false })

static inline uint8_t blas_class(double real, double imaginary)
{
    if (imaginary != 0)
        return TILEWISE_SCALAR_OTHER;
    return real == 0   ? TILEWISE_SCALAR_ZERO
           : real == 1 ? TILEWISE_SCALAR_ONE
                       : TILEWISE_SCALAR_OTHER;
}

/* Scalars as passed, to a class. A null pointer is left to the library to complain about. */
#define BLAS_READ(p, imaginary) ((p) ? blas_class((p)[0], imaginary) : TILEWISE_SCALAR_UNREAD)
#define BLAS_BY_VALUE_s(v)      blas_class(v, 0)
#define BLAS_BY_VALUE_sb(v)     blas_class(v, 0)
#define BLAS_BY_VALUE_d(v)      blas_class(v, 0)
#define BLAS_BY_VALUE_c(v)      BLAS_READ(v, (v)[1])
#define BLAS_BY_VALUE_z(v)      BLAS_READ(v, (v)[1])
#define BLAS_BY_POINTER_s(v)    BLAS_READ(v, 0)
#define BLAS_BY_POINTER_sb(v)   BLAS_READ(v, 0)
#define BLAS_BY_POINTER_d(v)    BLAS_READ(v, 0)
#define BLAS_BY_POINTER_c(v)    BLAS_READ(v, (v)[1])
#define BLAS_BY_POINTER_z(v)    BLAS_READ(v, (v)[1])

/* Enumerators and letters, to ours. BLAS_BAD: the library will refuse the call. */
enum { BLAS_BAD = 0xff };

static inline uint8_t blas_layout(int order)
{
    return order == 101 ? TILEWISE_ROW_MAJOR : order == 102 ? TILEWISE_COL_MAJOR : BLAS_BAD;
}

static inline uint8_t blas_trans(int trans)
{
    return trans >= 111 && trans <= 114 ? (uint8_t)(trans - 111) : BLAS_BAD;
}

static inline uint8_t blas_uplo(int uplo)
{
    return uplo == 121 ? TILEWISE_UPPER : uplo == 122 ? TILEWISE_LOWER : BLAS_BAD;
}

static inline uint8_t blas_trans_letter(const char *letter)
{
    switch (*letter & ~0x20) {
    case 'N':
        return TILEWISE_N;
    case 'T':
        return TILEWISE_T;
    case 'C':
        return TILEWISE_C;
    case 'R':
        return TILEWISE_R;
    default:
        return BLAS_BAD;
    }
}

static inline uint8_t blas_uplo_letter(const char *letter)
{
    switch (*letter & ~0x20) {
    case 'U':
        return TILEWISE_UPPER;
    case 'L':
        return TILEWISE_LOWER;
    default:
        return BLAS_BAD;
    }
}

static inline bool blas_swapped(uint8_t trans)
{
    return trans == TILEWISE_T || trans == TILEWISE_C;
}

static inline bool blas_ld_fits(int64_t ld, int64_t least)
{
    return ld >= (least > 1 ? least : 1);
}

/* A call in the words of its family; the key_ functions turn it into a signature. They return false
 * for arguments that the library refuses (xerbla): such a call is counted as failed. */
struct blas_call {
    struct blas_element element;
    uint8_t layout, trans_a, trans_b, uplo, alpha, beta;
    int64_t m, n, k, lda, ldb, ldc;
    const void *a, *b, *c;
};

static inline void blas_fill(struct tilewise_signature *key, const struct blas_call *c)
{
    *key = (struct tilewise_signature){
        .layout = c->layout,
        .trans_a = c->trans_a,
        .trans_b = c->trans_b,
        .dtype_a = c->element.in,
        .dtype_b = c->element.in,
        .dtype_c = c->element.out,
        .dtype_d = c->element.out,
        .compute = c->element.compute,
        .scale = c->element.compute,
        .alpha = c->alpha,
        .beta = c->beta,
        .align_a = signature_align(c->a),
        .align_b = signature_align(c->b),
        .align_c = signature_align(c->c),
        .align_d = signature_align(c->c),
        .uplo = c->uplo,
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .batch = 1,
        .lda = c->lda,
        .ldb = c->ldb,
        .ldc = c->ldc,
        .ldd = c->ldc,
    };
}

static inline bool blas_gemm(struct tilewise_signature *key, struct blas_call c)
{
    bool row = c.layout == TILEWISE_ROW_MAJOR;
    bool wide_a = blas_swapped(c.trans_a) != row, wide_b = blas_swapped(c.trans_b) != row;
    blas_fill(key, &c);
    key->op = TILEWISE_OP_GEMM;
    return c.layout != BLAS_BAD && c.trans_a != BLAS_BAD && c.trans_b != BLAS_BAD && c.m >= 0 &&
           c.n >= 0 && c.k >= 0 && blas_ld_fits(c.lda, wide_a ? c.k : c.m) &&
           blas_ld_fits(c.ldb, wide_b ? c.n : c.k) && blas_ld_fits(c.ldc, row ? c.n : c.m);
}

/* C = alpha op(A) op(A)' + beta C: a gemm whose B is A, transposed the other way. */
static inline bool blas_syrk(struct tilewise_signature *key, struct blas_call c)
{
    bool row = c.layout == TILEWISE_ROW_MAJOR;
    bool wide = blas_swapped(c.trans_a) != row;
    bool conjugated = c.trans_a == TILEWISE_C || c.trans_a == TILEWISE_R;
    c.trans_b = blas_swapped(c.trans_a) ? TILEWISE_N : TILEWISE_T;
    c.m = c.n;
    c.b = c.a;
    c.ldb = c.lda;
    blas_fill(key, &c);
    key->op = TILEWISE_OP_GEMM;
    return c.layout != BLAS_BAD && c.uplo != BLAS_BAD && c.trans_a != BLAS_BAD &&
           !(conjugated && c.element.complex) && c.n >= 0 && c.k >= 0 &&
           blas_ld_fits(c.lda, wide ? c.k : c.n) && blas_ld_fits(c.ldc, c.n);
}

static inline bool blas_gemv(struct tilewise_signature *key, struct blas_call c)
{
    bool row = c.layout == TILEWISE_ROW_MAJOR;
    c.k = 1;
    blas_fill(key, &c);
    key->op = TILEWISE_OP_GEMV;
    return c.layout != BLAS_BAD && c.trans_a != BLAS_BAD && c.m >= 0 && c.n >= 0 &&
           blas_ld_fits(c.lda, row ? c.n : c.m) && c.ldb != 0 && c.ldc != 0;
}

/* y = alpha x + y. A negative length is no work, and no error. */
static inline bool blas_axpy(struct tilewise_signature *key, struct blas_call c)
{
    c.m = c.m > 0 ? c.m : 0;
    c.n = c.k = 1;
    c.beta = TILEWISE_SCALAR_ONE;
    blas_fill(key, &c);
    key->op = TILEWISE_OP_ADD;
    key->align_a = 0;
    return true;
}

/* The families: parameters, arguments, and the key of a call. I is the integer, T the element. */
#define CBLAS_GEMM_PARAMS(I, T)                                                                    \
    int order, int trans_a, int trans_b, I m, I n, I k, blas_value_##T alpha, const void *a,       \
        I lda, const void *b, I ldb, blas_value_##T beta, void *c, I ldc
#define CBLAS_GEMM_ARGS order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define CBLAS_GEMM_KEY(key, T)                                                                     \
    blas_gemm(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .layout = blas_layout(order),                               \
                                       .trans_a = blas_trans(trans_a),                             \
                                       .trans_b = blas_trans(trans_b),                             \
                                       .alpha = BLAS_BY_VALUE_##T(alpha),                          \
                                       .beta = BLAS_BY_VALUE_##T(beta),                            \
                                       BLAS_OPERANDS(a, b, c),                                     \
                                       BLAS_SIZES(m, n, k, lda, ldb, ldc) })

#define CBLAS_SYRK_PARAMS(I, T)                                                                    \
    int order, int uplo, int trans, I n, I k, blas_value_##T alpha, const void *a, I lda,          \
        blas_value_##T beta, void *c, I ldc
#define CBLAS_SYRK_ARGS order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc
#define CBLAS_SYRK_KEY(key, T)                                                                     \
    blas_syrk(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .layout = blas_layout(order),                               \
                                       .uplo = blas_uplo(uplo),                                    \
                                       .trans_a = blas_trans(trans),                               \
                                       .alpha = BLAS_BY_VALUE_##T(alpha),                          \
                                       .beta = BLAS_BY_VALUE_##T(beta),                            \
                                       BLAS_OPERANDS(a, a, c),                                     \
                                       BLAS_SIZES(n, n, k, lda, lda, ldc) })

#define CBLAS_GEMV_PARAMS(I, T)                                                                    \
    int order, int trans, I m, I n, blas_value_##T alpha, const void *a, I lda, const void *x,     \
        I incx, blas_value_##T beta, void *y, I incy
#define CBLAS_GEMV_ARGS order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy
#define CBLAS_GEMV_KEY(key, T)                                                                     \
    blas_gemv(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .layout = blas_layout(order),                               \
                                       .trans_a = blas_trans(trans),                               \
                                       .alpha = BLAS_BY_VALUE_##T(alpha),                          \
                                       .beta = BLAS_BY_VALUE_##T(beta),                            \
                                       BLAS_OPERANDS(a, x, y),                                     \
                                       BLAS_SIZES(m, n, 1, lda, incx, incy) })

#define CBLAS_AXPY_PARAMS(I, T) I n, blas_value_##T alpha, const void *x, I incx, void *y, I incy
#define CBLAS_AXPY_ARGS         n, alpha, x, incx, y, incy
#define CBLAS_AXPY_KEY(key, T)                                                                     \
    blas_axpy(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .alpha = BLAS_BY_VALUE_##T(alpha),                          \
                                       BLAS_OPERANDS(NULL, x, y),                                  \
                                       BLAS_SIZES(n, 1, 1, 0, incx, incy) })

/* Fortran: everything by pointer, column-major, and behind the list the hidden lengths of the
 * strings, which some compilers pass and others do not: forwarded as they stand. */
#define FORTRAN_GEMM_PARAMS(I, T)                                                                  \
    const char *trans_a, const char *trans_b, const I *m, const I *n, const I *k,                  \
        blas_pointer_##T alpha, const void *a, const I *lda, const void *b, const I *ldb,          \
        blas_pointer_##T beta, void *c, const I *ldc, size_t hidden_a, size_t hidden_b
#define FORTRAN_GEMM_ARGS                                                                          \
    trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, hidden_a, hidden_b
#define FORTRAN_GEMM_KEY(key, T)                                                                   \
    blas_gemm(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .trans_a = blas_trans_letter(trans_a),                      \
                                       .trans_b = blas_trans_letter(trans_b),                      \
                                       .alpha = BLAS_BY_POINTER_##T(alpha),                        \
                                       .beta = BLAS_BY_POINTER_##T(beta),                          \
                                       BLAS_OPERANDS(a, b, c),                                     \
                                       BLAS_SIZES(*m, *n, *k, *lda, *ldb, *ldc) })

#define FORTRAN_SYRK_PARAMS(I, T)                                                                  \
    const char *uplo, const char *trans, const I *n, const I *k, blas_pointer_##T alpha,           \
        const void *a, const I *lda, blas_pointer_##T beta, void *c, const I *ldc,                 \
        size_t hidden_uplo, size_t hidden_trans
#define FORTRAN_SYRK_ARGS uplo, trans, n, k, alpha, a, lda, beta, c, ldc, hidden_uplo, hidden_trans
#define FORTRAN_SYRK_KEY(key, T)                                                                   \
    blas_syrk(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .uplo = blas_uplo_letter(uplo),                             \
                                       .trans_a = blas_trans_letter(trans),                        \
                                       .alpha = BLAS_BY_POINTER_##T(alpha),                        \
                                       .beta = BLAS_BY_POINTER_##T(beta),                          \
                                       BLAS_OPERANDS(a, a, c),                                     \
                                       BLAS_SIZES(*n, *n, *k, *lda, *lda, *ldc) })

#define FORTRAN_GEMV_PARAMS(I, T)                                                                  \
    const char *trans, const I *m, const I *n, blas_pointer_##T alpha, const void *a,              \
        const I *lda, const void *x, const I *incx, blas_pointer_##T beta, void *y, const I *incy, \
        size_t hidden_trans
#define FORTRAN_GEMV_ARGS trans, m, n, alpha, a, lda, x, incx, beta, y, incy, hidden_trans
#define FORTRAN_GEMV_KEY(key, T)                                                                   \
    blas_gemv(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .trans_a = blas_trans_letter(trans),                        \
                                       .alpha = BLAS_BY_POINTER_##T(alpha),                        \
                                       .beta = BLAS_BY_POINTER_##T(beta),                          \
                                       BLAS_OPERANDS(a, x, y),                                     \
                                       BLAS_SIZES(*m, *n, 1, *lda, *incx, *incy) })

#define FORTRAN_AXPY_PARAMS(I, T)                                                                  \
    const I *n, blas_pointer_##T alpha, const void *x, const I *incx, void *y, const I *incy
#define FORTRAN_AXPY_ARGS n, alpha, x, incx, y, incy
#define FORTRAN_AXPY_KEY(key, T)                                                                   \
    blas_axpy(key, (struct blas_call){ .element = BLAS_ELEMENT_##T,                                \
                                       .alpha = BLAS_BY_POINTER_##T(alpha),                        \
                                       BLAS_OPERANDS(NULL, x, y),                                  \
                                       BLAS_SIZES(*n, 1, 1, 0, *incx, *incy) })

#define BLAS_OPERANDS(pa, pb, pc) .a = (pa), .b = (pb), .c = (pc)
#define BLAS_SIZES(pm, pn, pk, plda, pldb, pldc)                                                   \
    .m = (pm), .n = (pn), .k = (pk), .lda = (plda), .ldb = (pldb), .ldc = (pldc)

#endif
