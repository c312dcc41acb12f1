/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "replayer/isolate.h"
#include "replayer/replay_order.h"

static const double baseline_part = 0.3;  /* of the budget; the rest is for the candidates */
static const double screened_part = 0.6;  /* the same, where the baseline has many routines */
static const double ceiling_slack = 1.15; /* the ceiling is a measurement, too */
static const double equal_part = 0.3;     /* of a phase: the same for every case; rest by time */
static const double least_part = 0.1;     /* of its equal part: what a late case still gets */
static const double order_part = 0.1;     /* of the budget: left to the replay in order */
static const double order_s_min = 4;      /* what that gets at least */
static const double hang_s_min = 30;      /* a case may take this and twenty slow calls */
static const char budget_spent[] = "time budget spent (--budget)";
static const uint64_t library_bytes = 4ull << 30; /* address space a BLAS with threads may map */

/* What is known about one plan item. */
struct row {
    struct measure_baseline baseline;
    struct measure_candidate *candidates; /* one per candidate; NULL if not measured */
};

struct run {
    const struct replay_options *o;
    struct replay_outcome *outcome;
    struct row *rows; /* one per plan item */
    struct measure_survey survey;
    double start_s, noise;
    size_t done, total;
    double spread; /* sum of the weights of the planned items that are still to come */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool is_chosen(const struct run *r, size_t item)
{
    bool wanted = r->o->only == REPLAY_ALL || r->o->only == (int64_t)item;
    return wanted && r->o->plan->items[item].fate == PLAN_MEASURE;
}

/* Measured itself, not by its twin. */
static bool is_own(const struct run *r, size_t item)
{
    return is_chosen(r, item) &&
           (r->o->plan->items[item].twin == item || !is_chosen(r, r->o->plan->items[item].twin));
}

static size_t count_chosen(const struct run *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->o->plan->nitems; i++)
        count += is_own(r, i);
    return count;
}

static double weight(const struct run *r, size_t item, size_t nchosen)
{
    const struct plan *plan = r->o->plan;
    double share =
        plan->planned_time_share > 0 ? plan->items[item].work_share / plan->planned_time_share : 0;
    return equal_part / (double)nchosen + (1 - equal_part) * share;
}

static void tell(struct run *r, size_t item, const char *who, double end_s)
{
    char shape[96], what[160];
    if (r->o->on_progress == NULL)
        return;
    signature_describe(&r->o->plan->items[item].signature, shape, sizeof shape);
    snprintf(what, sizeof what, "%s: %s", shape, who);
    double now = now_s();
    r->o->on_progress(r->o->context,
                      &(struct replay_progress){ r->done, r->total, now - r->start_s,
                                                 end_s > now ? end_s - now : 0, what });
}

static struct isolate_limits limits_of(const struct run *r, size_t item)
{
    double flops = signature_flops(&r->o->plan->items[item].signature);
    const struct backend *backend = r->o->setup.backend;
    return (struct isolate_limits){
        .memory_bytes = backend->maps_freely ? 0 : 2 * r->o->setup.max_bytes + library_bytes,
        .seconds = hang_s_min + 20 * flops / backend->slow_rate_flops,
    };
}

/* The verification and the library's start take wall time, too; half is for timing. */
static double timing_ns(double budget_s)
{
    return budget_s / 2 * 1e9;
}

static void run_baseline(struct run *r, size_t item, double budget_s)
{
    struct measure_baseline *out = &r->rows[item].baseline;
    struct isolate_limits limits = limits_of(r, item);
    struct isolate_end end;
    struct measure_baseline_job job = { &r->o->setup, &r->o->plan->items[item].signature,
                                        timing_ns(budget_s), NULL };
    struct measure_screen screen;
    struct isolate_end screening = { .status = RESULT_PASSED };
    if (r->o->setup.backend->screens) {
        isolate_run(measure_screen, &job, &screen, sizeof screen, &limits, &screening);
        job.screen = &screen; /* empty if that child ended badly */
    }
    isolate_run(measure_baseline, &job, out, sizeof *out, &limits, &end);
    if (screening.status != RESULT_PASSED && out->reason[0] == '\0')
        snprintf(out->reason, sizeof out->reason,
                 "the other routines of the library were not tried: %s", screening.reason);
    if (end.status != RESULT_PASSED)
        measure_no_baseline(out, end.status, end.reason);
}

/* Each case gets its part of what the phase has left, so that what one does not use is there for
 * the next; late ones still get a little. 0 when the phase has nothing left: with many cases the
 * baselines would otherwise take the candidates' time as well. */
static double next_budget(struct run *r, double part, double phase_end_s)
{
    double now = now_s(), of = r->spread;
    r->spread -= part;
    if (now >= phase_end_s)
        return 0;
    double share_s = of > 0 ? (phase_end_s - now) * part / of : 0;
    return fmax(share_s, least_part * r->o->budget_s * part);
}

