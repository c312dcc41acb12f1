/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/builtin.h"

#define CANDIDATE(id)                extern const struct tilewise_candidate id;
#define GEMM(id, family, tile, text) CANDIDATE(id)
#define ADD(id, ...)                 CANDIDATE(id)
#include "kernels/cpu/candidates.def"
#ifdef TILEWISE_CUDA
#include "kernels/cuda/candidates.def"
#endif
#undef CANDIDATE

static const struct tilewise_candidate *const candidates[] = {
#define CANDIDATE(id) &id,
#include "kernels/cpu/candidates.def"
#ifdef TILEWISE_CUDA
#include "kernels/cuda/candidates.def"
#endif
#undef CANDIDATE
#undef GEMM
#undef ADD
    &ref_candidate,
    &null_candidate,
};

const struct tilewise_candidate *const *builtin_candidates(size_t *count)
{
    *count = sizeof candidates / sizeof candidates[0];
    return candidates;
}
