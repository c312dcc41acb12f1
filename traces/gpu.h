/* SPDX-License-Identifier: Apache-2.0
 *
 * What a recorder measured of a GPU: kernels by name, by how they were launched and by the call
 * that launched them; the windows in which it looked; and when each stream was at work in a window.
 * Shared by writer, reader and summary.
 */
#ifndef TILEWISE_TRACES_GPU_H
#define TILEWISE_TRACES_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_NO_SIGNATURE UINT32_MAX
#define GPU_NO_TIME      UINT64_MAX

/* How a kernel was launched: blocks, threads of a block, and shared memory that the launch asked
 * for beyond what the kernel declares. All zero: unknown. */
struct gpu_grid {
    uint32_t grid[3], block[3], shared_bytes;
};

/* Launches of one kernel, with one grid, for one signature since the row before: in windows only.
 */
struct gpu_kernel {
    uint32_t name;      /* string id */
    uint32_t signature; /* id, GPU_NO_SIGNATURE: launched outside of recorded calls */
    uint64_t launches;
    uint64_t calls;    /* of `measured`, those that were the first kernel of their call */
    uint64_t measured; /* of `launches`, those with times */
    uint64_t sum_ns, min_ns, max_ns;
    struct gpu_grid grid;
};

/* One stretch of time in which kernels were recorded. */
struct gpu_window {
    uint64_t begin_ns, end_ns; /* on the host, since the shard's start */
    uint64_t busy_ns;          /* union of the kernels launched in it */
    uint64_t launches, records, dropped;
};

/* The time that a window stands for: up to the middle of the gap to each neighbour, and beyond a
 * first or last one as far as on its other side; its own length where it is alone. A recorder that
 * keeps to a budget opens shorter windows, and fewer, while the GPU is busy: weighed by their own
 * length, idle ones would count too much. `before`, `after`: the neighbours in the same shard, or
 * NULL. */
static inline uint64_t gpu_window_stands_for_ns(const struct gpu_window *before,
                                                const struct gpu_window *now,
                                                const struct gpu_window *after)
{
    uint64_t left = before && before->end_ns < now->begin_ns ? now->begin_ns - before->end_ns : 0;
    uint64_t right = after && after->begin_ns > now->end_ns ? after->begin_ns - now->end_ns : 0;
    return now->end_ns - now->begin_ns + (before ? left : right) / 2 + (after ? right : left) / 2;
}

/* Cumulative. Contract: launches = records + dropped. */
struct gpu_totals {
    uint64_t launches; /* kernels launched in windows, nodes of launched graphs included */
    uint64_t records;  /* of those, known by name */
    uint64_t dropped;  /* of those, without a record */
    uint64_t untimed;  /* of the records, without times */
    uint64_t windows, window_ns, busy_ns;
};

static inline void gpu_totals_add(struct gpu_totals *sum, const struct gpu_totals *t)
{
    sum->launches += t->launches;
    sum->records += t->records;
    sum->dropped += t->dropped;
    sum->untimed += t->untimed;
    sum->windows += t->windows;
    sum->window_ns += t->window_ns;
    sum->busy_ns += t->busy_ns;
}

/* What a stream worked at. */
enum gpu_work { GPU_KERNEL, GPU_COPY, GPU_FILL };

enum { GPU_SOURCES_MAX = 256 };

/* What intervals are of. */
struct gpu_source {
    uint32_t name; /* string id: the kernel, or the direction of a copy ("HtoD"); 0 of a fill */
    uint32_t signature; /* id, GPU_NO_SIGNATURE: outside of recorded calls */
    uint8_t work;       /* enum gpu_work */
    bool in_graph;      /* a node of a launched graph */
    bool is_first;      /* the first kernel of its call */
};

/* Times are on the host's clock, since the shard's start, like those of events. */
struct gpu_interval {
    uint64_t start_ns;
    uint64_t launch_ns; /* when the host launched it or its graph; GPU_NO_TIME: unknown */
    uint32_t duration_ns;
    uint32_t source; /* index into the sources that come with it */
};

/* One stream's work in one window, or a part of it: a stream's parts follow one another. */
struct gpu_intervals {
    uint64_t window_ns; /* begin of the window, as in its row: what they belong to */
    uint64_t missing;   /* kernels of that window without an interval, beyond those told before */
    uint32_t stream;    /* in order of first use, from 1; 0: beyond what the recorder tells apart */
    uint32_t device;
    size_t nsources, count;
    const struct gpu_source *sources;
    const struct gpu_interval *interval; /* in order of start */
};

#endif
