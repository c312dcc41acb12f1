/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one job in a child process: a crash, a hang or a lack of memory there is an answer here, not
 * the end of the run. fork without exec: the job sees the parent's memory as it was, and the parent
 * must have started no threads.
 */
#ifndef TILEWISE_REPLAYER_ISOLATE_H
#define TILEWISE_REPLAYER_ISOLATE_H

#include <stddef.h>
#include <stdint.h>

#include "traces/result.h"

struct isolate_limits {
    uint64_t memory_bytes; /* address space beyond what the process has now; 0 = no limit */
    double seconds;        /* of wall time, then SIGKILL; 0 = no limit */
};

struct isolate_end {
    enum result_status status; /* PASSED: the message is whole. CRASHED, TIMEOUT, SKIPPED (the
                                  child could not be started) */
    char reason[128];
};

/* Call job(context, message) in a child and copy its message (`bytes`, zeroed before) back. What
 * the job prints to stdout is lost, so that a plug-in cannot mix with our output. */
void isolate_run(void (*job)(void *context, void *message), void *context, void *message,
                 size_t bytes, const struct isolate_limits *limits, struct isolate_end *end);

#endif
