/* SPDX-License-Identifier: Apache-2.0
 *
 * What is measured about every item of the plan: phase by phase, so that a process of its own
 * serves each phase of a backend that opens slowly, and every phase ends in its time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/clock.h"
#include "replayer/replay_run.h"

static const double candidates_part = 1;  /* of the cases' time: where that phase ends */
static const double equal_part = 0.3;     /* of a phase: the same for every case; rest by time */
static const double least_part = 0.1;     /* of its equal part: what a late case still gets */
static const double order_part = 0.1;     /* of the budget: left to the replay in order */
static const double order_s_min = 4;      /* what each stretch of that gets at least, */
static const double order_part_max = 0.5; /* but no more than this part */
static const double hang_s_min = 30;      /* a case may take this and twenty slow calls */
static const double ceiling_slack = 1.15; /* the ceiling is a measurement, too */
static const char budget_spent[] = "time budget spent (--budget)";
static const uint64_t library_bytes = 4ull << 30; /* address space a BLAS with threads may map */

bool replay_is_chosen(const struct replay_state *r, size_t item)
{
    bool wanted = r->o->only == REPLAY_ALL || r->o->only == (int64_t)item;
    return wanted && r->o->plan->items[item].fate == PLAN_MEASURE;
}

bool replay_is_own(const struct replay_state *r, size_t item)
{
    size_t twin = r->o->plan->items[item].twin;
    return replay_is_chosen(r, item) && (twin == item || !replay_is_chosen(r, twin));
}

bool replay_has_order(const struct replay_state *r)
{
    return r->o->sequences && r->o->sequences->count && !r->o->setup.check_only;
}

static size_t count_chosen(const struct replay_state *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->o->plan->nitems; i++)
        count += replay_is_own(r, i);
    return count;
}

/* ---- time ---- */

static double weight(const struct replay_state *r, size_t item, size_t nchosen)
{
    const struct plan *plan = r->o->plan;
    double share =
        plan->planned_time_share > 0 ? plan->items[item].work_share / plan->planned_time_share : 0;
    return equal_part / (double)nchosen + (1 - equal_part) * share;
}

static void start_phase(struct replay_state *r)
{
    size_t nchosen = count_chosen(r);
    isolate_close(&r->worker);
    r->has_served = false;
    r->spread = 0;
    for (size_t i = 0; i < r->o->plan->nitems; i++)
        if (replay_is_own(r, i))
            r->spread += weight(r, i, nchosen);
}

/* Each case gets its part of what the phase has left, so that what one does not use is there for
 * the next; late ones still get a little. 0 when the phase has nothing left: with many cases the
 * baselines would otherwise take the candidates' time as well. */
static double next_budget(struct replay_state *r, size_t item, double phase_end_s)
{
    double now = clock_now_s(), of = r->spread, part = weight(r, item, count_chosen(r));
    r->spread -= part;
    if (now >= phase_end_s)
        return 0;
    double share_s = of > 0 ? (phase_end_s - now) * part / of : 0;
    return fmax(share_s, least_part * r->o->budget_s * part);
}

/* When this part of the time that the survey left for the cases has gone by. */
static double end_of(const struct replay_state *r, double part)
{
    double budget_s = r->o->budget_s, cases_s = budget_s;
    if (replay_has_order(r)) {
        double least_s = order_s_min * (double)r->o->sequences->count;
        cases_s -= fmin(fmax(order_part * budget_s, least_s), order_part_max * budget_s);
    }
    double left_s = fmax(r->start_s + cases_s - r->from_s, 0);
    return r->from_s + left_s * part;
}

/* The verification takes wall time, too, and so does the library's start where every case has one.
 */
static double timing_ns(const struct replay_state *r, double budget_s)
{
    return budget_s * (r->o->setup.backend->opens_slowly ? 0.75 : 0.5) * 1e9;
}

