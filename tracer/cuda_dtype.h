/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's numbers for types, to ours. Unknown numbers stay unknown.
 */
#ifndef TILEWISE_TRACER_CUDA_DTYPE_H
#define TILEWISE_TRACER_CUDA_DTYPE_H

#include "tracer/cuda_types.h"
#include "traces/dtype.h"

static inline uint8_t cuda_dtype(int type)
{
    static const uint8_t known[64] = {
#define X(number, dtype) [number] = TILEWISE_##dtype,
        CUDA_DTYPE_LIST(X)
#undef X
    };
    uint8_t found = type >= 0 && type < 64 ? known[type] : 0;
    return found ? found : TILEWISE_UNKNOWN;
}

static inline uint8_t cuda_compute(int type)
{
    switch (type) {
#define X(number, compute, scale)                                                                  \
    case number:                                                                                   \
        return TILEWISE_##compute;
        CUDA_COMPUTE_LIST(X)
#undef X
    }
    return TILEWISE_UNKNOWN;
}

/* Type of alpha and beta that goes with a compute type, for results of type `out`. */
static inline uint8_t cuda_scale(int type, uint8_t out)
{
    uint8_t scale = TILEWISE_UNKNOWN;
    switch (type) {
#define X(number, compute, scalar)                                                                 \
    case number:                                                                                   \
        scale = TILEWISE_##scalar;                                                                 \
        break;
        CUDA_COMPUTE_LIST(X)
#undef X
    }
    if (tilewise_dtype_kind(out) == TILEWISE_KIND_COMPLEX)
        return scale == TILEWISE_F64 ? TILEWISE_C128 : TILEWISE_C64;
    return scale;
}

#endif
