/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS as the table cublas.def names it: types by element, argument lists by family, and a call
 * in the words that all families share. Nothing here touches memory that a call points to, except
 * the shape arrays of grouped calls, which live on the host by definition.
 */
#ifndef TILEWISE_TRACER_CUBLAS_H
#define TILEWISE_TRACER_CUBLAS_H

#include "tracer/cuda_dtype.h"
#include "traces/signature.h"

/*   element  scalars          operands         result           dtypes: in, out, compute, scale */
#define CUBLAS_ELEMENT_LIST(X)                                                                     \
    X(S, float, float, float, F32, F32, F32, F32)                                                  \
    X(D, double, double, double, F64, F64, F64, F64)                                               \
    X(C, cuComplex, cuComplex, cuComplex, C64, C64, F32, C64)                                      \
    X(Z, cuDoubleComplex, cuDoubleComplex, cuDoubleComplex, C128, C128, F64, C128)                 \
    X(CH, float, cuComplex, cuComplex, C64, C64, F32, F32)                                         \
    X(ZH, double, cuDoubleComplex, cuDoubleComplex, C128, C128, F64, F64)                          \
    X(H, cuda_half, cuda_half, cuda_half, F16, F16, F16, F16)                                      \
    X(HSH, float, cuda_half, cuda_half, F16, F16, F32, F32)                                        \
    X(HSS, float, cuda_half, float, F16, F32, F32, F32)                                            \
    X(TST, float, cuda_bfloat16, cuda_bfloat16, BF16, BF16, F32, F32)                              \
    X(TSS, float, cuda_bfloat16, float, BF16, F32, F32, F32)

#define X(element, scalar, in, out, dtype_in, dtype_out, compute, scale)                           \
    typedef scalar cublas_scalar_##element;                                                        \
    typedef in cublas_in_##element;                                                                \
    typedef out cublas_out_##element;
CUBLAS_ELEMENT_LIST(X)
#undef X

