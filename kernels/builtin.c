/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/builtin.h"

#define CPU_ANY_LIST(X)                                                                            \
    X(gemm_f32_portable)                                                                           \
    X(gemm_f64_portable)                                                                           \
    X(gemv_f32_portable)                                                                           \
    X(gemv_f64_portable)                                                                           \
    X(add_f32_portable)                                                                            \
    X(add_f64_portable)

#ifdef __x86_64__
#define CPU_LIST(X)                                                                                \
    X(gemm_f32_avx512)                                                                             \
    X(gemm_f64_avx512)                                                                             \
    X(gemv_f32_avx512)                                                                             \
    X(gemv_f64_avx512)                                                                             \
    X(add_f32_avx512)                                                                              \
    X(add_f64_avx512)                                                                              \
    X(gemm_f32_avx2)                                                                               \
    X(gemm_f64_avx2)                                                                               \
    X(gemv_f32_avx2)                                                                               \
    X(gemv_f64_avx2)                                                                               \
    X(add_f32_avx2)                                                                                \
    X(add_f64_avx2)                                                                                \
    CPU_ANY_LIST(X)
#else
#define CPU_LIST(X) CPU_ANY_LIST(X)
#endif

#ifdef TILEWISE_CUDA
#define CUDA_ADD_LIST(X)                                                                           \
    X(add_f64_cuda)                                                                                \
    X(add_f32_cuda)                                                                                \
    X(add_f16_cuda)                                                                                \
    X(add_bf16_cuda)
#define CANDIDATE(id, family, tile, text) extern const struct tilewise_candidate id;
#include "kernels/cuda/gemm.def"
#undef CANDIDATE
#else
#define CUDA_ADD_LIST(X)
#endif

#define X(id) extern const struct tilewise_candidate id;
CPU_LIST(X)
CUDA_ADD_LIST(X)
#undef X

static const struct tilewise_candidate *const candidates[] = {
#define X(id) &id,
    CPU_LIST(X) CUDA_ADD_LIST(X)
#undef X
#ifdef TILEWISE_CUDA
#define CANDIDATE(id, family, tile, text) &id,
#include "kernels/cuda/gemm.def"
#undef CANDIDATE
#endif
        & ref_candidate,
    &null_candidate,
};

const struct tilewise_candidate *const *builtin_candidates(size_t *count)
{
    *count = sizeof candidates / sizeof candidates[0];
    return candidates;
}
