/* SPDX-License-Identifier: Apache-2.0
 *
 * When each GPU stream was at work in a window, until it is written. Memory is fixed; what does not
 * fit is counted as missing. Records are added on any thread under the lock of kernels.c; windows
 * are closed and written under the lock of cupti.c, so the two do not meet.
 */
#ifndef TILEWISE_TRACER_SPANS_H
#define TILEWISE_TRACER_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/drain.h"
#include "traces/gpu.h"

enum { SPANS_WINDOWS = 64 }; /* that wait to be written; more become part of the last one */

struct spans_record {
    uint64_t start_ns, end_ns; /* on CUPTI's clock; 0: unknown */
    uint64_t launch_ticks;     /* clock_ticks() when the host launched it; 0: unknown */
    uint32_t name;             /* as spans_name wants it */
    uint32_t op;               /* see launches_place; 0: none */
    uint32_t device, context, stream;
    uint8_t work; /* enum gpu_work */
    bool in_graph, is_first;
};

/* Both clocks at one moment; cupti_ns 0: unknown. */
struct spans_anchor {
    uint64_t host_ns; /* since clock_start */
    uint64_t cupti_ns;
};

/* Map the memory. False without. */
bool spans_start(void);
/* Wait-free but for the lock, no allocation: two stores and a look at the last stream. */
void spans_add(const struct spans_record *record);

/* All that was added since the last time is of the window that began at window_ns. Under both
 * locks, then the rest under that of cupti.c. Returns the union of the kernels' intervals in ns. */
void spans_cut(uint64_t window_ns);
uint64_t spans_close(const struct spans_anchor *begin, const struct spans_anchor *end);

/* The string id of a name, given the writer. */
typedef uint32_t spans_name(struct drain *d, uint32_t name);

/* The writer thread: what there is of the windows that began at window_ns. False: the frame is full
 * and this is to be called again. */
bool spans_write(struct drain *d, uint64_t window_ns, spans_name *name);
/* Make room after that. Under both locks. */
void spans_pack(void);

/* In a fork child. */
void spans_forget(void);

#endif
