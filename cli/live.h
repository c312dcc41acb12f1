/* SPDX-License-Identifier: Apache-2.0
 *
 * The traces of a directory while they are being written: polled, each frame read once, in memory
 * that grows with signatures and files only. One thread.
 */
#ifndef TILEWISE_CLI_LIVE_H
#define TILEWISE_CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/reader.h"

struct live; /* opaque */

/* One shape over all processes, whatever its entry point and alignment. */
struct live_row {
    struct tilewise_signature shape;
    uint64_t calls, time_ns; /* time_ns: on the host */
    uint64_t gpu_calls,
        gpu_ns;         /* of its calls in windows of GPU time: so many, all their kernels */
    double calls_per_s; /* since the poll before; over all of it at the first */
};

struct live_view {
    size_t files, running, unreadable; /* traces; without a footer; not traces (yet) */
    struct trace_counters counters;    /* sums */
    uint64_t bytes, damage;            /* read; damaged stretches */
    double calls_per_s;
    double age_s; /* of the newest frame; NaN: there is none */
    struct gpu_totals gpu;
    uint64_t gpu_busy_ns, gpu_ns; /* of the time that windows stand for (traces/gpubusy.h) */
    uint64_t kernel_ns;           /* of all kernels in windows, those of no recorded call too */
    size_t nrows;
    struct live_row *rows; /* by live_time_ns, largest first; live until the next poll */
};

/* Time of all calls of a row: of their kernels, at the mean of those that were measured, where
 * windows of GPU time hold any; a launch says nothing about what it launches. NaN: not known. */
double live_time_ns(const struct live_view *v, const struct live_row *row);

struct live *live_open(const char *directory); /* NULL without memory */
/* Read what came since the last poll. IO when the directory cannot be read, NOMEM. */
enum status live_poll(struct live *l, struct live_view *view, struct fault *fault);
void live_close(struct live *l); /* accepts NULL */

#endif
