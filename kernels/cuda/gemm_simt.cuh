/* SPDX-License-Identifier: Apache-2.0
 *
 * C = alpha A B + beta C with ordinary multiply-adds in f32 or f64. A block computes BM x BN
 * elements, a thread TM x TN of them; steps of BK along k go through two tiles in shared memory,
 * the next one on its way through registers while one is used. Tiles lie as BK lines, k outermost.
 */
#ifndef TILEWISE_KERNELS_CUDA_GEMM_SIMT_CUH
#define TILEWISE_KERNELS_CUDA_GEMM_SIMT_CUH

#include "kernels/cuda/finish.cuh"
#include "kernels/cuda/gemm_mma.cuh"

template <typename T_, int BM_, int BN_, int BK_, int TM_, int TN_> struct simt_shape {
    using T = T_;
    static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
    static constexpr int VECTOR = 16 / (int)sizeof(T);
    static constexpr int THREADS_N = BN / TN, THREADS = BM / TM * THREADS_N;
    static constexpr int PAD = VECTOR; /* lines begin in different banks */
    static constexpr int A_LINE = BM + PAD, B_LINE = BN + PAD;
    static constexpr int SHARED_BYTES = 2 * BK * (A_LINE + B_LINE) * (int)sizeof(T);
    static_assert(TM % VECTOR == 0 && TN % VECTOR == 0 && BK % VECTOR == 0, "whole vectors");
    static_assert(THREADS % 32 == 0, "whole warps");
};

template <typename T> struct simt_arguments {
    mma_operand<T> a, b;
    finish_arguments<T> finish;
    int64_t m, n, k;
    int64_t batches, k_per_split;
    int tiles_m, tiles_n;
};

template <typename T> struct alignas(16) simt_vector {
    T x[16 / sizeof(T)];
};

/* The part of a tile of LINES x BK that one thread carries: `inner` runs along memory. */
template <typename T, int LINES, int BK, int THREADS, bool K_ALONG> struct simt_carrier {
    static constexpr int VECTOR = 16 / (int)sizeof(T);
    static constexpr int INNER = K_ALONG ? BK : LINES, OUTER = K_ALONG ? LINES : BK;
    static constexpr int VECTORS = INNER / VECTOR * OUTER;
    static constexpr int EACH = (VECTORS + THREADS - 1) / THREADS;
    static_assert(INNER % VECTOR == 0, "whole vectors");
    simt_vector<T> held[EACH];

    __device__ __forceinline__ void load(const mma_operand<T> &x, const T *base, int64_t outer,
                                         int64_t outer_end, int64_t inner, int64_t inner_end)
    {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int index = (int)threadIdx.x + i * THREADS;
            int64_t line = outer + index / (INNER / VECTOR);
            int64_t first = inner + index % (INNER / VECTOR) * VECTOR;
            bool mine = index < VECTORS && line < outer_end;
            int valid = mine ? mma_valid<VECTOR>(first, inner_end) : 0;
            const T *from = base + line * x.ld + first;
            if (x.aligned == 16 && valid == VECTOR) {
                held[i] = *(const simt_vector<T> *)from;
                continue;
            }
#pragma unroll
            for (int e = 0; e < VECTOR; e++)
                held[i].x[e] = e < valid ? from[e] : T(0);
        }
    }

    template <int LINE> __device__ __forceinline__ void store(T *tile) const
    {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int index = (int)threadIdx.x + i * THREADS;
            int outer = index / (INNER / VECTOR), inner = index % (INNER / VECTOR) * VECTOR;
            if (index >= VECTORS)
                break;
            if constexpr (K_ALONG) {
#pragma unroll
                for (int e = 0; e < VECTOR; e++)
                    tile[(inner + e) * LINE + outer] = held[i].x[e];
            } else {
                *(simt_vector<T> *)(tile + outer * LINE + inner) = held[i];
            }
        }
    }
};

/* COUNT elements of a line for this thread: vectors that its neighbours' vectors lie between. */
template <typename T, int COUNT, int SPREAD>
static __device__ __forceinline__ void simt_gather(T (&out)[COUNT], const T *line, int who)
{
    constexpr int VECTOR = 16 / (int)sizeof(T);
#pragma unroll
    for (int v = 0; v < COUNT / VECTOR; v++) {
        simt_vector<T> x = *(const simt_vector<T> *)(line + (v * SPREAD + who) * VECTOR);
#pragma unroll
        for (int e = 0; e < VECTOR; e++)
            out[v * VECTOR + e] = x.x[e];
    }
}

