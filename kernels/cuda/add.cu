/* SPDX-License-Identifier: Apache-2.0
 *
 * y = alpha x + y at the speed of memory. Vectors and lines of whole, aligned chunks of 16 bytes go
 * straight through; lines that begin alike within 16 bytes in the same chunks, with their ends by
 * themselves; what does not, element by element. Small adds are over before memory is busy: what
 * counts for them is how soon the first load is on its way.
 */
#include <errno.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#define _Static_assert static_assert
#include "traces/dtype.h"

enum { WARP = 32, ADD_THREADS = 256, ADD_RESIDENT_THREADS = 2048 /* of a multiprocessor */ };

template <typename T> struct add_scalar {
    using type = float;
};
template <> struct add_scalar<double> {
    using type = double;
};

template <typename T> struct add_arguments {
    const T *x;
    T *y;
    int64_t m, n, batches; /* elements of a line, lines */
    int64_t x_row, x_column, x_batch, y_row, y_column, y_batch;
    typename add_scalar<T>::type alpha;
    int shift;     /* 1 << shift threads share a line */
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

/* ---- vectors that begin at multiples of 16 bytes ---- */

/* Few arguments and few steps to the first load: with add_arguments it takes 3 % longer where all
 * of it fits in one wave, with code for a rest 1 % (docs/results/h200-kernels.md). The thread
 * behind the last whole chunk adds the rest. */
template <typename T, bool HAS_REST>
static __global__ void __launch_bounds__(ADD_THREADS)
    add_vector(const T *x, T *y, uint32_t m, typename add_scalar<T>::type alpha)
{
    constexpr uint32_t EACH = 16 / sizeof(T);
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, chunks = m / EACH;
    if (at < chunks)
        ((int4 *)y)[at] = add_two<T>(((const int4 *)x)[at], ((const int4 *)y)[at], alpha);
    else if (HAS_REST && at == chunks)
        for (uint32_t e = chunks * EACH; e < m; e++)
            y[e] = add_one(x[e], y[e], alpha);
}

/* ---- lines that begin at multiples of 16 bytes ---- */

/* One chunk for each thread: two or four at once were slower, whatever the size
 * (docs/results/h200-kernels.md). Grid: parts of a line, lines, batch entries. */
template <typename T>
static __global__ void __launch_bounds__(ADD_THREADS, ADD_RESIDENT_THREADS / ADD_THREADS)
    add_aligned(const __grid_constant__ add_arguments<T> p)
{
    constexpr int EACH = 16 / (int)sizeof(T);
    const T *x = p.x + blockIdx.y * p.x_column + blockIdx.z * p.x_batch;
    T *y = p.y + blockIdx.y * p.y_column + blockIdx.z * p.y_batch;
    int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (at < p.m / EACH)
        ((int4 *)y)[at] = add_two<T>(((const int4 *)x)[at], ((const int4 *)y)[at], p.alpha);
    int64_t rest = p.m / EACH * EACH + threadIdx.x;
    if (blockIdx.x == 0 && rest < p.m)
        y[rest] = add_one(x[rest], y[rest], p.alpha);
}

/* ---- lines of x that begin where those of y do, within 16 bytes ---- */

/* Whole chunks begin at multiples of 16 bytes. */
template <typename T> struct add_line {
    const T *x;
    T *y;
    int64_t lead, whole; /* elements before the first whole chunk; in whole chunks */
};

template <typename T>
static __device__ __forceinline__ add_line<T> add_line_of(const add_arguments<T> &p, int64_t batch,
                                                          int64_t j)
{
    constexpr int EACH = 16 / (int)sizeof(T);
    add_line<T> l;
    l.x = p.x + batch * p.x_batch + j * p.x_column;
    l.y = p.y + batch * p.y_batch + j * p.y_column;
    l.lead = (int64_t)((16 - (uintptr_t)l.y % 16) % 16 / sizeof(T));
    l.lead = l.lead < p.m ? l.lead : p.m;
    l.whole = (p.m - l.lead) / EACH * EACH;
    return l;
}

/* What lies before and behind the whole chunks, `everybody` threads together. */
template <typename T>
static __device__ __forceinline__ void add_ends(const add_arguments<T> &p, const add_line<T> &l,
                                                int me, int everybody)
{
    for (int64_t e = me; e < p.m - l.whole; e += everybody) {
        int64_t at = e < l.lead ? e : e + l.whole;
        l.y[at] = add_one(l.x[at], l.y[at], p.alpha);
    }
}

enum { ADD_AHEAD = 4 /* chunks in flight for each thread */ };

/* As many, `step` apart, as far as there are `count`. */
template <typename T>
static __device__ __forceinline__ void add_chunks(const int4 *x, int4 *y, int64_t count, int step,
                                                  typename add_scalar<T>::type alpha)
{
    int4 from[ADD_AHEAD], to[ADD_AHEAD];
#pragma unroll
    for (int i = 0; i < ADD_AHEAD; i++)
        if (i * step < count) {
            from[i] = x[i * step];
            to[i] = y[i * step];
        }
#pragma unroll
    for (int i = 0; i < ADD_AHEAD; i++)
        if (i * step < count)
            y[i * step] = add_two<T>(from[i], to[i], alpha);
}

/* Grid: tiles of a line, groups of lines, batch entries. */
template <typename T>
static __global__ void __launch_bounds__(ADD_THREADS)
    add_tiles(const __grid_constant__ add_arguments<T> p)
{
    constexpr int EACH = 16 / (int)sizeof(T);
    int width = 1 << p.shift, lines = ADD_THREADS >> p.shift;
    int me = (int)threadIdx.x & (width - 1), mine = (int)threadIdx.x >> p.shift;
    for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z)
        for (int64_t j = blockIdx.y * (int64_t)lines + mine; j < p.n;
             j += gridDim.y * (int64_t)lines) {
            add_line<T> l = add_line_of<T>(p, batch, j);
            if (blockIdx.x == 0)
                add_ends(p, l, me, width);
            for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
                int64_t first = tile * ADD_AHEAD * width + me;
                add_chunks<T>((const int4 *)(l.x + l.lead) + first, (int4 *)(l.y + l.lead) + first,
                              l.whole / EACH - first, width, p.alpha);
            }
        }
}

