/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the ways to do one call compete: a session of the backend, buffers, and the arms that are
 * timed. Used in the process that measures, for one signature at a time.
 */
#ifndef TILEWISE_REPLAYER_BENCH_H
#define TILEWISE_REPLAYER_BENCH_H

#include "replayer/companion.h"
#include "replayer/measure.h"
#include "replayer/rotation.h"

enum { BENCH_ARMS_MAX = BACKEND_ROUTINES_MAX }; /* while screening; else TIMING_ARMS_MAX at most */

/* One way to do the call. */
struct bench_arm {
    enum { BENCH_ROUTINE, BENCH_CANDIDATE, BENCH_COMPANION } kind;
    size_t routine; /* of the library */
};

/* The caller fills in what comes first. */
struct bench {
    const struct measure_setup *setup;
    const struct tilewise_signature *signature;
    const struct tilewise_candidate *candidate; /* NULL: no arm is one */
    const struct companion *companion;          /* the same */
    struct bench_arm arms[BENCH_ARMS_MAX];
    unsigned narms;

    struct backend_session *session;
    struct backend_info info;
    struct backend_routines routines;
    struct rotation rotation;
    const struct bench_arm *current;
    char companion_call[COMPANION_TEXT_BYTES]; /* what it will call; after bench_time() */
    struct fault fault;                        /* why bench_time() failed; "": see complaint */
};

/* Session and signature ready. Keeps the session of the last case where that opens slowly. */
enum status bench_open(struct bench *b, struct fault *fault);
/* `good`: nothing happened that the next case could suffer from. */
void bench_close(struct bench *b, bool good);

struct rotation_options bench_buffers(const struct bench *b, size_t scratch_bytes);
/* One call of an arm that is no companion. */
int bench_call(struct bench *b, const struct bench_arm *arm, const struct tilewise_args *args);
/* The current arm's next call; a backend_burst's step. */
int bench_step(void *bench);
/* Time of so many calls of an arm, on the open rotation, in ns; NaN on failure. */
double bench_burst(void *bench, unsigned arm, uint64_t calls);
/* Buffers, warm-up, rounds of all arms. */
enum status bench_time(struct bench *b, double budget_ns, size_t scratch_bytes,
                       struct timing_samples *samples);
/* What the device says, or what the status means. */
const char *bench_complaint(const struct bench *b, enum status st);

#endif
