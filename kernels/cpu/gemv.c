/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates gemv_*: any layout, transpose, sizes and increments, but for incy = 0, which is a sum
 * over rows in a fixed order and no product.
 */
#include "kernels/cpu/family.h"
#include "kernels/cpu/product.h"

static int supports(const struct isa *isa, const struct tilewise_signature *s)
{
    return s->op == TILEWISE_OP_GEMV && s->ldc != 0 && blas_is_plain(s, isa->dtype);
}

static size_t scratch_bytes(const struct isa *isa, const struct tilewise_signature *s,
                            uint32_t threads)
{
    return product_scratch_bytes(isa, s, threads);
}

static int run(const struct isa *isa, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    product_run(isa, s, args);
    return 0;
}

FAMILY(gemv, "reads the matrix once")