static void tell(struct replay_state *r, size_t item, const char *who, double end_s)
{
    char shape[96], what[160];
    if (r->o->on_progress == NULL)
        return;
    signature_describe(&r->o->plan->items[item].signature, shape, sizeof shape);
    snprintf(what, sizeof what, "%s: %s", shape, who);
    double now = clock_now_s();
    r->o->on_progress(r->o->context,
                      &(struct replay_progress){ r->done, r->total, now - r->start_s,
                                                 end_s > now ? end_s - now : 0, what });
}

/* ---- the library ---- */

/* A job about one item, in the worker. */
static void serve(struct replay_state *r, size_t item, const struct isolate_job *job,
                  struct isolate_end *end)
{
    const struct backend *backend = r->o->setup.backend;
    double flops = signature_flops(&r->o->plan->items[item].signature);
    struct isolate_limits limits = {
        .memory_bytes = backend->maps_freely ? 0 : 2 * r->o->setup.max_bytes + library_bytes,
        .seconds = hang_s_min + 20 * flops / backend->slow_rate_flops,
    };
    isolate_call(&r->worker, job, &limits, end);
}

static struct measure_baseline_job baseline_job(const struct replay_state *r, size_t item,
                                                double budget_s)
{
    return (struct measure_baseline_job){ &r->o->setup, &r->o->plan->items[item].signature,
                                          timing_ns(r, budget_s), r->rows[item].screen };
}

static void run_screen(struct replay_state *r, size_t item, double budget_s)
{
    struct replay_row *row = &r->rows[item];
    struct measure_baseline_job job = baseline_job(r, item, budget_s);
    struct measure_screen *out = &row->screen;
    struct isolate_end end;
    serve(r, item, &(struct isolate_job){ measure_screen, &job, sizeof job, out, sizeof *out },
          &end);
    if (end.status != RESULT_PASSED)
        *out = (struct measure_screen){ 0 };
    snprintf(row->unscreened, sizeof row->unscreened, "%s", end.reason);
}

static void skip_screen(struct replay_state *r, size_t item)
{
    snprintf(r->rows[item].unscreened, sizeof r->rows[item].unscreened, "%s", budget_spent);
}

static void run_baseline(struct replay_state *r, size_t item, double budget_s)
{
    struct replay_row *row = &r->rows[item];
    struct measure_baseline_job job = baseline_job(r, item, budget_s);
    struct measure_baseline *out = &row->baseline;
    struct isolate_end end;
    row->tried = true;
    serve(r, item, &(struct isolate_job){ measure_baseline, &job, sizeof job, out, sizeof *out },
          &end);
    if (end.status != RESULT_PASSED)
        measure_no_baseline(out, end.status, end.reason);
    else if (row->unscreened[0] && out->reason[0] == '\0')
        snprintf(out->reason, sizeof out->reason,
                 "the other routines of the library were not tried: %s", row->unscreened);
    r->outcome->measured += out->status == RESULT_PASSED;
}

static void skip_baseline(struct replay_state *r, size_t item)
{
    measure_no_baseline(&r->rows[item].baseline, RESULT_SKIPPED, budget_spent);
}

static void run_kernels(struct replay_state *r, size_t item, double budget_s)
{
    struct kernel_times *out = &r->rows[item].kernels;
    struct isolate_end end;
    struct measure_kernels_job job = { &r->o->setup, &r->o->plan->items[item].signature,
                                       r->rows[item].baseline.calls };
    (void)budget_s;
    if (r->rows[item].baseline.status != RESULT_PASSED)
        return;
    serve(r, item, &(struct isolate_job){ measure_kernels, &job, sizeof job, out, sizeof *out },
          &end);
    if (end.status != RESULT_PASSED)
        *out = (struct kernel_times){ .ns = NAN };
}

static void skip_kernels(struct replay_state *r, size_t item)
{
    (void)r;
    (void)item;
}

static void run_second(struct replay_state *r, size_t item, double budget_s)
{
    struct measure_second *out = &r->rows[item].second;
    struct isolate_end end;
    struct measure_second_job job = { &r->o->setup, &r->o->plan->items[item].signature,
                                      r->o->companion, timing_ns(r, budget_s) };
    if (r->rows[item].baseline.status != RESULT_PASSED)
        return;
    serve(r, item, &(struct isolate_job){ measure_second, &job, sizeof job, out, sizeof *out },
          &end);
    if (end.status != RESULT_PASSED)
        measure_no_second(out, end.status, end.reason);
}

