/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorded timeline of GPU streams in one window, replayed with the work of one group at
 * CAUSAL_SCALE times its duration. Rules and assumptions: docs/decision.md. In short: work starts
 * when the host has launched it, the work before it on its stream is over, and what it waited for
 * on another stream is over; whatever gap there was beyond that is kept. The host launches at the
 * recorded pace, except where it visibly waited for the GPU: then it goes on when the GPU does.
 * Replayed at full length, every start is the recorded one.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_STREAMS_H
#define TILEWISE_ANALYSIS_CAUSAL_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/status.h"

#define CAUSAL_NO_GROUP UINT32_MAX
#define CAUSAL_NO_TIME  UINT64_MAX

enum causal_kind { CAUSAL_COMPUTE, CAUSAL_COMMUNICATION, CAUSAL_COPY };

struct causal_work {
    uint64_t start_ns, end_ns;
    uint64_t launch_ns; /* by the host; equal for all nodes of a graph launch. CAUSAL_NO_TIME */
    uint32_t stream;    /* 0: streams that were not told apart */
    uint32_t group[2];  /* CAUSAL_NO_GROUP: of no recorded call */
    enum causal_kind kind;
    bool is_readback; /* a copy to the host */
};

struct causal_window {
    uint64_t begin_ns, end_ns;
    size_t count;
    const struct causal_work *work; /* in order of start */
};

/* What one window says about one group. */
struct causal_share {
    double saved_ns;  /* by how much it was shorter, / (1 - CAUSAL_SCALE) */
    double active_ns; /* union of the group's work */
};

struct causal_span {
    double span_ns; /* from begin to the end of the host and of all work */
    double busy_ns; /* union of all work */
    double host_ns; /* idle, the next work was not launched yet, or there was none */
    double wait_ns; /* idle, the next work was launched */
    double communication_ns, copy_ns; /* busy with nothing else; copies beside communication count
                                       * as communication */
};

struct causal_streams; /* opaque; memory for the largest window */

enum status causal_streams_open(struct causal_streams **out, size_t groups);
void causal_streams_close(struct causal_streams *s); /* accepts NULL */

/* shares[group] of every group (zero for those without work). NOMEM. */
enum status causal_streams_replay(struct causal_streams *s, const struct causal_window *window,
                                  struct causal_span *span, struct causal_share *shares);

#endif
