/* SPDX-License-Identifier: Apache-2.0
 *
 * A candidate whose kernels another compiler made: what a manifest says of it
 * (docs/candidate-abi.md; replayer/manifest.h reads it), and the functions of the candidate ABI
 * that do it. The driver is looked for at the first init(), in the process that runs it.
 */
#ifndef TILEWISE_REPLAYER_CUBIN_H
#define TILEWISE_REPLAYER_CUBIN_H

#include "replayer/candidate.h"
#include "replayer/expr.h"
#include "replayer/sha256.h"

enum { CUBIN_ARGS_MAX = 64, CUBIN_LAUNCHES_MAX = 4, CUBIN_AXES = 3, CUBIN_COMPLAINT_BYTES = 256 };

/* One file of a module. */
struct cubin_binary {
    unsigned arch;   /* 90 */
    bool only_there; /* sm_90a; else newer devices of the same major version, too */
    char *path;
    uint8_t sha256[SHA256_BYTES];
};

struct cubin_module {
    const char *name;
    char compilers[120]; /* names with versions, as far as there is room */
    size_t nbinaries;
    struct cubin_binary *binaries;
};

/* X(id, word, kind, bytes, least, most): type of a parameter, what its value is written as, and the
 * values of an expression that fit. */
#define CUBIN_TYPE_LIST(X)                                                                         \
    X(PTR, "ptr", pointer, 8, INT64_MIN, INT64_MAX) /* bytes to add */                             \
    X(I8, "i8", integer, 1, INT8_MIN, INT8_MAX)                                                    \
    X(I16, "i16", integer, 2, INT16_MIN, INT16_MAX)                                                \
    X(I32, "i32", integer, 4, INT32_MIN, INT32_MAX)                                                \
    X(I64, "i64", integer, 8, INT64_MIN, INT64_MAX)                                                \
    X(U32, "u32", integer, 4, 0, UINT32_MAX)                                                       \
    X(U64, "u64", integer, 8, 0, INT64_MAX)                                                        \
    X(F32, "f32", real, 4, 0, 0)                                                                   \
    X(F64, "f64", real, 8, 0, 0)

enum cubin_type {
#define X(id, word, kind, bytes, least, most) CUBIN_##id,
    CUBIN_TYPE_LIST(X)
#undef X
        CUBIN_TYPES
};

/* X(id, word): what a pointer or a floating-point number stands for. */
#define CUBIN_POINTER_LIST(X)                                                                      \
    X(A, "a")                                                                                      \
    X(B, "b")                                                                                      \
    X(C, "c")                                                                                      \
    X(SCRATCH, "scratch")                                                                          \
    X(NULL, "null")
enum cubin_source {
    CUBIN_FROM_EXPRESSION,
#define X(id, word) CUBIN_FROM_##id,
    CUBIN_POINTER_LIST(X)
#undef X
        CUBIN_FROM_ALPHA,
    CUBIN_FROM_BETA,
    CUBIN_FROM_NUMBER,
};

struct cubin_arg {
    enum cubin_type type;
    enum cubin_source source;
    struct expr value; /* of an integer; of a pointer: bytes to add */
    double number;
};

struct cubin_launch {
    const struct cubin_module *module;
    const char *entry;
    struct expr grid[CUBIN_AXES], block[CUBIN_AXES], cluster[CUBIN_AXES];
    bool is_clustered;
    struct expr shared, clear_scratch;
    size_t nargs;
    struct cubin_arg *args;
};

enum cubin_alpha { CUBIN_ALPHA_ONE, CUBIN_ALPHA_ANY };
enum cubin_beta { CUBIN_BETA_ZERO, CUBIN_BETA_ONE, CUBIN_BETA_ZERO_OR_ONE, CUBIN_BETA_ANY };

struct cubin_state; /* of one process; opaque */

struct cubin_candidate {
    struct tilewise_candidate row; /* its context is this struct */
    uint8_t op, type_a, type_b, type_c;
    uint32_t computes;  /* bits 1 << enum tilewise_dtype */
    uint8_t transposes; /* bits 1 << (2 * (op(A) is A^T) + (op(B) is B^T)); gemv: op(B) = B */
    bool takes_batches;
    enum cubin_alpha alpha;
    enum cubin_beta beta;
    size_t nwhen;
    struct expr *when;
    struct expr scratch;
    size_t nlaunches;
    struct cubin_launch launches[CUBIN_LAUNCHES_MAX];
    struct cubin_state *state;
};

/* Fill c->row but for name and summary, and make its state. False: no memory. */
bool cubin_offer(struct cubin_candidate *c);
void cubin_withdraw(struct cubin_candidate *c);

/* The candidate behind a row; NULL: it is not made of cubins. */
const struct cubin_candidate *cubin_of(const struct tilewise_candidate *row);

/* The one of a module's files for a device of that compute capability (90 for 9.0), or NULL. */
const struct cubin_binary *cubin_choose(const struct cubin_module *module, unsigned arch);

/* Read a file and hold it against its hash. malloc'd memory with a zero byte behind it, or NULL and
 * one line why. */
char *cubin_read_file(const char *path, const uint8_t sha256[SHA256_BYTES], size_t *bytes,
                      struct fault *fault);

#endif
