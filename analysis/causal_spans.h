/* SPDX-License-Identifier: Apache-2.0
 *
 * What a window shows as it was recorded: how long something ran, and why nothing did.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_SPANS_H
#define TILEWISE_ANALYSIS_CAUSAL_SPANS_H

#include "analysis/causal_streams.h"

/* When it was launched. Clocks of host and GPU differ by a little: nothing is launched after it
 * began. CAUSAL_NO_TIME: unknown. */
static inline uint64_t causal_spans_launch(const struct causal_work *w)
{
    return w->launch_ns < w->start_ns || w->launch_ns == CAUSAL_NO_TIME ? w->launch_ns
                                                                        : w->start_ns;
}

static inline bool causal_spans_is_of(const struct causal_work *w, uint32_t group)
{
    return w->group[0] == group || w->group[1] == group;
}

/* Length of the union of the work of a group; CAUSAL_NO_GROUP: of all work of kinds up to `most`.
 */
double causal_spans_union(const struct causal_window *window, uint32_t group,
                          enum causal_kind most);
/* Add to `span` why nothing ran between `origin` and `over`: the host, or work that was launched.
 */
void causal_spans_idle(const struct causal_window *window, double latency_ns, double origin,
                       double over, struct causal_span *span);

#endif