struct cublas_element {
    uint8_t in, out, compute, scale; /* enum tilewise_dtype */
};
#define X(element, scalar, cin, cout, dtype_in, dtype_out, dcompute, dscale)                       \
    static const struct cublas_element cublas_element_##element                                    \
        __attribute__((unused)) = { TILEWISE_##dtype_in, TILEWISE_##dtype_out,                     \
                                    TILEWISE_##dcompute, TILEWISE_##dscale };
CUBLAS_ELEMENT_LIST(X)
#undef X

/* One call, or the part of a grouped call that all groups share. */
struct cublas_call {
    int64_t m, n, k, batch, lda, ldb, ldc;
    int type_a, type_b, type_c; /* cudaDataType where the call names types, */
    int compute_type;           /* with a cublasComputeType_t or 0; else `element` */
    uint32_t entry;             /* enum slot_id */
    uint8_t op, batch_kind, trans_a, trans_b;
    /* What many families leave 0: together, to be cleared at once. */
    int64_t stride_a, stride_b, stride_c;
    uint8_t uplo;  /* enum tilewise_uplo: half of the result */
    uint8_t other; /* what no field holds; not 0: counted, never replayed */
    struct cublas_element element;
    /* What the arguments do not tell: filled in from what is known of the handle. */
    uint16_t math_mode;
    uint8_t scalar, align_a, align_b, align_c;
    uint32_t none; /* 0 */
    /* Not part of what the key is made of. */
    const void *handle, *a, *b, *c; /* a, b, c: NULL for arrays of pointers */
};

/* The shapes of a grouped call; 64: the arrays hold int64_t, else int. */
struct cublas_groups {
    const cublasOperation_t *trans_a, *trans_b;
    const void *m, *n, *k, *lda, *ldb, *ldc, *batch;
    int64_t count;
    bool wide;
};

/* The families: parameters, arguments, and the call. I is the integer, E the element. */
#define CUBLAS_OPERANDS(pa, pb, pc) .a = (pa), .b = (pb), .c = (pc)
#define CUBLAS_SHAPE(pm, pn, pk)    .m = (pm), .n = (pn), .k = (pk)
#define CUBLAS_LEADING(pa, pb, pc)  .lda = (pa), .ldb = (pb), .ldc = (pc)
#define CUBLAS_STRIDES(pa, pb, pc)  .stride_a = (pa), .stride_b = (pb), .stride_c = (pc)
#define CUBLAS_TYPES(pa, pb, pc)    .type_a = (int)(pa), .type_b = (int)(pb), .type_c = (int)(pc)
#define CUBLAS_TRANSPOSED(ta, tb)   .trans_a = (uint8_t)(ta), .trans_b = (uint8_t)(tb)
#define CUBLAS_BATCH(kind, batchof) .batch_kind = TILEWISE_BATCH_##kind, .batch = (batchof)
#define CUBLAS_IS(o)                .handle = handle, .op = TILEWISE_OP_##o
#define CUBLAS_ELEMENT(E)           .element = cublas_element_##E, .type_a = -1

#define CUBLAS_GEMM_PARAMS(I, E)                                                                   \
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, I m, I n, I k,    \
        const cublas_scalar_##E *alpha, const cublas_in_##E *a, I lda, const cublas_in_##E *b,     \
        I ldb, const cublas_scalar_##E *beta, cublas_out_##E *c, I ldc
#define CUBLAS_GEMM_ARGS handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define CUBLAS_GEMM_CALL(E)                                                                        \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans_a, trans_b),                       \
        CUBLAS_BATCH(NONE, 1), CUBLAS_SHAPE(m, n, k), CUBLAS_OPERANDS(a, b, c),                    \
        CUBLAS_LEADING(lda, ldb, ldc)

#define CUBLAS_GEMM_STRIDED_PARAMS(I, E)                                                           \
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, I m, I n, I k,    \
        const cublas_scalar_##E *alpha, const cublas_in_##E *a, I lda, long long stride_a,         \
        const cublas_in_##E *b, I ldb, long long stride_b, const cublas_scalar_##E *beta,          \
        cublas_out_##E *c, I ldc, long long stride_c, I batch
#define CUBLAS_GEMM_STRIDED_ARGS                                                                   \
    handle, trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,    \
        stride_c, batch
#define CUBLAS_GEMM_STRIDED_CALL(E)                                                                \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans_a, trans_b),                       \
        CUBLAS_BATCH(STRIDED, batch), CUBLAS_SHAPE(m, n, k), CUBLAS_OPERANDS(a, b, c),             \
        CUBLAS_LEADING(lda, ldb, ldc), CUBLAS_STRIDES(stride_a, stride_b, stride_c)

#define CUBLAS_GEMM_BATCHED_PARAMS(I, E)                                                           \
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, I m, I n, I k,    \
        const cublas_scalar_##E *alpha, const cublas_in_##E *const a[], I lda,                     \
        const cublas_in_##E *const b[], I ldb, const cublas_scalar_##E *beta,                      \
        cublas_out_##E *const c[], I ldc, I batch
#define CUBLAS_GEMM_BATCHED_ARGS                                                                   \
    handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch
#define CUBLAS_GEMM_BATCHED_CALL(E)                                                                \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans_a, trans_b),                       \
        CUBLAS_BATCH(POINTERS, batch), CUBLAS_SHAPE(m, n, k), CUBLAS_LEADING(lda, ldb, ldc)

#define CUBLAS_GEMM_GROUPED_PARAMS(I, E)                                                           \
    cublasHandle_t handle, const cublasOperation_t trans_a[], const cublasOperation_t trans_b[],   \
        const I m[], const I n[], const I k[], const cublas_scalar_##E alpha[],                    \
        const cublas_in_##E *const a[], const I lda[], const cublas_in_##E *const b[],             \
        const I ldb[], const cublas_scalar_##E beta[], cublas_out_##E *const c[], const I ldc[],   \
        I group_count, const I group_size[]
#define CUBLAS_GEMM_GROUPED_ARGS                                                                   \
    handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size
#define CUBLAS_GEMM_GROUPED_CALL(E) CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_BATCH(GROUPED, 0)

#define CUBLAS_GEMM_TYPES_PARAMS(I, E)                                                             \
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, I m, I n, I k,    \
        const cublas_scalar_##E *alpha, const void *a, cudaDataType type_a, I lda, const void *b,  \
        cudaDataType type_b, I ldb, const cublas_scalar_##E *beta, void *c, cudaDataType type_c,   \
        I ldc
#define CUBLAS_GEMM_TYPES_ARGS                                                                     \
    handle, trans_a, trans_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc
#define CUBLAS_GEMM_TYPES_CALL(E)                                                                  \
    CUBLAS_IS(GEMM), CUBLAS_TRANSPOSED(trans_a, trans_b), CUBLAS_BATCH(NONE, 1),                   \
        CUBLAS_SHAPE(m, n, k), CUBLAS_OPERANDS(a, b, c), CUBLAS_LEADING(lda, ldb, ldc),            \
        CUBLAS_TYPES(type_a, type_b, type_c), .element = cublas_element_##E

#define CUBLAS_GEMM_EX_PARAMS(I, E)                                                                \
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, I m, I n, I k,    \
        const void *alpha, const void *a, cudaDataType type_a, I lda, const void *b,               \
        cudaDataType type_b, I ldb, const void *beta, void *c, cudaDataType type_c, I ldc,         \
        cublasComputeType_t compute, cublasGemmAlgo_t algo
#define CUBLAS_GEMM_EX_ARGS CUBLAS_GEMM_TYPES_ARGS, compute, algo
#define CUBLAS_GEMM_EX_CALL(E)                                                                     \
    CUBLAS_IS(GEMM), CUBLAS_TRANSPOSED(trans_a, trans_b), CUBLAS_BATCH(NONE, 1),                   \
        CUBLAS_SHAPE(m, n, k), CUBLAS_OPERANDS(a, b, c), CUBLAS_LEADING(lda, ldb, ldc),            \
        CUBLAS_TYPES(type_a, type_b, type_c), .compute_type = (int)compute

#define CUBLAS_GEMM_STRIDED_EX_PARAMS(I, E)                                                        \
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, I m, I n, I k,    \
        const void *alpha, const void *a, cudaDataType type_a, I lda, long long stride_a,          \
        const void *b, cudaDataType type_b, I ldb, long long stride_b, const void *beta, void *c,  \
        cudaDataType type_c, I ldc, long long stride_c, I batch, cublasComputeType_t compute,      \
        cublasGemmAlgo_t algo
#define CUBLAS_GEMM_STRIDED_EX_ARGS                                                                \
    handle, trans_a, trans_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b,  \
        beta, c, type_c, ldc, stride_c, batch, compute, algo
#define CUBLAS_GEMM_STRIDED_EX_CALL(E)                                                             \
    CUBLAS_IS(GEMM), CUBLAS_TRANSPOSED(trans_a, trans_b), CUBLAS_BATCH(STRIDED, batch),            \
        CUBLAS_SHAPE(m, n, k), CUBLAS_OPERANDS(a, b, c), CUBLAS_LEADING(lda, ldb, ldc),            \
        CUBLAS_STRIDES(stride_a, stride_b, stride_c), CUBLAS_TYPES(type_a, type_b, type_c),        \
        .compute_type = (int)compute

#define CUBLAS_GEMM_BATCHED_EX_PARAMS(I, E)                                                        \
    cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, I m, I n, I k,    \
        const void *alpha, const void *const a[], cudaDataType type_a, I lda,                      \
        const void *const b[], cudaDataType type_b, I ldb, const void *beta, void *const c[],      \
        cudaDataType type_c, I ldc, I batch, cublasComputeType_t compute, cublasGemmAlgo_t algo
#define CUBLAS_GEMM_BATCHED_EX_ARGS CUBLAS_GEMM_TYPES_ARGS, batch, compute, algo
#define CUBLAS_GEMM_BATCHED_EX_CALL(E)                                                             \
    CUBLAS_IS(GEMM), CUBLAS_TRANSPOSED(trans_a, trans_b), CUBLAS_BATCH(POINTERS, batch),           \
        CUBLAS_SHAPE(m, n, k), CUBLAS_LEADING(lda, ldb, ldc),                                      \
        CUBLAS_TYPES(type_a, type_b, type_c), .compute_type = (int)compute

#define CUBLAS_GEMM_GROUPED_EX_PARAMS(I, E)                                                        \
    cublasHandle_t handle, const cublasOperation_t trans_a[], const cublasOperation_t trans_b[],   \
        const I m[], const I n[], const I k[], const void *alpha, const void *const a[],           \
        cudaDataType_t type_a, const I lda[], const void *const b[], cudaDataType_t type_b,        \
        const I ldb[], const void *beta, void *const c[], cudaDataType_t type_c, const I ldc[],    \
        I group_count, const I group_size[], cublasComputeType_t compute
#define CUBLAS_GEMM_GROUPED_EX_ARGS CUBLAS_GEMM_TYPES_ARGS, group_count, group_size, compute
#define CUBLAS_GEMM_GROUPED_EX_CALL(E)                                                             \
    CUBLAS_IS(GEMM), CUBLAS_BATCH(GROUPED, 0), CUBLAS_TYPES(type_a, type_b, type_c),               \
        .compute_type = (int)compute

/* Half of a product with itself. The letters CH and ZH: real scalars, the other factor conjugated.
 */
static inline uint8_t cublas_uplo(int fill)
{
    return fill == 0 ? TILEWISE_LOWER : fill == 1 ? TILEWISE_UPPER : TILEWISE_FULL;
}

#define CUBLAS_HALF_OF(pu, pt, other_way)                                                          \
    .uplo = cublas_uplo((int)(pu)), .trans_a = (uint8_t)(pt),                                      \
    .trans_b = (pt) ? TILEWISE_N : (other_way)
#define CUBLAS_SYRK_PARAMS(I, E)                                                                   \
    cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, I n, I k,               \
        const cublas_scalar_##E *alpha, const cublas_in_##E *a, I lda,                             \
        const cublas_scalar_##E *beta, cublas_out_##E *c, I ldc
#define CUBLAS_SYRK_ARGS handle, fill, trans, n, k, alpha, a, lda, beta, c, ldc
#define CUBLAS_SYRK_CALL(E)                                                                        \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_HALF_OF(fill, trans, TILEWISE_T),                   \
        CUBLAS_BATCH(NONE, 1), CUBLAS_SHAPE(n, n, k), CUBLAS_OPERANDS(a, a, c),                    \
        CUBLAS_LEADING(lda, lda, ldc)
#define CUBLAS_HERK_PARAMS CUBLAS_SYRK_PARAMS
#define CUBLAS_HERK_ARGS   CUBLAS_SYRK_ARGS
#define CUBLAS_HERK_CALL(E)                                                                        \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_HALF_OF(fill, trans, TILEWISE_C),                   \
        .other = 1, CUBLAS_BATCH(NONE, 1), CUBLAS_SHAPE(n, n, k), CUBLAS_OPERANDS(a, a, c),        \
        CUBLAS_LEADING(lda, lda, ldc)

/* Half of the product of two, and (twice the work: no half is said) of its two orders. */
#define CUBLAS_SYRKX_PARAMS(I, E)                                                                  \
    cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, I n, I k,               \
        const cublas_scalar_##E *alpha, const cublas_in_##E *a, I lda, const cublas_in_##E *b,     \
        I ldb, const cublas_scalar_##E *beta, cublas_out_##E *c, I ldc
#define CUBLAS_SYRKX_ARGS handle, fill, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define CUBLAS_SYRKX_TWO(E, other_way)                                                             \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_HALF_OF(fill, trans, other_way),                    \
        .other = 1, CUBLAS_BATCH(NONE, 1), CUBLAS_SHAPE(n, n, k), CUBLAS_OPERANDS(a, b, c),        \
        CUBLAS_LEADING(lda, ldb, ldc)
#define CUBLAS_SYRKX_CALL(E) CUBLAS_SYRKX_TWO(E, TILEWISE_T)
#define CUBLAS_SYR2K_PARAMS  CUBLAS_SYRKX_PARAMS
#define CUBLAS_SYR2K_ARGS    CUBLAS_SYRKX_ARGS
#define CUBLAS_SYR2K_TWO(E, other_way)                                                             \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_HALF_OF(2, trans, other_way),                       \
        .other = (uint8_t)(2 + cublas_uplo((int)fill)), CUBLAS_BATCH(NONE, 1),                     \
        CUBLAS_SHAPE(n, n, k), CUBLAS_OPERANDS(a, b, c), CUBLAS_LEADING(lda, ldb, ldc)
#define CUBLAS_SYR2K_CALL(E) CUBLAS_SYR2K_TWO(E, TILEWISE_T)
#define CUBLAS_HERKX_PARAMS(I, E)                                                                  \
    cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, I n, I k,               \
        const cublas_scalar_##E *alpha, const cublas_in_##E *a, I lda, const cublas_in_##E *b,     \
        I ldb, const cublas_scalar_##E##H *beta, cublas_out_##E *c, I ldc
#define CUBLAS_HERKX_ARGS    CUBLAS_SYRKX_ARGS
#define CUBLAS_HERKX_CALL(E) CUBLAS_SYRKX_TWO(E, TILEWISE_C)
#define CUBLAS_HER2K_PARAMS  CUBLAS_HERKX_PARAMS
#define CUBLAS_HER2K_ARGS    CUBLAS_SYRKX_ARGS
#define CUBLAS_HER2K_CALL(E) CUBLAS_SYR2K_TWO(E, TILEWISE_C)

/* A product with a symmetric or Hermitian matrix, which stands left or right. */
#define CUBLAS_SYMM_PARAMS(I, E)                                                                   \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, I m, I n,                 \
        const cublas_scalar_##E *alpha, const cublas_in_##E *a, I lda, const cublas_in_##E *b,     \
        I ldb, const cublas_scalar_##E *beta, cublas_out_##E *c, I ldc
#define CUBLAS_SYMM_ARGS handle, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc
#define CUBLAS_SYMM_CALL(E)                                                                        \
    CUBLAS_IS(GEMM), CUBLAS_ELEMENT(E), CUBLAS_TRIANGLE(side, fill, 0), CUBLAS_BATCH(NONE, 1),     \
        CUBLAS_SHAPE(m, n, side ? n : m), CUBLAS_OPERANDS(side ? b : a, side ? a : b, c),          \
        CUBLAS_LEADING(side ? ldb : lda, side ? lda : ldb, ldc)

/* Triangular matrices: trsm solves for B in place, trmm writes its product to C. */
#define CUBLAS_TRIANGLE(ps, pf, pd)                                                                \
    .other = (uint8_t)(1 | ((ps) ? 2 : 0) | ((pd) ? 4 : 0) | cublas_uplo((int)(pf)) << 3)
#define CUBLAS_TRSM_PARAMS(I, E)                                                                   \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t trans,  \
        cublasDiagType_t diag, I m, I n, const cublas_scalar_##E *alpha, const cublas_in_##E *a,   \
        I lda, cublas_out_##E *b, I ldb
#define CUBLAS_TRSM_ARGS handle, side, fill, trans, diag, m, n, alpha, a, lda, b, ldb
#define CUBLAS_TRSM_CALL(E)                                                                        \
    CUBLAS_IS(OTHER), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans, TILEWISE_N),                     \
        CUBLAS_TRIANGLE(side, fill, diag), CUBLAS_BATCH(NONE, 1),                                  \
        CUBLAS_SHAPE(m, n, side ? n : m), CUBLAS_OPERANDS(a, b, b), CUBLAS_LEADING(lda, ldb, ldb)

