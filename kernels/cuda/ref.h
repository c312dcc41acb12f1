/* SPDX-License-Identifier: Apache-2.0
 *
 * The fp64 reference on the device: what kernels/builtin.h calls ref_compute, for operands in
 * device memory. Only where the build has CUDA kernels (TILEWISE_CUDA is defined).
 */
#ifndef TILEWISE_KERNELS_CUDA_REF_H
#define TILEWISE_KERNELS_CUDA_REF_H

#include "replayer/candidate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueue on args->stream: for each element of the result the value and E = sum_k |alpha a b| +
 * |beta c|, or -1 where uplo says that nobody may write; an add gives fma(alpha, x, y) rounded once
 * to f32 (f64 for f64). a, b, c, `result` and `magnitude` are device memory; the last two column-
 * major m x n, `batch` of them one after another. alpha and beta are host memory. C is not read
 * when beta is zero. Sums of f64 products are kept in twice the precision.
 * -ENOTSUP for what it does not know (and an add with incy = 0), -EIO when CUDA refuses a launch.
 */
int cuda_ref_compute(const struct tilewise_signature *s, const struct tilewise_args *args,
                     double *result, double *magnitude);

#ifdef __cplusplus
}
#endif
#endif
