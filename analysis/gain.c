/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/gain.h"

#include <math.h>
#include <string.h>

/* Ratios within this factor of 1 are noise: the A/A runs' band, at least the policy's margin. */
static double least_ratio(const struct result_set *results, const struct policy *policy)
{
    double noise = 0;
    for (size_t i = 0; i < results->nruns; i++)
        noise = fmax(noise, results->runs[i].noise_floor); /* fmax drops an unknown one */
    return fmax(exp(noise), 1 + policy->gain.noise);
}

static bool believable(const struct result_case *row, const struct result_candidate *c,
                       const struct result_set *results, const struct policy *policy)
{
    const struct result_ceiling *ceiling =
        headroom_ceiling(results, signature_rate_dtype(&row->signature));
    return c->status == RESULT_PASSED && c->call != RESULT_CALL_NONE && c->ratio_best > 0 &&
           !headroom_above_ceiling(&row->signature, ceiling, c->time_ns, &policy->headroom);
}

const struct result_candidate *gain_winner(const struct result_case *row,
                                           const struct result_set *results,
                                           const struct policy *policy)
{
    const struct result_candidate *best = NULL;
    double least = least_ratio(results, policy);
    for (size_t i = 0; i < row->ncandidates; i++) {
        const struct result_candidate *c = &row->candidates[i];
        if (believable(row, c, results, policy) && c->best_lo > least &&
            (!best || c->best_lo > best->best_lo))
            best = c;
    }
    return best;
}

/* Largest lower bound against the recorded call. */
static double recorded_lo(const struct result_case *row, const struct gain_input *in,
                          const struct policy *policy)
{
    double best = NAN;
    for (size_t i = 0; i < row->ncandidates; i++)
        if (believable(row, &row->candidates[i], in->results, policy))
            best = fmax(best, row->candidates[i].recorded_lo);
    return best;
}

/* 1 - 1/r where r is above noise, 0 elsewhere. */
static double saving(double ratio, double least)
{
    return ratio > least ? 1 - 1 / ratio : 0;
}

/* The kernels that a dispatch table for the group would hold. */
struct table {
    const char *names[64];
    size_t count;
};

static bool in_table(const struct table *t, const char *kernel)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->names[i], kernel) == 0)
            return true;
    return false;
}

static void add_to_table(struct table *t, const char *kernel)
{
    if (!in_table(t, kernel) && t->count < sizeof t->names / sizeof *t->names)
        t->names[t->count++] = kernel;
}

/* The best that the table's kernels do on a verified shape; NaN if none of them was timed there. */
static double table_ratio(const struct table *t, const struct gain_input *in,
                          const struct result_case *row, const struct policy *policy)
{
    double best = NAN;
    for (size_t i = 0; i < row->ncandidates; i++) {
        const struct result_candidate *c = &row->candidates[i];
        if (believable(row, c, in->results, policy) && in_table(t, c->name))
            best = fmax(best, c->ratio_best);
    }
    return best;
}

static bool any_passed(const struct result_case *row)
{
    for (size_t i = 0; i < row->ncandidates; i++)
        if (row->candidates[i].status == RESULT_PASSED)
            return true;
    return false;
}

static void add_table_losses(struct decide_replay *out, const struct table *t,
                             const struct gain_input *in, const struct policy *policy)
{
    for (size_t i = 0; i < in->count; i++) {
        if (!in->rows[i].result)
            continue;
        double ratio = table_ratio(t, in, in->rows[i].result, policy);
        out->worst_ratio = fmin(out->worst_ratio, ratio);
        out->losing += ratio < policy->gain.worst_ratio;
    }
}

/* Largest upper bound of a verified candidate that the replay could not tell from the baseline. */
static double unclear_hi(const struct result_case *row, const struct gain_input *in,
                         const struct policy *policy)
{
    double best = NAN;
    for (size_t i = 0; i < row->ncandidates; i++)
        if (row->candidates[i].call == RESULT_UNCLEAR &&
            believable(row, &row->candidates[i], in->results, policy))
            best = fmax(best, row->candidates[i].best_hi);
    return best;
}

/* One shape's part of every sum; `share` is its part of the whole, E_s. */
static void add_row(struct decide_replay *out, struct table *table, const struct gain_row *row,
                    const struct gain_input *in, const struct policy *policy)
{
    const struct result_case *r = row->result;
    const struct result_candidate *winner = gain_winner(r, in->results, policy);
    const struct result_ceiling *ceiling =
        headroom_ceiling(in->results, signature_rate_dtype(&r->signature));
    double least = least_ratio(in->results, policy), part = row->time_ns / in->time_ns,
           share = in->heat * part;
    double h = headroom_of(r, ceiling, &policy->headroom);
    out->present = true;
    out->passed += any_passed(r);
    if (r->baseline_best_ns > 0)
        out->replayed_share += part;
    if (!isnan(h)) {
        out->headroom = (isnan(out->headroom) ? 0 : out->headroom) + part * h;
        out->headroom_share += part;
    }
    out->library_gain += share * saving(r->baseline_recorded_ns / r->baseline_best_ns, least);
    out->gain_recorded_lo += share * in->cov05 * saving(recorded_lo(r, in, policy), least);
    double hi = winner ? NAN : unclear_hi(r, in, policy);
    out->unclear += hi > least;
    out->unclear_gain += share * saving(hi, least);
    if (winner) {
        out->winning++;
        out->order_lo += share * in->cov05 * saving(winner->recorded_lo, 1);
        out->order_hi += share * saving(winner->recorded_hi, 1);
        add_to_table(table, winner->name);
        out->deterministic &= winner->deterministic;
        out->gain_lo += share * in->cov05 * saving(winner->best_lo, least);
        out->gain_hi += share * saving(winner->best_hi, least);
    }
}

void gain_measure(struct decide_replay *out, const struct gain_input *in,
                  const struct policy *policy)
{
    *out = (struct decide_replay){
        .potential = NAN,
        .headroom = NAN,
        .worst_ratio = NAN,
        .deterministic = true,
    };
    struct table table = { .count = 0 };
    uint64_t calls = 0;
    for (size_t i = 0; i < in->results->nruns; i++)
        out->capped |= in->results->runs[i].baseline_capped;
    for (size_t i = 0; i < in->count; i++) {
        calls += in->rows[i].calls;
        if (in->rows[i].result && in->time_ns > 0)
            add_row(out, &table, &in->rows[i], in, policy);
    }
    if (out->headroom_share > 0)
        out->headroom /= out->headroom_share;
    if (out->winning == 0)
        return;
    double dispatch = (double)calls * policy->gain.dispatch_s * 1e9 / (double)in->wall_ns;
    out->gain_lo -= dispatch;
    out->gain_hi -= dispatch;
    out->gain_recorded_lo -= dispatch;
    add_table_losses(out, &table, in, policy);
}
