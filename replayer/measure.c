/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replayer/bench.h"
#include "replayer/rotation.h"
#include "replayer/verify.h"

enum { SCREEN_CALLS_MAX = 64, SCREEN_BURSTS = 3 };
static const double screen_slack = 1.02; /* what is slower than the recorded call by that is out */

/* Shortest of a few bursts, per call; NaN if the routine does not run here. */
static double quick_ns(struct bench *b, unsigned arm)
{
    double one_ns = bench_burst(b, arm, 1); /* loads its code */
    if (one_ns > 0)
        one_ns = bench_burst(b, arm, 1);
    double best_ns = one_ns;
    uint64_t calls = one_ns > 0 ? (uint64_t)(b->info.burst_ns / one_ns) : 0;
    calls = calls < 2 ? 2 : calls > SCREEN_CALLS_MAX ? SCREEN_CALLS_MAX : calls;
    for (int i = 0; i < SCREEN_BURSTS && best_ns > 0; i++) {
        double ns = bench_burst(b, arm, calls) / (double)calls;
        best_ns = ns > 0 ? fmin(ns, i ? best_ns : ns) : NAN;
    }
    return best_ns;
}

/* Put a routine into the short list, quickest first. */
static void shortlist(struct measure_screen *out, double *best_ns, size_t routine, double ns)
{
    size_t at = out->count;
    while (at > 0 && best_ns[at - 1] > ns)
        at--;
    if (at == MEASURE_SHORT_LIST)
        return;
    size_t last = out->count < MEASURE_SHORT_LIST ? out->count++ : MEASURE_SHORT_LIST - 1;
    for (; last > at; last--) {
        best_ns[last] = best_ns[last - 1];
        out->routine[last] = out->routine[last - 1];
    }
    best_ns[at] = ns;
    out->routine[at] = routine;
}

/* Does not end badly where a routine does not run: that is what is asked. */
static void screen_routines(struct bench *b, struct measure_screen *out)
{
    double best_ns[MEASURE_SHORT_LIST], recorded_ns = NAN;
    for (unsigned i = 0; i < b->routines.count; i++) {
        b->arms[i] = (struct bench_arm){ .routine = i };
        double ns = quick_ns(b, i);
        if (i == 0)
            recorded_ns = ns;
        else if (ns < recorded_ns * screen_slack)
            shortlist(out, best_ns, i, ns);
    }
    out->is_known = recorded_ns > 0;
}

void measure_screen(void *job, void *message)
{
    const struct measure_baseline_job *j = job;
    struct measure_screen *out = message;
    struct fault fault = { .text = "" };
    struct bench b = { .setup = j->setup, .signature = j->signature };
    enum status st = bench_open(&b, &fault);
    struct rotation_options buffers = bench_buffers(&b, 0);
    if (st == ST_OK)
        st = rotation_open(&b.rotation, j->setup->backend, b.session, b.signature, &buffers);
    if (st == ST_OK)
        screen_routines(&b, out);
    rotation_close(&b.rotation);
    bench_close(&b, out->is_known);
}

struct routine_context {
    struct bench *bench;
    struct bench_arm arm;
};

static int run_arm(void *context, const struct tilewise_args *args)
{
    struct routine_context *c = context;
    return bench_call(c->bench, &c->arm, args);
}

static void verify_arm(struct bench *b, struct bench_arm arm, size_t scratch_bytes,
                       struct verify_report *report)
{
    struct routine_context context = { b, arm }, recorded = { b, { .routine = 0 } };
    struct verify_job job = {
        .backend = b->setup->backend,
        .session = b->session,
        .signature = b->signature,
        .reference = b->setup->reference,
        .device_reference = b->setup->device_reference,
        .run = run_arm,
        .context = &context,
        .twin = b->setup->bitwise && arm.kind == BENCH_CANDIDATE ? run_arm : NULL,
        .twin_context = &recorded,
        .scratch_bytes = scratch_bytes,
        .kappa = backend_kappa(b->setup->backend, b->signature),
        .seed = b->setup->seed,
    };
    verify_subject(&job, report);
}

/* The recorded call twice (A/A), then the short list, or every other routine that gives the same
 * results. */
static void choose_arms(struct bench *b, const struct measure_screen *screen)
{
    b->arms[b->narms++] = (struct bench_arm){ .routine = 0 };
    b->arms[b->narms++] = (struct bench_arm){ .routine = 0 };
    for (size_t i = 0; i < screen->count; i++)
        b->arms[b->narms++] = (struct bench_arm){ .routine = screen->routine[i] };
    if (b->setup->backend->screens)
        return;
    for (size_t i = 1; i < b->routines.count && b->narms < TIMING_ARMS_MAX; i++) {
        struct verify_report report;
        verify_arm(b, (struct bench_arm){ .routine = i }, 0, &report);
        if (report.status == RESULT_PASSED || report.status == RESULT_NOT_VERIFIED)
            b->arms[b->narms++] = (struct bench_arm){ .routine = i };
    }
}

