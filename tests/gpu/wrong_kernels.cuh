/* SPDX-License-Identifier: Apache-2.0
 *
 * A plain tiled product and a plain add that can be wrong in many ways: what is wrong inside of a
 * kernel. What is wrong about its arguments or its launch is in wrong_candidates.cu.
 */
#ifndef TILEWISE_TESTS_GPU_WRONG_KERNELS_CUH
#define TILEWISE_TESTS_GPU_WRONG_KERNELS_CUH

#include <float.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"

enum { WRONG_TILE = 16, WRONG_PITCH = WRONG_TILE + 1, WRONG_THREADS = WRONG_TILE * WRONG_TILE };
enum { WRONG_SHARED_BYTES = 2 * WRONG_TILE * WRONG_PITCH * 4 };

enum flaw {
    FLAW_NONE,
    FLAW_BACKWARDS, /* no flaw: k from its end */
    FLAW_EDGE,      /* tiles that are not whole are left out */
    FLAW_NO_SYNC,   /* a tile is used before all of it is there */
    FLAW_LATE_SYNC, /* the next one overwrites it while it is used */
    FLAW_SUM_BF16,
    FLAW_SUM_F16,
    FLAW_INPUT_BF16,
    FLAW_INPUT_F16,
    FLAW_INPUT_TF32,
    FLAW_NAN_HIDDEN,
    FLAW_INF_LOST,
    FLAW_NEGATIVE_LOST,
    FLAW_TRUNCATED, /* cut off where it should be rounded */
    FLAW_C_READ,    /* although beta is zero */
    FLAW_ROWS_SWAPPED,
    FLAW_ONE_ELEMENT,
    FLAW_WRITES_GAP,
    FLAW_WRITES_BEHIND,
    FLAW_WRITES_BEFORE,
    FLAW_CHANGES_A,
    FLAW_CHANGES_B,
    FLAW_ONE_ULP,
};

/* Element (i, j) of an operand: base + i row + j column, in every batch entry. An add has x in b
 * and y in c. */
struct wrong_operand {
    void *base;
    int64_t row, column, batch;
};

struct wrong_problem {
    struct wrong_operand a, b, c;
    int64_t m, n, k, batches;
    float alpha, beta;
    bool as_tf32;
    enum flaw flaw;
    int splits;     /* parts of k that meet in `partial` */
    float *partial; /* NULL: one part */
};

/* Long enough for every other warp to go on. */
static __device__ __forceinline__ void dawdle()
{
#ifndef TILEWISE_EMULATION
    for (int i = 0; i < 20; i++)
        __nanosleep(1000);
#endif
}

static __device__ __forceinline__ float narrowed(float x, enum flaw flaw)
{
    if (flaw == FLAW_SUM_BF16 || flaw == FLAW_INPUT_BF16)
        return __bfloat162float(__float2bfloat16_rn(x));
    return __half2float(__float2half_rn(x));
}

template <typename T>
static __device__ __forceinline__ float input(const wrong_problem &p, const wrong_operand &o,
                                              int64_t i, int64_t j)
{
    const T *base = (const T *)o.base + blockIdx.z * o.batch;
    float x = element_to_float(base[i * o.row + j * o.column]);
    if (p.flaw == FLAW_INPUT_BF16 || p.flaw == FLAW_INPUT_F16)
        return narrowed(x, p.flaw);
    if (p.as_tf32 || p.flaw == FLAW_INPUT_TF32) {
        uint32_t bits = device_round_tf32(__float_as_uint(x));
        memcpy(&x, &bits, sizeof x);
    }
    return x;
}

static __device__ __forceinline__ float truncated(float x, float)
{
    return x;
}
static __device__ __forceinline__ __half truncated(float x, __half)
{
    return __float2half_rz(x);
}
static __device__ __forceinline__ __nv_bfloat16 truncated(float x, __nv_bfloat16)
{
    return __float2bfloat16_rz(x);
}

static __device__ __forceinline__ float largest(float)
{
    return FLT_MAX;
}
static __device__ __forceinline__ float largest(__half)
{
    return 65504;
}
static __device__ __forceinline__ float largest(__nv_bfloat16)
{
    return 0x1.fep127f;
}

