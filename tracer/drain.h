/* SPDX-License-Identifier: Apache-2.0
 *
 * From the threads' rings and tables to frames of the trace, with the accounting: whatever was
 * taken out of a thread is either in the file or in a loss counter. The writer thread only.
 */
#ifndef TILEWISE_TRACER_DRAIN_H
#define TILEWISE_TRACER_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/nvtx_range.h"
#include "tracer/thread.h"
#include "traces/counters.h"
#include "traces/writer.h"

struct drain {
    struct writer *w;
    struct trace_counters counters;    /* as they will be when the pending rows are written */
    uint64_t pending, pending_untimed; /* calls in rows that are not written yet */
    uint64_t told;                     /* calls that the counters in the file account for */
    uint64_t cpu_start_ns;
    uint64_t retry_ns;      /* after a failed write: nothing is tried before then */
    enum loss_cause closed; /* why rows are dropped until then */
    bool is_full;           /* the size cap was reached: only the footer follows */
    /* String id of an entry point, operators behind hooks; 0 = not yet. */
    uint32_t entry_string[NVTX_OP_FIRST + NVTX_OPS];
};

void drain_init(struct drain *d, struct writer *w);

/* Take all events that wait; writes frames when much is pending. Returns how many there were. */
uint64_t drain_events(struct drain *d);

/* Take the counts of calls without events, and write one frame. */
void drain_frame(struct drain *d);

/* The counters as the next frame would state them. What still waits in the rings is not among them,
 * so `seen` is what they add up to: recorded + dropped. */
struct trace_counters drain_counters(const struct drain *d);

/* The same once everything is drained. `seen` is what the threads counted themselves, so that a
 * call lost on the way to the file would show; what came after the last drain is dropped as
 * `shutdown`. */
struct trace_counters drain_last_counters(const struct drain *d);

/* The file's id of signature `entry` of a thread's table; UINT32_MAX: the file takes no more. */
uint32_t drain_signature(struct drain *d, struct thread *t, uint32_t entry);

/* Is there more of GPU time and phases than the last frame held, in a file that takes it? */
bool drain_has_more(const struct drain *d);

/* Has anything happened that the file does not tell yet? */
bool drain_is_dirty(const struct drain *d);

#endif