#define CUBLAS_TRSM_BATCHED_PARAMS(I, E)                                                           \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t trans,  \
        cublasDiagType_t diag, I m, I n, const cublas_scalar_##E *alpha,                           \
        const cublas_in_##E *const a[], I lda, cublas_out_##E *const b[], I ldb, I batch
#define CUBLAS_TRSM_BATCHED_ARGS CUBLAS_TRSM_ARGS, batch
#define CUBLAS_TRSM_BATCHED_CALL(E)                                                                \
    CUBLAS_IS(OTHER), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans, TILEWISE_N),                     \
        CUBLAS_TRIANGLE(side, fill, diag), CUBLAS_BATCH(POINTERS, batch),                          \
        CUBLAS_SHAPE(m, n, side ? n : m), CUBLAS_LEADING(lda, ldb, ldb)

#define CUBLAS_TRMM_PARAMS(I, E)                                                                   \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t trans,  \
        cublasDiagType_t diag, I m, I n, const cublas_scalar_##E *alpha, const cublas_in_##E *a,   \
        I lda, const cublas_in_##E *b, I ldb, cublas_out_##E *c, I ldc
#define CUBLAS_TRMM_ARGS CUBLAS_TRSM_ARGS, c, ldc
#define CUBLAS_TRMM_CALL(E)                                                                        \
    CUBLAS_IS(OTHER), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans, TILEWISE_N),                     \
        CUBLAS_TRIANGLE(side, fill, diag), CUBLAS_BATCH(NONE, 1),                                  \
        CUBLAS_SHAPE(m, n, side ? n : m), CUBLAS_OPERANDS(a, b, c), CUBLAS_LEADING(lda, ldb, ldc)

