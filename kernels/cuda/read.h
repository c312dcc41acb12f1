/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures read for the CUDA kernels: what kernels/blas.h does for a processor, with the types of
 * every operand and the batches left to the kernel.
 */
#ifndef TILEWISE_KERNELS_CUDA_READ_H
#define TILEWISE_KERNELS_CUDA_READ_H

#include <stdbool.h>

#include "kernels/blas.h"
#include "kernels/cuda/launch.h"

/* Operands of batch entry 0, how far the entries are apart, and the scalars. */
struct cuda_read_call {
    struct blas_call call;
    struct cuda_matrix a, b, c;
    int64_t batches;
};

/* A gemm, gemv or add that is plain but for its types (blas_is_plain), whose alpha and beta are
 * f32, f64 or f16. */
bool cuda_read_is_plain(const struct tilewise_signature *s);
/* Type of what is written: C's, or D's where cublasLt does not read C. */
uint8_t cuda_read_result_dtype(const struct tilewise_signature *s);
/* k is 0 when alpha is. */
struct cuda_read_call cuda_read(const struct tilewise_signature *s,
                                const struct tilewise_args *args);
struct cuda_matrix cuda_read_transposed(struct cuda_matrix x);

#endif
