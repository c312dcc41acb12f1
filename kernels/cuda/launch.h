/* SPDX-License-Identifier: Apache-2.0
 *
 * The border between C and CUDA C++: plain problems that the .cu files launch. The .c files beside
 * them make these from signatures. All launches enqueue on `stream` (a cudaStream_t) and return 0,
 * or -EIO when CUDA refuses.
 */
#ifndef TILEWISE_KERNELS_CUDA_LAUNCH_H
#define TILEWISE_KERNELS_CUDA_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element (i, j) of batch entry b lies at base + b * batch + i * row + j * column elements. */
struct cuda_matrix {
    void *base; /* A and B are only ever read */
    int64_t row, column, batch;
    uint8_t dtype; /* enum tilewise_dtype */
};

struct cuda_ref_problem {
    struct cuda_matrix a, b, c;
    int64_t m, n, k, batches;
    double alpha, beta;
    double *result, *magnitude; /* column-major m x n, one per batch entry */
    int is_add;                 /* alpha b + c, no a */
    int uplo;                   /* enum tilewise_uplo */
    void *stream;
};
int cuda_ref_launch(const struct cuda_ref_problem *p);

/* C = alpha A B + beta C with C in rows: c.column is 1; A and B have a step of 1 in one of their
 * two directions. With splits > 1 each of them sums a part of k into `partial` (splits x batches x
 * m x n floats, f64: doubles), and a second kernel adds these in their order. */
struct cuda_gemm_problem {
    struct cuda_matrix a, b, c;
    int64_t m, n, k, batches;
    double alpha, beta;
    int splits;
    void *partial;
    void *stream;
};

/* What a tile kernel is made for. */
struct cuda_gemm_tile {
    int m, n, k; /* of one block and one step */
    int threads;
    int shared_bytes;
    bool is_skinny; /* at most m rows, A and B along k in whole chunks of 16 bytes */
};

/* Steps of k that a warp of a skinny tile has in flight for up to 8 rows; half as many for 16. */
enum { CUDA_GEMM_SKINNY_STEPS = 8 };

enum cuda_gemm_family {
    CUDA_GEMM_F16,
    CUDA_GEMM_BF16,
    CUDA_GEMM_TF32,
    CUDA_GEMM_F32,
    CUDA_GEMM_F64
};

/* Tiles of a family, those for large problems first. The last one of F16, BF16 and TF32 takes
 * operands of any alignment; the others want lines of A and B that begin at multiples of 16 bytes
 * (operand.h), a skinny one more than that, and answer -ENOTSUP. */
size_t cuda_gemm_tile_count(enum cuda_gemm_family family);
const struct cuda_gemm_tile *cuda_gemm_tile_of(enum cuda_gemm_family family, size_t tile);
int cuda_gemm_launch(enum cuda_gemm_family family, size_t tile, const struct cuda_gemm_problem *p);

/* y = alpha x + y, each element rounded once from a fused multiply-add in f32 (f64 for f64). m runs
 * along the direction in which steps are smaller. Batches of y do not overlap. */
struct cuda_add_problem {
    struct cuda_matrix x, y;
    int64_t m, n, batches;
    double alpha;
    void *stream;
};
int cuda_add_launch(const struct cuda_add_problem *p);

#ifdef __cplusplus
}
#endif
#endif