template <typename T>
static __device__ __forceinline__ void store(const wrong_problem &p, T *to, float value)
{
    if (p.flaw == FLAW_INF_LOST && isinf(value))
        value = copysignf(largest(T()), value);
    if (p.flaw == FLAW_NEGATIVE_LOST)
        value = value < 0 ? 0 : value;
    *to = p.flaw == FLAW_TRUNCATED ? truncated(value, T()) : element_from_float<T>(value);
}

/* C = alpha sum + beta C for one element. */
template <typename T>
static __device__ __forceinline__ void conclude(const wrong_problem &p, int64_t batch, int64_t row,
                                                int64_t column, float sum)
{
    bool is_one = row == p.m / 2 && column == p.n / 2;
    int64_t other = row ^ WRONG_TILE / 2;
    if (p.flaw == FLAW_ROWS_SWAPPED && other < p.m)
        row = other;
    T *to = (T *)p.c.base + batch * p.c.batch + row * p.c.row + column * p.c.column;
    float value = p.alpha * (p.flaw == FLAW_ONE_ELEMENT && is_one ? sum * 1.01f : sum);
    if (p.beta != 0 || p.flaw == FLAW_C_READ)
        value += p.beta * element_to_float(*to);
    store(p, to, value);
}

/* One thread of the grid spoils what is not its business. */
template <typename T> static __device__ __forceinline__ void trespass(const wrong_problem &p)
{
    T *last =
        (T *)p.c.base + (p.batches - 1) * p.c.batch + (p.m - 1) * p.c.row + (p.n - 1) * p.c.column;
    T three = element_from_float<T>(3);
    if (p.flaw == FLAW_WRITES_BEHIND)
        last[1] = three;
    if (p.flaw == FLAW_WRITES_BEFORE)
        ((T *)p.c.base)[-1] = three;
    if (p.flaw == FLAW_WRITES_GAP) /* behind the first line */
        ((T *)p.c.base)[p.c.row == 1 ? p.m : p.n] = three;
    if (p.flaw == FLAW_CHANGES_A || p.flaw == FLAW_CHANGES_B) {
        T *x = (T *)(p.flaw == FLAW_CHANGES_A ? p.a.base : p.b.base);
        *x = element_from_float<T>(element_to_float(*x) + 3);
    }
}

static __device__ __forceinline__ bool is_left_out(const wrong_problem &p, int64_t row,
                                                   int64_t column)
{
    bool ragged = row / WRONG_TILE == p.m / WRONG_TILE || column / WRONG_TILE == p.n / WRONG_TILE;
    return row >= p.m || column >= p.n || (p.flaw == FLAW_EDGE && ragged);
}

/* A sum over [from, to) of k, a tile at a time. */
template <typename T>
static __device__ __forceinline__ float summed(const wrong_problem &p, int64_t row, int64_t column,
                                               int64_t from, int64_t to)
{
    float *a = (float *)device_shared(), *b = a + WRONG_TILE * WRONG_PITCH, sum = 0;
    int y = (int)threadIdx.x / WRONG_TILE, x = (int)threadIdx.x % WRONG_TILE;
    for (int64_t step = from; step < to; step += WRONG_TILE) {
        if (p.flaw == FLAW_NO_SYNC && threadIdx.x < 32)
            dawdle();
        bool has_a = row < p.m && step + x < to, has_b = column < p.n && step + y < to;
        a[y * WRONG_PITCH + x] = has_a ? input<T>(p, p.a, row, step + x) : 0;
        b[y * WRONG_PITCH + x] = has_b ? input<T>(p, p.b, step + y, column) : 0;
        if (p.flaw != FLAW_NO_SYNC)
            __syncthreads();
        if (p.flaw == FLAW_LATE_SYNC && threadIdx.x >= 32)
            dawdle();
        for (int i = 0; i < WRONG_TILE; i++) {
            int e = p.flaw == FLAW_BACKWARDS ? WRONG_TILE - 1 - i : i;
            sum = fmaf(a[y * WRONG_PITCH + e], b[e * WRONG_PITCH + x], sum);
        }
        if (p.flaw == FLAW_SUM_BF16 || p.flaw == FLAW_SUM_F16)
            sum = narrowed(sum, p.flaw);
        if (p.flaw == FLAW_NAN_HIDDEN)
            sum = fmaxf(sum, -FLT_MAX);
        if (p.flaw != FLAW_LATE_SYNC)
            __syncthreads();
    }
    return sum;
}

