/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's numbers for types, to ours. Unknown numbers stay unknown.
 */
#ifndef TILEWISE_TRACER_CUDA_DTYPE_H
#define TILEWISE_TRACER_CUDA_DTYPE_H

#include "tracer/cuda_types.h"
#include "tracer/hot.h"
#include "traces/dtype.h"

/* What a compute type accumulates in, and the type of alpha and beta that goes with it. */
struct cuda_compute {
    uint8_t compute, scale;
};

enum { CUDA_DTYPES = 64, CUDA_COMPUTE_FIRST = 64, CUDA_COMPUTES = 16 };

/* By number, the last ones for all other numbers; each less TILEWISE_UNKNOWN, so that it is 0 where
 * we know nothing. In two lines of the caches. */
static const struct {
    _Alignas(HOT_LINE) uint8_t dtype[CUDA_DTYPES + 1];
    struct cuda_compute compute[CUDA_COMPUTES + 1];
} cuda_known = {
#define LESS_UNKNOWN(id) (uint8_t)(TILEWISE_##id ^ TILEWISE_UNKNOWN)
#define X(number, ours)  .dtype[number] = LESS_UNKNOWN(ours),
    CUDA_DTYPE_LIST(X)
#undef X
#define X(number, in, scalar)                                                                      \
    .compute[number - CUDA_COMPUTE_FIRST] = { LESS_UNKNOWN(in), LESS_UNKNOWN(scalar) },
        CUDA_COMPUTE_LIST(X)
#undef X
#undef LESS_UNKNOWN
};

static inline uint8_t cuda_dtype(int type)
{
    unsigned at = (unsigned)type < CUDA_DTYPES ? (unsigned)type : CUDA_DTYPES;
    return cuda_known.dtype[at] ^ TILEWISE_UNKNOWN;
}

static inline struct cuda_compute cuda_compute_of(int type)
{
    unsigned at = (unsigned)type - CUDA_COMPUTE_FIRST;
    struct cuda_compute found = cuda_known.compute[at < CUDA_COMPUTES ? at : CUDA_COMPUTES];
    return (struct cuda_compute){ found.compute ^ TILEWISE_UNKNOWN,
                                  found.scale ^ TILEWISE_UNKNOWN };
}

static inline uint8_t cuda_compute(int type)
{
    return cuda_compute_of(type).compute;
}

/* Type of alpha and beta where the result has type `out`. */
static inline uint8_t cuda_scale(struct cuda_compute compute, uint8_t out)
{
    enum {
        COMPLEX_TYPES = 0
#define X(id, number, name, bits, kind) | (TILEWISE_KIND_##kind == TILEWISE_KIND_COMPLEX) << number
        TILEWISE_DTYPE_LIST(X)
#undef X
    };
    if (COMPLEX_TYPES >> out & 1)
        return compute.scale == TILEWISE_F64 ? TILEWISE_C128 : TILEWISE_C64;
    return compute.scale;
}

#endif
