/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/probe.h"

#include <errno.h>

#include <cuda_runtime.h>

static __device__ uint64_t now_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

/* The timer advances in steps of up to a microsecond: begin and end where it steps. */
static __device__ uint64_t next_step_ns(uint64_t after_ns)
{
    uint64_t first = now_ns(), ns = first;
    while (ns == first || ns < after_ns)
        ns = now_ns();
    return ns;
}

static __global__ void read_clock(struct cuda_probe_clock *out, uint64_t spin_ns)
{
    uint64_t start_ns = next_step_ns(0);
    long long start = clock64();
    uint64_t end_ns = next_step_ns(start_ns + spin_ns);
    out->cycles = (uint64_t)(clock64() - start);
    out->ns = end_ns - start_ns;
}

int cuda_probe_read_clock(struct cuda_probe_clock *out, uint64_t spin_ns, void *stream)
{
    read_clock<<<1, 1, 0, (cudaStream_t)stream>>>(out, spin_ns);
    return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}