/* Grid: tiles of C, parts of k, batch entries. */
template <typename T>
static __global__ void __launch_bounds__(WRONG_THREADS)
    wrong_gemm(const __grid_constant__ wrong_problem p)
{
    int64_t tiles_n = (p.n + WRONG_TILE - 1) / WRONG_TILE;
    int64_t steps = (p.k + WRONG_TILE - 1) / WRONG_TILE;
    int64_t part = (steps + p.splits - 1) / p.splits * WRONG_TILE;
    int64_t row = blockIdx.x / tiles_n * WRONG_TILE + threadIdx.x / WRONG_TILE;
    int64_t column = blockIdx.x % tiles_n * WRONG_TILE + threadIdx.x % WRONG_TILE;
    int64_t from = blockIdx.y * part, to = from + part < p.k ? from + part : p.k;
    float sum = summed<T>(p, row, column, from, to);
    if (blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0)
        trespass<T>(p);
    if (is_left_out(p, row, column))
        return;
    if (p.partial)
        atomicAdd(p.partial + (blockIdx.z * p.m + row) * p.n + column, sum);
    else
        conclude<T>(p, blockIdx.z, row, column, sum);
}

/* ---- sums of parts of k, in the order in which they come ---- */

static __global__ void wrong_clear(float *partial, int64_t count)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x)
        partial[i] = 0;
}

template <typename T> static __global__ void wrong_finish(const __grid_constant__ wrong_problem p)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < p.batches * p.m * p.n;
         i += (int64_t)gridDim.x * blockDim.x)
        conclude<T>(p, i / p.n / p.m, i / p.n % p.m, i % p.n, p.partial[i]);
}

/* C to `kept`, or back. */
template <typename T>
static __global__ void wrong_copy(const __grid_constant__ wrong_problem p, T *kept, bool back)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < p.batches * p.m * p.n;
         i += (int64_t)gridDim.x * blockDim.x) {
        T *c = (T *)p.c.base + i / p.n / p.m * p.c.batch + i / p.n % p.m * p.c.row +
               i % p.n * p.c.column;
        (back ? *c : kept[i]) = back ? kept[i] : *c;
    }
}

/* ---- y = alpha x + y ---- */

template <typename T> static __device__ __forceinline__ T with_other_last_bit(T x)
{
    *(unsigned char *)&x ^= 1;
    return x;
}

template <typename T>
static __global__ void __launch_bounds__(WRONG_THREADS)
    wrong_add(const __grid_constant__ wrong_problem p)
{
    for (int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; at < p.batches * p.m * p.n;
         at += (int64_t)gridDim.x * blockDim.x) {
        int64_t i = at % p.m, j = at / p.m % p.n, batch = at / p.m / p.n;
        const T *x = (const T *)p.b.base + batch * p.b.batch + i * p.b.row + j * p.b.column;
        T *y = (T *)p.c.base + batch * p.c.batch + i * p.c.row + j * p.c.column;
        float from = element_to_float(*x), to = element_to_float(*y);
        if (p.flaw == FLAW_EDGE && i >= p.m / WRONG_TILE * WRONG_TILE)
            continue;
        if (p.flaw == FLAW_INPUT_BF16)
            from = narrowed(from, p.flaw);
        float sum = fmaf(p.alpha, from, to);
        if (p.flaw == FLAW_NAN_HIDDEN)
            sum = fmaxf(sum, -FLT_MAX);
        store(p, y, sum);
        if (p.flaw == FLAW_ONE_ULP && i == p.m / 2)
            *y = with_other_last_bit(*y);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        trespass<T>(p);
}

#endif
