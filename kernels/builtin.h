/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of built-in candidates (kernels/builtin.c), in the order in which they are
 * preferred.
 */
#ifndef TILEWISE_KERNELS_BUILTIN_H
#define TILEWISE_KERNELS_BUILTIN_H

#include "replayer/candidate.h"

const struct tilewise_candidate *const *builtin_candidates(size_t *count);

/* The fp64 reference: for each element of the result, the exact-as-possible value and
 * E = sum_k |alpha a_ik b_kj| + |beta c_ij|, both column-major m x n doubles owned by the caller
 * (ld = m; gemv: m results, n = 1). Reads A, B, C with the signature's types and strides; C is not
 * read when beta is zero. -ENOTSUP for what it does not know. */
int ref_compute(const struct tilewise_signature *s, const struct tilewise_args *args,
                double *result, double *magnitude);

#endif
