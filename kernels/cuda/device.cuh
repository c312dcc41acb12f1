/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions that C++ has no name for: asynchronous copies to shared memory, matrix loads and
 * matrix products (sm_80). The tests that run the kernels on a processor bring their own
 * (tests/emulation/emulation.hpp) and define TILEWISE_EMULATION.
 */
#ifndef TILEWISE_KERNELS_CUDA_DEVICE_CUH
#define TILEWISE_KERNELS_CUDA_DEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#ifndef TILEWISE_EMULATION

#include <cuda_runtime.h>

static __device__ __forceinline__ uint32_t device_shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* Copy `bytes` of 16 (4: of 4) and zero the rest. Both addresses aligned to the size. Nothing is
 * read with bytes = 0. */
static __device__ __forceinline__ void device_copy16(void *shared, const void *global, int bytes)
{
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(device_shared_address(shared)),
        "l"(global), "r"(bytes)
        : "memory");
}
static __device__ __forceinline__ void device_copy4(void *shared, const void *global, int bytes)
{
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(device_shared_address(shared)),
        "l"(global), "r"(bytes)
        : "memory");
}
static __device__ __forceinline__ void device_copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Wait until at most LEFT of this thread's groups are on their way. */
template <int LEFT> static __device__ __forceinline__ void device_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* Four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8. */
static __device__ __forceinline__ void device_load_matrices(uint32_t r[4], const void *shared)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(device_shared_address(shared))
                 : "memory");
}
static __device__ __forceinline__ void device_load_matrices_transposed(uint32_t r[4],
                                                                       const void *shared)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(device_shared_address(shared))
                 : "memory");
}

/* c += a b for 16 x 8 (m, n) and 16 of k (tf32: 8). */
static __device__ __forceinline__ void device_multiply(__half, float c[4], const uint32_t a[4],
                                                       const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ void device_multiply(__nv_bfloat16, float c[4],
                                                       const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ void device_multiply(float, float c[4], const uint32_t a[4],
                                                       const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The nearest tf32: the matrix product itself would cut the digits off. */
static __device__ __forceinline__ uint32_t device_round_tf32(uint32_t bits)
{
    uint32_t rounded;
    asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}

/* What is read once leaves the L1 cache to others. Nobody writes it meanwhile. */
static __device__ __forceinline__ int4 device_load_once(const int4 *from)
{
    int4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.s32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

/* A kernel that needs more than 48 KB of shared memory must say so. */
template <typename K> static bool device_allow_shared(K kernel, int bytes)
{
    return bytes <= 48 * 1024 ||
           cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) ==
               cudaSuccess;
}
static inline int device_processors()
{
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count > 0 ? count : 1;
}
static inline bool device_failed()
{
    return cudaGetLastError() != cudaSuccess;
}
template <typename... P, typename... A>
static void device_launch(void (*kernel)(P...), dim3 grid, int threads, int shared_bytes,
                          void *stream, const A &...arguments)
{
    kernel<<<grid, threads, shared_bytes, (cudaStream_t)stream>>>(arguments...);
}

/* Dynamic shared memory of the block. */
static __device__ __forceinline__ unsigned char *device_shared()
{
    extern __shared__ __align__(128) unsigned char shared[];
    return shared;
}

#endif
#endif
