/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of built-in candidates (kernels/builtin.c), in the order in which they are
 * preferred.
 */
#ifndef TILEWISE_KERNELS_BUILTIN_H
#define TILEWISE_KERNELS_BUILTIN_H

#include "replayer/candidate.h"

/* Fast ones first; "ref" and "null" are the last two. */
const struct tilewise_candidate *const *builtin_candidates(size_t *count);

/* Three plain loops in long double. */
extern const struct tilewise_candidate ref_candidate;
/* Does nothing: the ghost run that must fail, and the cost of a call. */
extern const struct tilewise_candidate null_candidate;

/* The fp64 reference: for each element of the result, the exact-as-possible value and
 * E = sum_k |alpha a_ik b_kj| + |beta c_ij|, both column-major m x n doubles owned by the caller
 * (ld = m; gemv: one column with the length of y). A strided batch gives `batch` such matrices one
 * after another. Reads A, B, C with the signature's types and strides (traces/number.h); C is not
 * read when beta is zero. The sums are kept in twice the precision of f64, so the values are good
 * enough to check f64 kernels. With uplo set, elements of the other triangle, which nobody may
 * write, have magnitude -1. For an add the value is fma(alpha, x, y) rounded once to the element
 * type: compare bits. -ENOTSUP for what it does not know, -ENOMEM. */
int ref_compute(const struct tilewise_signature *s, const struct tilewise_args *args,
                double *result, double *magnitude);

#endif
