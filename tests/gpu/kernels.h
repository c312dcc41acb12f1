/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of gpu_kernels share: checking (kernels.c) and timing (kernels_bench.c). One
 * thread; errors of CUDA end the program.
 */
#ifndef TILEWISE_TESTS_GPU_KERNELS_H
#define TILEWISE_TESTS_GPU_KERNELS_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "replayer/candidate.h"

enum { KERNELS_ROUNDS_MAX = 64 };

struct kernels_options {
    bool is_short, check_only;
    const char *only; /* part of the names of the candidates */
    int cases, rounds;
};
extern struct kernels_options kernels_options;
extern cudaStream_t kernels_stream;
extern int kernels_failures;

void kernels_must(cudaError_t error, const char *what);
void *kernels_device_memory(size_t bytes);
size_t kernels_element_bytes(uint8_t dtype);
/* Random numbers of (-1, 1) in host memory; a pattern of a million is repeated. */
void kernels_fill_random(char *to, uint8_t dtype, int64_t count);
struct tilewise_signature kernels_signature(uint8_t dtype, uint8_t compute, uint8_t result);
/* Elements of A, B and C from the first to the last that may be touched. */
void kernels_element_counts(const struct tilewise_signature *s, int64_t count[3]);

struct kernels_checked {
    double worst; /* error / bound: at most 1 is right */
    char what[200];
};
struct kernels_checked kernels_check(const struct tilewise_candidate *c,
                                     const struct tilewise_signature *s);

/* kernels_bench.c */
bool kernels_bench_open(void); /* is there a cuBLAS? */
void kernels_bench_everything(void);

#endif
