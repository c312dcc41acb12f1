/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything the analysis and the planner need of any number of traces, in bounded memory (256 MiB
 * however long the traces are): exact totals per signature, and the calls in windows that hold
 * equal numbers of calls. Built in one pass; the result does not depend on the order of the files;
 * the same shard given twice counts once.
 */
#ifndef TILEWISE_TRACES_SUMMARY_H
#define TILEWISE_TRACES_SUMMARY_H

#include "traces/reader.h"

enum { SUMMARY_GRIDS_MAX = 1 << 17 };

struct summary_signature {
    struct tilewise_signature signature; /* entry: index into summary.strings */
    uint64_t calls, time_ns, min_ns, max_ns;
    uint64_t gpu_calls, gpu_measured_ns; /* calls whose kernels were measured; all their time */
    struct histogram histogram;
};

/* GPU time of all calls of the signature: the mean of those that were measured, for all. NaN where
 * none was. */
double summary_gpu_time_ns(const struct summary_signature *s);

struct summary_cell {
    uint32_t signature; /* index into summary.signatures */
    uint64_t calls, time_ns;
};

/* One window: a stretch of the run, ordered by time. Sparse. */
struct summary_window {
    uint64_t begin_unix_ns, end_unix_ns, calls, time_ns;
    size_t ncells;
    const struct summary_cell *cells; /* ordered by signature */
};

/* Union of the intervals in which at least one call of this (op, dtype of C) was running. */
struct summary_op {
    uint8_t op, dtype;
    uint64_t calls, time_ns; /* sum of durations */
    uint64_t active_ns;      /* union; estimated from time_ns where calls have no events */
};

/* One kernel as launched by the calls of one signature, in the windows. */
struct summary_kernel {
    uint32_t name;      /* index into summary.strings */
    uint32_t signature; /* index into summary.signatures, or GPU_NO_SIGNATURE */
    uint64_t launches, calls, measured, time_ns, min_ns, max_ns; /* as in struct gpu_kernel */
};

/* One grid of a kernel. Launches whose grid is unknown are in the kernel's row alone. */
struct summary_grid {
    uint32_t name, signature; /* as in struct summary_kernel */
    struct gpu_grid grid;
    uint64_t launches, measured, time_ns;
};

/* The GPU in the windows. Where nothing was measured, totals.windows is 0. */
struct summary_gpu {
    struct gpu_totals totals;          /* sums over shards */
    uint64_t kernel_ns, attributed_ns; /* time of all kernels; of those with a signature */
    uint64_t intervals, missing;     /* kernels on the timeline (timeline.h), and those not there */
    uint64_t streams;                /* of it */
    uint64_t copies, fills, copy_ns; /* on it; copy_ns: time of both */
    double busy_share;       /* each window for the time it stands for (gpu.h); NaN: unknown */
    double busy_lo, busy_hi; /* interval of 95 % over windows; NaN: fewer than 2 */
};

/* A phase over all shards: ranges of that name, and the calls made while it was the innermost one
 * of their thread. */
struct summary_phase {
    uint32_t name;                    /* index into summary.strings */
    uint64_t entries, ended, time_ns; /* time of those that ended, with that of phases inside */
    uint64_t calls, call_ns;
};

struct summary_phase_cell {
    uint32_t phase, signature; /* indexes into phases and summary.signatures */
    uint64_t calls, time_ns, min_ns, max_ns;
};

struct summary_mark {
    uint32_t name; /* index into summary.strings */
    uint64_t count, first_unix_ns, last_unix_ns;
};

struct summary_phases {
    size_t nphases, ncells, nmarks;
    struct summary_phase *phases;     /* ordered by call_ns, largest first */
    struct summary_phase_cell *cells; /* ordered by signature, then phase */
    struct summary_mark *marks;       /* ordered by name */
    uint64_t lost;                    /* ranges and marks that had no room */
};

struct summary_shard {
    struct reader_shard shard;
    const char *path;          /* of the file it came from */
    uint64_t wall_ns, busy_ns; /* busy: union over all calls and threads of the process */
    uint64_t damaged_bytes, unresolved;
};

struct summary {
    size_t nshards, nsignatures, nwindows, nops, nstrings, ndamage, nfacts;
    struct summary_shard *shards;         /* ordered by shard id */
    struct summary_signature *signatures; /* ordered by time_ns, largest first */
    struct summary_window *windows;
    struct summary_op *ops; /* ordered by time_ns, largest first */
    const char **strings;
    struct reader_damage *damage;
    struct reader_fact *facts; /* union over shards, ordered, each once */
    size_t nkernels;
    struct summary_kernel *kernels; /* ordered by time_ns, largest first */
    size_t ngrids;
    struct summary_grid *grids; /* ordered by name, then by time_ns, largest first; none at all
                                 * where there are more than SUMMARY_GRIDS_MAX */
    struct summary_gpu gpu;
    struct summary_phases phases;
    struct trace_counters counters; /* sums over shards */
    uint64_t wall_ns, busy_ns;      /* sums over shards */
    uint64_t calls, time_ns;        /* sums over signatures */
    uint64_t events;                /* of the calls, those with times of their own */
    bool is_of_phase;               /* nothing but the calls of one phase */
    bool complete;                  /* every shard ended cleanly and nothing was damaged */
};

/* Read the files at `paths`. A .twr among them is refused (results: traces/result.h).
 * `windows`: how many to aim for, 0 = the default of docs/decision.md (at least 10 windows of at
 * least 1,000 calls, as many as 64). */
enum status summary_build(struct summary **out, const char *const *paths, size_t count,
                          size_t windows, struct fault *fault);
/* The same of nothing but the calls made in one phase, as if they were counts without events: no
 * histograms, windows by frames. `phase` NULL: all calls. */
enum status summary_build_phase(struct summary **out, const char *const *paths, size_t count,
                                const char *phase, struct fault *fault);
void summary_free(struct summary *s); /* accepts NULL */

#endif
