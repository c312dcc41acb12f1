/* SPDX-License-Identifier: Apache-2.0
 *
 * What `tilewise doctor` looks at: one row per check. A check only looks; it changes nothing but a
 * probe file that it removes. What loads a vendor's library or runs a kernel does it in a child.
 */
#ifndef TILEWISE_CLI_CHECKS_H
#define TILEWISE_CLI_CHECKS_H

#include <stdbool.h>

#include "replayer/backend.h"
#include "replayer/cuda_machine.h"

enum check_state {
    CHECK_OK,
    CHECK_NOTE,    /* works, but mind this */
    CHECK_MISSING, /* does not work: the remedy says how it would */
};

struct check_finding {
    enum check_state state;
    char value[256];  /* what was seen */
    char remedy[320]; /* what to do; "" when there is nothing to do */
};

/* The checklist is what must be so before anybody decides on a kernel. */
enum check_part { CHECK_CHECKLIST, CHECK_MACHINE };

/* For what it is needed. A row that nobody needs is told and decides nothing. */
enum check_need { CHECK_FOR_NOTHING, CHECK_FOR_GPU, CHECK_FOR_ALL };

/* What all rows may look at. */
struct check_context {
    const char *directory;         /* where traces would be written */
    const char *python;            /* that has the cuTile toolchain */
    struct backend_options open;   /* as of replay */
    struct cuda_machine cuda;      /* what there is of CUDA */
    const struct backend *backend; /* what replay would use: the GPU if it can be used, else cpu */
    struct backend_info info;      /* of it, */
    struct fault fault;            /* or why it does not open */
};

struct check {
    const char *name;
    enum check_part part;
    enum check_need need;
    void (*look)(struct check_finding *finding, const struct check_context *context);
};

extern const struct check checks[]; /* ends with a NULL name */

/* "yes" and "no" in the checklist; "ok", "note" and "missing" elsewhere. Static storage. */
const char *checks_state_name(const struct check *check, enum check_state state);

/* The rows of the checklist: cli/checklist.c. */
#define CHECKLIST(X)                                                                               \
    X(gpu, CHECK_FOR_GPU)                                                                          \
    X(driver, CHECK_FOR_GPU)                                                                       \
    X(cuda, CHECK_FOR_GPU)                                                                         \
    X(cutile, CHECK_FOR_GPU)                                                                       \
    X(baseline, CHECK_FOR_ALL)                                                                     \
    X(correctness, CHECK_FOR_ALL)                                                                  \
    X(synchronised, CHECK_FOR_ALL)                                                                 \
    X(rollback, CHECK_FOR_ALL)
#define X(name, need)                                                                              \
    void checklist_##name(struct check_finding *finding, const struct check_context *context);
CHECKLIST(X)
#undef X

/* Fill `cuda`, `backend`, `info` and `fault` of a context; the CPU alone unless `with_gpu`. */
void checklist_begin(struct check_context *context, bool with_gpu);

/* How a check says what it found: the value, and what to do about a state that is not OK. */
void checks_found(struct check_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void checks_advise(struct check_finding *f, enum check_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Run a program and keep the beginning of what it writes to `stream` (STDOUT_FILENO or
 * STDERR_FILENO), the first line of it. Returns its exit status; -1 if it could not be run or a
 * signal ended it; CHECKS_LATE if it, or what it started and left writing, had to be ended after
 * `seconds`. `preload`: for LD_PRELOAD, or NULL. */
enum { CHECKS_LATE = -2, CHECKS_RUN_S_MAX = 20 }; /* a Python on a cold disk takes seconds */
int checks_run(char *const argv[], const char *preload, int stream, double seconds, char *text,
               size_t text_bytes);

#endif
