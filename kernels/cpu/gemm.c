/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates gemm_*: any layout, transposes, sizes, leading dimensions, alpha and beta; strided
 * batches one after another. Not syrk, which writes one triangle.
 */
#include "kernels/cpu/family.h"
#include "kernels/cpu/product.h"

static int supports(const struct isa *isa, const struct tilewise_signature *s)
{
    return s->op == TILEWISE_OP_GEMM && s->uplo == TILEWISE_FULL && blas_is_plain(s, isa->dtype);
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

FAMILY(gemm, "register tiles over packed panels, or straight from cache")
