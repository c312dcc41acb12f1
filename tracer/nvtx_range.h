/* SPDX-License-Identifier: Apache-2.0
 *
 * Open ranges, phases and marks of the host's threads. A phase is a range whose name somebody
 * chose; a call that is recorded belongs to the innermost phase that is open on its thread
 * (tap_self.nvtx_phase). The range of an operator of PyTorch that does work of its own is counted
 * as a call when it ends, with its time less that of such ranges inside it.
 *
 * On the calling thread there is no lock, no allocation and no system call but for the thread's
 * first event. What happens inside a hooked call is the library's own business and is left out.
 */
#ifndef TILEWISE_TRACER_NVTX_RANGE_H
#define TILEWISE_TRACER_NVTX_RANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/nvtx_names.h"
#include "tracer/slot.h"

enum {
    NVTX_PHASES = 64, /* names; numbers are 1 to NVTX_PHASES */
    NVTX_MARKS = 64,
    NVTX_OPS = 256,
    NVTX_DEPTH = 64,            /* open ranges of a thread that are kept apart */
    NVTX_RING = 256,            /* marks of a thread that wait for the writer */
    NVTX_THREADS = 4096,        /* as THREAD_MAX */
    NVTX_OP_FIRST = SLOT_COUNT, /* operators as entry points: behind the hooks */
};

/* Cumulative, the owner writes. */
struct nvtx_total {
    _Atomic uint64_t entries, ended, sum_ns;
};

struct nvtx_mark {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    uint32_t name;  /* number in nvtx_range_marks */
};

/* What the writer thread reads of a host thread. */
struct nvtx_notes {
    struct nvtx_total total[NVTX_PHASES + 1]; /* by number */
    _Atomic uint64_t lost;                    /* ranges without a number, marks without room */
    _Atomic uint64_t head, tail;              /* of marks: head the owner's, tail the writer's */
    struct nvtx_mark mark[NVTX_RING];
    struct nvtx_total written[NVTX_PHASES + 1]; /* the writer's: as far as they are in the file */
    uint64_t lost_written;
};

extern struct nvtx_name nvtx_range_phases[NVTX_PHASES], nvtx_range_marks[NVTX_MARKS],
    nvtx_range_ops[NVTX_OPS];

/* A range begins on this thread; `domain` tells stacks of ranges apart. Its depth, or
 * NVTX_ABI_NO_TRACKING where it was left out. */
int nvtx_range_push(unsigned domain, const char *message);
int nvtx_range_pop(unsigned domain);
/* A range that may end on any thread: it is a phase's entry and time, without calls. 0: left out.
 */
uint64_t nvtx_range_start(const char *message);
void nvtx_range_end(uint64_t id);
void nvtx_range_mark(const char *message);

/* Once, before the first event. */
void nvtx_range_begin(void);

/* The writer thread: number of threads that had events, and their notes; NULL: none. */
unsigned nvtx_range_threads(void);
struct nvtx_notes *nvtx_range_notes(unsigned i);

/* In a fork child: what was noted belongs to the parent; ranges that are open here go on. */
void nvtx_range_forget(void);

#endif
