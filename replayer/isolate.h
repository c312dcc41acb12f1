/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs jobs in child processes: a crash, a hang or a lack of memory there is an answer here, not
 * the end of the run. fork without exec: a job sees the parent's memory as it was when its process
 * was started, and the parent must have started no threads.
 */
#ifndef TILEWISE_REPLAYER_ISOLATE_H
#define TILEWISE_REPLAYER_ISOLATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* What to call, with what, and where its answer goes. What a job prints to stdout is lost, so that
 * a plug-in cannot mix with our output. */
struct isolate_job {
    void (*run)(void *request, void *message);
    void *request; /* copied to the child; pointers in it must be older than the worker's process */
    size_t request_bytes;
    void *message; /* zeroed before */
    size_t message_bytes;
};

/* A process for one job after the other: for what costs too much to start for each. It is started
 * when there is work and none, so the job after a crash finds a new one. Zero: not started. Only
 * one worker of a parent may be running. */
struct isolate_worker {
    pid_t child;
    int fd;
};
void isolate_call(struct isolate_worker *worker, const struct isolate_job *job,
                  const struct isolate_limits *limits, struct isolate_end *end);
void isolate_close(struct isolate_worker *worker); /* accepts one that is not started */

/* Within a job: this process has seen enough; the next job gets a new one. */
void isolate_retire(void);

/* Call job(context, message) in a process of its own; `context` is not copied: any pointer. */
void isolate_run(void (*job)(void *context, void *message), void *context, void *message,
                 size_t bytes, const struct isolate_limits *limits, struct isolate_end *end);

#endif
