/* SPDX-License-Identifier: Apache-2.0
 *
 * y = alpha x + y at the speed of memory. Lines whose elements lie side by side and begin alike
 * within 16 bytes go in vectors, several of them in flight in every thread; what does not, element
 * by element.
 */
#include <errno.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/operand.h"
#define _Static_assert static_assert
#include "traces/dtype.h"

enum { ADD_THREADS = 256, ADD_AHEAD = 4, ADD_BLOCKS = 132 * 8 };

struct add_arguments {
    const void *x;
    void *y;
    int64_t m, n, batches;
    int64_t x_row, x_column, x_batch, y_row, y_column, y_batch;
    double alpha;
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

template <typename T> struct alignas(16) add_vector {
    T x[16 / sizeof(T)];
};

template <typename T, typename V>
static __device__ __forceinline__ add_vector<T> add_two(const add_vector<T> &x,
                                                        const add_vector<T> &y, V alpha)
{
    add_vector<T> sum;
#pragma unroll
    for (int e = 0; e < 16 / (int)sizeof(T); e++)
        sum.x[e] = add_one(x.x[e], y.x[e], alpha);
    return sum;
}

/* x is read once and y is not needed again soon: neither should push the rest out of the cache. */
template <typename T>
static __device__ __forceinline__ add_vector<T> add_load(const add_vector<T> *from)
{
    add_vector<T> v;
    *(int4 *)&v = device_load_once((const int4 *)from);
    return v;
}

/* One line of `count` elements side by side. `lead` elements come before the first whole vector
 * (the same for x and y). */
template <typename T, typename V>
static __device__ void add_line(const T *x, T *y, int64_t count, V alpha, int64_t me,
                                int64_t everybody)
{
    constexpr int EACH = 16 / (int)sizeof(T);
    int64_t lead = (int64_t)((16 - (uintptr_t)y % 16) % 16 / sizeof(T));
    lead = lead < count ? lead : count;
    int64_t vectors = (count - lead) / EACH, tail = lead + vectors * EACH;
    const add_vector<T> *from = (const add_vector<T> *)(x + lead);
    add_vector<T> *to = (add_vector<T> *)(y + lead);
    int64_t at = me;
    for (; at + (ADD_AHEAD - 1) * everybody < vectors; at += ADD_AHEAD * everybody) {
        add_vector<T> ahead_x[ADD_AHEAD], ahead_y[ADD_AHEAD];
#pragma unroll
        for (int i = 0; i < ADD_AHEAD; i++) {
            ahead_x[i] = add_load(from + at + i * everybody);
            ahead_y[i] = add_load(to + at + i * everybody);
        }
#pragma unroll
        for (int i = 0; i < ADD_AHEAD; i++) {
            add_vector<T> sum = add_two(ahead_x[i], ahead_y[i], alpha);
            device_store_once((int4 *)(to + at + i * everybody), *(const int4 *)&sum);
        }
    }
    for (; at < vectors; at += everybody)
        to[at] = add_two(from[at], to[at], alpha);
    if (me < lead)
        y[me] = add_one(x[me], y[me], alpha);
    if (tail + me < count)
        y[tail + me] = add_one(x[tail + me], y[tail + me], alpha);
}

/* Grid: parts of a line, lines, batch entries. */
template <typename T>
static __global__ void __launch_bounds__(ADD_THREADS)
    add_vectors(const __grid_constant__ add_arguments p)
{
    using V = typename add_scalar<T>::type;
    int64_t me = blockIdx.x * (int64_t)ADD_THREADS + threadIdx.x;
    for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z)
        for (int64_t j = blockIdx.y; j < p.n; j += gridDim.y)
            add_line<T, V>((const T *)p.x + batch * p.x_batch + j * p.x_column,
                           (T *)p.y + batch * p.y_batch + j * p.y_column, p.m, (V)p.alpha, me,
                           (int64_t)gridDim.x * ADD_THREADS);
}

template <typename T>
static __global__ void __launch_bounds__(ADD_THREADS)
    add_elements(const __grid_constant__ add_arguments p)
{
    using V = typename add_scalar<T>::type;
    for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z)
        for (int64_t j = blockIdx.y; j < p.n; j += gridDim.y)
            for (int64_t i = blockIdx.x * (int64_t)ADD_THREADS + threadIdx.x; i < p.m;
                 i += (int64_t)gridDim.x * ADD_THREADS) {
                const T *x = (const T *)p.x + batch * p.x_batch + j * p.x_column + i * p.x_row;
                T *y = (T *)p.y + batch * p.y_batch + j * p.y_column + i * p.y_row;
                *y = add_one(*x, *y, (V)p.alpha);
            }
}

/* Does every line of x begin where the one of y does, within 16 bytes? */
static bool begin_alike(const add_arguments &p, int bytes)
{
    uint64_t apart = (uint64_t)((uintptr_t)p.x - (uintptr_t)p.y);
    apart |= (uint64_t)((p.x_column - p.y_column) * bytes);
    apart |= (uint64_t)((p.x_batch - p.y_batch) * bytes);
    return apart % 16 == 0;
}

static int64_t at_most(int64_t x, int64_t most)
{
    return x < most ? x : most;
}

template <typename T> static int launch(const add_arguments &p, void *stream)
{
    bool vectors = p.x_row == 1 && p.y_row == 1 && begin_alike(p, (int)sizeof(T));
    int64_t each = (int64_t)ADD_THREADS * (vectors ? ADD_AHEAD * 16 / (int)sizeof(T) : 1);
    int64_t depth = at_most(p.batches, 65535), lines = at_most(p.n, 65535);
    int64_t parts = (p.m + each - 1) / each;
    int64_t enough = (ADD_BLOCKS + depth * lines - 1) / (depth * lines);
    dim3 grid((unsigned)at_most(parts, enough), (unsigned)lines, (unsigned)depth);
    device_launch(vectors ? add_vectors<T> : add_elements<T>, grid, ADD_THREADS, 0, stream, p);
    return device_failed() ? -EIO : 0;
}

int cuda_add_launch(const struct cuda_add_problem *q)
{
    add_arguments p = { q->x.base,   q->y.base,  q->m,     q->n,        q->batches, q->x.row,
                        q->x.column, q->x.batch, q->y.row, q->y.column, q->y.batch, q->alpha };
    if (p.m <= 0 || p.n <= 0 || p.batches <= 0 || p.alpha == 0)
        return 0;
    switch (q->y.dtype) {
    case TILEWISE_F64:
        return launch<double>(p, q->stream);
    case TILEWISE_F32:
        return launch<float>(p, q->stream);
    case TILEWISE_F16:
        return launch<__half>(p, q->stream);
    default:
        return launch<__nv_bfloat16>(p, q->stream);
    }
}
