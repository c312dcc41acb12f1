/* SPDX-License-Identifier: Apache-2.0
 *
 * C = alpha A B + beta C on tensor cores (mma.sync): any sizes, either direction of A and B, any
 * alignment. A block computes BM x BN elements; steps of BK along k go through a ring of STAGES
 * tiles in shared memory that is filled ahead of use.
 *
 * In shared memory a tile keeps the direction it has in memory: rows of BK elements where k is the
 * direction with step 1 ("along"), else BK rows of BM or BN elements.
 */
#ifndef TILEWISE_KERNELS_CUDA_GEMM_MMA_CUH
#define TILEWISE_KERNELS_CUDA_GEMM_MMA_CUH

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/finish.cuh"
#include "kernels/cuda/swizzle.h"

enum { MMA_M = 16, MMA_N = 8, MMA_LANES = 32, MMA_CHUNK_BYTES = 16 };

/* T: what is multiplied; float stands for tf32. */
template <typename T_, int BM_, int BN_, int BK_, int WARPS_M_, int WARPS_N_, int STAGES_>
struct mma_shape {
    using T = T_;
    static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_;
    static constexpr int WARPS_M = WARPS_M_, WARPS_N = WARPS_N_;
    static constexpr int THREADS = WARPS_M * WARPS_N * MMA_LANES;
    static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N; /* of a warp */
    static constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N;
    static constexpr int CHUNK = MMA_CHUNK_BYTES / (int)sizeof(T); /* elements */
    static constexpr int STEP = 2 * CHUNK;                         /* k of one product */
    static constexpr int A_BYTES = BM * BK * (int)sizeof(T), B_BYTES = BN * BK * (int)sizeof(T);
    static constexpr int SHARED_BYTES = STAGES * (A_BYTES + B_BYTES);
    /* On one multiprocessor: registers must leave room for them. */
    static constexpr int BLOCKS = 227 * 1024 / (SHARED_BYTES + 1024);
    static_assert(WM % MMA_M == 0 && WN % 16 == 0 && BK % STEP == 0, "whole products");
    static_assert(STAGES >= 2, "one tile is filled while another is used");
};

/* One operand as the kernel sees it: `outer` lines of `inner` elements side by side. */
template <typename T> struct mma_operand {
    const T *base;
    int64_t ld;
    int64_t batch;
    int aligned; /* bytes that every line begins at a multiple of: 16, 4 or less */
};

template <typename T> struct mma_arguments {
    mma_operand<T> a, b;
    finish_arguments<float> finish;
    int64_t m, n, k;
    int64_t batches, k_per_split;
    int tiles_m, tiles_n;
};

/* Elements [first, end) of a chunk's row that exist. */
template <int CHUNK> static __device__ __forceinline__ int mma_valid(int64_t first, int64_t end)
{
    int64_t left = end - first;
    return left <= 0 ? 0 : left < CHUNK ? (int)left : CHUNK;
}

/* A chunk whose address is not a multiple of 16 bytes. */
template <typename T, int CHUNK>
static __device__ __forceinline__ void mma_copy_chunk(T *to, const T *from, int valid, int aligned)
{
    if (aligned >= 4) {
        constexpr int WORD = 4 / (int)sizeof(T);
#pragma unroll
        for (int i = 0; i < CHUNK; i += WORD) {
            int left = valid - i < 0 ? 0 : valid - i < WORD ? valid - i : WORD;
            device_copy4(to + i, left > 0 ? from + i : from, left * (int)sizeof(T));
        }
    } else {
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            to[i] = i < valid ? from[i] : T(0.0f);
    }
}

/* How many of `most` lines or elements there are from `first` on. */
static __device__ __forceinline__ int mma_left(int64_t first, int64_t end, int most)
{
    int64_t left = end - first;
    return left < most ? (int)left : most;
}

/* How a tile of ROWS lines of COLUMNS elements is filled: a thread copies one chunk of every
 * STEP-th line. SPREAD_QUADS: see swizzle.h. */
template <typename T, int ROWS, int COLUMNS, int THREADS, bool WHOLE_CHUNKS, bool SPREAD_QUADS>
struct mma_filler {
    static constexpr int CHUNK = MMA_CHUNK_BYTES / (int)sizeof(T), CHUNKS = COLUMNS / CHUNK;
    static constexpr int STEP = THREADS / CHUNKS;
    static_assert(THREADS % CHUNKS == 0 && ROWS % STEP == 0, "every thread copies alike");