#define CUBLAS_GEMV_PARAMS(I, E)                                                                   \
    cublasHandle_t handle, cublasOperation_t trans, I m, I n, const cublas_scalar_##E *alpha,      \
        const cublas_in_##E *a, I lda, const cublas_in_##E *x, I incx,                             \
        const cublas_scalar_##E *beta, cublas_out_##E *y, I incy
#define CUBLAS_GEMV_ARGS handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy
#define CUBLAS_GEMV_CALL(E)                                                                        \
    CUBLAS_IS(GEMV), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans, TILEWISE_N),                      \
        CUBLAS_BATCH(NONE, 1), CUBLAS_SHAPE(m, n, 1), CUBLAS_OPERANDS(a, x, y),                    \
        CUBLAS_LEADING(lda, incx, incy)

#define CUBLAS_GEMV_BATCHED_PARAMS(I, E)                                                           \
    cublasHandle_t handle, cublasOperation_t trans, I m, I n, const cublas_scalar_##E *alpha,      \
        const cublas_in_##E *const a[], I lda, const cublas_in_##E *const x[], I incx,             \
        const cublas_scalar_##E *beta, cublas_out_##E *const y[], I incy, I batch
#define CUBLAS_GEMV_BATCHED_ARGS CUBLAS_GEMV_ARGS, batch
#define CUBLAS_GEMV_BATCHED_CALL(E)                                                                \
    CUBLAS_IS(GEMV), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans, TILEWISE_N),                      \
        CUBLAS_BATCH(POINTERS, batch), CUBLAS_SHAPE(m, n, 1), CUBLAS_LEADING(lda, incx, incy)

