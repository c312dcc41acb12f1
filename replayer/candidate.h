/* SPDX-License-Identifier: Apache-2.0
 *
 * The candidate ABI: a kernel offered instead of the library. Built-in kernels and plug-ins use the
 * same one. docs/candidate-abi.md says more; examples/ has complete plug-ins.
 *
 * Errors are 0 or a negative errno. Nothing here prints, exits or throws. The replayer owns every
 * buffer. Fields are only ever appended; `abi` and `bytes` come first so that a loader can refuse.
 */
#ifndef TILEWISE_REPLAYER_CANDIDATE_H
#define TILEWISE_REPLAYER_CANDIDATE_H

#include <stddef.h>
#include <stdint.h>

#include "traces/signature.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TILEWISE_CANDIDATE_ABI 2u

/* One call. Pointers have the type and orientation that the signature says; leading dimensions,
 * strides and increments are the signature's. alpha and beta point to one value of
 * signature->scale in host memory. */
struct tilewise_args {
    uint32_t abi, bytes;
    const void *a, *b; /* gemv: a = A, b = x. add: b = x */
    void *c;           /* gemm: C, in and out. gemv, add: y */
    const void *alpha, *beta;
    void *scratch;    /* scratch_bytes() of it, 64-byte aligned */
    void *stream;     /* cudaStream_t for target "cuda"; NULL for "cpu" */
    uint32_t threads; /* "cpu": use at most that many, including the calling one */
    /* Where the signature has scale modes and a bias (cublasLt): device memory, else NULL. */
    const void *scale_a, *scale_b, *scale_c, *scale_d, *bias;
};

enum tilewise_candidate_flag {
    /* Bits of the result differ from run to run: sums in any order. Never adopted unasked. */
    TILEWISE_CANDIDATE_VARIES = 1,
};

/* Each function gets the row that it stands in, so that one function serves a table of them. */
struct tilewise_candidate {
    uint32_t abi;   /* TILEWISE_CANDIDATE_ABI at build time */
    uint32_t bytes; /* sizeof(struct tilewise_candidate) at build time */

    /* Required. Unique, "gemm_f32_avx512". Static storage. */
    const char *name;
    /* Required. "cpu" or "cuda". */
    const char *target;
    /* Required. One line for `tilewise kernels`. */
    const char *summary;

    /* Required. 1 if run() computes this on this machine, else 0. Cheap, no side effects. Must say
     * 0 for an instruction set that the processor lacks. */
    int (*supports)(const struct tilewise_candidate *self, const struct tilewise_signature *s);
    /* Optional (NULL = 0). Scratch bytes for this signature at this number of threads. */
    size_t (*scratch_bytes)(const struct tilewise_candidate *self,
                            const struct tilewise_signature *s, uint32_t threads);
    /* Optional. Once per process, before the first run(). Not 0: cannot be used here. */
    int (*init)(const struct tilewise_candidate *self);
    /* Required. "cpu": done on return. "cuda": enqueue on args->stream and return. Called many
     * times with the same signature and other buffers. Never allocates or synchronises. */
    int (*run)(const struct tilewise_candidate *self, const struct tilewise_signature *s,
               const struct tilewise_args *args);

    /* Optional. The candidate's own data; nobody else looks at it. */
    const void *context;
    /* Optional. Why init() or run() failed last, one line; "" if there is nothing to say. */
    const char *(*complaint)(const struct tilewise_candidate *self);
    uint32_t flags; /* enum tilewise_candidate_flag */
};

/* A plug-in is a shared object that exports this function: a table of candidates and its length.
 * `abi` is the loader's TILEWISE_CANDIDATE_ABI; answer NULL if it cannot be served. */
typedef const struct tilewise_candidate *const *(*tilewise_candidates_fn)(uint32_t abi,
                                                                          size_t *count);
#define TILEWISE_CANDIDATES_SYMBOL "tilewise_candidates"

#ifdef __cplusplus
}
#endif
#endif