template <typename S>
static __device__ __forceinline__ void simt_compute(typename S::T (&sum)[S::TM][S::TN],
                                                    const typename S::T *a, const typename S::T *b,
                                                    int tm, int tn)
{
    using T = typename S::T;
#pragma unroll
    for (int k = 0; k < S::BK; k++) {
        T row[S::TM], column[S::TN];
        simt_gather<T, S::TM, S::BM / S::TM>(row, a + k * S::A_LINE, tm);
        simt_gather<T, S::TN, S::BN / S::TN>(column, b + k * S::B_LINE, tn);
#pragma unroll
        for (int i = 0; i < S::TM; i++)
#pragma unroll
            for (int j = 0; j < S::TN; j++)
                sum[i][j] = fma(row[i], column[j], sum[i][j]);
    }
}

template <typename S, bool A_ALONG, bool B_ALONG> struct simt_block {
    using T = typename S::T;
    const simt_arguments<T> &x;
    const T *a, *b;
    int64_t m0, n0, k_begin, k_end;
    T *shared;
    simt_carrier<T, S::BM, S::BK, S::THREADS, A_ALONG> carry_a;
    simt_carrier<T, S::BN, S::BK, S::THREADS, B_ALONG> carry_b;

    __device__ __forceinline__ T *stage(int64_t step) const
    {
        return shared + step % 2 * (S::BK * (S::A_LINE + S::B_LINE));
    }
    __device__ __forceinline__ void load(int64_t step)
    {
        int64_t k = k_begin + step * S::BK;
        if constexpr (A_ALONG)
            carry_a.load(x.a, a, m0, x.m, k, k_end);
        else
            carry_a.load(x.a, a, k, k_end, m0, x.m);
        if constexpr (B_ALONG)
            carry_b.load(x.b, b, n0, x.n, k, k_end);
        else
            carry_b.load(x.b, b, k, k_end, n0, x.n);
    }
    __device__ __forceinline__ void store(int64_t step) const
    {
        carry_a.template store<S::A_LINE>(stage(step));
        carry_b.template store<S::B_LINE>(stage(step) + S::BK * S::A_LINE);
    }
    /* While tile `step` is used, the next one is on its way; it goes to the other half of shared
     * memory, whose readers the barrier at the end of the step before has let go. */
    __device__ __forceinline__ void sum(T (&total)[S::TM][S::TN], int tm, int tn)
    {
        int64_t steps = (k_end - k_begin + S::BK - 1) / S::BK;
        if (steps > 0) {
            load(0);
            store(0);
        }
        __syncthreads();
        for (int64_t step = 0; step < steps; step++) {
            if (step + 1 < steps)
                load(step + 1);
            const T *tile = stage(step);
            simt_compute<S>(total, tile, tile + S::BK * S::A_LINE, tm, tn);
            if (step + 1 < steps)
                store(step + 1);
            __syncthreads();
        }
    }
};

/* Grid: tiles, splits of k, batch entries. */
template <typename S, bool A_ALONG, bool B_ALONG>
static __global__ void __launch_bounds__(S::THREADS)
    gemm_simt(const __grid_constant__ simt_arguments<typename S::T> x)
{
    using T = typename S::T;
    constexpr int VECTOR = S::VECTOR;
    int tm = (int)threadIdx.x / S::THREADS_N, tn = (int)threadIdx.x % S::THREADS_N;
    int tile_m, tile_n;
    mma_place(blockIdx.x, x.tiles_m, x.tiles_n, &tile_m, &tile_n);
    for (int64_t batch = blockIdx.z; batch < x.batches; batch += gridDim.z) {
        T sum[S::TM][S::TN] = {};
        int64_t k_begin = blockIdx.y * x.k_per_split;
        int64_t k_end = x.k < k_begin + x.k_per_split ? x.k : k_begin + x.k_per_split;
        simt_block<S, A_ALONG, B_ALONG> block = { x,
                                                  x.a.base + batch * x.a.batch,
                                                  x.b.base + batch * x.b.batch,
                                                  (int64_t)tile_m * S::BM,
                                                  (int64_t)tile_n * S::BN,
                                                  k_begin,
                                                  k_end,
                                                  (T *)device_shared(),
                                                  {},
                                                  {} };
        block.sum(sum, tm, tn);
        finish_place<T> place = { x.finish, x.m, x.n, batch, x.batches, (int)blockIdx.y };
#pragma unroll
        for (int i = 0; i < S::TM; i++)
#pragma unroll
            for (int j = 0; j < S::TN; j += 2) {
                int64_t row = block.m0 + (i / VECTOR * (S::BM / S::TM) + tm) * VECTOR + i % VECTOR;
                int64_t column =
                    block.n0 + (j / VECTOR * (S::BN / S::TN) + tn) * VECTOR + j % VECTOR;
                finish_pair(place, row, column, sum[i][j], sum[i][j + 1]);
            }
    }
}

#endif
