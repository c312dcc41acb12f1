/* SPDX-License-Identifier: Apache-2.0
 *
 * One candidate per element type and instruction set from three functions that take the isa first:
 * the including file defines static supports(), scratch_bytes() and run(). The candidate ABI hands
 * over no context, so every candidate needs its own three.
 */
#ifndef TILEWISE_KERNELS_CPU_FAMILY_H
#define TILEWISE_KERNELS_CPU_FAMILY_H

#include "kernels/cpu/isa.h"

/* clang-format off */
#define FAMILY_CALLS(id)                                                                           \
    static int supports_##id(const struct tilewise_signature *s)                                   \
    { return isa_is_present(isa_##id.level) && supports(&isa_##id, s); }                           \
    static size_t scratch_##id(const struct tilewise_signature *s, uint32_t threads)               \
    { return scratch_bytes(&isa_##id, s, threads); }                                               \
    static int run_##id(const struct tilewise_signature *s, const struct tilewise_args *args)      \
    { return run(&isa_##id, s, args); }

#define FAMILY_CANDIDATE(op, id, text)                                                             \
    const struct tilewise_candidate op##_##id = {                                                  \
        .abi = TILEWISE_CANDIDATE_ABI, .bytes = sizeof(struct tilewise_candidate),                 \
        .name = #op "_" #id, .target = "cpu", .summary = text,                                     \
        .supports = supports_##id, .scratch_bytes = scratch_##id, .run = run_##id,                 \
    };
/* clang-format on */

#define FAMILY_MEMBER(op, id, text)                                                                \
    extern const struct tilewise_candidate op##_##id;                                              \
    FAMILY_CALLS(id)                                                                               \
    FAMILY_CANDIDATE(op, id, text)

#ifdef __x86_64__
#define FAMILY(op, what)                                                                           \
    FAMILY_MEMBER(op, f32_avx512, what ", f32, AVX-512")                                           \
    FAMILY_MEMBER(op, f64_avx512, what ", f64, AVX-512")                                           \
    FAMILY_MEMBER(op, f32_avx2, what ", f32, AVX2 and FMA")                                        \
    FAMILY_MEMBER(op, f64_avx2, what ", f64, AVX2 and FMA")                                        \
    FAMILY_MEMBER(op, f32_portable, what ", f32, any processor")                                   \
    FAMILY_MEMBER(op, f64_portable, what ", f64, any processor")
#else
#define FAMILY(op, what)                                                                           \
    FAMILY_MEMBER(op, f32_portable, what ", f32, any processor")                                   \
    FAMILY_MEMBER(op, f64_portable, what ", f64, any processor")
#endif

#endif
