/* SPDX-License-Identifier: Apache-2.0
 *
 * From a problem to a grid. One table row per tile; the kernel for the directions of A and B is
 * picked at run time.
 */
#ifndef TILEWISE_KERNELS_CUDA_GEMM_LAUNCH_CUH
#define TILEWISE_KERNELS_CUDA_GEMM_LAUNCH_CUH

#include <errno.h>

#include "kernels/cuda/gemm_families.cuh"
#include "kernels/cuda/gemm_simt.cuh"
#include "kernels/cuda/gemm_skinny.cuh"
#include "kernels/cuda/operand.h"

static constexpr int64_t LAUNCH_GRID_MAX = 65535;

template <typename T> static mma_operand<T> launch_operand(const struct cuda_matrix *x)
{
    mma_operand<T> o;
    o.base = (const T *)x->base;
    o.ld = x->row == 1 ? x->column : x->row;
    o.batch = x->batch;
    o.aligned = operand_alignment(x, (int)sizeof(T));
    return o;
}

template <typename V>
static finish_arguments<V> launch_finish(const struct cuda_gemm_problem *p, finish_type type)
{
    finish_arguments<V> f;
    int bytes = type == FINISH_F64 ? 8 : type == FINISH_F32 ? 4 : 2;
    f.c = p->c.base;
    f.ld = p->c.row;
    f.batch = p->c.batch;
    f.alpha = (V)p->alpha;
    f.beta = (V)p->beta;
    f.partial = p->splits > 1 ? (V *)p->partial : nullptr;
    f.type = type;
    f.pairs = operand_alignment(&p->c, bytes) >= 2 * bytes;
    return f;
}

template <typename V, typename A>
static int launch_with(void (*kernel)(A), A arguments, const struct cuda_gemm_tile *tile,
                       const struct cuda_gemm_problem *p)
{
    int64_t tiles_m = (p->m + tile->m - 1) / tile->m, tiles_n = (p->n + tile->n - 1) / tile->n;
    int64_t steps = (p->k + tile->k - 1) / tile->k;
    if (tiles_m * tiles_n > INT32_MAX || p->splits > LAUNCH_GRID_MAX)
        return -ENOTSUP;
    arguments.m = p->m;
    arguments.n = p->n;
    arguments.k = p->k;
    arguments.batches = p->batches;
    arguments.k_per_split = (steps + p->splits - 1) / p->splits * tile->k;
    arguments.tiles_m = (int)tiles_m;
    arguments.tiles_n = (int)tiles_n;
    if (!device_allow_shared(kernel, tile->shared_bytes))
        return -EIO;
    int64_t depth = p->batches < LAUNCH_GRID_MAX ? p->batches : LAUNCH_GRID_MAX;
    dim3 grid((unsigned)(tiles_m * tiles_n), (unsigned)p->splits, (unsigned)depth);
    device_launch(kernel, grid, tile->threads, tile->shared_bytes, p->stream, arguments);
    if (p->splits > 1) {
        int64_t blocks = (p->m * p->n * p->batches + 255) / 256;
        dim3 few((unsigned)(blocks < 1024 ? blocks : 1024));
        device_launch(finish_splits<V>, few, 256, 0, p->stream, arguments.finish, p->m, p->n,
                      p->batches, p->splits);
    }
    return device_failed() ? -EIO : 0;
}

/* WHOLE_CHUNKS wants lines that begin at multiples of 16 bytes: else -ENOTSUP. */
template <typename S, bool WHOLE_CHUNKS>
static int launch_mma(const struct cuda_gemm_tile *tile, const struct cuda_gemm_problem *p,
                      finish_type type)
{
    using T = typename S::T;
    mma_arguments<T> x;
    x.a = launch_operand<T>(&p->a);
    x.b = launch_operand<T>(&p->b);
    x.finish = launch_finish<float>(p, type);
    bool a = p->a.column == 1, b = p->b.row == 1;
    auto kernel =
        a   ? b ? gemm_mma<S, true, true, WHOLE_CHUNKS> : gemm_mma<S, true, false, WHOLE_CHUNKS>
          : b ? gemm_mma<S, false, true, WHOLE_CHUNKS>
            : gemm_mma<S, false, false, WHOLE_CHUNKS>;
    if (WHOLE_CHUNKS && (x.a.aligned < MMA_CHUNK_BYTES || x.b.aligned < MMA_CHUNK_BYTES))
        return -ENOTSUP;
    return launch_with<float>(kernel, x, tile, p);
}

/* A and B lie along k in whole chunks: else -ENOTSUP. */
template <typename T>
static int launch_skinny(const struct cuda_gemm_tile *tile, const struct cuda_gemm_problem *p,
                         finish_type type)
{
    mma_arguments<T> x;
    x.a = launch_operand<T>(&p->a);
    x.b = launch_operand<T>(&p->b);
    x.finish = launch_finish<float>(p, type);
    bool along = p->a.column == 1 && p->b.row == 1;
    if (!along || p->k % 8 != 0 || x.a.aligned < MMA_CHUNK_BYTES || x.b.aligned < MMA_CHUNK_BYTES)
        return -ENOTSUP;
    auto kernel = p->m <= 8 ? gemm_skinny<skinny_shape<T, 1, CUDA_GEMM_SKINNY_STEPS>>
                            : gemm_skinny<skinny_shape<T, 2, CUDA_GEMM_SKINNY_STEPS / 2>>;
    return launch_with<float>(kernel, x, tile, p);
}

template <typename S>
static int launch_simt(const struct cuda_gemm_tile *tile, const struct cuda_gemm_problem *p,
                       finish_type type)
{
    using T = typename S::T;
    simt_arguments<T> x;
    x.a = launch_operand<T>(&p->a);
    x.b = launch_operand<T>(&p->b);
    x.finish = launch_finish<T>(p, type);
    bool a = p->a.column == 1, b = p->b.row == 1;
    auto kernel = a   ? b ? gemm_simt<S, true, true> : gemm_simt<S, true, false>
                    : b ? gemm_simt<S, false, true>
                      : gemm_simt<S, false, false>;
    return launch_with<T>(kernel, x, tile, p);
}

template <typename S> static constexpr struct cuda_gemm_tile launch_tile()
{
    return { S::BM, S::BN, S::BK, S::THREADS, S::SHARED_BYTES, false };
}

template <typename S> static constexpr struct cuda_gemm_tile launch_skinny_tile()
{
    return { S::BM, S::BN, S::BK, S::THREADS, S::SHARED_BYTES, true };
}

#endif