static void skip_second(struct replay_state *r, size_t item)
{
    measure_no_second(&r->rows[item].second, RESULT_SKIPPED, budget_spent);
}

static bool has_screen(const struct replay_options *o)
{
    return o->setup.backend->screens;
}

static bool has_baseline(const struct replay_options *o)
{
    return o->setup.backend->baseline != NULL;
}

static bool has_second(const struct replay_options *o)
{
    return o->companion != NULL;
}

static bool has_kernels(const struct replay_options *o)
{
    return o->setup.backend->kernels != NULL;
}

/* In their order. The candidates have what is left of the cases' time; where there are none, the
 * phases have all of it. */
static const struct phase {
    const char *name;
    double part; /* of the cases' time */
    bool (*is_of)(const struct replay_options *options);
    void (*run)(struct replay_state *r, size_t item, double budget_s);
    void (*skip)(struct replay_state *r, size_t item); /* no time is left */
} phases[] = {
    { "routines of the library", 0.15, has_screen, run_screen, skip_screen },
    { "baseline", 0.3, has_baseline, run_baseline, skip_baseline },
    { "second baseline", 0.2, has_second, run_second, skip_second },
    { "kernels of the baseline", 0.05, has_kernels, run_kernels, skip_kernels },
};
enum { PHASES = sizeof phases / sizeof phases[0] };

size_t replay_steps(const struct replay_state *r)
{
    size_t steps = r->o->candidates->count;
    for (size_t i = 0; i < PHASES && !r->o->setup.check_only; i++)
        steps += phases[i].is_of(r->o);
    return count_chosen(r) * steps;
}

static void run_phase(struct replay_state *r, const struct phase *phase, double end_s)
{
    start_phase(r);
    for (size_t i = 0; i < r->o->plan->nitems; i++) {
        if (!replay_is_own(r, i))
            continue;
        tell(r, i, phase->name, end_s);
        double budget_s = next_budget(r, i, end_s);
        if (budget_s > 0 || !r->has_served)
            phase->run(r, i, budget_s);
        else
            phase->skip(r, i);
        r->done++;
        r->has_served = true;
    }
}

static double parts_of(const struct replay_state *r)
{
    double parts = 0;
    for (size_t i = 0; i < PHASES; i++)
        parts += phases[i].is_of(r->o) ? phases[i].part : 0;
    return parts;
}

void replay_measure_baselines(struct replay_state *r)
{
    double part = 0, scale = r->offers ? 1 : 1 / parts_of(r);
    for (size_t i = 0; i < r->o->plan->nitems; i++) {
        measure_no_baseline(&r->rows[i].baseline, RESULT_NOT_VERIFIED, "");
        measure_no_second(&r->rows[i].second, RESULT_NOT_VERIFIED, "");
        r->rows[i].kernels.ns = NAN;
    }
    for (size_t i = 0; i < PHASES && !r->o->setup.check_only; i++)
        if (phases[i].is_of(r->o))
            run_phase(r, &phases[i], end_of(r, part += phases[i].part * scale));
}

/* ---- candidates ---- */

static bool is_finding(enum result_status status)
{
    return status == RESULT_FAILED || status == RESULT_CRASHED || status == RESULT_TIMEOUT;
}

