/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/gemm_mma16.cuh"

extern const struct launch_family launch_family_f16 = {
    mma16<__half>::rows, sizeof mma16<__half>::rows / sizeof mma16<__half>::rows[0]
};
