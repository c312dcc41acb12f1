/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a chunk of 16 bytes of a tile lies in shared memory: rows of `chunks` chunks (a power of
 * two), in each of them exchanged so that what one instruction touches falls into different banks.
 */
#ifndef TILEWISE_KERNELS_CUDA_SWIZZLE_H
#define TILEWISE_KERNELS_CUDA_SWIZZLE_H

#if defined(__CUDACC__)
#define SWIZZLE_FUNCTION static __host__ __device__ constexpr inline
#elif defined(__cplusplus)
#define SWIZZLE_FUNCTION static constexpr inline
#else
#define SWIZZLE_FUNCTION static inline
#endif

/* For reading the same chunk of eight rows at once. */
SWIZZLE_FUNCTION int swizzle_rows(int row, int chunk, int chunks)
{
    return row * chunks +
           (chunks >= 8 ? chunk ^ (row & 7) : chunk ^ ((row / (8 / chunks)) & (chunks - 1)));
}

/* For reading eight words in two neighbouring chunks of four rows at once (tf32 across rows). */
SWIZZLE_FUNCTION int swizzle_quads(int row, int chunk, int chunks)
{
    return row * chunks +
           (chunks >= 8 ? chunk ^ ((row & 3) << 1) : chunk ^ (((row >> 1) & 1) << 1));
}

#endif
