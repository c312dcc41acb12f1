/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes one trace or result file, frame by frame, append-only, with write(2) alone. Used inside
 * foreign processes by the shim's writer thread: after writer_open nothing allocates from the heap
 * (memory is mapped), locks, prints or uses stdio, and errno is the caller's to keep. One thread.
 *
 * Rows are collected in memory until writer_flush makes one frame of them. A frame that cannot be
 * written is undone: the file is cut back to the last good frame, so that the next one may follow
 * it.
 */
#ifndef TILEWISE_TRACES_WRITER_H
#define TILEWISE_TRACES_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/counters.h"
#include "traces/format.h"
#include "traces/gpu.h"
#include "traces/histogram.h"
#include "traces/signature.h"
#include "traces/status.h"

struct writer; /* opaque */

struct writer_options {
    enum trace_kind kind;
    struct shard_id shard;
    uint32_t tick_ns;        /* 0 = TRACE_TICK_NS */
    uint64_t size_cap_bytes; /* of the file; 0 = none */
    uint64_t start_mono_ns;  /* CLOCK_MONOTONIC when recording began: event times count from here */
    int level;               /* zstd level, 0 = 5 */
    bool untimed;            /* events without times: their signatures in order, nothing else */
};

/* Take over `fd` (empty, writable; closed by writer_close) and write the header.
 * IO: errno tells why. NOMEM. */
enum status writer_open(struct writer **out, int fd, const struct writer_options *options);

/* Intern a string (entry point, kernel, device, ...): same bytes, same id. Longer ones are cut at
 * TRACE_STRING_BYTES_MAX. Id 0 is the empty string. LIMIT, NOMEM. */
enum status writer_string(struct writer *w, const char *text, size_t bytes, uint32_t *id);

/* Intern a signature whose `entry` is a string id of this writer. LIMIT when
 * TRACE_SIGNATURES_MAX are known already: the caller counts its calls as dropped. */
enum status writer_signature(struct writer *w, const struct tilewise_signature *s, uint32_t *id);

/* A fact about the process: ("library", "libopenblas.so.0 ..."), ("core", ...), ("note", ...).
 * Repeated in the file so that a damaged frame does not lose it. */
enum status writer_fact(struct writer *w, const char *key, const char *value);

struct writer_event {
    uint32_t signature;   /* id from writer_signature */
    uint32_t duration_ns; /* saturated */
    uint64_t start_ns; /* since start_mono_ns; never decreasing within one call of writer_events */
};

/* `count` calls of one thread on one stream, in order of start.
 * Rows are copied, all of them or none. LIMIT when writer_pending_bytes would pass
 * TRACE_FRAME_RAW_MAX: flush, then hand them over again (at most 65,536 at once, so that they fit
 * an empty frame). INVALID: unknown signature, thread number or time out of range. NOMEM. */
enum status writer_events(struct writer *w, uint32_t thread, uint32_t stream,
                          const struct writer_event *events, size_t count);

/* Counts-layer increment: calls that have no event. LIMIT as above; INVALID. */
struct writer_count {
    uint64_t calls, sum_ns, min_ns, max_ns;
    struct histogram histogram;
};
enum status writer_count(struct writer *w, uint32_t signature, const struct writer_count *count);

/* What was measured of the GPU; name and signature are ids of this writer. LIMIT as above; INVALID:
 * an unknown id, or numbers that contradict each other. */
enum status writer_gpu_kernel(struct writer *w, const struct gpu_kernel *kernel);
enum status writer_gpu_window(struct writer *w, const struct gpu_window *window);
/* Of a window whose row was written in this frame or the one before. INVALID: an unknown id, or
 * intervals out of order. */
enum status writer_gpu_intervals(struct writer *w, const struct gpu_intervals *intervals);
/* As they are in the next frame; the last ones given before a flush count. */
enum status writer_gpu_totals(struct writer *w, const struct gpu_totals *totals);

/* Any other record (results; phases, by phasecode.h), by section type; at most TRACE_FRAME_RAW_MAX
 * - 4096 bytes. */
enum status writer_blob(struct writer *w, uint32_t section, const void *bytes, size_t count);

/* Bytes collected and not yet written: flush well before TRACE_FRAME_RAW_MAX. */
size_t writer_pending_bytes(const struct writer *w);

/* Write what was collected as one frame with these counters; without rows it writes an empty frame
 * (a heartbeat that carries the counters). `now_ns` since start_mono_ns. After a failure the
 * pending rows are gone and the counters in the file stay as they were: the caller moves what this
 * frame would have recorded to dropped[cause]. LIMIT: size cap reached (nothing more will be
 * written but the footer). IO: errno tells why. */
enum status writer_flush(struct writer *w, const struct trace_counters *counters, uint64_t now_ns);

/* Write what is pending and the footer (the mark of a clean end), then close. When that fails the
 * file is closed all the same, without a footer. Accepts NULL. */
enum status writer_close(struct writer *w, const struct trace_counters *counters, uint64_t now_ns);

/* Close the descriptor and free, without a footer: for a fork child or a lost disk. */
void writer_abandon(struct writer *w);

uint64_t writer_file_bytes(const struct writer *w);

#endif
