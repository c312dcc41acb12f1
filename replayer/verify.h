/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a kernel must survive before its time means anything: right results on several kinds
 * of data, every result written, nothing else touched, NaN passed on, no state kept between runs.
 * Proves first that the check can fail for this very case. docs/measuring.md lists the tests.
 */
#ifndef TILEWISE_REPLAYER_VERIFY_H
#define TILEWISE_REPLAYER_VERIFY_H

#include "replayer/backend.h"
#include "replayer/compare.h"
#include "traces/result.h"

struct verify_job {
    const struct backend *backend;
    struct backend_session *session; /* prepared for the signature if `run` uses the baseline */
    const struct tilewise_signature *signature;
    compare_reference *reference;
    /* The same for operands in device memory, enqueued on args->stream; NULL: there is none. */
    compare_reference *device_reference;
    int (*run)(void *context, const struct tilewise_args *args); /* 0 or a negative errno */
    void *context;
    int (*twin)(void *context,
                const struct tilewise_args *args); /* must give the same bits; NULL */
    void *twin_context;
    size_t scratch_bytes;
    double kappa;
    uint64_t seed;
};

struct verify_report {
    enum result_status status; /* PASSED, FAILED, NOT_VERIFIED, SKIPPED (no memory) */
    bool deterministic;        /* repeated runs were equal to the bit */
    double worst_error;        /* largest |c - ref| / bound */
    uint32_t runs;
    char reason[192]; /* "" when passed */
};

void verify_subject(const struct verify_job *job, struct verify_report *report);

/* Bytes of host and device memory that verify_subject takes for this signature, scratch apart. */
size_t verify_bytes(const struct operand shapes[OPERAND_COUNT]);

#endif
