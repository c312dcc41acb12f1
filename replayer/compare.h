/* SPDX-License-Identifier: Apache-2.0
 *
 * Is this result right? Every element against an fp64-or-better reference with the error bound of
 * docs/measuring.md. Where the reference would take seconds: sampled rows and columns, and a random
 * projection of the whole matrix, which one wrong element anywhere disturbs.
 */
#ifndef TILEWISE_REPLAYER_COMPARE_H
#define TILEWISE_REPLAYER_COMPARE_H

#include "replayer/candidate.h"
#include "replayer/data.h"
#include "replayer/judge.h"

/* For each element of one product: the value, and E = sum |alpha a b| + |beta c|; m x n,
 * column-major. 0 or a negative errno; -ENOTSUP for types it does not know.
 * (kernels/builtin.h: ref_compute.) */
typedef int compare_reference(const struct tilewise_signature *s, const struct tilewise_args *args,
                              double *result, double *magnitude);

struct compare_job {
    const struct tilewise_signature *signature;
    compare_reference *reference;
    const struct data_image *a, *b, *before, *after; /* before, after: C */
    double alpha, beta;                              /* scales of the operands included */
    double kappa;  /* growth of the error with k: 0 for fused multiply-add, 1/16 tensor cores */
    bool exact;    /* integers: nothing may be off at all */
    uint64_t seed; /* of the samples and the projection */
};

struct compare_outcome {
    bool equal;
    double worst;    /* largest |c - ref| / bound; infinity for what is not comparable */
    char where[144]; /* first place that differs, and by how much */
};

/* The product alone: what a reference has to know of a signature. Alpha and beta
 * are then f64. */
struct tilewise_signature compare_plain(const struct tilewise_signature *s, uint8_t result_dtype);

/* ST_OK whatever the outcome; UNSUPPORTED when there is no reference, NOMEM. */
enum status compare_result(const struct compare_job *job, struct compare_outcome *out);

/* What the signature's arithmetic may be off; nothing if `exact`. */
struct compare_bound compare_bound_of(const struct tilewise_signature *s, double kappa);
struct compare_bound compare_bound_for(const struct compare_job *job);

/* The outcome of a judge, in words. */
void compare_describe(const struct judge_outcome *found, struct compare_outcome *out);

#endif
