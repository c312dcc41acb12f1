/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types on the device: to and from float, as values and as what they are read as.
 */
#ifndef TILEWISE_KERNELS_CUDA_ELEMENT_CUH
#define TILEWISE_KERNELS_CUDA_ELEMENT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

static __device__ __forceinline__ float element_to_float(float x)
{
    return x;
}
static __device__ __forceinline__ float element_to_float(__half x)
{
    return __half2float(x);
}
static __device__ __forceinline__ float element_to_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <typename T> static __device__ __forceinline__ T element_from_float(float x);
template <> __device__ __forceinline__ float element_from_float<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ __half element_from_float<__half>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 element_from_float<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

#endif
