/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about an operand that decide how it may be read.
 */
#ifndef TILEWISE_KERNELS_CUDA_OPERAND_H
#define TILEWISE_KERNELS_CUDA_OPERAND_H

#include "kernels/cuda/launch.h"

/* Largest power of two, at most 16, that the address of every line's first element is a multiple
 * of, in every batch entry. One of the two steps is 1. */
static inline int operand_alignment(const struct cuda_matrix *x, int element_bytes)
{
    int64_t line = x->column == 1 ? x->row : x->column;
    uint64_t bits = (uint64_t)(uintptr_t)x->base | (uint64_t)(line * element_bytes) |
                    (uint64_t)(x->batch * element_bytes) | 16;
    return (int)(bits & (~bits + 1));
}

#endif
