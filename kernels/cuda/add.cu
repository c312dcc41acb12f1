/* SPDX-License-Identifier: Apache-2.0
 *
 * y = alpha x + y at the speed of memory. Lines whose elements lie side by side and begin alike
 * within 16 bytes go in chunks of 16 bytes, in one of several ways; what does not, element by
 * element.
 */
#include <errno.h>

#include "kernels/cuda/add_bulk.cuh"
#include "kernels/cuda/launch.h"
#define _Static_assert static_assert
#include "traces/dtype.h"

/* ---- tiles: each thread has AHEAD chunks of x and of y on their way ---- */

/* ONCE: neither x nor y should push the rest out of the caches. */
template <bool ONCE> static __device__ __forceinline__ int4 add_load(const int4 *from)
{
    return ONCE ? device_load_once(from) : *from;
}
template <bool ONCE> static __device__ __forceinline__ void add_store(int4 *to, int4 value)
{
    if (ONCE)
        device_store_once(to, value);
    else
        *to = value;
}

/* One chunk and more of them, `step` apart, as far as there are `count`. */
template <typename T, int AHEAD, bool ONCE>
static __device__ __forceinline__ void add_chunks(const int4 *x, int4 *y, int64_t count, int step,
                                                  typename add_scalar<T>::type alpha)
{
    int4 from[AHEAD], to[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        if (i * step < count) {
            from[i] = add_load<ONCE>(x + i * step);
            to[i] = add_load<ONCE>(y + i * step);
        }
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        if (i * step < count)
            add_store<ONCE>(y + i * step, add_two<T>(from[i], to[i], alpha));
}

/* Grid: tiles of a line, groups of lines, batch entries. */
template <typename T, int AHEAD, bool ONCE>
static __global__ void __launch_bounds__(ADD_THREADS)
    add_tiles(const __grid_constant__ add_arguments p)
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
                int64_t first = tile * AHEAD * width + me;
                add_chunks<T, AHEAD, ONCE>((const int4 *)(l.x + l.lead) + first,
                                           (int4 *)(l.y + l.lead) + first, l.whole / EACH - first,
                                           width, (typename add_scalar<T>::type)p.alpha);
            }
        }
}

/* ---- any steps ---- */

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

/* ---- launches ---- */

static int64_t at_most(int64_t x, int64_t most)
{
    return x < most ? x : most;
}

/* Does every line of x begin where the one of y does, within 16 bytes? */
static bool begin_alike(const add_arguments &p, int bytes)
{
    uint64_t apart = (uint64_t)((uintptr_t)p.x - (uintptr_t)p.y);
    apart |= (uint64_t)((p.x_column - p.y_column) * bytes);
    apart |= (uint64_t)((p.x_batch - p.y_batch) * bytes);
    return apart % 16 == 0;
}

static int finish(void (*kernel)(add_arguments), dim3 grid, int shared_bytes,
                  const add_arguments &p, void *stream)
{
    if (!device_allow_shared(kernel, shared_bytes))
        return -EIO;
    device_launch(kernel, grid, ADD_THREADS, shared_bytes, stream, p);
    return device_failed() ? -EIO : 0;
}

/* `each`: blocks for each multiprocessor; 0: one for each tile. */
template <typename T, int AHEAD, bool ONCE>
static int launch_tiles(add_arguments p, void *stream, int each)
{
    int64_t chunks = p.m * (int64_t)sizeof(T) / 16; /* or one less */
    for (p.shift = 0; 1 << p.shift < ADD_THREADS && 1 << p.shift < chunks;)
        p.shift++;
    int64_t lines = ADD_THREADS >> p.shift, tile = (int64_t)AHEAD << p.shift;
    p.tiles = chunks ? (chunks + tile - 1) / tile : 1;
    dim3 grid((unsigned)at_most(p.tiles, INT32_MAX),
              (unsigned)at_most((p.n + lines - 1) / lines, 65535),
              (unsigned)at_most(p.batches, 65535));
    int64_t others = (int64_t)grid.y * grid.z;
    if (each)
        grid.x = (unsigned)at_most(grid.x, (each * device_processors() + others - 1) / others);
    return finish(add_tiles<T, AHEAD, ONCE>, grid, 0, p, stream);
}

template <typename T> static int launch_bulk(add_arguments p, void *stream)
{
    constexpr int CHUNKS = ADD_BULK_BYTES / 16, EACH = 16 / (int)sizeof(T);
    p.tiles = (p.m / EACH + CHUNKS - 1) / CHUNKS;
    int64_t blocks = (int64_t)device_processors() * ADD_BULK_BLOCKS;
    dim3 grid((unsigned)at_most(p.tiles * p.n * p.batches, blocks));
    return finish(add_bulk<T>, grid, add_bulk_shared_bytes, p, stream);
}

template <typename T> static int launch_elements(const add_arguments &p, void *stream)
{
    dim3 grid(1, (unsigned)at_most(p.n, 65535), (unsigned)at_most(p.batches, 65535));
    int64_t others = (int64_t)grid.y * grid.z, blocks = 8 * device_processors();
    grid.x =
        (unsigned)at_most((p.m + ADD_THREADS - 1) / ADD_THREADS, (blocks + others - 1) / others);
    return finish(add_elements<T>, grid, 0, p, stream);
}

template <typename T> static int launch(enum cuda_add_way way, const add_arguments &p, void *stream)
{
    if (p.x_row != 1 || p.y_row != 1 || !begin_alike(p, (int)sizeof(T)))
        return launch_elements<T>(p, stream);
    bool in_bulk = p.m * (int64_t)sizeof(T) >= ADD_BULK_BYTES && device_copies_in_bulk();
    switch (way) {
    case CUDA_ADD_BULK:
        if (in_bulk)
            return launch_bulk<T>(p, stream);
        break;
    case CUDA_ADD_TILE_ONCE:
        return launch_tiles<T, 4, true>(p, stream, 0);
    case CUDA_ADD_TILE_WIDE:
        return launch_tiles<T, 8, false>(p, stream, 0);
    case CUDA_ADD_RESIDENT:
        return launch_tiles<T, 4, false>(p, stream, 4);
    default:
        break;
    }
    return launch_tiles<T, 4, false>(p, stream, 0);
}

int cuda_add_launch(enum cuda_add_way way, const struct cuda_add_problem *q)
{
    add_arguments p = { q->x.base,  q->y.base,   q->m,       q->n,     q->batches,
                        q->x.row,   q->x.column, q->x.batch, q->y.row, q->y.column,
                        q->y.batch, q->alpha,    0,          0 };
    if (p.m <= 0 || p.n <= 0 || p.batches <= 0 || p.alpha == 0)
        return 0;
    switch (q->y.dtype) {
    case TILEWISE_F64:
        return launch<double>(way, p, q->stream);
    case TILEWISE_F32:
        return launch<float>(way, p, q->stream);
    case TILEWISE_F16:
        return launch<__half>(way, p, q->stream);
    default:
        return launch<__nv_bfloat16>(way, p, q->stream);
    }
}
