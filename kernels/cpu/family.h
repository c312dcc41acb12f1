/* SPDX-License-Identifier: Apache-2.0
 *
 * One candidate per element type and instruction set, which is its context, from three functions
 * that take the isa first: the including file defines static supports(), scratch_bytes() and run().
 */
#ifndef TILEWISE_KERNELS_CPU_FAMILY_H
#define TILEWISE_KERNELS_CPU_FAMILY_H

#include "kernels/cpu/isa.h"

#define FAMILY_CALLS                                                                               \
    static int supports_member(const struct tilewise_candidate *self,                              \
                               const struct tilewise_signature *s)                                 \
    {                                                                                              \
        const struct isa *isa = self->context;                                                     \
        return isa_is_present(isa->level) && supports(isa, s);                                     \
    }                                                                                              \
    static size_t scratch_member(const struct tilewise_candidate *self,                            \
                                 const struct tilewise_signature *s, uint32_t threads)             \
    {                                                                                              \
        return scratch_bytes(self->context, s, threads);                                           \
    }                                                                                              \
    static int run_member(const struct tilewise_candidate *self,                                   \
                          const struct tilewise_signature *s, const struct tilewise_args *args)    \
    {                                                                                              \
        return run(self->context, s, args);                                                        \
    }

/* clang-format off */
#define FAMILY_MEMBER(op, id, text)                                                                \
    extern const struct tilewise_candidate op##_##id;                                              \
    const struct tilewise_candidate op##_##id = {                                                  \
        .abi = TILEWISE_CANDIDATE_ABI, .bytes = sizeof(struct tilewise_candidate),                 \
        .name = #op "_" #id, .target = "cpu", .summary = text, .context = &isa_##id,               \
        .supports = supports_member, .scratch_bytes = scratch_member, .run = run_member,           \
    };
/* clang-format on */

#ifdef __x86_64__
#define FAMILY(op, what)                                                                           \
    FAMILY_CALLS                                                                                   \
    FAMILY_MEMBER(op, f32_avx512, what ", f32, AVX-512")                                           \
    FAMILY_MEMBER(op, f64_avx512, what ", f64, AVX-512")                                           \
    FAMILY_MEMBER(op, f32_avx2, what ", f32, AVX2 and FMA")                                        \
    FAMILY_MEMBER(op, f64_avx2, what ", f64, AVX2 and FMA")                                        \
    FAMILY_MEMBER(op, f32_portable, what ", f32, any processor")                                   \
    FAMILY_MEMBER(op, f64_portable, what ", f64, any processor")
#else
#define FAMILY(op, what)                                                                           \
    FAMILY_CALLS                                                                                   \
    FAMILY_MEMBER(op, f32_portable, what ", f32, any processor")                                   \
    FAMILY_MEMBER(op, f64_portable, what ", f64, any processor")
#endif

#endif