/* Another routine is the best baseline only if it is faster beyond doubt; else the recorded one,
 * so that picking the luckiest of several does not flatter the baseline. */
static unsigned choose_best(const struct bench *b, const struct timing_samples *samples,
                            const bool *refused)
{
    unsigned best = 0;
    for (unsigned arm = 2; arm < b->narms; arm++)
        if (!refused[arm] && timing_ratio(samples, 0, arm, 0.95, b->setup->seed).lo > 1 &&
            timing_median_ns(samples, arm) < timing_median_ns(samples, best))
            best = arm;
    return best;
}

/* The best routine of a short list, which nobody verified yet. */
static unsigned choose_right(struct bench *b, const struct timing_samples *samples)
{
    bool refused[TIMING_ARMS_MAX] = { false };
    for (;;) {
        struct verify_report report;
        unsigned best = choose_best(b, samples, refused);
        if (best == 0)
            return best;
        verify_arm(b, b->arms[best], 0, &report);
        if (report.status == RESULT_PASSED || report.status == RESULT_NOT_VERIFIED)
            return best;
        refused[best] = true;
    }
}

static struct backend_clock clock_of(const struct bench *b)
{
    const struct backend *backend = b->setup->backend;
    const struct backend_clock unknown = { .mhz = NAN };
    return backend->clock ? backend->clock(b->session) : unknown;
}

void measure_no_baseline(struct measure_baseline *out, enum result_status status,
                         const char *reason)
{
    *out = (struct measure_baseline){ .status = status };
    out->recorded_ns = out->best_ns = out->noise = out->clock.mhz = NAN;
    snprintf(out->reason, sizeof out->reason, "%.190s", reason);
}

static void time_baseline(struct bench *b, const struct measure_baseline_job *j,
                          struct measure_baseline *out)
{
    struct timing_samples samples;
    choose_arms(b, &j->screen);
    enum status st = bench_time(b, j->budget_ns, 0, &samples);
    if (st != ST_OK) {
        measure_no_baseline(out, RESULT_SKIPPED, bench_complaint(b, st));
        return;
    }
    const bool none[TIMING_ARMS_MAX] = { false };
    unsigned best =
        b->setup->backend->screens ? choose_right(b, &samples) : choose_best(b, &samples, none);
    *out = (struct measure_baseline){
        .status = RESULT_PASSED,
        .best = b->arms[best].routine,
        .recorded_ns = timing_median_ns(&samples, 0),
        .best_ns = timing_median_ns(&samples, best),
        .noise = timing_noise(&samples, 0, 1),
        .rounds = samples.rounds,
        .calls = samples.calls[0],
        .clock = clock_of(b),
    };
    memcpy(out->best_name, b->routines.name[out->best], sizeof out->best_name);
}

void measure_baseline(void *job, void *message)
{
    const struct measure_baseline_job *j = job;
    struct measure_baseline *out = message;
    struct fault fault = { .text = "" };
    struct bench b = { .setup = j->setup, .signature = j->signature };
    if (bench_open(&b, &fault) == ST_OK)
        time_baseline(&b, j, out);
    else
        measure_no_baseline(out, RESULT_UNSUPPORTED, fault.text);
    bench_close(&b, out->status == RESULT_PASSED);
}

/* As many calls as a timed burst has, as cold. */
void measure_kernels(void *job, void *message)
{
    const struct measure_kernels_job *j = job;
    struct kernel_times *out = message;
    struct fault fault = { .text = "" };
    struct bench b = { .setup = j->setup, .signature = j->signature };
    struct backend_burst recorded = { .step = bench_step, .context = &b, .calls = j->calls };
    recorded.cold = j->setup->cold;
    b.current = &b.arms[0];
    *out = (struct kernel_times){ .ns = NAN };
    enum status st = bench_open(&b, &fault);
    struct rotation_options buffers = bench_buffers(&b, 0);
    if (st == ST_OK)
        st = rotation_open(&b.rotation, j->setup->backend, b.session, b.signature, &buffers);
    if (st == ST_OK)
        kernel_times_measure(j->setup->backend, b.session, &recorded, out);
    rotation_close(&b.rotation);
    bench_close(&b, st == ST_OK);
}

