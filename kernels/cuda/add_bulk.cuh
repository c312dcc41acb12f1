/* SPDX-License-Identifier: Apache-2.0
 *
 * The add by the copy engine: a few blocks for each multiprocessor take tiles in turn. While one is
 * added in shared memory, the next ones are on their way in and the last one on its way out.
 */
#ifndef TILEWISE_KERNELS_CUDA_ADD_BULK_CUH
#define TILEWISE_KERNELS_CUDA_ADD_BULK_CUH

#include "kernels/cuda/add.cuh"

enum { ADD_BULK_BYTES = 8192, ADD_BULK_STAGES = 4, ADD_BULK_BLOCKS = 3 };
/* x and y of every stage, then the barriers. */
static const int add_bulk_shared_bytes = ADD_BULK_STAGES * (2 * ADD_BULK_BYTES + 8);

#ifdef DEVICE_HAS_BULK

/* Whole chunks of a tile. */
template <typename T> struct add_part {
    add_line<T> line;
    const T *x;
    T *y;
    int bytes;
    bool is_first; /* of its line */
};

template <typename T>
static __device__ __forceinline__ add_part<T> add_part_of(const add_arguments &p, int64_t tile)
{
    constexpr int TILE = ADD_BULK_BYTES / (int)sizeof(T);
    int64_t index = tile / p.tiles;
    add_line<T> l = add_line_of<T>(p, index / p.n, index % p.n);
    int64_t first = tile % p.tiles * TILE, left = l.whole - first;
    int64_t count = left < TILE ? left : TILE; /* not below 0: a line ends in its last tile */
    return { l, l.x + l.lead + first, l.y + l.lead + first, (int)(count * (int64_t)sizeof(T)),
             first == 0 };
}

template <typename T> struct add_stages {
    unsigned char *memory;
    __device__ T *x(int stage) const
    {
        return (T *)(memory + stage * 2 * ADD_BULK_BYTES);
    }
    __device__ T *y(int stage) const
    {
        return x(stage) + ADD_BULK_BYTES / sizeof(T);
    }
    __device__ uint64_t *barrier(int stage) const
    {
        return (uint64_t *)(memory + ADD_BULK_STAGES * 2 * ADD_BULK_BYTES) + stage;
    }
};

/* By one thread. */
template <typename T>
static __device__ __forceinline__ void add_order(const add_arguments &p, const add_stages<T> &s,
                                                 int64_t step)
{
    int64_t tile = blockIdx.x + step * gridDim.x;
    int stage = (int)(step % ADD_BULK_STAGES);
    if (tile >= p.tiles * p.n * p.batches)
        return;
    add_part<T> part = add_part_of<T>(p, tile);
    device_barrier_expect(s.barrier(stage), 2 * part.bytes);
    if (part.bytes == 0)
        return;
    device_bulk_load(s.x(stage), part.x, part.bytes, s.barrier(stage));
    device_bulk_load(s.y(stage), part.y, part.bytes, s.barrier(stage));
}
#endif

template <typename T>
static __global__ void __launch_bounds__(ADD_THREADS)
    add_bulk(const __grid_constant__ add_arguments p)
{
#ifdef DEVICE_HAS_BULK
    add_stages<T> s = { device_shared() };
    bool orders = threadIdx.x == 0;
    int64_t total = p.tiles * p.n * p.batches;
    for (int stage = 0; orders && stage < ADD_BULK_STAGES; stage++)
        device_barrier_init(s.barrier(stage));
    __syncthreads();
    for (int64_t step = 0; orders && step < ADD_BULK_STAGES - 1; step++)
        add_order<T>(p, s, step);
    for (int64_t step = 0, tile = blockIdx.x; tile < total; tile += gridDim.x, step++) {
        int stage = (int)(step % ADD_BULK_STAGES);
        add_part<T> part = add_part_of<T>(p, tile);
        if (part.is_first)
            add_ends(p, part.line, (int)threadIdx.x, ADD_THREADS);
        device_barrier_wait(s.barrier(stage), (int)(step / ADD_BULK_STAGES % 2));
        for (int at = (int)threadIdx.x; at < part.bytes / 16; at += ADD_THREADS) {
            int4 *x = (int4 *)s.x(stage) + at, *y = (int4 *)s.y(stage) + at;
            *y = add_two<T>(*x, *y, (typename add_scalar<T>::type)p.alpha);
        }
        device_bulk_publish();
        __syncthreads();
        if (orders) { /* the stage of the step before is free once its sum has left it */
            if (part.bytes)
                device_bulk_store(part.y, s.y(stage), part.bytes);
            device_bulk_commit();
            device_bulk_wait<1>();
            add_order<T>(p, s, step + ADD_BULK_STAGES - 1);
        }
    }
    if (orders)
        device_bulk_wait<0>();
#endif
}

#endif
