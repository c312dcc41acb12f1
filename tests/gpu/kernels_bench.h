/* SPDX-License-Identifier: Apache-2.0
 *
 * How gpu_kernels times a shape (kernels_bench.c), for those that know which ones:
 * kernels_products.c and kernels_adds.c.
 */
#ifndef TILEWISE_TESTS_GPU_KERNELS_BENCH_H
#define TILEWISE_TESTS_GPU_KERNELS_BENCH_H

#include "kernels.h"

/* A shape and its operands; only `s` is the caller's. */
struct kernels_bench {
    struct tilewise_signature s;
    int rotations;
    char *a, *b, *c;                  /* add: a is room for what only moves */
    size_t a_bytes, b_bytes, c_bytes; /* from one rotation to the next */
    size_t add_bytes;                 /* of x or y, without gaps */
    void *scratch;
    float alpha, beta;
    double alpha64, beta64;
};

/* What is timed: one call on the operands of rotation `index`; 0, or an error. */
struct kernels_subject {
    const char *name;
    int (*call)(const struct kernels_bench *x, const struct kernels_subject *me, int index);
    const struct tilewise_candidate *candidate;
    bool once; /* past the caches */
};

/* The operands of rotation `index`. */
struct tilewise_args kernels_bench_args(const struct kernels_bench *x, int index);

/* The kernels that take the shape are checked where that is cheap, and the operands made. False:
 * none takes it, and there is nothing to end. */
bool kernels_bench_begin(struct kernels_bench *x);
void kernels_bench_end(struct kernels_bench *x);

/* ABBA rounds, one line of JSON. Base first; a ratio above 1: ours is faster. Returns the base's
 * microseconds, 0 when skipped. */
double kernels_bench_compare(const struct kernels_bench *x, const struct kernels_subject *base,
                             const struct kernels_subject *ours);
/* Every candidate that takes it, against cuBLAS, each of `others`, which end with NULL, and the
 * kernel of --against. */
void kernels_bench_candidates(struct kernels_bench *x, const struct kernels_subject *const *others);

#endif
