/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "replayer/clock.h"
#include "replayer/isolate.h"
#include "replayer/replay_order.h"
#include "replayer/replay_run.h"

static const double order_s_least = 1;      /* what the replay in order gets in any case */
static const double survey_part_max = 0.25; /* of the budget: what a slow survey is charged */
static const double survey_s_max = 60;

/* Median over the signatures of what their A/A runs showed. */
static double noise_floor(const struct replay_state *r)
{
    double values[STATS_VALUES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < r->o->plan->nitems && count < STATS_VALUES_MAX; i++)
        if (replay_is_own(r, i) && isfinite(r->rows[i].baseline.noise) &&
            r->rows[i].baseline.status == RESULT_PASSED)
            values[count++] = r->rows[i].baseline.noise;
    return stats_median(values, count);
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
static double recorded_ns(const struct replay_state *r, const struct plan_item *p)
{
    bool elsewhere = r->o->setup.backend->kernels != NULL; /* calls only enqueue the work */
    double ns = elsewhere ? p->gpu_time_ns : p->on_gpu ? NAN : (double)p->time_ns;
    return ns > 0 && p->calls ? ns / (double)p->calls : NAN;
}

/* The row of an item in the result file and on the screen. Candidates that do not support the
 * signature are left out: they were never an offer for it. */
static enum status put_case(struct replay_state *r, size_t item)
{
    const struct plan_item *p = &r->o->plan->items[item];
    bool chosen = replay_is_chosen(r, item);
    const struct replay_row *row = &r->rows[replay_is_own(r, item) || !chosen ? item : p->twin];
    struct result_candidate candidates[CANDIDATES_MAX];
    size_t count = 0;
    char second[2 * COMPANION_TEXT_BYTES + 2] = "";
    if (chosen && r->o->companion)
        snprintf(second, sizeof second, "%s%s%s", r->o->companion->name,
                 row->second.call[0] ? ": " : "", row->second.call);
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
        .kernel_ns = chosen ? row->kernels.ns : NAN,
        .kernels = (char *)(chosen ? row->kernels.names : ""),
        .recorded_ns = recorded_ns(r, p),
        .noise = chosen ? row->baseline.noise : NAN,
        .second = second,
        .second_reason = (char *)(chosen ? row->second.reason : ""),
        .second_ns = chosen ? row->second.time_ns : NAN,
        .second_ratio = chosen ? row->second.ratio.mid : NAN,
        .second_lo = chosen ? row->second.ratio.lo : NAN,
        .second_hi = chosen ? row->second.ratio.hi : NAN,
        .ncandidates = count,
        .candidates = candidates,
    };
    if (r->o->on_case)
        r->o->on_case(r->o->context, item, &out, chosen && row->tried);
    return r->o->writer ? result_put_case(r->o->writer, &out) : ST_OK;
}

/* What a dispatch table would call for an item: the quickest kernel that is faster beyond doubt. */
static const struct tilewise_candidate *choice_of(const struct replay_state *r, size_t item)
{
    const struct replay_row *row = &r->rows[r->o->plan->items[item].twin];
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

static enum status run_order(struct replay_state *r)
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
        .budget_s = fmax(r->start_s + r->o->budget_s - clock_now_s(), order_s_least),
    };
    enum status st = replay_order_run(&order);
    free(choice);
    return st;
}

static enum status measure_cases(struct replay_state *r)
{
    replay_begin_candidates(r);
    for (size_t i = 0; i < r->o->plan->nitems; i++) {
        if (r->o->only != REPLAY_ALL && r->o->only != (int64_t)i)
            continue;
        if (replay_is_own(r, i) && !replay_measure_candidates(r, i))
            return ST_NOMEM;
        enum status st = put_case(r, i);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status put_run(struct replay_state *r)
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

static enum status survey(struct replay_state *r, struct fault *fault)
{
    struct isolate_end end;
    struct isolate_limits limits = { .seconds = survey_s_max };
    struct measure_survey_job job = { .setup = &r->o->setup };
    for (size_t i = 0; i < r->o->plan->nitems; i++) {
        uint8_t dtype = signature_rate_dtype(&r->o->plan->items[i].signature);
        bool known = !replay_is_own(r, i) || memchr(job.dtypes, dtype, job.ndtypes) != NULL;
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

static enum status run_phases(struct replay_state *r, struct fault *fault)
{
    double start_s = clock_now_s();
    r->total = replay_steps(r);
    enum status st = survey(r, fault);
    if (st != ST_OK)
        return st;
    /* What the machine can do is asked once, and must not take a short budget's cases away. */
    r->from_s = clock_now_s();
    r->start_s = fmax(start_s, r->from_s - survey_part_max * r->o->budget_s);
    replay_find_offers(r);
    replay_measure_baselines(r);
    r->noise = noise_floor(r);
    st = put_run(r);
    if (st == ST_OK)
        st = measure_cases(r);
    isolate_close(&r->worker);
    if (st == ST_OK && replay_has_order(r))
        st = run_order(r);
    return st == ST_OK
               ? st
               : fault_set(fault, st, "writing the result file failed: %s", status_text(st));
}

enum status replay_run(const struct replay_options *options, struct replay_outcome *outcome,
                       struct fault *fault)
{
    size_t nitems = options->plan->nitems;
    struct replay_state r = { .o = options, .outcome = outcome };
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
