/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/evidence.h"

#include <math.h>

#include "analysis/match.h"

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

double evidence_time_ns(const struct summary *s, const struct summary_signature *row)
{
    if (s->gpu.attributed_ns == 0)
        return (double)row->time_ns;
    double gpu_ns = summary_gpu_time_ns(row);
    return isnan(gpu_ns) && !match_is_on_gpu(s, &row->signature) ? (double)row->time_ns : gpu_ns;
}

/* Calls that are not in the trace are taken at the mean duration of those that are; so are calls
 * whose kernels were not measured, which changes nothing. */
static double coverage_time(const struct summary *s)
{
    double good_ns = 0, other_ns = 0, calls = 0;
    for (size_t i = 0; i < s->nsignatures; i++) {
        const struct summary_signature *row = &s->signatures[i];
        bool good =
            !(row->signature.flags & TILEWISE_NOT_REPLAYABLE) && signature_is_sane(&row->signature);
        double time_ns = evidence_time_ns(s, row);
        if (isnan(time_ns))
            continue;
        *(good ? &good_ns : &other_ns) += time_ns;
        calls += (double)row->calls;
    }
    double mean_ns = calls > 0 ? (good_ns + other_ns) / calls : NAN;
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
