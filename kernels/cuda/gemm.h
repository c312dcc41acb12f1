/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tile and how many parts of k for a product: arithmetic alone, so that it is tested where
 * there is no GPU.
 */
#ifndef TILEWISE_KERNELS_CUDA_GEMM_H
#define TILEWISE_KERNELS_CUDA_GEMM_H

#include "kernels/cuda/read.h"

/* Let the sizes decide. */
#define CUDA_GEMM_ANY_TILE SIZE_MAX

struct cuda_gemm_plan {
    size_t tile;
    int splits;
};

/* `whole_chunks`: lines of A and B begin at multiples of 16 bytes. */
struct cuda_gemm_plan cuda_gemm_plan(enum cuda_gemm_family family, size_t tile,
                                     const struct cuda_gemm_problem *p, bool whole_chunks);

#endif
