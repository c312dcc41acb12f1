/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the operands of one call lie in memory: computed from a signature, with checked arithmetic,
 * before anything is allocated. Everything is counted in elements unless the name says bytes.
 */
#ifndef TILEWISE_REPLAYER_OPERAND_H
#define TILEWISE_REPLAYER_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/anywhere.h"
#include "traces/signature.h"
#include "traces/status.h"

enum operand_name { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_COUNT };

/* One operand. `rows` x `cols` is the logical matrix, after the transpose: op(A) is m x k, op(B) is
 * k x n, C is m x n; a vector has one column. Element (r, c) of batch b lies at
 * first + b * stride + r * row_step + c * col_step. */
struct operand {
    bool present; /* false: the operation has none (add: A; syrk: B is A) */
    uint8_t dtype;
    uint8_t uplo; /* C of syrk: only this triangle belongs to the result */
    unsigned align_log2;
    size_t element_bytes;
    int64_t rows, cols, first, row_step, col_step, batch, stride;
    size_t bytes; /* from the first to the last element that is touched, gaps included */
};

/* Fill `out`. INVALID with the reason for dimensions that no memory holds, a leading dimension
 * below its minimum, a zero increment, or output batches that overlap; UNSUPPORTED for an operation
 * or element type that has no such layout. */
enum status operand_layout(const struct tilewise_signature *s, struct operand out[OPERAND_COUNT],
                           struct fault *fault);

/* Can a library with 32-bit integers be called with it? False with one line why not. `refused`:
 * what the backend has against it already, else NULL. */
bool operand_is_callable(const struct tilewise_signature *s, const char *refused, char *why,
                         size_t why_bytes);

/* Index of element (r, c) of batch b. */
TILEWISE_ANYWHERE int64_t operand_index(const struct operand *o, int64_t b, int64_t r, int64_t c)
{
    return o->first + b * o->stride + r * o->row_step + c * o->col_step;
}

/* Is (r, c) part of the result? False in the triangle that syrk leaves alone. */
TILEWISE_ANYWHERE bool operand_holds(const struct operand *o, int64_t r, int64_t c)
{
    return o->uplo == TILEWISE_FULL || (o->uplo == TILEWISE_LOWER ? r >= c : r <= c);
}

/* Element type and leading dimension (gemv: increment) of the result. cublasLt may write D
 * elsewhere than C; where C is not read, the result is D alone. */
uint8_t operand_result_dtype(const struct tilewise_signature *s);
int64_t operand_result_ld(const struct tilewise_signature *s);

/* Length of the inner product behind one element of the result: k of gemm, inputs of gemv, 1. */
int64_t operand_depth(const struct tilewise_signature *s);

#endif
