/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLASLt as the table cublaslt.def names it: argument lists by family.
 */
#ifndef TILEWISE_TRACER_CUBLASLT_H
#define TILEWISE_TRACER_CUBLASLT_H

#include "tracer/cuda_types.h"

#define CUBLASLT_MATMUL_PARAMS                                                                     \
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,          \
        cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,           \
        const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,                 \
        cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,        \
        size_t workspace_bytes, cudaStream_t stream
#define CUBLASLT_MATMUL_ARGS                                                                       \
    handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo,           \
        workspace, workspace_bytes, stream

#endif