static void judge_candidate(struct bench *b, const struct measure_candidate_job *j,
                            const struct timing_samples *samples, struct measure_candidate *out)
{
    unsigned recorded = b->narms == 2 ? 0 : 2; /* the best may be the recorded one */
    uint64_t seed = b->setup->seed;
    out->rounds = samples->rounds;
    out->time_ns = timing_median_ns(samples, 1);
    out->best = timing_ratio(samples, 0, 1, 0.95, seed);
    out->recorded = timing_ratio(samples, recorded, 1, 0.95, seed);
    out->call = timing_decide(timing_ratio(samples, 0, 1, b->setup->level, seed), j->noise);
}

void measure_no_candidate(struct measure_candidate *out, enum result_status status,
                          const char *reason)
{
    const struct stats_interval unknown = { NAN, NAN, NAN };
    *out = (struct measure_candidate){ .status = status, .recorded = unknown, .best = unknown };
    out->time_ns = out->worst_error = NAN;
    snprintf(out->reason, sizeof out->reason, "%.190s", reason);
}

/* Verify, and time what passed. */
static void examine(struct bench *b, const struct measure_candidate_job *j,
                    struct measure_candidate *out)
{
    struct timing_samples samples;
    struct verify_report report;
    const struct tilewise_candidate *c = j->candidate;
    size_t scratch = c->scratch_bytes ? c->scratch_bytes(c, j->signature, b->info.threads) : 0;
    if (scratch > b->setup->max_bytes) {
        measure_no_candidate(out, RESULT_SKIPPED, "its scratch does not fit the memory budget");
        return;
    }
    verify_arm(b, (struct bench_arm){ .kind = BENCH_CANDIDATE }, scratch, &report);
    out->status = report.status;
    out->deterministic = report.deterministic && !(c->flags & TILEWISE_CANDIDATE_VARIES);
    out->worst_error = report.worst_error;
    bool refused_to_run = report.status == RESULT_FAILED;
    snprintf(out->reason, sizeof out->reason, "%.190s",
             refused_to_run ? candidates_complaint(c, report.reason) : report.reason);
    if (report.status != RESULT_PASSED || b->setup->check_only)
        return;
    b->arms[b->narms++] = (struct bench_arm){ .routine = j->best };
    b->arms[b->narms++] = (struct bench_arm){ .kind = BENCH_CANDIDATE };
    if (j->best != 0)
        b->arms[b->narms++] = (struct bench_arm){ .routine = 0 };
    enum status st = bench_time(b, j->budget_ns, scratch, &samples);
    if (st == ST_OK)
        judge_candidate(b, j, &samples, out);
    else
        snprintf(out->reason, sizeof out->reason, "not timed: %.150s", bench_complaint(b, st));
}

void measure_offers(void *job, void *message)
{
    const struct measure_offers_job *j = job;
    struct measure_offers *out = message;
    for (size_t i = 0; i < j->candidates->count; i++) {
        const struct tilewise_candidate *c = j->candidates->row[i];
        out->takes[i] = strcmp(c->target, j->backend->name) == 0 && c->supports(c, j->signature);
    }
}

bool measure_begin_candidate(const struct tilewise_candidate *c)
{
    static struct {
        const struct tilewise_candidate *candidate;
        bool good;
    } known[CANDIDATES_MAX];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (known[i].candidate == c)
            return known[i].good;
    bool good = c->init == NULL || c->init(c) == 0;
    if (count < CANDIDATES_MAX) {
        known[count].candidate = c;
        known[count++].good = good;
    }
    return good;
}

/* May the next case use this process? One that is wrong may have written where nobody looks, which
 * would change times. A check fills and judges all that it uses: there a device that works will
 * do. */
static bool leaves_sound(const struct measure_setup *setup, const struct measure_candidate *m)
{
    switch (m->status) {
    case RESULT_PASSED:
        return m->reason[0] == '\0'; /* else it was not timed */
    case RESULT_UNSUPPORTED:
    case RESULT_NOT_VERIFIED:
        return true;
    case RESULT_FAILED:
        return setup->check_only;
    default:
        return false;
    }
}

void measure_candidate(void *job, void *message)
{
    const struct measure_candidate_job *j = job;
    struct measure_candidate *out = message;
    const struct tilewise_candidate *c = j->candidate;
    struct fault fault = { .text = "" };
    struct bench b = { .setup = j->setup, .signature = j->signature, .candidate = c };
    measure_no_candidate(out, RESULT_UNSUPPORTED, "");
    if (strcmp(c->target, j->setup->backend->name) != 0 || !c->supports(c, j->signature))
        return; /* who broke at that question is asked again, here on his own */
    if (bench_open(&b, &fault) != ST_OK)
        measure_no_candidate(out, RESULT_SKIPPED, fault.text);
    else if (!measure_begin_candidate(c))
        measure_no_candidate(out, RESULT_UNSUPPORTED,
                             candidates_complaint(c, "its init() refused this machine"));
    else
        examine(&b, j, out);
    bench_close(&b, leaves_sound(j->setup, out));
}
