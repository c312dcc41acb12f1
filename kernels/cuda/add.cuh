/* SPDX-License-Identifier: Apache-2.0
 *
 * What every way to add shares: the problem, and the arithmetic of chunks of 16 bytes.
 */
#ifndef TILEWISE_KERNELS_CUDA_ADD_CUH
#define TILEWISE_KERNELS_CUDA_ADD_CUH

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"

enum { ADD_THREADS = 256 };

struct add_arguments {
    const void *x;
    void *y;
    int64_t m, n, batches; /* elements of a line, lines */
    int64_t x_row, x_column, x_batch, y_row, y_column, y_batch;
    double alpha;
    int shift;     /* 1 << shift chunks of a tile lie in one line, the others in the next ones */
    int64_t tiles; /* of a line */
};

/* One rounding to f32 (f64 for f64), one more to a shorter type. */
template <typename T> static __device__ __forceinline__ T add_one(T x, T y, float alpha)
{
    return element_from_float<T>(fmaf(alpha, element_to_float(x), element_to_float(y)));
}
static __device__ __forceinline__ double add_one(double x, double y, double alpha)
{
    return fma(alpha, x, y);
}

template <typename T> struct add_scalar {
    using type = float;
};
template <> struct add_scalar<double> {
    using type = double;
};

/* 16 bytes of x and of y; they stay packed until they are added. */
template <typename T>
static __device__ __forceinline__ int4 add_two(int4 x, int4 y, typename add_scalar<T>::type alpha)
{
    T from[16 / sizeof(T)], to[16 / sizeof(T)];
    memcpy((void *)from, &x, sizeof from);
    memcpy((void *)to, &y, sizeof to);
#pragma unroll
    for (int e = 0; e < 16 / (int)sizeof(T); e++)
        to[e] = add_one(from[e], to[e], alpha);
    memcpy(&y, to, sizeof y);
    return y;
}

/* One of n x batches. Whole chunks begin at multiples of 16 bytes. */
template <typename T> struct add_line {
    const T *x;
    T *y;
    int64_t lead, whole; /* elements before the first whole chunk; in whole chunks */
};

template <typename T>
static __device__ __forceinline__ add_line<T> add_line_of(const add_arguments &p, int64_t batch,
                                                          int64_t j)
{
    constexpr int EACH = 16 / (int)sizeof(T);
    add_line<T> l;
    l.x = (const T *)p.x + batch * p.x_batch + j * p.x_column;
    l.y = (T *)p.y + batch * p.y_batch + j * p.y_column;
    l.lead = (int64_t)((16 - (uintptr_t)l.y % 16) % 16 / sizeof(T));
    l.lead = l.lead < p.m ? l.lead : p.m;
    l.whole = (p.m - l.lead) / EACH * EACH;
    return l;
}

/* What lies before and behind the whole chunks, `everybody` threads together. */
template <typename T>
static __device__ __forceinline__ void add_ends(const add_arguments &p, const add_line<T> &l,
                                                int me, int everybody)
{
    for (int64_t e = me; e < p.m - l.whole; e += everybody) {
        int64_t at = e < l.lead ? e : e + l.whole;
        l.y[at] = add_one(l.x[at], l.y[at], (typename add_scalar<T>::type)p.alpha);
    }
}

#endif
