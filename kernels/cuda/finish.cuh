/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of every gemm kernel: C = alpha sum + beta C in the type of C, or the sum alone into the
 * scratch of a split k, which a second kernel adds up in a fixed order. C is not read when beta is
 * zero.
 */
#ifndef TILEWISE_KERNELS_CUDA_FINISH_CUH
#define TILEWISE_KERNELS_CUDA_FINISH_CUH

#include "kernels/cuda/element.cuh"

enum finish_type { FINISH_F32, FINISH_F16, FINISH_BF16, FINISH_F64 };

/* V: what is summed in, float or double. */
template <typename V> struct finish_arguments {
    void *c;
    int64_t ld, batch;
    V alpha, beta;
    V *partial;       /* NULL: k is not split */
    finish_type type; /* of C */
    int pairs;        /* two elements at an even column lie at a multiple of their size */
};

template <typename V> struct finish_place {
    const finish_arguments<V> &x;
    int64_t m, n, batch, batches;
    int split;
};

template <typename V, typename C>
static __device__ __forceinline__ C finish_value(const finish_arguments<V> &x, const C *c, V sum)
{
    V value = x.alpha * sum;
    if constexpr (sizeof(V) == 8) {
        return x.beta != 0 ? value + x.beta * *c : value;
    } else {
        if (x.beta != 0)
            value += x.beta * element_to_float(*c);
        return element_from_float<C>(value);
    }
}

template <typename C> struct alignas(2 * sizeof(C)) finish_two {
    C first, second;
};

/* Elements (row, column) and (row, column + 1), as far as they exist. */
template <typename V, typename C>
static __device__ __forceinline__ void finish_typed(const finish_place<V> &p, C *c, int64_t row,
                                                    int64_t column, V first, V second)
{
    C *to = c + p.batch * p.x.batch + row * p.x.ld + column;
    if (p.x.pairs && column + 1 < p.n) {
        finish_two<C> two = { finish_value<V, C>(p.x, to, first),
                              finish_value<V, C>(p.x, to + 1, second) };
        *(finish_two<C> *)to = two;
        return;
    }
    *to = finish_value<V, C>(p.x, to, first);
    if (column + 1 < p.n)
        to[1] = finish_value<V, C>(p.x, to + 1, second);
}

template <typename V>
static __device__ __forceinline__ void finish_c(const finish_place<V> &p, int64_t row,
                                                int64_t column, V first, V second)
{
    if constexpr (sizeof(V) == 8)
        finish_typed<V, double>(p, (double *)p.x.c, row, column, first, second);
    else if (p.x.type == FINISH_F32)
        finish_typed<V, float>(p, (float *)p.x.c, row, column, first, second);
    else if (p.x.type == FINISH_F16)
        finish_typed<V, __half>(p, (__half *)p.x.c, row, column, first, second);
    else
        finish_typed<V, __nv_bfloat16>(p, (__nv_bfloat16 *)p.x.c, row, column, first, second);
}

template <typename V>
static __device__ __forceinline__ void finish_pair(const finish_place<V> &p, int64_t row,
                                                   int64_t column, V first, V second)
{
    if (row >= p.m || column >= p.n)
        return;
    if (p.x.partial == nullptr) {
        finish_c(p, row, column, first, second);
        return;
    }
    V *to = p.x.partial + ((p.split * p.batches + p.batch) * p.m + row) * p.n + column;
    to[0] = first;
    if (column + 1 < p.n)
        to[1] = second;
}

/* Add the parts of a split k, always in the same order. */
template <typename V>
static __global__ void finish_splits(const __grid_constant__ finish_arguments<V> x, int64_t m,
                                     int64_t n, int64_t batches, int splits)
{
    int64_t count = m * n * batches;
    for (int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; at < count;
         at += (int64_t)gridDim.x * blockDim.x) {
        V sum = x.partial[at];
        for (int split = 1; split < splits; split++)
            sum += x.partial[split * count + at];
        int64_t column = at % n, row = at / n % m;
        /* As if the row ended here: one element. */
        finish_place<V> place = { x, m, column + 1, at / n / m, batches, 0 };
        finish_c(place, row, column, sum, V(0));
    }
}

#endif
