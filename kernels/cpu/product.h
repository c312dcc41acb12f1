/* SPDX-License-Identifier: Apache-2.0
 *
 * One product C = alpha A B + beta C on the processor: chooses the way by shape (thin, direct,
 * packed: isa.h) and cuts C for the threads. The result does not depend on the number of threads.
 */
#ifndef TILEWISE_KERNELS_CPU_PRODUCT_H
#define TILEWISE_KERNELS_CPU_PRODUCT_H

#include "kernels/cpu/isa.h"

/* For a gemm or gemv that blas_is_plain() and writes all of C. */
size_t product_scratch_bytes(const struct isa *isa, const struct tilewise_signature *s,
                             uint32_t threads);
void product_run(const struct isa *isa, const struct tilewise_signature *s,
                 const struct tilewise_args *args);

#endif
