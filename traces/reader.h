/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a .twt or .twr file as a stream of frames, in bounded memory, from any bytes whatever: the
 * result is frames, a list of what was lost, or one typed error. It never modifies the file, never
 * maps it, checks before it decodes, and goes on behind a damaged frame.
 */
#ifndef TILEWISE_TRACES_READER_H
#define TILEWISE_TRACES_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/counters.h"
#include "traces/format.h"
#include "traces/gpu.h"
#include "traces/histogram.h"
#include "traces/phase.h"
#include "traces/signature.h"
#include "traces/status.h"

struct reader; /* opaque */

struct reader_shard {
    struct shard_id id;
    uint32_t tick_ns;
    uint64_t start_unix_ns, start_mono_ns;
    struct trace_counters counters; /* of the last good frame so far */
    uint64_t end_ns;                /* since start: time of the last good frame */
    bool complete;                  /* the footer was read */
};

/* What was wrong with a file; one row per damaged stretch. */
struct reader_damage {
    uint64_t offset, bytes;
    char what[96]; /* "frame 17: payload checksum", "torn frame at the end", ... */
};

/* One run of events of one thread, in columns. Pointers live until the next reader_next. */
struct reader_events {
    uint32_t thread, stream;
    size_t count;
    const uint32_t *signature;   /* index into reader_signatures() */
    const uint64_t *start_ns;    /* since the shard's start, whole ticks */
    const uint32_t *duration_ns; /* whole ticks */
};

struct reader_count {
    uint32_t signature;
    uint64_t calls, sum_ns, min_ns, max_ns;
    const struct histogram *histogram;
};

struct reader_fact {
    const char *key, *value;
};

struct reader_blob {
    uint32_t section;
    const uint8_t *bytes;
    size_t count;
};

struct reader_frame {
    uint32_t shard; /* index into reader_shards() */
    uint64_t sequence, begin_ns, end_ns;
    struct trace_counters counters; /* cumulative, of that shard */
    uint64_t unresolved; /* events whose signature was in a lost frame: not in `events` */
    size_t nevents, ncounts, nfacts, nblobs;
    const struct reader_events *events; /* one row per thread and stream */
    const struct reader_count *counts;
    const struct reader_fact *facts;
    const struct reader_blob *blobs;
    /* Names are indexes for reader_string(), signatures into reader_signatures(); 0 and
     * GPU_NO_SIGNATURE where the definition was in a lost frame. */
    size_t nkernels, ngpu_windows;
    const struct gpu_kernel *kernels;
    const struct gpu_window *gpu_windows;
    const struct gpu_totals *gpu_totals; /* cumulative, of that shard; NULL: none in this frame */
    const struct phase_rows *phases;     /* ids as in kernels; NULL: none in this frame */
    /* Ids in sources as in kernels. Whole windows with their streams: timeline.h. */
    size_t nintervals;
    const struct gpu_intervals *intervals;
};

/* Open and check the header. IO, FORMAT (with offset and remedy), VERSION, NOMEM. */
enum status reader_open(struct reader **out, const char *path, struct fault *fault);
/* The same from memory (not copied; must outlive the reader); for tests. */
enum status reader_open_bytes(struct reader **out, const void *bytes, size_t count,
                              struct fault *fault);

/* Next good frame; ST_END at the end of the file. Damage is skipped, and listed. */
enum status reader_next(struct reader *r, struct reader_frame *frame, struct fault *fault);

/* The file is still being written: half a frame at its end is no damage, and reader_next may be
 * called again after END, when there is more. */
void reader_follow(struct reader *r);

enum trace_kind reader_kind(const struct reader *r);
const struct reader_shard *reader_shards(const struct reader *r, size_t *count);
/* All signatures met so far; `entry` is an index for reader_string(). */
const struct tilewise_signature *reader_signatures(const struct reader *r, size_t *count);
const char *reader_string(const struct reader *r, uint32_t id);
const struct reader_damage *reader_damage(const struct reader *r, size_t *count);
uint64_t reader_bytes(const struct reader *r); /* bytes of the file read so far */

void reader_close(struct reader *r); /* accepts NULL */

#endif