    /* Where this thread's first chunk lies in a tile that begins at an address. */
    static __device__ __forceinline__ int64_t offset(int64_t ld)
    {
        return (int)threadIdx.x / CHUNKS * ld + (int)threadIdx.x % CHUNKS * CHUNK;
    }
    /* `from`: this thread's first chunk. What lies behind `lines` and `elements` is zero. */
    static __device__ __forceinline__ void fill(T *tile, const mma_operand<T> &x, const T *from,
                                                int lines, int elements)
    {
        int row = (int)threadIdx.x / CHUNKS, chunk = (int)threadIdx.x % CHUNKS;
        int left = elements - chunk * CHUNK;
        left = left < 0 ? 0 : left < CHUNK ? left : CHUNK;
#pragma unroll
        for (int i = 0; i < ROWS / STEP; i++) {
            int line = row + i * STEP, valid = line < lines ? left : 0;
            int place = SPREAD_QUADS ? swizzle_quads(line, chunk, CHUNKS)
                                     : swizzle_rows(line, chunk, CHUNKS);
            const T *source = valid > 0 ? from + i * STEP * x.ld : x.base;
            if (WHOLE_CHUNKS)
                device_copy16(tile + place * CHUNK, source, valid * (int)sizeof(T));
            else
                mma_copy_chunk<T, CHUNK>(tile + place * CHUNK, source, valid, x.aligned);
        }
    }
};

/* The fragments of one step of k: TILES blocks of 16 rows of A, or of pairs of 8 columns of B.
 * `first`: row or column of the warp in the tile. */
template <typename T, int LINES, int BK, bool K_ALONG> struct mma_reader;

/* Lines along k: one matrix load gives 16 lines x 2 chunks. ORDER of the four 8 x 8 matrices: A
 * goes down the rows first, B along k first. */
template <typename T, int LINES, int BK> struct mma_reader<T, LINES, BK, true> {
    static constexpr int CHUNK = MMA_CHUNK_BYTES / (int)sizeof(T), CHUNKS = BK / CHUNK;
    static __device__ __forceinline__ void a(uint32_t r[4], const T *tile, int first, int step)
    {
        int lane = (int)threadIdx.x % MMA_LANES;
        int row = first + lane % 16, chunk = step * 2 + lane / 16;
        device_load_matrices(r, tile + swizzle_rows(row, chunk, CHUNKS) * CHUNK);
    }
    static __device__ __forceinline__ void b(uint32_t r[4], const T *tile, int first, int step)
    {
        int lane = (int)threadIdx.x % MMA_LANES;
        int row = first + lane % 8 + lane / 16 * 8, chunk = step * 2 + lane / 8 % 2;
        device_load_matrices(r, tile + swizzle_rows(row, chunk, CHUNKS) * CHUNK);
    }
};

/* Lines across k, 16 bits: the matrix load transposes. */
template <typename T, int LINES, int BK> struct mma_reader<T, LINES, BK, false> {
    static constexpr int CHUNK = MMA_CHUNK_BYTES / (int)sizeof(T), CHUNKS = LINES / CHUNK;
    static __device__ __forceinline__ void a(uint32_t r[4], const T *tile, int first, int step)
    {
        int lane = (int)threadIdx.x % MMA_LANES;
        int row = step * 16 + lane % 8 + lane / 16 * 8, chunk = first / CHUNK + lane / 8 % 2;
        device_load_matrices_transposed(r, tile + swizzle_rows(row, chunk, CHUNKS) * CHUNK);
    }
    static __device__ __forceinline__ void b(uint32_t r[4], const T *tile, int first, int step)
    {
        int lane = (int)threadIdx.x % MMA_LANES;
        int row = step * 16 + lane % 16, chunk = first / CHUNK + lane / 16;
        device_load_matrices_transposed(r, tile + swizzle_rows(row, chunk, CHUNKS) * CHUNK);
    }
};

