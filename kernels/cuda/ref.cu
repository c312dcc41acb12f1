/* SPDX-License-Identifier: Apache-2.0
 *
 * The fp64 reference: a block computes 64 x 64 elements from panels converted to double in shared
 * memory. Any strides and types; speed comes second.
 */
#include <errno.h>

#include <cuda_runtime.h>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#define _Static_assert static_assert
#include "traces/signature.h"

enum { TILE = 64, DEPTH = 16, SIDE = 16, PER_THREAD = TILE / SIDE };

static __device__ double load_fp8(const void *base, int64_t at, __nv_fp8_interpretation_t kind)
{
    __half_raw raw = __nv_cvt_fp8_to_halfraw(((const __nv_fp8_storage_t *)base)[at], kind);
    return (double)__half2float(__half(raw));
}

static __device__ double load(const void *base, unsigned dtype, int64_t at)
{
    switch (dtype) {
    case TILEWISE_F64:
        return ((const double *)base)[at];
    case TILEWISE_F32:
    case TILEWISE_TF32:
        return (double)((const float *)base)[at];
    case TILEWISE_F16:
        return (double)__half2float(((const __half *)base)[at]);
    case TILEWISE_BF16:
        return (double)__bfloat162float(((const __nv_bfloat16 *)base)[at]);
    case TILEWISE_E4M3:
        return load_fp8(base, at, __NV_E4M3);
    case TILEWISE_E5M2:
        return load_fp8(base, at, __NV_E5M2);
    case TILEWISE_I32:
        return (double)((const int32_t *)base)[at];
    case TILEWISE_I8:
        return (double)((const int8_t *)base)[at];
    default:
        return (double)((const uint8_t *)base)[at];
    }
}

static __device__ double at(const struct cuda_matrix &x, int64_t batch, int64_t i, int64_t j)
{
    return load(x.base, x.dtype, batch * x.batch + i * x.row + j * x.column);
}

/* A sum in twice the precision of double; after an overflow `high` says what IEEE says. */
struct sum {
    double high, low, magnitude;
};

static __device__ void add(struct sum &s, double x)
{
    double high = s.high + x, part = high - s.high;
    s.low += (s.high - (high - part)) + (x - part);
    s.high = high;
}

template <bool TWICE> static __device__ void multiply_add(struct sum &s, double a, double b)
{
    if (TWICE) {
        double product = a * b;
        s.low += fma(a, b, -product);
        add(s, product);
        s.magnitude += fabs(product);
    } else {
        s.high = fma(a, b, s.high);
        s.magnitude = fma(fabs(a), fabs(b), s.magnitude);
    }
}

static __device__ double value_of(const struct sum &s)
{
    return isfinite(s.high) ? s.high + s.low : s.high;
}

/* alpha s + beta c. */
static __device__ void finish(const struct cuda_ref_problem &p, struct sum s, int64_t batch,
                              int64_t i, int64_t j)
{
    int64_t to = batch * p.m * p.n + i + j * p.m;
    bool is_written = p.uplo == TILEWISE_FULL || (p.uplo == TILEWISE_LOWER ? i >= j : i <= j);
    struct sum total = { 0, 0, 0 };
    if (p.alpha != 0) {
        double product = p.alpha * s.high, error = fma(p.alpha, s.high, -product);
        total.high = product;
        total.low = error + p.alpha * s.low;
        total.magnitude = fabs(p.alpha) * s.magnitude;
    }
    if (p.beta != 0) {
        double c = at(p.c, batch, i, j), product = p.beta * c;
        total.low += fma(p.beta, c, -product);
        add(total, product);
        total.magnitude += fabs(product);
    }
    p.result[to] = is_written ? value_of(total) : 0;
    p.magnitude[to] = is_written ? total.magnitude : -1;
}

