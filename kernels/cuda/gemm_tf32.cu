/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/gemm_launch.cuh"

/*                         m    n    k  warps stages */
using t128x128 = mma_shape<float, 128, 128, 32, 2, 4, 3>;
using t128x64 = mma_shape<float, 128, 64, 32, 2, 2, 4>;
using t64x128 = mma_shape<float, 64, 128, 32, 2, 2, 4>;
using t64x64 = mma_shape<float, 64, 64, 32, 2, 2, 4>;
using t16x64 = mma_shape<float, 16, 64, 64, 1, 4, 5>;

static constexpr struct launch_row rows[] = {
    { launch_tile<t128x128>(), launch_mma<t128x128, true> },
    { launch_tile<t128x64>(), launch_mma<t128x64, true> },
    { launch_tile<t64x128>(), launch_mma<t64x128, true> },
    { launch_tile<t64x64>(), launch_mma<t64x64, true> },
    { launch_tile<t16x64>(), launch_mma<t16x64, true> },
    { launch_tile<t64x64>(), launch_mma<t64x64, false> },
};

extern const struct launch_family launch_family_tf32 = { rows, sizeof rows / sizeof rows[0] };