static void start_phase(struct run *r, size_t nchosen)
{
    r->spread = 0;
    for (size_t i = 0; i < r->o->plan->nitems; i++)
        if (is_own(r, i))
            r->spread += weight(r, i, nchosen);
}

static bool has_order(const struct run *r)
{
    return r->o->sequence && !r->o->setup.check_only;
}

/* Wall time for the cases. */
static double cases_s(const struct run *r)
{
    return r->o->budget_s * (has_order(r) ? 1 - order_part : 1);
}

static void measure_baselines(struct run *r, size_t nchosen)
{
    double part = r->o->setup.backend->screens ? screened_part : baseline_part;
    double end_s = r->start_s + cases_s(r) * part;
    bool first = true;
    start_phase(r, nchosen);
    for (size_t i = 0; i < r->o->plan->nitems; i++) {
        if (!is_own(r, i))
            continue;
        tell(r, i, "baseline", end_s);
        double budget_s = next_budget(r, weight(r, i, nchosen), end_s);
        if (r->o->setup.check_only)
            measure_no_baseline(&r->rows[i].baseline, RESULT_NOT_VERIFIED, "");
        else if (budget_s > 0 || first)
            run_baseline(r, i, budget_s);
        else
            measure_no_baseline(&r->rows[i].baseline, RESULT_SKIPPED, budget_spent);
        r->outcome->measured += r->rows[i].baseline.status == RESULT_PASSED;
        r->done++;
        first = false;
    }
}

/* Median over the signatures of what their A/A runs showed. */
static double noise_floor(const struct run *r)
{
    double values[STATS_VALUES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < r->o->plan->nitems && count < STATS_VALUES_MAX; i++)
        if (is_own(r, i) && isfinite(r->rows[i].baseline.noise) &&
            r->rows[i].baseline.status == RESULT_PASSED)
            values[count++] = r->rows[i].baseline.noise;
    return stats_median(values, count);
}

static bool is_finding(enum result_status status)
{
    return status == RESULT_FAILED || status == RESULT_CRASHED || status == RESULT_TIMEOUT;
}

/* Nothing is faster than the device: such a time was measured wrongly, or the work was not done. */
static void refuse_impossible(const struct run *r, size_t item, struct measure_candidate *m)
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

static void run_candidate(struct run *r, size_t item, size_t candidate, double budget_s)
{
    const struct row *row = &r->rows[item];
    struct measure_candidate *out = &row->candidates[candidate];
    struct isolate_limits limits = limits_of(r, item);
    struct isolate_end end;
    struct measure_candidate_job job = {
        .setup = &r->o->setup,
        .signature = &r->o->plan->items[item].signature,
        .candidate = r->o->candidates->row[candidate],
        .baseline = &row->baseline,
        .budget_ns = timing_ns(budget_s),
    };
    isolate_run(measure_candidate, &job, out, sizeof *out, &limits, &end);
    if (end.status == RESULT_PASSED)
        refuse_impossible(r, item, out);
    else
        measure_no_candidate(out, end.status, end.reason);
    r->outcome->findings += is_finding(out->status);
}

static bool measure_candidates(struct run *r, size_t item, double budget_s, double end_s)
{
    size_t count = r->o->candidates->count;
    struct row *row = &r->rows[item];
    row->candidates = calloc(count + 1, sizeof *row->candidates);
    if (row->candidates == NULL)
        return false;
    double case_end_s = now_s() + budget_s;
    for (size_t i = 0; i < count; i++) {
        tell(r, item, r->o->candidates->row[i]->name, end_s);
        double left_s = case_end_s - now_s();
        if (left_s <= 0 && i > 0 && !r->o->setup.check_only && now_s() > end_s) {
            measure_no_candidate(&row->candidates[i], RESULT_SKIPPED, budget_spent);
            r->done++;
            continue;
        }
        run_candidate(r, item, i, left_s > 0 ? left_s / (double)(count - i) : 0);
        r->done++;
    }
    return true;
}

static struct result_candidate candidate_row(const struct tilewise_candidate *candidate,
                                             const struct measure_candidate *m)
{
    return (struct result_candidate){
        .name = (char *)candidate->name,
        .reason = (char *)m->reason,
        .status = (uint8_t)m->status,
        .call = (uint8_t)m->call,
        .deterministic = m->deterministic,
        .rounds = m->rounds,
        .time_ns = m->time_ns,
        .ratio_recorded = m->recorded.mid,
        .recorded_lo = m->recorded.lo,
        .recorded_hi = m->recorded.hi,
        .ratio_best = m->best.mid,
        .best_lo = m->best.lo,
        .best_hi = m->best.hi,
        .worst_error = m->worst_error,
    };
}

