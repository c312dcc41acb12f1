/* SPDX-License-Identifier: Apache-2.0
 *
 * Why the work of a window started when it did, and for what the host waited: causal_streams.h
 * replays it by that. Rules and assumptions: docs/decision.md.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_PLAN_H
#define TILEWISE_ANALYSIS_CAUSAL_PLAN_H

#include "analysis/causal_streams.h"

#define CAUSAL_NOTHING SIZE_MAX

/* Work as the replay sees it. Indexes are places in the window, or CAUSAL_NOTHING. */
struct causal_node {
    size_t launch, before, other; /* of its launch; on its stream; on another stream */
    uint32_t rank;                /* among those of its launch on its stream */
    double lag_ns;                /* from what it waited for to its start */
    double slack_ns;              /* at most 0: overlap with the one before */
    enum { CAUSAL_BY_LAUNCH, CAUSAL_BY_STREAM, CAUSAL_BY_OTHER, CAUSAL_BY_CLOCK } cause;
};

struct causal_launch {
    uint64_t at_ns;
    size_t awaited; /* the work that the host waited for, or CAUSAL_NOTHING */
    size_t nodes;   /* what it launched */
};

/* All zero before the first use. */
struct causal_plan {
    const struct causal_window *window;
    size_t capacity, nlaunches;
    struct causal_node *nodes;      /* of the work of the window */
    struct causal_launch *launches; /* in order of time */
    size_t *by_end;                 /* places in order of end */
    double latency_ns;              /* least from launch to start */
    double usual_gap_ns; /* median from launch to launch; in the end of those without a wait */
    double *scratch;     /* two per work */
    struct causal_branch *branches;
};

/* Memory is kept for the next window. NOMEM; free in every case. */
enum status causal_plan_make(struct causal_plan *p, const struct causal_window *window);
void causal_plan_free(struct causal_plan *p);

/* Did a host that launched nothing from here to there wait for the GPU? The work before `to_ns`
 * was over at `end_ns`. */
bool causal_plan_is_pause(const struct causal_plan *p, uint64_t from_ns, uint64_t to_ns,
                          uint64_t end_ns);

static inline double causal_plan_from_to(uint64_t from_ns, uint64_t to_ns)
{
    return (double)to_ns - (double)from_ns;
}

#endif
