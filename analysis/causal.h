/* SPDX-License-Identifier: Apache-2.0
 *
 * Causal heat: by how much the recorded run would have been shorter with the calls of a group at
 * CAUSAL_SCALE times their duration, by replaying its timeline (causal_threads.h for calls on the
 * CPU, causal_streams.h for a GPU), and why what computes was idle. Reads the files of the summary
 * once more.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_H
#define TILEWISE_ANALYSIS_CAUSAL_H

#include "analysis/causal_streams.h"
#include "traces/summary.h"

/* Calls of an (op, type), or of one shape class in it. Every signature is in one of each kind. */
struct causal_group {
    uint8_t op, dtype;
    const char *shape_class; /* NULL: the whole op */
    uint64_t time_ns;        /* of its calls on the host, as the summary has it */
};

enum causal_source {
    CAUSAL_NONE,    /* the trace does not hold what is needed */
    CAUSAL_THREADS, /* times of calls */
    CAUSAL_STREAMS, /* times of kernels in windows */
};

/* Shares of the wall time: of the processes, or of the windows. NaN: unknown. */
struct causal_effect {
    enum causal_source source;
    double value, lo, hi;          /* E with its interval of 95 % */
    double busy_share, wall_share; /* of the GPU, in windows; NaN for CAUSAL_THREADS */
};

struct causal_idle {
    enum causal_source source;
    double host;   /* nothing ran, and nothing was launched */
    double kernel; /* nothing ran though it was launched: gaps of scheduling, other streams */
    double communication; /* nothing but collectives ran */
    double copy;          /* nothing but copies and fills ran */
};

enum { CAUSAL_SLICES_MAX = 64 };

struct causal {
    size_t ngroups;
    struct causal_effect *effects; /* one per group */
    struct causal_idle idle;
    size_t windows; /* of the GPU, that were replayed */
    /* What idle is the sum of, in the order of time: equal parts of the wall time of the processes,
     * one after the other, or windows, several to a slice where there are many. For CAUSAL_THREADS
     * wait_ns and copy_ns are 0. */
    size_t nslices; /* 0: unknown */
    struct causal_span slices[CAUSAL_SLICES_MAX];
    double *active_ns; /* per group that is a whole op, CAUSAL_SLICES_MAX of them: time of its calls
                        * added up, or of a GPU the union of its kernels */
};

/* IO and the like when a file cannot be read again; NOMEM. */
enum status causal_measure(struct causal **out, const struct summary *s,
                           const struct causal_group *groups, size_t count, struct fault *fault);
void causal_free(struct causal *c); /* accepts NULL */

#endif
