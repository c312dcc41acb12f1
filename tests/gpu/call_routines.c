/* SPDX-License-Identifier: Apache-2.0 */
#include "call_routines.h"

static cublasStatus_t gemm_ex(struct problem *p, int m)
{
    const float one = 1, zero = 0;
    return cublasGemmEx(p->blas, CUBLAS_OP_N, CUBLAS_OP_N, m, CALL_SIZE, CALL_SIZE, &one, p->a,
                        CUDA_R_16BF, CALL_SIZE, p->b, CUDA_R_16BF, CALL_SIZE, &zero, p->c,
                        CUDA_R_16BF, CALL_SIZE, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t lt_matmul(struct problem *p, int m)
{
    const float one = 1, zero = 0;
    cublasLtMatrixLayout_t tall = m ? p->layout : p->no_rows;
    if (!tall)
        return CUBLAS_STATUS_INVALID_VALUE;
    return cublasLtMatmul(p->lt, p->how, &one, p->a, tall, p->b, p->layout, &zero, p->c, tall, p->c,
                          tall, &p->algo, NULL, 0, NULL);
}

static cublasStatus_t set_stream(struct problem *p, int m)
{
    (void)m;
    return cublasSetStream(p->blas, NULL);
}

static cublasStatus_t set_math_mode(struct problem *p, int m)
{
    static int calls;
    (void)m;
    return cublasSetMathMode(p->blas,
                             calls++ & 1 ? CUBLAS_DEFAULT_MATH : CUBLAS_TF32_TENSOR_OP_MATH);
}

static cublasStatus_t product(struct problem *p, int m)
{
    cublasStatus_t first = cublasSetStream(p->blas, NULL);
    cublasStatus_t second = cublasSetMathMode(p->blas, CUBLAS_DEFAULT_MATH);
    cublasStatus_t third = cublasSetMathMode(p->blas, CUBLAS_TF32_TENSOR_OP_MATH);
    cublasStatus_t fourth = gemm_ex(p, m);
    cublasStatus_t fifth = cublasSetMathMode(p->blas, CUBLAS_DEFAULT_MATH);
    return first || second || third || fifth ? CUBLAS_STATUS_INTERNAL_ERROR : fourth;
}

const struct call_named call_routines[CALL_ROUTINES] = {
    { "cublasGemmEx", gemm_ex },
    { "cublasLtMatmul", lt_matmul },
    { "cublasSetStream", set_stream },
    { "cublasSetMathMode", set_math_mode },
    { "a product and its setters", product },
};
