/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_spans.h"

double causal_spans_union(const struct causal_window *window, uint32_t group, enum causal_kind most)
{
    double length = 0;
    uint64_t covered = 0;
    for (size_t i = 0; i < window->count; i++) {
        const struct causal_work *w = &window->work[i];
        if (group == CAUSAL_NO_GROUP ? w->kind > most : !causal_spans_is_of(w, group))
            continue;
        uint64_t from = w->start_ns > covered ? w->start_ns : covered;
        if (w->end_ns > from) {
            length += (double)(w->end_ns - from);
            covered = w->end_ns;
        }
    }
    return length;
}

void causal_spans_idle(const struct causal_window *window, double latency_ns, double origin,
                       double over, struct causal_span *span)
{
    double covered = origin;
    for (size_t i = 0; i < window->count; i++) {
        const struct causal_work *w = &window->work[i];
        double start = (double)w->start_ns, launched = (double)causal_spans_launch(w) + latency_ns;
        if (start > covered && causal_spans_launch(w) != CAUSAL_NO_TIME && launched > covered) {
            span->host_ns += (launched < start ? launched : start) - covered;
            covered = launched < start ? launched : start;
        }
        if (start > covered)
            span->wait_ns += start - covered;
        covered = (double)w->end_ns > covered ? (double)w->end_ns : covered;
    }
    if (over > covered)
        span->host_ns += over - covered;
}
