/* SPDX-License-Identifier: Apache-2.0
 *
 * The expressions of a manifest (docs/candidate-abi.md): signed 64-bit integers over the sizes of a
 * call. Parsed once into a plain value without pointers, evaluated often without allocating. Any
 * text is safe: it is an expression, or it is refused with the place.
 */
#ifndef TILEWISE_REPLAYER_EXPR_H
#define TILEWISE_REPLAYER_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/status.h"

/* X(id, word): what a name stands for. gemv and add call ldb incx and ldc incy. */
#define EXPR_NAME_LIST(X)                                                                          \
    X(M, "m")                                                                                      \
    X(N, "n")                                                                                      \
    X(K, "k")                                                                                      \
    X(BATCH, "batch")                                                                              \
    X(LDA, "lda")                                                                                  \
    X(LDB, "ldb")                                                                                  \
    X(LDC, "ldc")                                                                                  \
    X(STRIDE_A, "stride_a")                                                                        \
    X(STRIDE_B, "stride_b")                                                                        \
    X(STRIDE_C, "stride_c")                                                                        \
    X(ALIGN_A, "align_a")                                                                          \
    X(ALIGN_B, "align_b")                                                                          \
    X(ALIGN_C, "align_c")                                                                          \
    X(ARCH, "arch")                                                                                \
    X(SM_COUNT, "sm_count")

enum expr_name {
#define X(id, word) EXPR_##id,
    EXPR_NAME_LIST(X)
#undef X
        EXPR_NAMES
};
/* Sets of names. */
enum { EXPR_OF_CALL = (1 << EXPR_ARCH) - 1, EXPR_OF_LAUNCH = (1 << EXPR_NAMES) - 1 };

enum {
    EXPR_TEXT_MAX = 512,
    EXPR_DEPTH_MAX = 16,     /* parentheses, functions and signs inside each other */
    EXPR_STACK_MAX = 32,     /* values that wait for their operator */
    EXPR_CODE_MAX = 128,     /* names, numbers and operators; && and || count twice */
    EXPR_CONSTANTS_MAX = 16, /* different numbers */
};

struct expr {
    uint8_t count, nconstants; /* an empty one is not an expression: expr_constant() */
    uint8_t code[EXPR_CODE_MAX];
    int64_t constants[EXPR_CONSTANTS_MAX];
};

/* `names`: those that may occur. INVALID: the fault says what is wrong and *at is the byte of the
 * text where; *out is then not to be evaluated. */
enum status expr_parse(struct expr *out, const char *text, unsigned names, size_t *at,
                       struct fault *fault);
/* The expression that is this number. */
struct expr expr_constant(int64_t value);

/* Does it look at any of these names? */
bool expr_needs(const struct expr *e, unsigned names);

/* False on overflow and on division by zero. `names`: EXPR_NAMES values. */
bool expr_evaluate(const struct expr *e, const int64_t *names, int64_t *out);

#endif
