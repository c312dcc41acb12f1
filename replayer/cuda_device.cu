/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cuda_device.h"

#include <errno.h>
#include <stdint.h>

#include <cuda_runtime.h>

static const size_t blocks_max = 132 * 8;
enum { THREADS = 256, AHEAD = 4 };

struct span {
    const uint4 *at;
    size_t count;
};

static __device__ unsigned sum_of(uint4 v)
{
    return v.x + v.y + v.z + v.w;
}

/* Every thread reads every `everybody`-th vector of `count` from `begin` on, round the end. */
static __device__ unsigned read_round(struct span s, size_t begin, size_t count, size_t me,
                                      size_t everybody)
{
    unsigned sum = 0;
    size_t i = (begin + me) % s.count, step = everybody % s.count;
#pragma unroll AHEAD
    for (size_t n = me; n < count; n += everybody) {
        sum += sum_of(s.at[i]);
        i += step;
        i -= i >= s.count ? s.count : 0;
    }
    return sum;
}

/* `never` is 0: the compiler must not find out that nobody wants the sum. */
static __global__ void __launch_bounds__(THREADS)
    touch(struct span region, size_t begin, size_t count, struct span hot, unsigned *never)
{
    size_t me = blockIdx.x * (size_t)THREADS + threadIdx.x;
    size_t everybody = gridDim.x * (size_t)THREADS;
    unsigned sum = read_round(region, begin, count, me, everybody);
    if (hot.count)
        sum += read_round(hot, 0, hot.count, me, everybody);
    if (never)
        atomicAdd(never, sum);
}

int cuda_device_touch(const void *region, size_t region_bytes, size_t at, size_t bytes,
                      const void *hot, size_t hot_bytes, void *stream)
{
    struct span all = { (const uint4 *)region, region_bytes / sizeof(uint4) };
    struct span last = { (const uint4 *)hot, hot ? hot_bytes / sizeof(uint4) : 0 };
    size_t count = bytes / sizeof(uint4), most = count > last.count ? count : last.count;
    size_t blocks = (most + THREADS - 1) / THREADS;
    blocks = blocks > blocks_max ? blocks_max : blocks < 1 ? 1 : blocks;
    touch<<<(unsigned)blocks, THREADS, 0, (cudaStream_t)stream>>>(all, at / sizeof(uint4), count,
                                                                  last, nullptr);
    return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}