/* Lines across k, 32 bits: no instruction transposes these; word by word. */
template <int LINES, int BK> struct mma_reader<float, LINES, BK, false> {
    static constexpr int CHUNKS = LINES / 4;
    static __device__ __forceinline__ uint32_t word(const float *tile, int k, int line)
    {
        return __float_as_uint(tile[swizzle_quads(k, line / 4, CHUNKS) * 4 + line % 4]);
    }
    static __device__ __forceinline__ void a(uint32_t r[4], const float *tile, int first, int step)
    {
        int lane = (int)threadIdx.x % MMA_LANES, line = first + lane / 4, k = step * 8 + lane % 4;
        r[0] = word(tile, k, line);
        r[1] = word(tile, k, line + 8);
        r[2] = word(tile, k + 4, line);
        r[3] = word(tile, k + 4, line + 8);
    }
    static __device__ __forceinline__ void b(uint32_t r[4], const float *tile, int first, int step)
    {
        int lane = (int)threadIdx.x % MMA_LANES, line = first + lane / 4, k = step * 8 + lane % 4;
        r[0] = word(tile, k, line);
        r[1] = word(tile, k + 4, line);
        r[2] = word(tile, k, line + 8);
        r[3] = word(tile, k + 4, line + 8);
    }
};

template <typename T> static __device__ __forceinline__ void mma_round(uint32_t r[4])
{
    if constexpr (sizeof(T) == 4) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            r[i] = device_round_tf32(r[i]);
    }
}

/* All products of one tile. */
template <typename S, bool A_ALONG, bool B_ALONG>
static __device__ __forceinline__ void mma_compute(float (&sum)[S::TILES_M][S::TILES_N][4],
                                                   const typename S::T *a, const typename S::T *b,
                                                   int warp_m, int warp_n)
{
    using T = typename S::T;
    using reader_a = mma_reader<T, S::BM, S::BK, A_ALONG>;
    using reader_b = mma_reader<T, S::BN, S::BK, B_ALONG>;
#pragma unroll
    for (int step = 0; step < S::BK / S::STEP; step++) {
        uint32_t fragment_a[S::TILES_M][4], fragment_b[S::TILES_N / 2][4];
#pragma unroll
        for (int i = 0; i < S::TILES_M; i++) {
            reader_a::a(fragment_a[i], a, warp_m * S::WM + i * MMA_M, step);
            mma_round<T>(fragment_a[i]);
        }
#pragma unroll
        for (int j = 0; j < S::TILES_N / 2; j++) {
            reader_b::b(fragment_b[j], b, warp_n * S::WN + j * 2 * MMA_N, step);
            mma_round<T>(fragment_b[j]);
        }
#pragma unroll
        for (int i = 0; i < S::TILES_M; i++)
#pragma unroll
            for (int j = 0; j < S::TILES_N; j++)
                device_multiply(T(0.0f), sum[i][j], fragment_a[i], fragment_b[j / 2] + j % 2 * 2);
    }
}

/* Lines of one operand for a block: along k, or across it. */
template <typename S, int LINES, bool ALONG, bool WHOLE_CHUNKS> struct mma_source {
    using T = typename S::T;
    static constexpr int ROWS = ALONG ? LINES : S::BK, COLUMNS = ALONG ? S::BK : LINES;
    using filler = mma_filler<T, ROWS, COLUMNS, S::THREADS, WHOLE_CHUNKS, !ALONG && sizeof(T) == 4>;
    const mma_operand<T> &x;
    const T *from; /* this thread's first chunk of the first step */
    int lines;     /* of the tile that exist, or elements of its lines */

    __device__ __forceinline__ mma_source(const mma_operand<T> &operand, int64_t batch,
                                          int64_t first, int64_t end, int64_t k)
        : x(operand), from(operand.base + batch * operand.batch +
                           (ALONG ? first * operand.ld + k : k * operand.ld + first) +
                           filler::offset(operand.ld)),
          lines(mma_left(first, end, LINES))
    {
    }
    __device__ __forceinline__ void fill(T *tile, int64_t step, int depth) const
    {
        const T *at = from + step * (ALONG ? S::BK : S::BK * x.ld);
        filler::fill(tile, x, at, ALONG ? lines : depth, ALONG ? depth : lines);
    }
};

