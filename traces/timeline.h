/* SPDX-License-Identifier: Apache-2.0
 *
 * What GPU streams did, window after window:
 *
 *   struct timeline *t;
 *   struct timeline_window w;
 *   enum status st = timeline_open(&t, path, fault);
 *   while (st == ST_OK && (st = timeline_next(t, &w, fault)) == ST_OK)
 *       for (size_t s = 0; s < w.nstreams; s++)
 *           for (size_t i = 0; i < w.streams[s].count; i++)
 *               use(&w.streams[s].interval[i]);
 *   timeline_close(t); // st is ST_END when all was read
 *
 * Windows come in the order of the file, that is of time within a process; streams by number, the
 * intervals of one in order of their start. What was launched before a window opened is not in it,
 * and what was launched in it may end after it. Memory is bounded: one frame's windows and at most
 * TIMELINE_WINDOW_MAX intervals of one window. Damage is skipped as by the reader; intervals of a
 * window whose own row was lost are left out. One thread.
 */
#ifndef TILEWISE_TRACES_TIMELINE_H
#define TILEWISE_TRACES_TIMELINE_H

#include "traces/reader.h"

enum { TIMELINE_WINDOW_MAX = 1 << 18 };

/* Times are on the host's clock, since the shard's start: the same as reader_events' start_ns. */
struct timeline_interval {
    uint64_t start_ns, end_ns;
    uint64_t launch_ns; /* when the host launched it, or its graph; GPU_NO_TIME: unknown */
    uint32_t name;      /* for reader_string(): the kernel, or the direction of a copy */
    uint32_t signature; /* index into reader_signatures(), or GPU_NO_SIGNATURE */
    uint32_t window;    /* of the iterator */
    uint32_t stream, device;
    uint8_t work;            /* enum gpu_work */
    bool in_graph, is_first; /* is_first: the first kernel of its call */
};

struct timeline_stream {
    uint32_t stream; /* in order of first use, from 1; 0: several that were not told apart */
    uint32_t device;
    size_t count;
    const struct timeline_interval *interval;
};

/* Pointers live until the next timeline_next. */
struct timeline_window {
    uint32_t shard; /* index into reader_shards() */
    struct gpu_window window;
    uint64_t stands_for_ns; /* gpu_window_stands_for_ns */
    uint64_t missing;       /* kernels of `records` that have no interval */
    size_t nstreams;
    const struct timeline_stream *streams;
};

struct timeline; /* opaque */

/* As reader_open and reader_open_bytes. */
enum status timeline_open(struct timeline **out, const char *path, struct fault *fault);
enum status timeline_open_bytes(struct timeline **out, const void *bytes, size_t count,
                                struct fault *fault);
/* ST_END behind the last window. NOMEM; as reader_next. */
enum status timeline_next(struct timeline *t, struct timeline_window *window, struct fault *fault);
/* Every frame of the file is shown to `see` too, once, before a window of it is delivered: its
 * events, for instance. What it returns ends timeline_next if it is not OK; then it has filled the
 * fault. */
typedef enum status timeline_see(void *context, const struct reader *r,
                                 const struct reader_frame *frame);
void timeline_watch(struct timeline *t, timeline_see *see, void *context);
/* For names, signatures and shards. */
const struct reader *timeline_reader(const struct timeline *t);
void timeline_close(struct timeline *t); /* accepts NULL */

#endif
