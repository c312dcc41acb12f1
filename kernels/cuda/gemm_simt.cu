/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/gemm_launch.cuh"

/*                          m    n    k  a thread's */
using f128x128 = simt_shape<float, 128, 128, 16, 8, 8>;
using f64x64 = simt_shape<float, 64, 64, 16, 4, 4>;
using f16x128 = simt_shape<float, 16, 128, 16, 4, 4>;
using d64x64 = simt_shape<double, 64, 64, 16, 4, 4>;
using d16x64 = simt_shape<double, 16, 64, 16, 2, 4>;

static constexpr struct launch_row rows_f32[] = {
    { launch_tile<f128x128>(), launch_simt<f128x128> },
    { launch_tile<f64x64>(), launch_simt<f64x64> },
    { launch_tile<f16x128>(), launch_simt<f16x128> },
};
static constexpr struct launch_row rows_f64[] = {
    { launch_tile<d64x64>(), launch_simt<d64x64> },
    { launch_tile<d16x64>(), launch_simt<d16x64> },
};

extern const struct launch_family launch_family_f32 = { rows_f32,
                                                        sizeof rows_f32 / sizeof rows_f32[0] };
extern const struct launch_family launch_family_f64 = { rows_f64,
                                                        sizeof rows_f64 / sizeof rows_f64[0] };
