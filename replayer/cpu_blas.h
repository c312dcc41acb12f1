/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU's BLAS, loaded by dlopen: only a process that measures has its threads, and the cap
 * variables can be removed before it chooses its kernels.
 */
#ifndef TILEWISE_REPLAYER_CPU_BLAS_H
#define TILEWISE_REPLAYER_CPU_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/status.h"

/* clang-format off */
/* X(name, return type, parameters): the C interface (CBLAS), 32-bit integers. */
#define CPU_BLAS_SCALAR_LIST(X, p, T, S)                                                           \
    X(p##gemm, void, (int, int, int, int, int, int, S, const T *, int, const T *, int, S, T *, int)) \
    X(p##gemv, void, (int, int, int, int, S, const T *, int, const T *, int, S, T *, int))         \
    X(p##syrk, void, (int, int, int, int, int, S, const T *, int, S, T *, int))                    \
    X(p##axpy, void, (int, S, const T *, int, T *, int))
#define CPU_BLAS_LIST(X)                                                                           \
    CPU_BLAS_SCALAR_LIST(X, s, float, float)                                                       \
    CPU_BLAS_SCALAR_LIST(X, d, double, double)                                                     \
    CPU_BLAS_SCALAR_LIST(X, c, void, const void *)                                                 \
    CPU_BLAS_SCALAR_LIST(X, z, void, const void *)                                                 \
    X(sdot, float, (int, const float *, int, const float *, int))                                  \
    X(ddot, double, (int, const double *, int, const double *, int))                               \
    X(sger, void, (int, int, int, float, const float *, int, const float *, int, float *, int))    \
    X(dger, void, (int, int, int, double, const double *, int, const double *, int, double *, int))
/* What only OpenBLAS has; NULL elsewhere. */
#define CPU_BLAS_OPTIONAL_LIST(X)                                                                  \
    X(saxpby, void, (int, float, const float *, int, float, float *, int))                         \
    X(daxpby, void, (int, double, const double *, int, double, double *, int))                     \
    X(sgeadd, void, (int, int, int, float, const float *, int, float, float *, int))               \
    X(dgeadd, void, (int, int, int, double, const double *, int, double, double *, int))           \
    CPU_BLAS_BF16_LIST(X)
/* Products of bf16 with results in f32, and the conversions: only where OpenBLAS was built for them.
 */
#define CPU_BLAS_BF16_LIST(X)                                                                      \
    X(sbgemm, void, (int, int, int, int, int, int, float, const uint16_t *, int, const uint16_t *, int, float, float *, int)) \
    X(sbgemv, void, (int, int, int, int, float, const uint16_t *, int, const uint16_t *, int, float, float *, int)) \
    X(sbf16tos, void, (int, const uint16_t *, int, float *, int))                                  \
    X(sbstobf16, void, (int, const float *, int, uint16_t *, int))
/* clang-format on */

struct cpu_blas {
    void *handle;
    char library[192]; /* file and what it says about itself */
    char core[32];     /* "Cooperlake"; "" if it does not say */
#define X(name, result, parameters) result(*name) parameters;
    CPU_BLAS_LIST(X)
    CPU_BLAS_OPTIONAL_LIST(X)
#undef X
};

/* Load the first of libopenblas.so.0 and libblas.so.3 that has everything, and set its threads.
 * UNSUPPORTED with the remedy. */
enum status cpu_blas_open(struct cpu_blas *blas, unsigned threads, struct fault *fault);
void cpu_blas_close(struct cpu_blas *blas); /* accepts a zeroed one */

/* Does the library that cpu_blas_open() would load multiply bf16? Asked once, in a child process.
 */
bool cpu_blas_has_bf16(void);

/* Why this library runs below what the processor can do, or "". `environment`: value of
 * OPENBLAS_CORETYPE or of OPENBLAS_L2_SIZE, NULL if unset. Pure, for tests. */
struct cpu_blas_cap {
    const char *coretype, *l2_size; /* environment variables, NULL if not set */
    const char *core;               /* the library's own word */
    bool has_avx512, has_avx2;      /* the processor */
};
void cpu_blas_explain_cap(const struct cpu_blas_cap *cap, char *text, size_t bytes);

#endif
