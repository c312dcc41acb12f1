/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA kernels on a processor: every thread of a block is a fiber, collective operations meet.
 * Included before everything else when a .cu file is compiled as C++. Slow and strict: alignment is
 * checked, shared memory starts as garbage, blocks begin with another one at every launch, and
 * asynchronous copies happen as late as they may, or at once (emulation_copies_late). Addresses are
 * ordinary memory, so that the address sanitizer sees what a kernel reads and writes.
 */
#ifndef TILEWISE_TESTS_EMULATION_HPP
#define TILEWISE_TESTS_EMULATION_HPP

#define TILEWISE_EMULATION

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <deque>
#include <functional>
#include <vector>

#include <vector_types.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#undef __global__
#undef __device__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
extern bool emulation_copies_late;

void emulation_run(dim3 grid, int threads, int shared_bytes, const std::function<void()> &kernel);
unsigned char *device_shared();
void __syncthreads();

void device_copy(void *shared, const void *global, int size, int bytes);
static inline void device_copy16(void *shared, const void *global, int bytes)
{
    device_copy(shared, global, 16, bytes);
}
static inline void device_copy4(void *shared, const void *global, int bytes)
{
    device_copy(shared, global, 4, bytes);
}
void device_copy_commit();
void emulation_wait(int left);
template <int LEFT> static inline void device_copy_wait()
{
    emulation_wait(LEFT);
}

void device_load_matrices(uint32_t r[4], const void *shared);
void device_load_matrices_transposed(uint32_t r[4], const void *shared);
void device_multiply(__half, float c[4], const uint32_t a[4], const uint32_t b[2]);
void device_multiply(__nv_bfloat16, float c[4], const uint32_t a[4], const uint32_t b[2]);
void device_multiply(float, float c[4], const uint32_t a[4], const uint32_t b[2]);

static inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline uint32_t device_round_tf32(uint32_t bits)
{
    bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
    return is_finite ? (bits + 0x1000u) & 0xffffe000u : bits;
}

static inline int4 device_load_once(const int4 *from)
{
    return *from;
}

/* One fiber runs at a time, and leaves at barriers only. */
template <typename T> static inline T atomicAdd(T *at, T value)
{
    T old = *at;
    *at += value;
    return old;
}
template <typename T> static inline T atomicMin(T *at, T value)
{
    T old = *at;
    *at = value < old ? value : old;
    return old;
}
template <typename T> static inline T atomicMax(T *at, T value)
{
    T old = *at;
    *at = value > old ? value : old;
    return old;
}

template <typename K> static bool device_allow_shared(K, int bytes)
{
    return bytes <= 227 * 1024;
}
static inline int device_processors()
{
    return 2;
}
static inline bool device_failed()
{
    return false;
}
template <typename... P, typename... A>
static void device_launch(void (*kernel)(P...), dim3 grid, int threads, int shared_bytes, void *,
                          const A &...arguments)
{
    emulation_run(grid, threads, shared_bytes, [&] { kernel(arguments...); });
}

#endif
