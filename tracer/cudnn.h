/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN as the tables cudnn.def, cudnn_plan.def and cudnn_state.def name it: argument lists by
 * family, and for convolution or attention CUDNN_*_SHAPE: the descriptors that say how large it is.
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
typedef struct cudnnAttnStruct *cudnnAttnDescriptor_t;
typedef struct cudnnSeqDataStruct *cudnnSeqDataDescriptor_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUstream_st *cudaStream_t;
typedef unsigned cudnnBackendDescriptorType_t;
typedef void *cudnnBackendDescriptor_t;
#endif

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

#define CUDNN_ATTENTION_PARAMS                                                                     \
    cudnnHandle_t handle, const cudnnAttnDescriptor_t attention, int step, const int *low,         \
        const int *high, const int *query_lengths, const int *key_lengths,                         \
        const cudnnSeqDataDescriptor_t queries, const void *q, const void *residuals,              \
        const cudnnSeqDataDescriptor_t keys, const void *k, const cudnnSeqDataDescriptor_t values, \
        const void *v, const cudnnSeqDataDescriptor_t result, void *y, size_t weight_bytes,        \
        const void *weights, size_t space_bytes, void *space, size_t reserve_bytes, void *reserve
#define CUDNN_ATTENTION_ARGS                                                                       \
    handle, attention, step, low, high, query_lengths, key_lengths, queries, q, residuals, keys,   \
        k, values, v, result, y, weight_bytes, weights, space_bytes, space, reserve_bytes, reserve

#define CUDNN_ATTENTION_SHAPE queries, keys, result, attention

/* Plans of the backend: cudnn_plan.def. */
#define CUDNN_EXECUTE_PARAMS                                                                       \
    cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variant
#define CUDNN_EXECUTE_ARGS handle, plan, variant

#define CUDNN_POPULATE_PARAMS                                                                      \
    cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variant,         \
        cudaGraph_t graph
#define CUDNN_POPULATE_ARGS handle, plan, variant, graph

#define CUDNN_CREATE_PARAMS cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *descriptor
#define CUDNN_CREATE_ARGS   type, descriptor

#define CUDNN_FINALIZE_PARAMS cudnnBackendDescriptor_t descriptor
#define CUDNN_FINALIZE_ARGS   descriptor

#define CUDNN_DESTROY_PARAMS cudnnBackendDescriptor_t descriptor
#define CUDNN_DESTROY_ARGS   descriptor

/* Handles: cudnn_state.def. */
#define CUDNN_SET_STREAM_PARAMS     cudnnHandle_t handle, cudaStream_t stream
#define CUDNN_SET_STREAM_ARGS       handle, stream
#define CUDNN_DESTROY_HANDLE_PARAMS cudnnHandle_t handle
#define CUDNN_DESTROY_HANDLE_ARGS   handle

#endif
