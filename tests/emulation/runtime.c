/* SPDX-License-Identifier: Apache-2.0
 *
 * As much of CUDA's runtime as gpu_kernels --check-only calls, where the device is the heap; the
 * reference is the processor's, and nothing is timed.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/builtin.h"
#include "kernels/cuda/ref.h"
#include "tests/gpu/kernels.h"

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    (void)stream;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    (void)flags;
    *stream = NULL;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    *properties = (struct cudaDeviceProp){ .name = "emulation", .multiProcessorCount = 2 };
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorNotSupported ? "not supported" : "no memory";
}

int cuda_ref_compute(const struct tilewise_signature *s, const struct tilewise_args *args,
                     double *result, double *magnitude)
{
    return ref_compute(s, args, result, magnitude);
}

bool kernels_bench_open(void)
{
    return false;
}

void kernels_products_time(void)
{
}

void kernels_adds_time(void)
{
}
