/* SPDX-License-Identifier: Apache-2.0
 *
 * Which BLAS routines do what a signature says, and how each one is called. [0] is the call as it
 * was recorded; the others compute the same result.
 *
 * Swapping the layout (row-major C as column-major C^T) is not among them: CBLAS itself turns one
 * into the other, so it is the same call. syrk and gemm are not exchanged: gemm writes both
 * triangles.
 */
#ifndef TILEWISE_REPLAYER_CPU_ROUTINE_H
#define TILEWISE_REPLAYER_CPU_ROUTINE_H

#include "replayer/backend.h"
#include "replayer/cpu_blas.h"
#include "replayer/operand.h"

/* Arguments of any of them, as CBLAS wants them. */
struct cpu_call {
    int layout, trans_a, trans_b, uplo;
    int m, n, k, lda, ldb, ldc;
    const void *a, *b, *alpha, *beta;
    void *c;
    float *wide; /* bf16 results: room for cpu_routine_wide_bytes(); else NULL */
};

struct cpu_routine {
    char name[BACKEND_NAME_BYTES];
    void (*run)(const struct cpu_blas *blas, const struct cpu_call *call);
    struct cpu_call call; /* without the pointers */
    bool swapped;         /* the library's first operand is our B: m = 1 is y = B^T x */
};

/* Dimensions, types and modes that CBLAS can take at all; else false and why. */
bool cpu_routine_supports(const struct tilewise_signature *s, char *why, size_t why_bytes);

/* Bytes that the routines need for results in f32 on their way to bf16; 0 for all other types. */
size_t cpu_routine_wide_bytes(const struct tilewise_signature *s);

/* Fill `list` (room for BACKEND_ROUTINES_MAX); returns how many. 0: nothing does this. */
size_t cpu_routine_list(const struct cpu_blas *blas, const struct tilewise_signature *s,
                        struct cpu_routine *list);

#endif
