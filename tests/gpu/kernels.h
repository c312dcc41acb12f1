/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of gpu_kernels share: one shape and its check (kernels_case.c), which ones
 * (kernels.c), timing (kernels_bench.h) and the traffic to compare with (traffic.cu). One thread;
 * errors of CUDA end the program.
 */
#ifndef TILEWISE_TESTS_GPU_KERNELS_H
#define TILEWISE_TESTS_GPU_KERNELS_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "replayer/candidate.h"

enum { KERNELS_ROUNDS_MAX = 64 };

struct kernels_options {
    bool is_short, check_only, time_only;
    const char *only;    /* part of the names of the candidates */
    const char *against; /* the name of one, or "" */
    const char *linear;  /* layers instead of what is timed otherwise, or "" */
    int cases, largest, rounds;
    uint64_t seed;
};
extern struct kernels_options kernels_options;
extern cudaStream_t kernels_stream;
extern int kernels_failures;

void kernels_must(cudaError_t error, const char *what);
void *kernels_device_memory(size_t bytes);
/* Either way, and done on return. A plain cudaMemcpy from pageable memory may return while its end
 * is on its way, and kernels of our stream do not wait for that. */
void kernels_copy(void *to, const void *from, size_t bytes);
bool kernels_is_wanted(const struct tilewise_candidate *c);
void kernels_report_wrong(const struct tilewise_candidate *c, const struct tilewise_signature *s,
                          uint64_t seed, const char *what);

/* ---- kernels_case.c ---- */

void kernels_seed(uint64_t seed);
size_t kernels_element_bytes(uint8_t dtype);
/* Random numbers of (-1, 1) in host memory; a pattern of a million is repeated. */
void kernels_fill_random(char *to, uint8_t dtype, int64_t count);
struct tilewise_signature kernels_signature(uint8_t dtype, uint8_t compute, uint8_t result);
/* Any gemm, gemv or add of the types that there are kernels for: all layouts and transposes, ragged
 * sizes, gaps, batches. */
struct tilewise_signature kernels_random_signature(void);
/* Elements of A, B and C from the first to the last that may be touched. */
void kernels_element_counts(const struct tilewise_signature *s, int64_t count[3]);

/* A shape with random operands, alpha and beta, and its reference. */
struct kernels_case;
struct kernels_case *kernels_case_open(const struct tilewise_signature *s);
void kernels_case_close(struct kernels_case *x);

struct kernels_checked {
    double worst; /* error / bound: at most 1 is right */
    char what[200];
};
/* Two runs: right, the same bits, nothing else touched. */
struct kernels_checked kernels_case_try(struct kernels_case *x, const struct tilewise_candidate *c);

/* ---- times: how (kernels_bench.c), and of what ---- */

bool kernels_bench_open(void); /* is there a cuBLAS? */
void kernels_products_time(void);
void kernels_adds_time(void);

#endif
