/* SPDX-License-Identifier: Apache-2.0
 *
 * C = alpha A B + beta C for a few rows of A (tokens) and a B that is read once, at the speed of
 * memory: both lie along k. A block computes 16 columns of C; its warps share k between them and
 * read B in lines of 64 bytes straight into registers, many of them in flight. Their sums meet in
 * shared memory in a fixed order.
 *
 * A lane of a product m16n8k16 wants elements 2t, 2t + 1, 2t + 8 and 2t + 9 of a line. A sum does
 * not care which element of k is called which, so it gets 16 bytes that lie together, twice half of
 * them, from either operand.
 */
#ifndef TILEWISE_KERNELS_CUDA_GEMM_SKINNY_CUH
#define TILEWISE_KERNELS_CUDA_GEMM_SKINNY_CUH

#include "kernels/cuda/gemm_mma.cuh"

/* T has 16 bits. EIGHTS: of tokens. AHEAD: steps of k that a warp has in flight. */
template <typename T_, int EIGHTS_, int AHEAD_> struct skinny_shape {
    using T = T_;
    static constexpr int EIGHTS = EIGHTS_, AHEAD = AHEAD_;
    static constexpr int WARPS = 8, THREADS = WARPS * MMA_LANES, STEP = 32;
    static constexpr int STRETCH = AHEAD * STEP;
    static constexpr int BM = 16, BN = MMA_M, BK = WARPS * STEP; /* as a tile */
    static constexpr int TOKENS = 8 * EIGHTS;
    static constexpr int PITCH = BN + 4; /* of sums in shared memory: all banks at once */
    static constexpr int SHARED_BYTES = WARPS * BM * PITCH * (int)sizeof(float);
    static_assert(sizeof(T) == 2 && TOKENS <= BM, "");
};

static __device__ __forceinline__ int4 skinny_load(const void *from, bool exists)
{
    return exists ? device_load_once((const int4 *)from) : make_int4(0, 0, 0, 0);
}
static __device__ __forceinline__ int4 skinny_load_again(const void *from, bool exists)
{
    return exists ? *(const int4 *)from : make_int4(0, 0, 0, 0);
}

/* 32 of k: `upper` and `lower` of two lines of B eight apart, `x` of a line of A. */
template <typename T>
static __device__ __forceinline__ void skinny_multiply(float sum[4], int4 upper, int4 lower, int4 x)
{
    uint32_t b0[4] = { (uint32_t)upper.x, (uint32_t)lower.x, (uint32_t)upper.y, (uint32_t)lower.y };
    uint32_t b1[4] = { (uint32_t)upper.z, (uint32_t)lower.z, (uint32_t)upper.w, (uint32_t)lower.w };
    uint32_t a0[2] = { (uint32_t)x.x, (uint32_t)x.y }, a1[2] = { (uint32_t)x.z, (uint32_t)x.w };
    device_multiply(T(0.0f), sum, b0, a0);
    device_multiply(T(0.0f), sum, b1, a1);
}

/* What one warp sums: of k, every WARPS-th stretch of AHEAD steps. */
template <typename S>
static __device__ __forceinline__ void skinny_sum(const mma_arguments<typename S::T> &x,
                                                  float sum[S::EIGHTS][4], int64_t batch,
                                                  int64_t m0, int64_t n0)
{
    using T = typename S::T;
    int lane = (int)threadIdx.x % MMA_LANES, warp = (int)threadIdx.x / MMA_LANES, line = lane / 4;
    int64_t k_begin = blockIdx.y * x.k_per_split;
    int64_t k_end = x.k < k_begin + x.k_per_split ? x.k : k_begin + x.k_per_split;
    int64_t k = k_begin + warp * S::STRETCH + lane % 4 * 8;
    const T *a = x.a.base + batch * x.a.batch + (m0 + line) * x.a.ld + k;
    const T *upper = x.b.base + batch * x.b.batch + (n0 + line) * x.b.ld + k;
    const T *lower = upper + 8 * x.b.ld;
    bool has_upper = n0 + line < x.n, has_lower = n0 + line + 8 < x.n;
    /* Every lane of a warp takes as many turns. */
    for (int64_t left = k_end - k; left + lane % 4 * 8 > 0; left -= S::WARPS * S::STRETCH) {
        int4 up[S::AHEAD], low[S::AHEAD], token[S::AHEAD][S::EIGHTS];
#pragma unroll
        for (int i = 0; i < S::AHEAD; i++) {
            bool exists = i * S::STEP < left;
            up[i] = skinny_load(upper + i * S::STEP, exists && has_upper);
            low[i] = skinny_load(lower + i * S::STEP, exists && has_lower);
#pragma unroll
            for (int j = 0; j < S::EIGHTS; j++)
                token[i][j] = skinny_load_again(a + j * 8 * x.a.ld + i * S::STEP,
                                                exists && m0 + line + j * 8 < x.m);
        }
#pragma unroll
        for (int i = 0; i < S::AHEAD; i++)
#pragma unroll
            for (int j = 0; j < S::EIGHTS; j++)
                skinny_multiply<T>(sum[j], up[i], low[i], token[i][j]);
        a += S::WARPS * S::STRETCH;
        upper += S::WARPS * S::STRETCH;
        lower += S::WARPS * S::STRETCH;
    }
}

/* Grid: tiles, splits of k, batch entries. */
template <typename S>
static __global__ void __launch_bounds__(S::THREADS, 2)
    gemm_skinny(const __grid_constant__ mma_arguments<typename S::T> x)
{
    int lane = (int)threadIdx.x % MMA_LANES, warp = (int)threadIdx.x / MMA_LANES;
    int64_t m0 = blockIdx.x / (unsigned)x.tiles_n * (int64_t)S::BM;
    int64_t n0 = blockIdx.x % (unsigned)x.tiles_n * (int64_t)S::BN;
    float *parts = (float *)device_shared();
    for (int64_t batch = blockIdx.z; batch < x.batches; batch += gridDim.z) {
        float sum[S::EIGHTS][4] = {};
        skinny_sum<S>(x, sum, batch, m0, n0);
        float *mine = parts + warp * S::TOKENS * S::PITCH;
#pragma unroll
        for (int j = 0; j < S::EIGHTS; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                mine[(j * 8 + lane % 4 * 2 + e % 2) * S::PITCH + lane / 4 + e / 2 * 8] = sum[j][e];
        __syncthreads();
        int token = (int)threadIdx.x / (S::BN / 2), column = (int)threadIdx.x % (S::BN / 2) * 2;
        if (token < S::TOKENS) {
            float first = 0, second = 0;
            for (int w = 0; w < S::WARPS; w++) {
                const float *part = parts + (w * S::TOKENS + token) * S::PITCH + column;
                first += part[0];
                second += part[1];
            }
            finish_place<float> place = { x.finish, x.m, x.n, batch, x.batches, (int)blockIdx.y };
            finish_pair(place, m0 + token, n0 + column, first, second);
        }
        __syncthreads();
    }
}

#endif
