/* SPDX-License-Identifier: Apache-2.0
 *
 * The library that tile kernels fall back to: a CBLAS with 32-bit integers, found at the first
 * call. $TILEWISE_BLAS names one (and then only that one is tried); otherwise the one that the
 * process has already, otherwise OpenBLAS or a reference CBLAS.
 */
#ifndef TILEWISE_KERNELS_BLAS_LIBRARY_H
#define TILEWISE_KERNELS_BLAS_LIBRARY_H

#include "replayer/candidate.h"

/* Compute a plain real gemm, gemv or add (strided batches one after another). 0; -ENOENT without a
 * library; -ENOTSUP for what CBLAS has no routine for, or numbers that do not fit its integers.
 * Any thread. */
int blas_library_run(const struct tilewise_signature *s, const struct tilewise_args *args);

#endif
