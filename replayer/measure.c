/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "replayer/ceilings.h"
#include "replayer/rotation.h"
#include "replayer/verify.h"

static const double burst_ns = 200e3, burst_threaded_ns = 1e6;
static const double target = 0.004; /* +- of a ln ratio */
enum { CACHES_OF_FOOTPRINT = 3, ROUNDS_MIN = 8, ROUNDS_MAX = 256 };

/* One way to do the call: a routine of the library, or the candidate. */
struct arm {
    bool is_candidate;
    size_t routine;
};

/* Everything a burst needs. */
struct bench {
    const struct measure_setup *setup;
    const struct tilewise_signature *signature;
    const struct tilewise_candidate *candidate;
    struct backend_session *session;
    struct backend_info info;
    struct backend_routines routines;
    struct rotation rotation;
    struct arm arms[TIMING_ARMS_MAX];
    unsigned narms, current;
};

static int call_arm(struct bench *b, const struct arm *arm, const struct tilewise_args *args)
{
    return arm->is_candidate ? b->candidate->run(b->signature, args)
                             : b->setup->backend->baseline(b->session, arm->routine, args);
}

static int step(void *context)
{
    struct bench *b = context;
    return call_arm(b, &b->arms[b->current], rotation_step(&b->rotation));
}

static double burst(void *context, unsigned arm, uint64_t calls)
{
    struct bench *b = context;
    b->current = arm;
    return b->setup->backend->burst(b->session, step, b, calls);
}