static enum result_status fate_status(enum plan_fate fate)
{
    return fate == PLAN_UNSUPPORTED ? RESULT_UNSUPPORTED : RESULT_SKIPPED;
}

/* Of one call, in the measure that the replay takes: time on the device. */
static double recorded_ns(const struct run *r, const struct plan_item *p)
{
    bool elsewhere = r->o->setup.backend->kernels != NULL; /* calls only enqueue the work */
    double ns = elsewhere ? p->gpu_time_ns : (double)p->time_ns;
    return ns > 0 && p->calls ? ns / (double)p->calls : NAN;
}

/* The row of an item in the result file and on the screen. Candidates that do not support the
 * signature are left out: they were never an offer for it. */
static enum status put_case(struct run *r, size_t item)
{
    const struct plan_item *p = &r->o->plan->items[item];
    bool chosen = is_chosen(r, item);
    const struct row *row = &r->rows[is_own(r, item) || !chosen ? item : p->twin];
    struct result_candidate candidates[CANDIDATES_MAX];
    size_t count = 0;
    for (size_t i = 0; chosen && row->candidates && i < r->o->candidates->count; i++)
        if (row->candidates[i].status != RESULT_UNSUPPORTED || row->candidates[i].reason[0])
            candidates[count++] = candidate_row(r->o->candidates->row[i], &row->candidates[i]);
    struct result_case out = {
        .signature = plan_recorded(p),
        .entry = (char *)p->entry,
        .calls = p->calls,
        .time_ns = p->time_ns,
        .time_share = p->time_share,
        .status = (uint8_t)(chosen ? row->baseline.status : fate_status(p->fate)),
        .reason = (char *)(chosen && row->baseline.reason[0] ? row->baseline.reason : p->reason),
        .baseline_recorded_ns = chosen ? row->baseline.recorded_ns : NAN,
        .baseline_best_ns = chosen ? row->baseline.best_ns : NAN,
        .baseline_best = (char *)(chosen ? row->baseline.best_name : ""),
        .clock_mhz = chosen ? row->baseline.clock.mhz : NAN,
        .slowed_share = chosen ? row->baseline.clock.slowed_share : NAN,
        .gpu_time_ns = p->gpu_time_ns > 0 ? p->gpu_time_ns : NAN,
        .kernel_ns = chosen ? row->baseline.kernels.ns : NAN,
        .kernels = (char *)(chosen ? row->baseline.kernels.names : ""),
        .recorded_ns = recorded_ns(r, p),
        .noise = chosen ? row->baseline.noise : NAN,
        .ncandidates = count,
        .candidates = candidates,
    };
    if (r->o->on_case)
        r->o->on_case(r->o->context, item, &out);
    return r->o->writer ? result_put_case(r->o->writer, &out) : ST_OK;
}

/* What a dispatch table would call for an item: the quickest kernel that is faster beyond doubt. */
static const struct tilewise_candidate *choice_of(const struct run *r, size_t item)
{
    const struct row *row = &r->rows[r->o->plan->items[item].twin];
    const struct tilewise_candidate *best = NULL;
    double best_ratio = 0;
    for (size_t i = 0; row->candidates && i < r->o->candidates->count; i++)
        if (row->candidates[i].status == RESULT_PASSED &&
            row->candidates[i].call == RESULT_FASTER && row->candidates[i].best.mid > best_ratio) {
            best_ratio = row->candidates[i].best.mid;
            best = r->o->candidates->row[i];
        }
    return best;
}

static enum status run_order(struct run *r)
{
    size_t nitems = r->o->plan->nitems;
    const struct tilewise_candidate **choice = calloc(nitems, sizeof *choice);
    if (choice == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < nitems; i++)
        choice[i] = r->o->plan->items[i].fate == PLAN_MEASURE ? choice_of(r, i) : NULL;
    struct replay_order order = {
        .options = r->o,
        .choice = choice,
        .bandwidth_bytes_per_s =
            r->survey.nceilings ? r->survey.ceilings[0].bandwidth_bytes_per_s : NAN,
        .budget_s = fmax(r->start_s + r->o->budget_s - now_s(), order_s_min),
    };
    enum status st = replay_order_run(&order);
    free(choice);
    return st;
}