/* ---- any steps ---- */

template <typename T>
static __global__ void __launch_bounds__(ADD_THREADS)
    add_elements(const __grid_constant__ add_arguments<T> p)
{
    for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z)
        for (int64_t j = blockIdx.y; j < p.n; j += gridDim.y)
            for (int64_t i = blockIdx.x * (int64_t)ADD_THREADS + threadIdx.x; i < p.m;
                 i += (int64_t)gridDim.x * ADD_THREADS) {
                const T *x = p.x + batch * p.x_batch + j * p.x_column + i * p.x_row;
                T *y = p.y + batch * p.y_batch + j * p.y_column + i * p.y_row;
                *y = add_one(*x, *y, p.alpha);
            }
}

/* ---- launches ---- */

enum { GRID_X_MAX = INT32_MAX, GRID_MAX = 65535 };

static int64_t at_most(int64_t x, int64_t most)
{
    return x < most ? x : most;
}

/* Do all lines of x and y begin at multiples of 16 bytes? */
template <typename T> static bool is_aligned(const add_arguments<T> &p)
{
    uint64_t steps = (uint64_t)(p.x_column | p.y_column | p.x_batch | p.y_batch) * sizeof(T);
    return ((uintptr_t)p.x | (uintptr_t)p.y | steps) % 16 == 0;
}

/* Does every line of x begin where the one of y does, within 16 bytes? */
template <typename T> static bool begins_alike(const add_arguments<T> &p)
{
    uint64_t apart = (uint64_t)((uintptr_t)p.x - (uintptr_t)p.y);
    apart |= (uint64_t)(p.x_column - p.y_column) * sizeof(T);
    apart |= (uint64_t)(p.x_batch - p.y_batch) * sizeof(T);
    return apart % 16 == 0;
}

template <typename... P, typename... A>
static int finish(void (*kernel)(P...), dim3 grid, int threads, void *stream, const A &...arguments)
{
    device_launch(kernel, grid, threads, 0, stream, arguments...);
    return device_failed() ? -EIO : 0;
}