/* Rows and depth side by side in the threads' order that reads neighbours where there are any. */
static __device__ void fill(double (*panel)[TILE + 1], const struct cuda_matrix &x, int64_t batch,
                            int64_t row0, int64_t rows, int64_t column0, int64_t columns,
                            bool along_columns)
{
    for (int index = threadIdx.x; index < TILE * DEPTH; index += SIDE * SIDE) {
        int row = along_columns ? index / DEPTH : index % TILE;
        int column = along_columns ? index % DEPTH : index / TILE;
        bool inside = row0 + row < rows && column0 + column < columns;
        panel[column][row] = inside ? at(x, batch, row0 + row, column0 + column) : 0;
    }
}

template <bool TWICE>
static __global__ void __launch_bounds__(SIDE *SIDE)
    multiply(const __grid_constant__ struct cuda_ref_problem p, int64_t row_tiles)
{
    __shared__ double a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    int64_t row0 = blockIdx.x % row_tiles * TILE, column0 = blockIdx.x / row_tiles * TILE;
    struct cuda_matrix b_rows = p.b; /* B's columns as rows */
    b_rows.row = p.b.column;
    b_rows.column = p.b.row;
    for (int64_t batch = blockIdx.y; batch < p.batches; batch += gridDim.y) {
        struct sum s[PER_THREAD][PER_THREAD] = {};
        for (int64_t depth = 0; depth < p.k; depth += DEPTH) {
            fill(a, p.a, batch, row0, p.m, depth, p.k, p.a.column == 1);
            fill(b, b_rows, batch, column0, p.n, depth, p.k, p.b.row == 1);
            __syncthreads();
            for (int d = 0; d < DEPTH; d++)
                for (int i = 0; i < PER_THREAD; i++)
                    for (int j = 0; j < PER_THREAD; j++)
                        multiply_add<TWICE>(s[i][j], a[d][tx + i * SIDE], b[d][ty + j * SIDE]);
            __syncthreads();
        }
        for (int j = 0; j < PER_THREAD; j++)
            for (int i = 0; i < PER_THREAD; i++) {
                int64_t row = row0 + tx + i * SIDE, column = column0 + ty + j * SIDE;
                if (row < p.m && column < p.n)
                    finish(p, s[i][j], batch, row, column);
            }
    }
}

static __global__ void add_elements(const __grid_constant__ struct cuda_ref_problem p)
{
    int64_t count = p.m * p.n * p.batches;
    for (int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; index < count;
         index += (int64_t)gridDim.x * blockDim.x) {
        int64_t i = index % p.m, j = index / p.m % p.n, batch = index / p.m / p.n;
        double x = at(p.b, batch, i, j), y = at(p.c, batch, i, j), rounded;
        if (p.c.dtype == TILEWISE_F64)
            rounded = fma(p.alpha, x, y);
        else
            rounded = (double)fmaf((float)p.alpha, (float)x, (float)y);
        p.result[index] = p.alpha == 0 ? y : rounded;
        p.magnitude[index] = (p.alpha == 0 ? 0 : fabs(p.alpha * x)) + fabs(y);
    }
}

int cuda_ref_launch(const struct cuda_ref_problem *p)
{
    int64_t row_tiles = (p->m + TILE - 1) / TILE, tiles = row_tiles * ((p->n + TILE - 1) / TILE);
    cudaStream_t stream = (cudaStream_t)p->stream;
    dim3 grid((unsigned)tiles, (unsigned)(p->batches < 65535 ? p->batches : 65535));
    if (p->m <= 0 || p->n <= 0 || p->batches <= 0)
        return 0;
    if (tiles > INT32_MAX)
        return -ENOTSUP;
    if (p->is_add)
        add_elements<<<1024, 256, 0, stream>>>(*p);
    else if (p->c.dtype == TILEWISE_F64)
        multiply<true><<<grid, SIDE * SIDE, 0, stream>>>(*p, row_tiles);
    else
        multiply<false><<<grid, SIDE * SIDE, 0, stream>>>(*p, row_tiles);
    return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}