static enum status measure_cases(struct run *r, size_t nchosen)
{
    double end_s = r->start_s + cases_s(r);
    bool first = true; /* a budget that is gone still buys the largest case */
    start_phase(r, nchosen);
    for (size_t i = 0; i < r->o->plan->nitems; i++) {
        if (r->o->only != REPLAY_ALL && r->o->only != (int64_t)i)
            continue;
        enum result_status baseline = r->rows[i].baseline.status;
        if (is_own(r, i)) {
            double budget_s = next_budget(r, weight(r, i, nchosen), end_s);
            bool ready = baseline == RESULT_PASSED || r->o->setup.check_only;
            if (ready && (budget_s > 0 || first || r->o->setup.check_only)) {
                first = false;
                if (!measure_candidates(r, i, budget_s, end_s))
                    return ST_NOMEM;
            } else {
                r->done += r->o->candidates->count;
            }
        }
        enum status st = put_case(r, i);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status put_run(struct run *r)
{
    char date[32], host[256] = "", protocol[256];
    const struct measure_setup *setup = &r->o->setup;
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    gethostname(host, sizeof host - 1);
    snprintf(protocol, sizeof protocol,
             "ABBA rounds, %s buffers, normal data, ratios: exp of the median ln with 95 %% "
             "bootstrap interval, decided at %.5f",
             setup->cold ? "cold rotated" : "hot", setup->level);
    struct result_run row = {
        .tilewise_version = TILEWISE_VERSION,
        .date_utc = date,
        .command = (char *)(r->o->command ? r->o->command : ""),
        .host = host,
        .backend = (char *)setup->backend->name,
        .device = r->survey.info.device,
        .baseline_library = r->survey.info.library,
        .baseline_core = r->survey.info.core,
        .protocol = protocol,
        .baseline_capped = r->survey.info.capped[0] != '\0',
        .threads = r->survey.info.threads,
        .trace_shards = r->o->trace_shards,
        .planned_cases = r->o->plan->nplanned,
        .unplanned_cases = r->o->plan->nitems - r->o->plan->nplanned,
        .planned_time_share = r->o->plan->planned_time_share,
        .noise_floor = r->noise,
        .trace_device = (char *)(r->o->trace_device ? r->o->trace_device : ""),
    };
    r->outcome->capped = row.baseline_capped;
    enum status st = r->o->writer ? result_put_run(r->o->writer, &row) : ST_OK;
    for (size_t i = 0; st == ST_OK && r->o->writer && i < r->survey.nceilings; i++)
        st = result_put_ceiling(r->o->writer, &r->survey.ceilings[i]);
    if (r->o->on_start)
        r->o->on_start(r->o->context, &row, r->survey.info.capped);
    return st;
}

static enum status survey(struct run *r, struct fault *fault)
{
    struct isolate_end end;
    struct isolate_limits limits = { .seconds = 2 * hang_s_min };
    struct measure_survey_job job = { .setup = &r->o->setup };
    for (size_t i = 0; i < r->o->plan->nitems; i++) {
        uint8_t dtype = signature_rate_dtype(&r->o->plan->items[i].signature);
        bool known = !is_own(r, i) || memchr(job.dtypes, dtype, job.ndtypes) != NULL;
        if (!known && job.ndtypes < MEASURE_DTYPES_MAX)
            job.dtypes[job.ndtypes++] = dtype;
    }
    isolate_run(measure_survey, &job, &r->survey, sizeof r->survey, &limits, &end);
    if (end.status != RESULT_PASSED)
        return fault_set(fault, ST_DEVICE, "the baseline library could not be measured: %s",
                         end.reason);
    if (r->survey.status != ST_OK && fault)
        *fault = r->survey.fault;
    return r->survey.status;
}

static enum status run_phases(struct run *r, struct fault *fault)
{
    size_t nchosen = count_chosen(r);
    r->total = nchosen * (r->o->candidates->count + 1);
    enum status st = survey(r, fault);
    if (st != ST_OK)
        return st;
    r->start_s = now_s(); /* what the machine can do is asked once, whatever the budget */
    measure_baselines(r, nchosen);
    r->noise = noise_floor(r);
    st = put_run(r);
    if (st == ST_OK)
        st = measure_cases(r, nchosen);
    if (st == ST_OK && has_order(r))
        st = run_order(r);
    return st == ST_OK
               ? st
               : fault_set(fault, st, "writing the result file failed: %s", status_text(st));
}

enum status replay_run(const struct replay_options *options, struct replay_outcome *outcome,
                       struct fault *fault)
{
    size_t nitems = options->plan->nitems;
    struct run r = { .o = options, .outcome = outcome, .start_s = now_s() };
    *outcome = (struct replay_outcome){ 0 };
    if (options->only != REPLAY_ALL && (options->only < 0 || (uint64_t)options->only >= nitems))
        return fault_set(fault, ST_INVALID, "no shape %lld: the plan has 1 to %zu",
                         (long long)options->only + 1, nitems);
    r.rows = calloc(nitems, sizeof *r.rows);
    if (r.rows == NULL)
        return fault_set(fault, ST_NOMEM, "out of memory");
    enum status st = run_phases(&r, fault);
    for (size_t i = 0; i < nitems; i++)
        free(r.rows[i].candidates);
    free(r.rows);
    return st;
}
