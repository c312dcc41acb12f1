/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels took, by name, by grid and by the call that launched them, until it is written; and
 * with copies and fills, when they ran (spans.h). Any thread; one lock. Memory is fixed: beyond the
 * limits, kernels are counted without their grid, then under the empty name.
 */
#ifndef TILEWISE_TRACER_KERNELS_H
#define TILEWISE_TRACER_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/drain.h"
#include "tracer/launches.h"
#include "tracer/spans.h"

struct kernels_record {
    const char *name; /* copied */
    struct launches_found call;
    uint64_t start_ns, end_ns; /* on CUPTI's clock; 0: unknown */
    uint32_t device, context, stream;
    struct gpu_grid grid;
    uint8_t work; /* enum gpu_work: all but kernels are intervals only */
    bool in_graph;
};

/* Map the memory. False without. */
bool kernels_start(void);
void kernels_add(const struct kernels_record *record);
/* A kernel of a graph that ends later has no time: when records are switched off during a launch of
 * a graph, CUPTI (13.0, seen on an H200) gives its kernels the ends of a later launch. 0: unknown,
 * and UINT64_MAX: trust all. */
void kernels_trust_until(uint64_t cupti_ns);

/* What was added since the last time is of the window that began at window_ns; the clocks at its
 * beginning and end. Returns the union of its kernels' intervals. This and the next: under the
 * lock of cupti.c. */
uint64_t kernels_close_window(uint64_t window_ns, const struct spans_anchor *begin,
                              const struct spans_anchor *end);
/* The writer thread: its intervals. False: the frame is full, and this is to be called again. */
bool kernels_write_window(struct drain *d, uint64_t window_ns);
/* Of records without times, since the start. */
uint64_t kernels_untimed(void);

/* The writer thread: hand the rows that are new to the trace writer, as many as fit. */
void kernels_write(struct drain *d);
bool kernels_are_pending(void);

/* In a fork child. */
void kernels_forget(void);

#endif
