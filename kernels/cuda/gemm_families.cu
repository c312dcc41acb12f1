/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "kernels/cuda/gemm_families.cuh"
#define _Static_assert static_assert
#include "traces/dtype.h"

static const struct launch_family *const families[] = { &launch_family_f16, &launch_family_bf16,
                                                        &launch_family_tf32, &launch_family_f32,
                                                        &launch_family_f64 };

size_t cuda_gemm_tile_count(enum cuda_gemm_family family)
{
    return families[family]->count;
}

const struct cuda_gemm_tile *cuda_gemm_tile_of(enum cuda_gemm_family family, size_t tile)
{
    return &families[family]->row[tile].tile;
}

static finish_type type_of(uint8_t dtype)
{
    return dtype == TILEWISE_F64    ? FINISH_F64
           : dtype == TILEWISE_F16  ? FINISH_F16
           : dtype == TILEWISE_BF16 ? FINISH_BF16
                                    : FINISH_F32;
}

int cuda_gemm_launch(enum cuda_gemm_family family, size_t tile, const struct cuda_gemm_problem *p)
{
    const struct launch_row *row = &families[family]->row[tile];
    if (p->m <= 0 || p->n <= 0 || p->batches <= 0)
        return 0;
    return row->launch(&row->tile, p, type_of(p->c.dtype));
}
