/* SPDX-License-Identifier: Apache-2.0
 *
 * The accounting of one recorded process. Cumulative, and part of every frame, so that a lost frame
 * can be told by subtraction. Contract, exactly: seen = recorded + sum(dropped).
 */
#ifndef TILEWISE_TRACES_COUNTERS_H
#define TILEWISE_TRACES_COUNTERS_H

#include <stdint.h>

/* Numbers are written to trace files: append only. */
#define LOSS_LIST(X)                                                                               \
    X(SIGNATURE_CAP, 0, "signature_cap", "more distinct signatures than the table holds")          \
    X(THREAD_CAP, 1, "thread_cap", "more threads than the table holds")                            \
    X(NO_MEMORY, 2, "no_memory", "no memory for a thread's buffers")                               \
    X(DISK_FULL, 3, "disk_full", "no space left for the trace")                                    \
    X(IO_ERROR, 4, "io_error", "writing the trace failed")                                         \
    X(SIZE_CAP, 5, "size_cap", "the trace reached its size limit")                                 \
    X(SHUTDOWN, 6, "shutdown", "the process was ending")                                           \
    X(START, 7, "start", "the recorder was starting")                                              \
    X(REENTRANT, 8, "reentrant", "a signal handler called while a call was being recorded")

enum loss_cause {
#define X(id, number, name, text) LOSS_##id = number,
    LOSS_LIST(X)
#undef X
};
enum { LOSS_MAX = 16 }; /* slots in the file; unused ones are 0 */

struct trace_counters {
    uint64_t seen;     /* successful calls that reached a hook while recording was on */
    uint64_t recorded; /* of those, in the file (as an event or as a count) */
    uint64_t untimed;  /* of the recorded ones, in the counts layer only: no event */
    uint64_t failed;   /* calls that the library refused: outside `seen` */
    uint64_t cpu_ns;   /* CPU time of the whole process since recording began */
    uint64_t dropped[LOSS_MAX];
};

/* "signature_cap", or NULL for a number no row has. Static storage. */
const char *loss_name(unsigned cause);
uint64_t loss_total(const struct trace_counters *c);
void counters_add(struct trace_counters *sum, const struct trace_counters *c);

#endif
