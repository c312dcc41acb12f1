/* SPDX-License-Identifier: Apache-2.0
 *
 * A signature is everything that changes what the library does in one call, without addresses or
 * values. Two calls with different signatures never share a row. It is a plain 128-byte value with
 * no padding and no pointer, so it is compared with memcmp, hashed as bytes, kept in the shim's
 * cache as it is, and handed to candidates (replayer/candidate.h). Unused fields are 0.
 *
 * Dimensions by op (the orientation is stored as called; `layout` says how to read it):
 *   gemm       C[m,n] = alpha op(A)[m,k] op(B)[k,n] + beta C. syrk is a gemm with m = n, uplo set,
 *              dtype_b = dtype_a and B = A.
 *   gemv       y = alpha op(A) x + beta y: m, n are the stored rows and columns of A as called,
 *              k = 1; lda is A's, ldb = incx, ldc = incy.
 *   add        y[m,n] = alpha x + y (axpy: n = 1): k = 1; ldb = incx, ldc = incy.
 *   conv, attention, collective, other: see docs/trace-format.md.
 */
#ifndef TILEWISE_TRACES_SIGNATURE_H
#define TILEWISE_TRACES_SIGNATURE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/dtype.h"

/* Numbers are written to trace files: append only. */
#define TILEWISE_OP_LIST(X)                                                                        \
    X(OTHER, 0, "other")                                                                           \
    X(GEMM, 1, "gemm")                                                                             \
    X(GEMV, 2, "gemv")                                                                             \
    X(ADD, 3, "add")                                                                               \
    X(CONV, 4, "conv")                                                                             \
    X(ATTENTION, 5, "attention")                                                                   \
    X(COLLECTIVE, 6, "collective")

enum tilewise_op {
#define X(id, number, name) TILEWISE_OP_##id = number,
    TILEWISE_OP_LIST(X)
#undef X
        TILEWISE_OP_COUNT
};

enum tilewise_layout { TILEWISE_COL_MAJOR = 0, TILEWISE_ROW_MAJOR = 1 };
/* As called: none, transpose, conjugate transpose, conjugate only. */
enum tilewise_trans { TILEWISE_N = 0, TILEWISE_T = 1, TILEWISE_C = 2, TILEWISE_R = 3 };
enum tilewise_uplo { TILEWISE_FULL = 0, TILEWISE_LOWER = 1, TILEWISE_UPPER = 2 };
/* Class of alpha and beta. DEVICE: lives in device memory and was not read. UNREAD: a host pointer
 * that was not dereferenced. */
enum tilewise_scalar {
    TILEWISE_SCALAR_ZERO = 0,
    TILEWISE_SCALAR_ONE = 1,
    TILEWISE_SCALAR_OTHER = 2,
    TILEWISE_SCALAR_DEVICE = 3,
    TILEWISE_SCALAR_UNREAD = 4,
};
enum tilewise_batch {
    TILEWISE_BATCH_NONE = 0,
    TILEWISE_BATCH_STRIDED = 1,
    TILEWISE_BATCH_POINTERS = 2,
    TILEWISE_BATCH_GROUPED = 3,
};
enum tilewise_signature_flag {
    /* Something that changes the work was not understood: count it, never replay it. */
    TILEWISE_NOT_REPLAYABLE = 1,
    /* Made by a launch of a CUDA graph: counted exactly, never timed by itself. */
    TILEWISE_IN_GRAPH = 2,
    /* fp8 sums with less than full precision (cublasLt FAST_ACCUM). */
    TILEWISE_FAST_ACCUM = 4,
    /* Bits 8-15, only with NOT_REPLAYABLE: a hash of what no field holds, so that calls that differ
     * in it have rows of their own. */
    TILEWISE_OTHER_SHIFT = 8,
};

