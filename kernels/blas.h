/* SPDX-License-Identifier: Apache-2.0
 *
 * A signature and its arguments read as plain BLAS arithmetic: every operand is a base address with
 * two strides in elements, so layouts, transposes and increments need no further cases.
 */
#ifndef TILEWISE_KERNELS_BLAS_H
#define TILEWISE_KERNELS_BLAS_H

#include <stdbool.h>

#include "replayer/candidate.h"

/* Element (i, j) lies at base + (i * row + j * column) elements. */
struct blas_matrix {
    char *base; /* A and B are only ever read */
    int64_t row, column;
};

/* C[m,n] = alpha A[m,k] B[k,n] + beta C. gemv has n = 1 and B = x; add has k = 1, x in b, and no
 * a. */
struct blas_call {
    int64_t m, n, k;
    struct blas_matrix a, b, c;
    double alpha, beta;
    uint8_t uplo; /* enum tilewise_uplo: which elements of C are written */
};

/* True if the signature is a gemm, gemv or add without batch pointers, epilogue, scaling or
 * anything else that a BLAS call has not, and all its operands have this element type. */
bool blas_is_plain(const struct tilewise_signature *s, enum tilewise_dtype dtype);

/* Read batch entry `index` (0 when there is no batch) of a gemm, gemv or add whose alpha and beta
 * are f32 or f64. Negative increments are resolved as BLAS does. */
struct blas_call blas_read(const struct tilewise_signature *s, const struct tilewise_args *args,
                           int64_t index);

/* 1 for a signature without batch. */
int64_t blas_batches(const struct tilewise_signature *s);

/* Is element (i, j) written? */
static inline bool blas_writes(const struct blas_call *call, int64_t i, int64_t j)
{
    return call->uplo == TILEWISE_FULL || (call->uplo == TILEWISE_LOWER ? i >= j : i <= j);
}

#endif
