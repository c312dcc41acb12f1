/* SPDX-License-Identifier: Apache-2.0
 *
 * Phases of a process: named stretches of a thread (NVTX ranges), the calls made inside of them,
 * and named moments. Names are string ids of the container. All numbers but times are increments
 * since the frame before.
 */
#ifndef TILEWISE_TRACES_PHASE_H
#define TILEWISE_TRACES_PHASE_H

#include <stddef.h>
#include <stdint.h>

/* How often a phase was entered and left, and the time of those that were left: of all threads, and
 * with that of phases inside. */
struct phase_total {
    uint32_t name;
    uint64_t entries, ended, sum_ns;
};

/* Calls of one signature whose thread was in the phase, and in no other inside of it. They stand
 * among the events or counts too. */
struct phase_calls {
    uint32_t name, signature;
    uint64_t calls, sum_ns, min_ns, max_ns;
};

struct phase_mark {
    uint32_t name;
    uint64_t at_ns; /* since start */
};

struct phase_rows {
    size_t ntotals, ncalls, nmarks;
    const struct phase_total *totals;
    const struct phase_calls *calls;
    const struct phase_mark *marks;
    uint64_t lost; /* ranges and marks without room for their name or time */
};

#endif