struct tilewise_signature {
    uint8_t op;               /* enum tilewise_op */
    uint8_t layout;           /* enum tilewise_layout */
    uint8_t trans_a, trans_b; /* enum tilewise_trans */
    uint8_t dtype_a, dtype_b; /* enum tilewise_dtype, of the operands */
    uint8_t dtype_c, dtype_d; /* C is read, D is written; for BLAS both are C's */
    uint8_t compute, scale;   /* enum tilewise_dtype: accumulate in, alpha/beta in */
    uint8_t alpha, beta;      /* enum tilewise_scalar */
    uint8_t align_a, align_b, align_c, align_d; /* signature_align() of the addresses */
    uint8_t batch_kind;                         /* enum tilewise_batch */
    uint8_t uplo;                               /* enum tilewise_uplo */
    uint8_t scale_a, scale_b, scale_c, scale_d; /* fp8/fp4 scale modes, 0 = none */
    uint16_t epilogue;
    uint16_t math_mode;
    uint16_t flags; /* enum tilewise_signature_flag */
    uint32_t entry; /* entry point: a string id in the container that holds this signature
                       (in the shim: the hook's number) */
    int64_t m, n, k;
    int64_t batch; /* 1 when batch_kind is NONE */
    int64_t lda, ldb, ldc, ldd;
    int64_t stride_a, stride_b, stride_c, stride_d; /* elements between batches */
};

static_assert(sizeof(struct tilewise_signature) == 128, "no padding, one cache line pair");
static_assert(offsetof(struct tilewise_signature, m) == 32, "packed head");

/* "gemm"; "other" for a number no row has. */
const char *tilewise_op_name(unsigned op);
/* Number for a name, or TILEWISE_OP_COUNT. */
unsigned tilewise_op_find(const char *name);
/* 'N', 'T', 'C', 'R'; '?' otherwise. */
char tilewise_trans_letter(unsigned trans);

/* Floating point operations of one call: 2 m n k batch for real types (half of it with uplo set:
 * k n (n + 1)), times 4 for complex; add: 2 m n (alpha x + y). Computed in double: a hostile
 * signature gives a large number, never an overflow. */
double signature_flops(const struct tilewise_signature *s);
/* Element type whose matrix rate is the limit of such a call: what is multiplied, tf32 where f32 is
 * multiplied as that. */
uint8_t signature_rate_dtype(const struct tilewise_signature *s);
/* Is the arithmetic what the element types alone ask for? False for tf32, fast and pedantic modes.
 */
bool signature_is_plain_math(const struct tilewise_signature *s);
/* Least bytes that one call must move: every operand once, C read only when beta is not zero. */
double signature_bytes(const struct tilewise_signature *s);
/* What of it is read. An attention's keys and values count once per head of the queries: fewer
 * heads of theirs are not in the signature. */
double signature_read_bytes(const struct tilewise_signature *s);

/* Alignment class of an operand: log2 of what its address is aligned to, at most 4. Vendors' own
 * conditions end at 16 bytes; allocators hand out anything above at random, so telling 16 from 32
 * would split one shape into many rows. */
static inline uint8_t signature_align(const void *address)
{
    return (uint8_t)__builtin_ctzll((uintptr_t)address | 16);
}

/* C = A B in one element type, matrices packed, nothing transposed: what a caller changes from.
 * Alignments and the entry point are 0. */
struct tilewise_signature signature_gemm(enum tilewise_layout layout, uint8_t dtype, int64_t m,
                                         int64_t n, int64_t k);

/* 64-bit hash of all bytes; equality is memcmp of all bytes. */
uint64_t signature_hash(const struct tilewise_signature *s);
bool signature_equal(const struct tilewise_signature *a, const struct tilewise_signature *b);

/* Write "f32 gemm 64x32x128 NN row" (m x n x k, batch only if not 1). Returns `text`. */
char *signature_describe(const struct tilewise_signature *s, char *text, size_t text_bytes);

/* Reject what no library accepts: an unknown op or enum value, negative or absurd (> 2^40)
 * dimensions, ld below its minimum. False means: keep the row, never replay it. */
bool signature_is_sane(const struct tilewise_signature *s);

#endif
