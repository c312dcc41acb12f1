/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiles for 16-bit elements: the same for f16 and bf16, in a file of its own for each so that
 * they compile side by side.
 */
#ifndef TILEWISE_KERNELS_CUDA_GEMM_MMA16_CUH
#define TILEWISE_KERNELS_CUDA_GEMM_MMA16_CUH

#include "kernels/cuda/gemm_launch.cuh"

template <typename T> struct mma16 {
    /*                         m    n    k  warps stages */
    using t128x128 = mma_shape<T, 128, 128, 64, 2, 4, 3>;
    using t128x64 = mma_shape<T, 128, 64, 64, 2, 2, 4>;
    using t64x128 = mma_shape<T, 64, 128, 64, 2, 2, 4>;
    using t64x64 = mma_shape<T, 64, 64, 64, 2, 2, 4>;
    using t32x64 = mma_shape<T, 32, 64, 128, 1, 4, 4>;
    using t16x64 = mma_shape<T, 16, 64, 128, 1, 4, 5>;
    static constexpr struct launch_row rows[] = {
        { launch_tile<t128x128>(), launch_mma<t128x128, true> },
        { launch_tile<t128x64>(), launch_mma<t128x64, true> },
        { launch_tile<t64x128>(), launch_mma<t64x128, true> },
        { launch_tile<t64x64>(), launch_mma<t64x64, true> },
        { launch_tile<t32x64>(), launch_mma<t32x64, true> },
        { launch_tile<t16x64>(), launch_mma<t16x64, true> },
        { launch_skinny_tile<skinny_shape<T, 2, CUDA_GEMM_SKINNY_STEPS / 2>>(), launch_skinny<T> },
        { launch_tile<t64x64>(), launch_mma<t64x64, false> },
    };
};

#endif
