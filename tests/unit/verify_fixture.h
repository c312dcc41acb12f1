/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the tests under the replayer's verification, on the simulated device.
 */
#ifndef TILEWISE_TESTS_VERIFY_FIXTURE_H
#define TILEWISE_TESTS_VERIFY_FIXTURE_H

#include <criterion/criterion.h>

#include "replay_fixture.h"
#include "replayer/verify.h"

/* What finds one wrong element of a large matrix: every element is compared on the device. */
#ifdef VERIFY_ON_DEVICE
#define VERIFY_LARGE "element"
#else
#define VERIFY_LARGE "projection"
#endif

typedef int kernel(const struct tilewise_signature *s, const struct tilewise_args *args);

struct subject {
    const struct tilewise_signature *s;
    kernel *run;
};

static inline int call_subject(void *context, const struct tilewise_args *args)
{
    const struct subject *subject = context;
    return subject->run(subject->s, args);
}

static inline struct verify_report verify_on_fixture(struct verify_job job)
{
    struct verify_report report;
    job.backend = &fixture_backend;
    job.session = &fixture_session;
    job.device_reference = fixture_device_reference;
    verify_subject(&job, &report);
    return report;
}

/* `job`: signature, reference, seed, and what else differs from nothing. */
static inline struct verify_report verify_kernel(struct verify_job job, kernel *run)
{
    struct subject subject = { job.signature, run };
    job.run = call_subject;
    job.context = &subject;
    return verify_on_fixture(job);
}

static inline struct verify_report verify(const struct tilewise_signature *s, kernel *run)
{
    return verify_kernel((struct verify_job){ .signature = s, .reference = ref_compute, .seed = 7 },
                         run);
}

struct offer {
    const struct tilewise_candidate *c;
    const struct tilewise_signature *s;
};

static inline int call_offer(void *context, const struct tilewise_args *args)
{
    const struct offer *offer = context;
    return offer->c->run(offer->c, offer->s, args);
}

/* `job`: signature, kappa, seed. */
static inline struct verify_report verify_candidate(struct verify_job job,
                                                    const struct tilewise_candidate *c)
{
    struct offer offer = { c, job.signature };
    job.reference = ref_compute;
    job.run = call_offer;
    job.context = &offer;
    job.scratch_bytes = c->scratch_bytes ? c->scratch_bytes(c, job.signature, 1) : 0;
    return verify_on_fixture(job);
}

static inline int right(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    return ref_candidate.run(&ref_candidate, s, args);
}

static inline int does_nothing(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    (void)s;
    (void)args;
    return 0;
}

/* Column-major f32 element of C, without batches. */
static inline float *at(const struct tilewise_signature *s, const struct tilewise_args *args,
                        int64_t r, int64_t c)
{
    return (float *)args->c + r + c * s->ldc;
}

#endif
