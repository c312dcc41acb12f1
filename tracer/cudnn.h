/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN as the table cudnn.def names it: argument lists by family, and CUDNN_*_SHAPE: the image,
 * filter and result descriptors that say how large the convolution is, or nothing.
 */
#ifndef TILEWISE_TRACER_CUDNN_H
#define TILEWISE_TRACER_CUDNN_H

#include <stddef.h>

#if TILEWISE_CUDNN_HEADERS
#include <cudnn.h>
#else
typedef unsigned cudnnStatus_t, cudnnConvolutionFwdAlgo_t;
typedef unsigned cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdFilterAlgo_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnActivationStruct *cudnnActivationDescriptor_t;
typedef void *cudnnBackendDescriptor_t;
#endif

/* Numbers of cudnnDataType_t that we know. */
#define CUDNN_DTYPE_LIST(X)                                                                        \
    X(0, F32)                                                                                      \
    X(1, F64)                                                                                      \
    X(2, F16)                                                                                      \
    X(3, I8)                                                                                       \
    X(4, I32)                                                                                      \
    X(6, U8)                                                                                       \
    X(9, BF16)                                                                                     \
    X(10, I64)                                                                                     \
    X(12, E4M3)                                                                                    \
    X(13, E5M2)

#define CUDNN_FORWARD_PARAMS                                                                       \
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t image, const void *x,   \
        const cudnnFilterDescriptor_t filter, const void *w,                                       \
        const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo, void *space,      \
        size_t space_bytes, const void *beta, const cudnnTensorDescriptor_t result, void *y
#define CUDNN_FORWARD_ARGS                                                                         \
    handle, alpha, image, x, filter, w, conv, algo, space, space_bytes, beta, result, y
#define CUDNN_FORWARD_SHAPE image, filter, result, conv

#define CUDNN_FUSED_PARAMS                                                                         \
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t image, const void *x,   \
        const cudnnFilterDescriptor_t filter, const void *w,                                       \
        const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo, void *space,      \
        size_t space_bytes, const void *beta, const cudnnTensorDescriptor_t z_layout,              \
        const void *z, const cudnnTensorDescriptor_t bias_layout, const void *bias,                \
        const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t result,        \
        void *y
#define CUDNN_FUSED_ARGS                                                                           \
    handle, alpha, image, x, filter, w, conv, algo, space, space_bytes, beta, z_layout, z,         \
        bias_layout, bias, activation, result, y
#define CUDNN_FUSED_SHAPE CUDNN_FORWARD_SHAPE

#define CUDNN_TO_DATA_PARAMS                                                                       \
    cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t filter, const void *w,  \
        const cudnnTensorDescriptor_t result, const void *y,                                       \
        const cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algo, void *space,  \
        size_t space_bytes, const void *beta, const cudnnTensorDescriptor_t image, void *x
#define CUDNN_TO_DATA_ARGS                                                                         \
    handle, alpha, filter, w, result, y, conv, algo, space, space_bytes, beta, image, x
#define CUDNN_TO_DATA_SHAPE CUDNN_FORWARD_SHAPE

#define CUDNN_TO_FILTER_PARAMS                                                                     \
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t image, const void *x,   \
        const cudnnTensorDescriptor_t result, const void *y,                                       \
        const cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algo,             \
        void *space, size_t space_bytes, const void *beta, const cudnnFilterDescriptor_t filter,   \
        void *w
#define CUDNN_TO_FILTER_ARGS                                                                       \
    handle, alpha, image, x, result, y, conv, algo, space, space_bytes, beta, filter, w
#define CUDNN_TO_FILTER_SHAPE CUDNN_FORWARD_SHAPE

#define CUDNN_PLAN_PARAMS                                                                          \
    cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variant
#define CUDNN_PLAN_ARGS  handle, plan, variant
#define CUDNN_PLAN_SHAPE NULL, NULL, NULL, NULL

#endif
