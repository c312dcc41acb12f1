/* SPDX-License-Identifier: Apache-2.0
 *
 * What the child processes do: one job per case, its answer a plain value without pointers
 * (replayer/isolate.h). A process keeps its device open for the next job where the backend says
 * that opening is slow, unless the case ended badly.
 */
#ifndef TILEWISE_REPLAYER_MEASURE_H
#define TILEWISE_REPLAYER_MEASURE_H

#include "replayer/backend.h"
#include "replayer/candidates.h"
#include "replayer/companion.h"
#include "replayer/compare.h"
#include "replayer/kernel_times.h"
#include "replayer/timing.h"
#include "traces/result.h"

/* The same for all cases of a run. */
struct measure_setup {
    const struct backend *backend;
    struct backend_options open;
    compare_reference *reference;
    compare_reference *device_reference; /* of this backend (replayer/verify.h); may be NULL */
    bool cold;                           /* rotate buffers beyond the last cache; else one set */
    bool check_only;                     /* verify, time nothing */
    bool bitwise;       /* and compare with the recorded call's own result, bit for bit */
    uint64_t max_bytes; /* of buffers in one case */
    double level;       /* of the intervals that decide (timing_level) */
    uint64_t seed;
};

enum { MEASURE_REASON_BYTES = 192, MEASURE_DTYPES_MAX = 8 };

/* Device, library and ceilings, once per run. */
struct measure_survey_job {
    const struct measure_setup *setup;
    size_t ndtypes;
    uint8_t dtypes[MEASURE_DTYPES_MAX];
};
struct measure_survey {
    enum status status; /* of opening the backend */
    struct fault fault;
    struct backend_info info;
    size_t nceilings;
    struct result_ceiling ceilings[MEASURE_DTYPES_MAX];
};
void measure_survey(void *job, void *message);

/* Can this backend be used here? A child asks: a driver that was started does not survive fork. */
struct measure_probe {
    enum status status;
    struct fault fault;
    struct backend_info info;
};
void measure_probe(void *setup, void *message);

/* The quickest of the routines that a library proposes, roughly: a short list for
 * measure_baseline(), which runs in a fresh process, so that luck is not kept. */
enum { MEASURE_SHORT_LIST = 3 };
struct measure_screen {
    bool is_known; /* false: nobody looked */
    size_t count;  /* 0: nothing is quicker than the recorded call */
    size_t routine[MEASURE_SHORT_LIST];
};
void measure_screen(void *job, void *message); /* struct measure_baseline_job */

/* All ways of the library to do one signature, and an A/A comparison of the recorded one. */
struct measure_baseline_job {
    const struct measure_setup *setup;
    const struct tilewise_signature *signature;
    double budget_ns;
    struct measure_screen screen; /* where it is not known and the backend does not screen, every
                                     routine takes part */
};
struct measure_baseline {
    enum result_status status;
    char reason[MEASURE_REASON_BYTES];
    char best_name[BACKEND_NAME_BYTES];
    size_t best; /* routine index; 0 is the recorded call */
    double recorded_ns, best_ns, noise;
    struct backend_clock clock; /* while it was timed */
    uint32_t rounds;
    uint64_t calls; /* of the recorded call, in one burst */
};
void measure_baseline(void *job, void *message);
/* One without numbers, and why. */
void measure_no_baseline(struct measure_baseline *out, enum result_status status,
                         const char *reason);

/* The same call by another program, against the recorded one. */
struct measure_second_job {
    const struct measure_setup *setup;
    const struct tilewise_signature *signature;
    const struct companion *companion;
    double budget_ns;
};
struct measure_second {
    enum result_status status; /* PASSED: there are times */
    char reason[MEASURE_REASON_BYTES];
    char call[COMPANION_TEXT_BYTES]; /* "torch.mm" */
    double time_ns;
    struct stats_interval ratio; /* recorded / second */
};
void measure_second(void *job, void *message);
/* One without numbers, and why. */
void measure_no_second(struct measure_second *out, enum result_status status, const char *reason);

/* The kernels of the recorded call, as it was timed. Behind all timing: see backend->kernels. */
struct measure_kernels_job {
    const struct measure_setup *setup;
    const struct tilewise_signature *signature;
    uint64_t calls; /* measure_baseline.calls */
};
void measure_kernels(void *job, void *message); /* struct kernel_times; 0 calls: unknown */

/* Which candidates are an offer for a signature. */
struct measure_offers_job {
    const struct backend *backend;
    const struct tilewise_signature *signature;
    const struct candidates *candidates;
};
struct measure_offers {
    bool takes[CANDIDATES_MAX];
};
void measure_offers(void *job, void *message);

/* One candidate: verified, then timed against both baselines. */
struct measure_candidate_job {
    const struct measure_setup *setup;
    const struct tilewise_signature *signature;
    const struct tilewise_candidate *candidate;
    size_t best; /* of the baseline: routine and its A/A band */
    double noise;
    double budget_ns;
};
struct measure_candidate {
    enum result_status status;
    enum result_call call;
    bool deterministic;
    uint32_t rounds;
    char reason[MEASURE_REASON_BYTES];
    double time_ns, worst_error;
    struct stats_interval recorded, best; /* ratios with their 95 % intervals */
};
void measure_candidate(void *job, void *message);
/* init() of a candidate, once per process. False: it refused. */
bool measure_begin_candidate(const struct tilewise_candidate *c);
/* One without numbers, and why. */
void measure_no_candidate(struct measure_candidate *out, enum result_status status,
                          const char *reason);

#endif