#define CUBLAS_GEMV_STRIDED_PARAMS(I, E)                                                           \
    cublasHandle_t handle, cublasOperation_t trans, I m, I n, const cublas_scalar_##E *alpha,      \
        const cublas_in_##E *a, I lda, long long stride_a, const cublas_in_##E *x, I incx,         \
        long long stride_x, const cublas_scalar_##E *beta, cublas_out_##E *y, I incy,              \
        long long stride_y, I batch
#define CUBLAS_GEMV_STRIDED_ARGS                                                                   \
    handle, trans, m, n, alpha, a, lda, stride_a, x, incx, stride_x, beta, y, incy, stride_y, batch
#define CUBLAS_GEMV_STRIDED_CALL(E)                                                                \
    CUBLAS_IS(GEMV), CUBLAS_ELEMENT(E), CUBLAS_TRANSPOSED(trans, TILEWISE_N),                      \
        CUBLAS_BATCH(STRIDED, batch), CUBLAS_SHAPE(m, n, 1), CUBLAS_OPERANDS(a, x, y),             \
        CUBLAS_LEADING(lda, incx, incy), CUBLAS_STRIDES(stride_a, stride_x, stride_y)

#define CUBLAS_SET_STREAM_PARAMS       cublasHandle_t handle, cudaStream_t stream
#define CUBLAS_SET_STREAM_ARGS         handle, stream
#define CUBLAS_SET_POINTER_MODE_PARAMS cublasHandle_t handle, cublasPointerMode_t mode
#define CUBLAS_SET_POINTER_MODE_ARGS   handle, mode
#define CUBLAS_SET_MATH_MODE_PARAMS    cublasHandle_t handle, cublasMath_t mode
#define CUBLAS_SET_MATH_MODE_ARGS      handle, mode
#define CUBLAS_DESTROY_PARAMS          cublasHandle_t handle
#define CUBLAS_DESTROY_ARGS            handle

#endif
