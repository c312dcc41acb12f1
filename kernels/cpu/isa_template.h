/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything of one element type on one instruction set. See isa.h and the files included here for
 * what the including file defines.
 */
#include <math.h>

#include "kernels/cpu/isa.h"

#include "kernels/cpu/gemm_template.h"

#include "kernels/cpu/thin_template.h"

/* One rounding everywhere, also where the processor has no fused multiply-add. */
static void add_run(int64_t count, double alpha, const void *x_any, void *y_any)
{
    const real *x = x_any;
    real *y = y_any, scale = (real)alpha;
    int64_t i = 0;
    if (scale == 1)
        for (; i < count; i++)
            y[i] = x[i] + y[i];
#if VECTOR_BYTES > 16
    for (; i + VL <= count; i += VL)
        vec_store(y + i, vec_fma(vec_all(scale), vec_load(x + i), vec_load(y + i)));
#endif
    for (; i < count; i++)
        y[i] = REAL_BITS == 32 ? (real)fmaf((float)scale, (float)x[i], (float)y[i])
                               : (real)fma((double)scale, (double)x[i], (double)y[i]);
}

#define ISA_PASTE(bits, isa) isa_f##bits##_##isa
#define ISA_NAME(bits, isa)  ISA_PASTE(bits, isa)

const struct isa ISA_NAME(REAL_BITS, ISA) = {
    .dtype = REAL_BITS == 32 ? TILEWISE_F32 : TILEWISE_F64,
    .level = VECTOR_BYTES == 64   ? ISA_AVX512
             : VECTOR_BYTES == 32 ? ISA_AVX2
                                  : ISA_PORTABLE,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .packed = gemm_packed,
    .packed_bytes = gemm_packed_bytes,
    .direct = gemm_direct,
    .direct_bytes = gemm_direct_bytes,
    .thin = thin_run,
    .thin_bytes = thin_bytes,
    .add = add_run,
};
