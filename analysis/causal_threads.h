/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorded timeline of host threads, replayed with the calls of one group at CAUSAL_SCALE times
 * their duration. A busy period is a stretch in which at least one call was running. Between busy
 * periods nothing changes: the host's own work is kept. Inside of one the threads are taken to be
 * independent, each keeps the gaps between its calls, and the period ends with its last thread. A
 * period longer than a block of the run is cut: what runs across goes on in the next one.
 *
 * Memory: threads that were running at once times groups. One thread.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_THREADS_H
#define TILEWISE_ANALYSIS_CAUSAL_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/status.h"

#define CAUSAL_SCALE 0.8 /* what the durations of a group are scaled by */

enum { CAUSAL_THREADS_BLOCKS = 64 }; /* of equal time */

struct causal_threads; /* opaque */

struct causal_call {
    uint32_t thread;
    uint32_t group[2]; /* below the number of groups */
    bool is_communication;
    uint64_t start_ns, duration_ns; /* since the begin of the process */
};

/* `wall_ns`: of all processes together. NOMEM. */
enum status causal_threads_open(struct causal_threads **out, size_t groups, uint64_t wall_ns);
void causal_threads_close(struct causal_threads *t); /* accepts NULL */

/* Processes come one after the other, `wall_ns` each. */
void causal_threads_begin_process(struct causal_threads *t);
void causal_threads_end_process(struct causal_threads *t, uint64_t wall_ns);

/* Calls about in order of their start: one that starts before the busy period that is open counts
 * from the end of the one before. NOMEM. */
enum status causal_threads_add(struct causal_threads *t, const struct causal_call *call);

/* After the last process. Per block: by how much the run was shorter, / (1 - CAUSAL_SCALE). */
const double *causal_threads_saved_ns(const struct causal_threads *t, uint32_t group);
/* Per block: time of the calls whose first group this is, added up over threads. */
const double *causal_threads_called_ns(const struct causal_threads *t, uint32_t group);

struct causal_threads_block {
    double busy_ns;          /* union of the calls in this block of time */
    double communication_ns; /* of it, nothing but communication was running */
};
struct causal_threads_block causal_threads_block(const struct causal_threads *t, size_t block);

struct causal_threads_totals {
    uint64_t busy_ns;          /* union of all calls */
    uint64_t communication_ns; /* of it, nothing but communication was running */
    uint64_t late_ns;          /* of calls that came too late to be placed */
    bool too_many_threads;     /* running at once: nothing here is to be used */
};
struct causal_threads_totals causal_threads_totals(const struct causal_threads *t);

#endif