static double now_ns(void *context)
{
    (void)context;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static enum status open_bench(struct bench *b, struct fault *fault)
{
    const struct backend *backend = b->setup->backend;
    enum status st = backend->open(&b->session, &b->setup->open, fault);
    if (st != ST_OK)
        return st;
    backend->describe(b->session, &b->info);
    st = backend->prepare(b->session, b->signature, &b->routines);
    return st == ST_OK ? st : fault_set(fault, st, "the library has no routine for it");
}

static enum status time_arms(struct bench *b, double budget_ns, size_t scratch_bytes,
                             struct timing_samples *samples)
{
    struct rotation_options buffers = {
        .footprint_bytes = b->setup->cold ? CACHES_OF_FOOTPRINT * b->info.cache_bytes : 0,
        .max_bytes = b->setup->max_bytes,
        .scratch_bytes = scratch_bytes,
        .seed = b->setup->seed,
    };
    struct timing_options options = {
        .arms = b->narms,
        .burst_ns = b->info.threads > 1 ? burst_threaded_ns : burst_ns,
        .budget_ns = budget_ns,
        .target = target,
        .min_rounds = ROUNDS_MIN,
        .max_rounds = ROUNDS_MAX,
        .seed = b->setup->seed,
    };
    struct timing_source source = { b, burst, now_ns };
    enum status st =
        rotation_open(&b->rotation, b->setup->backend, b->session, b->signature, &buffers);
    if (st == ST_OK)
        st = timing_measure(&source, &options, samples);
    rotation_close(&b->rotation);
    return st;
}

void measure_survey(void *job, void *message)
{
    const struct measure_survey_job *j = job;
    struct measure_survey *out = message;
    const struct backend *backend = j->setup->backend;
    struct backend_session *session;
    double bandwidth = NAN;
    out->status = backend->open(&session, &j->setup->open, &out->fault);
    if (out->status != ST_OK)
        return;
    backend->describe(session, &out->info);
    if (!j->setup->check_only) {
        if (backend->bandwidth(session, &bandwidth) != ST_OK)
            bandwidth = NAN;
        for (size_t i = 0; i < j->ndtypes; i++)
            ceilings_measure(backend, session, j->dtypes[i], bandwidth, &out->ceilings[i]);
        out->nceilings = j->ndtypes;
    }
    backend->close(session);
}

struct routine_context {
    struct bench *bench;
    struct arm arm;
};

static int run_arm(void *context, const struct tilewise_args *args)
{
    struct routine_context *c = context;
    return call_arm(c->bench, &c->arm, args);
}

static void verify_arm(struct bench *b, struct arm arm, size_t scratch_bytes,
                       struct verify_report *report)
{
    struct routine_context context = { b, arm };
    struct verify_job job = {
        .backend = b->setup->backend,
        .session = b->session,
        .signature = b->signature,
        .reference = b->setup->reference,
        .run = run_arm,
        .context = &context,
        .scratch_bytes = scratch_bytes,
        .seed = b->setup->seed,
    };
    verify_subject(&job, report);
}

/* The recorded call twice (A/A), then every other routine that gives the same results. */
static void choose_arms(struct bench *b)
{
    b->arms[b->narms++] = (struct arm){ .routine = 0 };
    b->arms[b->narms++] = (struct arm){ .routine = 0 };
    for (size_t i = 1; i < b->routines.count && b->narms < TIMING_ARMS_MAX; i++) {
        struct verify_report report;
        verify_arm(b, (struct arm){ .routine = i }, 0, &report);
        if (report.status == RESULT_PASSED || report.status == RESULT_NOT_VERIFIED)
            b->arms[b->narms++] = (struct arm){ .routine = i };
    }
}

/* Another routine is the best baseline only if it is faster beyond doubt; else the recorded one,
 * so that picking the luckiest of several does not flatter the baseline. */
static unsigned choose_best(const struct bench *b, const struct timing_samples *samples)
{
    unsigned best = 0;
    for (unsigned arm = 2; arm < b->narms; arm++)
        if (timing_ratio(samples, 0, arm, 0.95, b->setup->seed).lo > 1 &&
            timing_median_ns(samples, arm) < timing_median_ns(samples, best))
            best = arm;
    return best;
}

static void baseline_failed(struct measure_baseline *out, enum result_status status,
                            const char *reason)
{
    out->status = status;
    out->recorded_ns = out->best_ns = out->noise = NAN;
    snprintf(out->reason, sizeof out->reason, "%.190s", reason);
}

void measure_baseline(void *job, void *message)
{
    const struct measure_baseline_job *j = job;
    struct measure_baseline *out = message;
    struct fault fault = { .text = "" };
    struct bench b = { .setup = j->setup, .signature = j->signature };
    struct timing_samples samples;
    if (open_bench(&b, &fault) != ST_OK) {
        baseline_failed(out, RESULT_UNSUPPORTED, fault.text);
        return;
    }
    choose_arms(&b);
    enum status st = time_arms(&b, j->budget_ns, 0, &samples);
    if (st != ST_OK) {
        baseline_failed(out, RESULT_SKIPPED, status_text(st));
        return;
    }
    unsigned best = choose_best(&b, &samples);
    *out = (struct measure_baseline){
        .status = RESULT_PASSED,
        .best = b.arms[best].routine,
        .recorded_ns = timing_median_ns(&samples, 0),
        .best_ns = timing_median_ns(&samples, best),
        .noise = timing_noise(&samples, 0, 1),
        .rounds = samples.rounds,
    };
    memcpy(out->best_name, b.routines.name[out->best], sizeof out->best_name);
    b.setup->backend->close(b.session);
}

static void judge_candidate(struct bench *b, const struct measure_candidate_job *j,
                            const struct timing_samples *samples, struct measure_candidate *out)
{
    unsigned recorded = b->narms - 1 == 1 ? 0 : 2; /* the best may be the recorded one */
    uint64_t seed = b->setup->seed;
    out->rounds = samples->rounds;
    out->time_ns = timing_median_ns(samples, 1);
    out->best = timing_ratio(samples, 0, 1, 0.95, seed);
    out->recorded = timing_ratio(samples, recorded, 1, 0.95, seed);
    out->call =
        timing_decide(timing_ratio(samples, 0, 1, b->setup->level, seed), j->baseline->noise);
}

static void candidate_failed(struct measure_candidate *out, enum result_status status,
                             const char *reason)
{
    out->status = status;
    snprintf(out->reason, sizeof out->reason, "%.190s", reason);
}

/* Verify, and time what passed. */
static void examine(struct bench *b, const struct measure_candidate_job *j,
                    struct measure_candidate *out)
{
    struct timing_samples samples;
    struct verify_report report;
    const struct tilewise_candidate *c = j->candidate;
    size_t scratch = c->scratch_bytes ? c->scratch_bytes(j->signature, b->info.threads) : 0;
    if (scratch > b->setup->max_bytes) {
        candidate_failed(out, RESULT_SKIPPED, "its scratch does not fit the memory budget");
        return;
    }
    verify_arm(b, (struct arm){ .is_candidate = true }, scratch, &report);
    out->status = report.status;
    out->deterministic = report.deterministic;
    out->worst_error = report.worst_error;
    memcpy(out->reason, report.reason, sizeof out->reason);
    if (report.status != RESULT_PASSED || b->setup->check_only)
        return;
    b->arms[b->narms++] = (struct arm){ .routine = j->baseline->best };
    b->arms[b->narms++] = (struct arm){ .is_candidate = true };
    if (j->baseline->best != 0)
        b->arms[b->narms++] = (struct arm){ .routine = 0 };
    enum status st = time_arms(b, j->budget_ns, scratch, &samples);
    if (st == ST_OK)
        judge_candidate(b, j, &samples, out);
    else
        snprintf(out->reason, sizeof out->reason, "not timed: %s", status_text(st));
}

void measure_candidate(void *job, void *message)
{
    const struct measure_candidate_job *j = job;
    struct measure_candidate *out = message;
    const struct tilewise_candidate *c = j->candidate;
    struct fault fault = { .text = "" };
    struct bench b = { .setup = j->setup, .signature = j->signature, .candidate = c };
    const struct stats_interval unknown = { NAN, NAN, NAN };
    *out = (struct measure_candidate){ .time_ns = NAN, .recorded = unknown, .best = unknown };
    out->worst_error = NAN;
    if (strcmp(c->target, j->setup->backend->name) != 0 || !c->supports(j->signature))
        candidate_failed(out, RESULT_UNSUPPORTED, "");
    else if (open_bench(&b, &fault) != ST_OK)
        candidate_failed(out, RESULT_SKIPPED, fault.text);
    else if (c->init && c->init() != 0)
        candidate_failed(out, RESULT_UNSUPPORTED, "its init() refused this machine");
    else
        examine(&b, j, out);
}
