/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of NVIDIA's C interfaces that the tables name. With the vendor's headers (found when
 * this is built) every hook is checked against the vendor's prototype by the compiler; without them
 * these stand-ins have the same calling convention, and the shim is the same.
 */
#ifndef TILEWISE_TRACER_CUDA_TYPES_H
#define TILEWISE_TRACER_CUDA_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if TILEWISE_CUBLAS_HEADERS
#include <cublasLt.h>
#include <cublas_api.h>
#else
typedef enum { CUDA_R_32F, CUDA_TYPE_NEGATIVE = -1 } cudaDataType, cudaDataType_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct {
    float x, y;
} cuComplex;
typedef struct {
    double x, y;
} cuDoubleComplex;
typedef unsigned cublasStatus_t, cublasOperation_t, cublasPointerMode_t, cublasMath_t;
typedef unsigned cublasComputeType_t, cublasSideMode_t, cublasFillMode_t, cublasDiagType_t;
typedef int cublasGemmAlgo_t;
typedef struct cublasContext *cublasHandle_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef void *cublasLtMatmulDesc_t, *cublasLtMatrixLayout_t;
#endif

/* __half and __nv_bfloat16: in C the vendor's headers have neither, nor the prototypes that use
 * them. Only pointers to them are passed. */
typedef struct {
    uint16_t bits;
} cuda_half, cuda_bfloat16;

/* Numbers of cudaDataType that we know. */
#define CUDA_DTYPE_LIST(X)                                                                         \
    X(0, F32)                                                                                      \
    X(1, F64)                                                                                      \
    X(2, F16)                                                                                      \
    X(3, I8)                                                                                       \
    X(4, C64)                                                                                      \
    X(5, C128)                                                                                     \
    X(6, C32)                                                                                      \
    X(8, U8)                                                                                       \
    X(10, I32)                                                                                     \
    X(14, BF16)                                                                                    \
    X(16, I4)                                                                                      \
    X(18, U4)                                                                                      \
    X(24, I64)                                                                                     \
    X(28, E4M3)                                                                                    \
    X(29, E5M2)                                                                                    \
    X(30, UE8M0)                                                                                   \
    X(31, E2M3)                                                                                    \
    X(32, E3M2)                                                                                    \
    X(33, E2M1)

/* Numbers of cublasComputeType_t: accumulate in, alpha and beta in. */
#define CUDA_COMPUTE_LIST(X)                                                                       \
    X(64, F16, F16)                                                                                \
    X(65, F16, F16)                                                                                \
    X(68, F32, F32)                                                                                \
    X(69, F32, F32)                                                                                \
    X(70, F64, F64)                                                                                \
    X(71, F64, F64)                                                                                \
    X(72, I32, I32)                                                                                \
    X(73, I32, I32)                                                                                \
    X(74, F32, F32)                                                                                \
    X(75, F32, F32)                                                                                \
    X(77, TF32, F32)                                                                               \
    X(78, F32, F32)                                                                                \
    X(79, F64, F64)

#endif
