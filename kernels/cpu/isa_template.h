/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything of one element type on one instruction set. See isa.h and the files included here for
 * what the including file defines.
 */
#include <math.h>

#include "kernels/cpu/isa.h"

#include "kernels/cpu/gemm_template.h"

#include "kernels/cpu/thin_template.h"

#if VECTOR_BYTES > 16
static void add_run(int64_t count, double alpha, const void *x_any, void *y_any)
{
    const real *x = x_any;
    real *y = y_any;
    vec scale = vec_all((real)alpha);
    int64_t i = 0;
    for (; i + 4 * VL <= count; i += 4 * VL)
        SIMD_FOR (v, 4)
            vec_store(y + i + v * VL,
                      vec_fma(scale, vec_load(x + i + v * VL), vec_load(y + i + v * VL)));
    for (; i + VL <= count; i += VL)
        vec_store(y + i, vec_fma(scale, vec_load(x + i), vec_load(y + i)));
    if (i < count) {
        vec_mask mask = vec_first(count - i);
        vec sum = vec_fma(scale, vec_load_part(x + i, mask), vec_load_part(y + i, mask));
        vec_store_part(y + i, mask, sum);
    }
}
#else
/* One rounding everywhere, also where the processor has no fused multiply-add. */
static real add_one(real alpha, real x, real y)
{
    return REAL_BITS == 32 ? (real)fmaf((float)alpha, (float)x, (float)y)
                           : (real)fma((double)alpha, (double)x, (double)y);
}

static void add_run(int64_t count, double alpha, const void *x_any, void *y_any)
{
    const real *x = x_any;
    real *y = y_any;
    for (int64_t i = 0; i < count; i++)
        y[i] = alpha == 1 ? x[i] + y[i] : add_one((real)alpha, x[i], y[i]);
}
#endif

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
