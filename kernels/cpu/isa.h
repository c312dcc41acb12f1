/* SPDX-License-Identifier: Apache-2.0
 *
 * One element type on one instruction set: what the templates give to gemm.c, gemv.c and add.c.
 * Each isa_<dtype>_<isa>.c is compiled with its own flags, so nothing in it may be called before
 * isa_is_present() has said yes.
 *
 * All calls are single-threaded, allocate nothing and write exactly the elements of C. Every
 * element of C is summed in an order that depends on k alone, so a caller may cut C into pieces for
 * threads without changing a bit of the result.
 */
#ifndef TILEWISE_KERNELS_CPU_ISA_H
#define TILEWISE_KERNELS_CPU_ISA_H

#include "kernels/blas.h"

enum isa_level { ISA_PORTABLE, ISA_AVX2, ISA_AVX512 };

enum { ISA_THIN = 4 }; /* columns that `thin` takes, at most */

struct isa {
    enum tilewise_dtype dtype;
    enum isa_level level;
    int64_t tile_rows, tile_columns; /* of the register tile: where to cut C */

    /* C = alpha A B + beta C for any shape with c.row = 1 and alpha != 0, through packed panels;
     * scratch: packed_bytes(). */
    void (*packed)(const struct blas_call *call, void *scratch);
    size_t (*packed_bytes)(int64_t m, int64_t n, int64_t k);
    /* The same without packing (A is turned when its rows are apart): for operands that stay in
     * the caches. scratch: direct_bytes(). */
    void (*direct)(const struct blas_call *call, void *scratch);
    size_t (*direct_bytes)(int64_t k);
    /* The same for n <= ISA_THIN and any strides of C: streams A once. scratch: thin_bytes(). */
    void (*thin)(const struct blas_call *call, void *scratch);
    size_t (*thin_bytes)(int64_t n, int64_t k);
    /* y[i] = fma(alpha, x[i], y[i]); contiguous, not overlapping unless equal. */
    void (*add)(int64_t count, double alpha, const void *x, void *y);
};

extern const struct isa isa_f32_portable, isa_f64_portable;
#ifdef __x86_64__
extern const struct isa isa_f32_avx2, isa_f64_avx2, isa_f32_avx512, isa_f64_avx512;
#endif

/* Does this processor, under this operating system, run that level? */
bool isa_is_present(enum isa_level level);

#endif