template <typename S, bool A_ALONG, bool B_ALONG, bool WHOLE_CHUNKS> struct mma_block {
    using T = typename S::T;
    mma_source<S, S::BM, A_ALONG, WHOLE_CHUNKS> a;
    mma_source<S, S::BN, B_ALONG, WHOLE_CHUNKS> b;
    int64_t depth; /* of this block's part of k */
    T *shared;

    __device__ __forceinline__ T *stage(int index) const
    {
        return shared + index * ((S::A_BYTES + S::B_BYTES) / (int)sizeof(T));
    }
    __device__ __forceinline__ void fill(int64_t step, int index) const
    {
        T *tile = stage(index);
        int left = mma_left(step * S::BK, depth, S::BK);
        a.fill(tile, step, left);
        b.fill(tile + S::BM * S::BK, step, left);
    }

    /* The ring: a tile is refilled one step after its use, behind the barrier that ends it. */
    __device__ __forceinline__ void sum(float (&total)[S::TILES_M][S::TILES_N][4], int warp_m,
                                        int warp_n) const
    {
        int64_t steps = (depth + S::BK - 1) / S::BK;
#pragma unroll
        for (int step = 0; step < S::STAGES - 1; step++) {
            if (step < steps)
                fill(step, step);
            device_copy_commit();
        }
        int used = 0, filled = S::STAGES - 1;
        for (int64_t step = 0; step < steps; step++) {
            device_copy_wait<S::STAGES - 2>();
            __syncthreads();
            if (step + S::STAGES - 1 < steps)
                fill(step + S::STAGES - 1, filled);
            device_copy_commit();
            const T *tile = stage(used);
            mma_compute<S, A_ALONG, B_ALONG>(total, tile, tile + S::BM * S::BK, warp_m, warp_n);
            used = used + 1 == S::STAGES ? 0 : used + 1;
            filled = filled + 1 == S::STAGES ? 0 : filled + 1;
        }
        device_copy_wait<0>();
        __syncthreads();
    }
};

/* Hand out tiles in strips of eight rows of tiles, so that the blocks that run together share more
 * of A and B in the L2 cache. */
static __device__ __forceinline__ void mma_place(unsigned index, int tiles_m, int tiles_n,
                                                 int *tile_m, int *tile_n)
{
    constexpr int STRIP = 8;
    int per_strip = STRIP * tiles_n, strip = (int)(index / (unsigned)per_strip);
    int rows = tiles_m - strip * STRIP < STRIP ? tiles_m - strip * STRIP : STRIP;
    int within = (int)(index % (unsigned)per_strip);
    *tile_m = strip * STRIP + within % rows;
    *tile_n = within / rows;
}

/* Grid: tiles, splits of k, batch entries. */
template <typename S, bool A_ALONG, bool B_ALONG, bool WHOLE_CHUNKS>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    gemm_mma(const __grid_constant__ mma_arguments<typename S::T> x)
{
    using T = typename S::T;
    int lane = (int)threadIdx.x % MMA_LANES, warp = (int)threadIdx.x / MMA_LANES;
    int warp_m = warp / S::WARPS_N, warp_n = warp % S::WARPS_N, tile_m, tile_n;
    mma_place(blockIdx.x, x.tiles_m, x.tiles_n, &tile_m, &tile_n);
    for (int64_t batch = blockIdx.z; batch < x.batches; batch += gridDim.z) {
        float sum[S::TILES_M][S::TILES_N][4] = {};
        int64_t k_begin = blockIdx.y * x.k_per_split;
        int64_t k_end = x.k < k_begin + x.k_per_split ? x.k : k_begin + x.k_per_split;
        int64_t m0 = (int64_t)tile_m * S::BM, n0 = (int64_t)tile_n * S::BN;
        mma_block<S, A_ALONG, B_ALONG, WHOLE_CHUNKS> block = { { x.a, batch, m0, x.m, k_begin },
                                                               { x.b, batch, n0, x.n, k_begin },
                                                               k_end - k_begin,
                                                               (T *)device_shared() };
        block.sum(sum, warp_m, warp_n);
        finish_place<float> place = { x.finish, x.m, x.n, batch, x.batches, (int)blockIdx.y };
#pragma unroll
        for (int i = 0; i < S::TILES_M; i++)
#pragma unroll
            for (int j = 0; j < S::TILES_N; j++) {
                int64_t row = m0 + warp_m * S::WM + i * MMA_M + lane / 4;
                int64_t column = n0 + warp_n * S::WN + j * MMA_N + lane % 4 * 2;
                finish_pair(place, row, column, sum[i][j][0], sum[i][j][1]);
                finish_pair(place, row + 8, column, sum[i][j][2], sum[i][j][3]);
            }
    }
}

#endif
