/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/evidence.h"

#include <math.h>

uint64_t evidence_missing(const struct summary *s)
{
    uint64_t lost = loss_total(&s->counters);
    uint64_t kept = s->counters.seen > lost ? s->counters.seen - lost : 0;
    return kept > s->calls ? kept - s->calls : 0;
}

double evidence_coverage_calls(const struct summary *s)
{
    const struct trace_counters *c = &s->counters;
    return c->seen ? fmin((double)s->calls / (double)c->seen, 1) : NAN;
}

/* Calls that are not in the trace are taken at the mean duration of those that are. */
static double coverage_time(const struct summary *s)
{
    double good_ns = 0, other_ns = 0;
    for (size_t i = 0; i < s->nsignatures; i++) {
        const struct summary_signature *row = &s->signatures[i];
        bool good =
            !(row->signature.flags & TILEWISE_NOT_REPLAYABLE) && signature_is_sane(&row->signature);
        *(good ? &good_ns : &other_ns) += (double)row->time_ns;
    }
    double mean_ns = s->calls ? (double)s->time_ns / (double)s->calls : NAN;
    double lost_calls = (double)loss_total(&s->counters) + (double)evidence_missing(s);
    return good_ns / (good_ns + other_ns + (lost_calls > 0 ? lost_calls * mean_ns : 0));
}

struct decide_evidence evidence_of(const struct summary *s, const struct policy_evidence *policy)
{
    struct decide_evidence e = { .coverage_time = coverage_time(s) };
    double lost_calls = (double)loss_total(&s->counters) + (double)evidence_missing(s);
    e.lost_share = s->counters.seen ? lost_calls / (double)s->counters.seen : NAN;
    for (size_t w = 0; w < s->nwindows; w++)
        e.windows += s->windows[w].calls >= policy->calls_per_window;
    return e;
}