/* Nothing is faster than the device: such a time was measured wrongly, or the work was not done. */
static void refuse_impossible(const struct replay_state *r, size_t item,
                              struct measure_candidate *m)
{
    const struct tilewise_signature *s = &r->o->plan->items[item].signature;
    double rate = signature_flops(s) / (m->time_ns * 1e-9);
    if (!r->o->setup.backend->ceiling_is_hard)
        return;
    for (size_t i = 0; m->status == RESULT_PASSED && i < r->survey.nceilings; i++) {
        const struct result_ceiling *c = &r->survey.ceilings[i];
        if (c->dtype != signature_rate_dtype(s) || !(rate > c->rate_flops * ceiling_slack))
            continue;
        m->status = RESULT_FAILED;
        m->call = RESULT_CALL_NONE;
        snprintf(m->reason, sizeof m->reason,
                 "faster than the device can be: %.4g TFLOP/s, its measured ceiling is %.4g",
                 rate * 1e-12, c->rate_flops * 1e-12);
    }
}

static void run_candidate(struct replay_state *r, size_t item, size_t candidate, double budget_s)
{
    const struct replay_row *row = &r->rows[item];
    struct measure_candidate *out = &row->candidates[candidate];
    struct isolate_end end;
    struct measure_candidate_job job = {
        .setup = &r->o->setup,
        .signature = &r->o->plan->items[item].signature,
        .candidate = r->o->candidates->row[candidate],
        .best = row->baseline.best,
        .noise = row->baseline.noise,
        .budget_ns = timing_ns(r, budget_s),
    };
    serve(r, item, &(struct isolate_job){ measure_candidate, &job, sizeof job, out, sizeof *out },
          &end);
    if (end.status == RESULT_PASSED)
        refuse_impossible(r, item, out);
    else
        measure_no_candidate(out, end.status, end.reason);
    r->outcome->findings += is_finding(out->status);
}

/* Who breaks at the question is asked on his own. */
void replay_find_offers(struct replay_state *r)
{
    start_phase(r);
    for (size_t item = 0; item < r->o->plan->nitems; item++) {
        struct measure_offers *out = &r->rows[item].offers;
        struct isolate_end end;
        struct measure_offers_job job = { r->o->setup.backend, &r->o->plan->items[item].signature,
                                          r->o->candidates };
        if (!replay_is_own(r, item))
            continue;
        serve(r, item, &(struct isolate_job){ measure_offers, &job, sizeof job, out, sizeof *out },
              &end);
        for (size_t i = 0; i < r->o->candidates->count; i++) {
            out->takes[i] = out->takes[i] || end.status != RESULT_PASSED;
            r->offers += out->takes[i];
        }
    }
}

static void measure_offered(struct replay_state *r, size_t item, double budget_s)
{
    double end_s = end_of(r, candidates_part), case_end_s = clock_now_s() + budget_s;
    struct measure_candidate *out = r->rows[item].candidates;
    const struct measure_offers *offers = &r->rows[item].offers;
    size_t left = 0;
    bool first = true;
    for (size_t i = 0; i < r->o->candidates->count; i++)
        left += offers->takes[i];
    for (size_t i = 0; i < r->o->candidates->count; i++, r->done++) {
        tell(r, item, r->o->candidates->row[i]->name, end_s);
        double now = clock_now_s(), left_s = fmax(case_end_s - now, 0);
        if (!offers->takes[i]) {
            measure_no_candidate(&out[i], RESULT_UNSUPPORTED, "");
            continue;
        }
        if (now > end_s && !first && !r->o->setup.check_only)
            measure_no_candidate(&out[i], RESULT_SKIPPED, budget_spent);
        else
            run_candidate(r, item, i, left_s / (double)left);
        first = false;
        left--;
    }
}

void replay_begin_candidates(struct replay_state *r)
{
    start_phase(r);
}

bool replay_measure_candidates(struct replay_state *r, size_t item)
{
    double budget_s = next_budget(r, item, end_of(r, candidates_part));
    bool ready = r->rows[item].baseline.status == RESULT_PASSED || r->o->setup.check_only;
    size_t count = r->o->candidates->count;
    if (!ready || !(budget_s > 0 || !r->has_served || r->o->setup.check_only)) {
        r->done += count;
        return true;
    }
    r->has_served = true;
    r->rows[item].candidates = calloc(count + 1, sizeof *r->rows[item].candidates);
    if (r->rows[item].candidates == NULL)
        return false;
    measure_offered(r, item, budget_s);
    return true;
}
