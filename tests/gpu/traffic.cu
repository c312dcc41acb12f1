/* SPDX-License-Identifier: Apache-2.0
 *
 * What memory can do: kernels that move 16-byte words and compute nothing, to compare an add with
 * the same traffic in the same mix of reads and writes.
 */
#include "traffic.h"

#include <cuda_runtime.h>

enum { THREADS = 256, AHEAD = 4 };

template <bool ONCE> static __device__ int4 load(const int4 *from)
{
    return ONCE ? __ldcs(from) : *from;
}

static __device__ int4 mixed(int4 a, int4 b)
{
    return make_int4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

/* to = a, or a ^ b (b may be `to`). */
template <bool ONCE>
static __global__ void __launch_bounds__(THREADS)
    move(const int4 *a, const int4 *b, int4 *to, int64_t words)
{
    int64_t first = blockIdx.x * (int64_t)(THREADS * AHEAD) + threadIdx.x;
    int4 x[AHEAD], y[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        if (first + i * THREADS < words) {
            x[i] = load<ONCE>(a + first + i * THREADS);
            if (b)
                y[i] = load<ONCE>(b + first + i * THREADS);
        }
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        if (first + i * THREADS < words) {
            int4 value = b ? mixed(x[i], y[i]) : x[i];
            if (ONCE)
                __stcs(to + first + i * THREADS, value);
            else
                to[first + i * THREADS] = value;
        }
}

int traffic_move(const void *a, const void *b, void *to, size_t bytes, bool once, void *stream)
{
    int64_t words = (int64_t)(bytes / 16);
    unsigned blocks = (unsigned)((words + THREADS * AHEAD - 1) / (THREADS * AHEAD));
    (once ? move<true> : move<false>)<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(
        (const int4 *)a, (const int4 *)b, (int4 *)to, words);
    return (int)cudaGetLastError();
}
