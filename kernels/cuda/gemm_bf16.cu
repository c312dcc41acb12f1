/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/gemm_mma16.cuh"

extern const struct launch_family launch_family_bf16 = { mma16<__nv_bfloat16>::rows,
                                                         sizeof mma16<__nv_bfloat16>::rows /
                                                             sizeof mma16<__nv_bfloat16>::rows[0] };
