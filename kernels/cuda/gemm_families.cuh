/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiles of each family of gemm kernels; one file per family defines its rows.
 */
#ifndef TILEWISE_KERNELS_CUDA_GEMM_FAMILIES_CUH
#define TILEWISE_KERNELS_CUDA_GEMM_FAMILIES_CUH

#include "kernels/cuda/finish.cuh"
#include "kernels/cuda/launch.h"

struct launch_row {
    struct cuda_gemm_tile tile;
    int (*launch)(const struct cuda_gemm_tile *tile, const struct cuda_gemm_problem *p,
                  finish_type type);
};

struct launch_family {
    const struct launch_row *row;
    size_t count;
};

extern const struct launch_family launch_family_f16, launch_family_bf16, launch_family_tf32,
    launch_family_f32, launch_family_f64;

#endif
