/* SPDX-License-Identifier: Apache-2.0
 *
 * One vector type under one set of names, for the templates in this folder. The including file
 * defines REAL_BITS (32 or 64) and VECTOR_BYTES: 64 is AVX-512, 32 is AVX2 with FMA, 16 is whatever
 * the compiler makes of a 16-byte vector. VL is the number of elements in a vector.
 */
#ifndef TILEWISE_KERNELS_CPU_SIMD_H
#define TILEWISE_KERNELS_CPU_SIMD_H

#include <stdint.h>

#if VECTOR_BYTES > 16
#include <immintrin.h>
#endif

#if REAL_BITS == 32
typedef float real;
#else
typedef double real;
#endif

enum { VL = VECTOR_BYTES * 8 / REAL_BITS };

/* Before a loop whose bounds are constants once the function is inlined: its arrays are meant to be
 * registers, so it must be unrolled completely. */
#ifdef __clang__
#define SIMD_UNROLL      _Pragma("clang loop unroll(full)")
#define SIMD_UNROLL_BY_4 _Pragma("clang loop unroll_count(4)")
#else
#define SIMD_UNROLL      _Pragma("GCC unroll 16")
#define SIMD_UNROLL_BY_4 _Pragma("GCC unroll 4")
#endif

#define SIMD_FOR(i, count)                                                                         \
    SIMD_UNROLL                                                                                    \
    for (int i = 0; i < (count); i++)

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

#if VECTOR_BYTES == 64

#if REAL_BITS == 32
#define SIMD(name) _mm512_##name##_ps
typedef __m512 vec;
typedef __mmask16 vec_mask;
#else
#define SIMD(name) _mm512_##name##_pd
typedef __m512d vec;
typedef __mmask8 vec_mask;
#endif

SIMD_INLINE vec_mask vec_first(int64_t count)
{
    return (vec_mask)((1u << (count < VL ? count : VL)) - 1u);
}
SIMD_INLINE vec vec_load_part(const real *x, vec_mask mask)
{
    return SIMD(maskz_loadu)(mask, x);
}
SIMD_INLINE void vec_store_part(real *x, vec_mask mask, vec v)
{
    SIMD(mask_storeu)(x, mask, v);
}

#elif VECTOR_BYTES == 32

#if REAL_BITS == 32
#define SIMD(name) _mm256_##name##_ps
typedef __m256 vec;
#else
#define SIMD(name) _mm256_##name##_pd
typedef __m256d vec;
#endif
typedef __m256i vec_mask;

SIMD_INLINE vec_mask vec_first(int64_t count)
{
#if REAL_BITS == 32
    int wide = (int)(count < VL ? count : VL);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(wide), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
#endif
}
SIMD_INLINE vec vec_load_part(const real *x, vec_mask mask)
{
    return SIMD(maskload)(x, mask);
}
SIMD_INLINE void vec_store_part(real *x, vec_mask mask, vec v)
{
    SIMD(maskstore)(x, mask, v);
}

#else

typedef real vec __attribute__((vector_size(16)));
typedef real vec_unaligned __attribute__((vector_size(16), aligned(REAL_BITS / 8), may_alias));
typedef int64_t vec_mask; /* how many */

SIMD_INLINE vec_mask vec_first(int64_t count)
{
    return count < VL ? count : VL;
}
SIMD_INLINE vec vec_load_part(const real *x, vec_mask count)
{
    vec v = { 0 };
    for (int64_t i = 0; i < count; i++)
        v[i] = x[i];
    return v;
}
SIMD_INLINE void vec_store_part(real *x, vec_mask count, vec v)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = v[i];
}

#endif

#if VECTOR_BYTES > 16
SIMD_INLINE vec vec_load(const real *x)
{
    return SIMD(loadu)(x);
}
SIMD_INLINE void vec_store(real *x, vec v)
{
    SIMD(storeu)(x, v);
}
SIMD_INLINE vec vec_all(real x)
{
    return SIMD(set1)(x);
}
SIMD_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return SIMD(fmadd)(a, b, c);
}
#else
SIMD_INLINE vec vec_load(const real *x)
{
    return *(const vec_unaligned *)x;
}
SIMD_INLINE void vec_store(real *x, vec v)
{
    *(vec_unaligned *)x = v;
}
SIMD_INLINE vec vec_all(real x)
{
    return x - (vec){ 0 };
}
SIMD_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}
#endif

/* Interleave two vectors: the lower and the upper half of a0 b0 a1 b1 ... */
#if VECTOR_BYTES * 8 / REAL_BITS == 16
#define SIMD_LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define SIMD_UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VECTOR_BYTES * 8 / REAL_BITS == 8
#define SIMD_LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define SIMD_UPPER 4, 12, 5, 13, 6, 14, 7, 15
#elif VECTOR_BYTES * 8 / REAL_BITS == 4
#define SIMD_LOWER 0, 4, 1, 5
#define SIMD_UPPER 2, 6, 3, 7
#else
#define SIMD_LOWER 0, 2
#define SIMD_UPPER 1, 3
#endif

/* Transpose VL vectors of VL elements: log2(VL) times a perfect shuffle of the rows. */
SIMD_INLINE void vec_transpose(vec x[VL])
{
    SIMD_UNROLL
    for (int step = 1; step < VL; step *= 2) {
        vec y[VL];
        SIMD_FOR (i, VL / 2) {
            y[2 * i] = __builtin_shufflevector(x[i], x[i + VL / 2], SIMD_LOWER);
            y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + VL / 2], SIMD_UPPER);
        }
        SIMD_FOR (i, VL)
            x[i] = y[i];
    }
}

/* The sums of `count` vectors, a power of two up to VL, together: element i + VL / 2 is added to
 * element i, and so on in halves, two vectors sharing one as soon as they fit. */
SIMD_INLINE void vec_sums(real *sums, const vec *vectors, const int count)
{
    vec v[VL];
    real x[VL];
    SIMD_FOR (i, count)
        v[i] = vectors[i];
    SIMD_UNROLL
    for (int half = count / 2; half > 0; half /= 2)
        SIMD_FOR (i, half)
            v[i] = __builtin_shufflevector(v[i], v[i + half], SIMD_LOWER) +
                   __builtin_shufflevector(v[i], v[i + half], SIMD_UPPER);
    vec_store(x, v[0]);
    SIMD_UNROLL
    for (int half = VL / 2; half >= count; half /= 2)
        SIMD_FOR (i, half)
            x[i] += x[i + half];
    SIMD_FOR (i, count)
        sums[i] = x[i];
}

#endif
