/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels took, by name and by the call that launched them, until it is written; and the union
 * of their intervals in the window. Any thread; one lock. Memory is fixed: beyond the limits,
 * kernels are counted under the empty name.
 */
#ifndef TILEWISE_TRACER_KERNELS_H
#define TILEWISE_TRACER_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/drain.h"
#include "tracer/launches.h"

struct kernels_record {
    const char *name; /* copied */
    struct launches_found call;
    uint64_t start_ns, end_ns; /* 0: unknown */
};

/* Map the memory. False without. */
bool kernels_start(void);
void kernels_add(const struct kernels_record *record);

/* Length of the union of all intervals since the last time. */
uint64_t kernels_take_busy_ns(void);
/* Of records without times, since the start. */
uint64_t kernels_untimed(void);

/* The writer thread: hand the rows that are new to the trace writer, as many as fit. */
void kernels_write(struct drain *d);
bool kernels_are_pending(void);

/* In a fork child. */
void kernels_forget(void);

#endif