/* No wider than a line of so many chunks. */
static int threads_for(int64_t chunks)
{
    int threads = (int)at_most((chunks + WARP - 1) / WARP * WARP, ADD_THREADS);
    return threads ? threads : WARP;
}

template <typename T> static int launch_vector(const add_arguments<T> &p, void *stream)
{
    int64_t each = 16 / sizeof(T), chunks = (p.m + each - 1) / each; /* the last may be a part */
    int threads = threads_for(chunks);
    return finish(p.m % each ? add_vector<T, true> : add_vector<T, false>,
                  dim3((unsigned)((chunks + threads - 1) / threads)), threads, stream, p.x, p.y,
                  (uint32_t)p.m, p.alpha);
}

template <typename T> static int launch_aligned(const add_arguments<T> &p, void *stream)
{
    int64_t chunks = p.m * (int64_t)sizeof(T) / 16;
    int threads = threads_for(chunks);
    int64_t parts = chunks ? (chunks + threads - 1) / threads : 1;
    dim3 grid((unsigned)parts, (unsigned)p.n, (unsigned)p.batches);
    return finish(add_aligned<T>, grid, threads, stream, p);
}

template <typename T> static int launch_tiles(add_arguments<T> p, void *stream)
{
    int64_t chunks = p.m * (int64_t)sizeof(T) / 16; /* or one less */
    for (p.shift = 0; 1 << p.shift < ADD_THREADS && 1 << p.shift < chunks;)
        p.shift++;
    int64_t lines = ADD_THREADS >> p.shift, tile = (int64_t)ADD_AHEAD << p.shift;
    p.tiles = chunks ? (chunks + tile - 1) / tile : 1;
    dim3 grid((unsigned)at_most(p.tiles, GRID_X_MAX),
              (unsigned)at_most((p.n + lines - 1) / lines, GRID_MAX),
              (unsigned)at_most(p.batches, GRID_MAX));
    return finish(add_tiles<T>, grid, ADD_THREADS, stream, p);
}

template <typename T> static int launch_elements(const add_arguments<T> &p, void *stream)
{
    dim3 grid(1, (unsigned)at_most(p.n, GRID_MAX), (unsigned)at_most(p.batches, GRID_MAX));
    int64_t others = (int64_t)grid.y * grid.z, blocks = 8 * device_processors();
    grid.x =
        (unsigned)at_most((p.m + ADD_THREADS - 1) / ADD_THREADS, (blocks + others - 1) / others);
    return finish(add_elements<T>, grid, ADD_THREADS, stream, p);
}

template <typename T> static int launch(const struct cuda_add_problem *q)
{
    add_arguments<T> p = { (const T *)q->x.base,
                           (T *)q->y.base,
                           q->m,
                           q->n,
                           q->batches,
                           q->x.row,
                           q->x.column,
                           q->x.batch,
                           q->y.row,
                           q->y.column,
                           q->y.batch,
                           (typename add_scalar<T>::type)q->alpha,
                           0,
                           0 };
    bool in_chunks = p.x_row == 1 && p.y_row == 1 && begins_alike(p);
    bool long_lines = p.n == 1 || p.m * (int64_t)sizeof(T) >= WARP * 16;
    bool fits_grid = p.n <= GRID_MAX && p.batches <= GRID_MAX && p.m / 16 <= GRID_X_MAX;
    if (!in_chunks)
        return launch_elements<T>(p, q->stream);
    if (!is_aligned(p) || !long_lines || !fits_grid)
        return launch_tiles<T>(p, q->stream);
    if (p.n == 1 && p.batches == 1 && p.m <= UINT32_MAX)
        return launch_vector<T>(p, q->stream);
    return launch_aligned<T>(p, q->stream);
}

int cuda_add_launch(const struct cuda_add_problem *p)
{
    if (p->m <= 0 || p->n <= 0 || p->batches <= 0 || p->alpha == 0)
        return 0;
    switch (p->y.dtype) {
    case TILEWISE_F64:
        return launch<double>(p);
    case TILEWISE_F32:
        return launch<float>(p);
    case TILEWISE_F16:
        return launch<__half>(p);
    default:
        return launch<__nv_bfloat16>(p);
    }
}
