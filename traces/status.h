/* SPDX-License-Identifier: Apache-2.0
 *
 * Status codes, and the one line that tells a person what went wrong.
 *
 * A function that can fail returns `enum status` and, where a person will read the outcome, takes a
 * `struct fault *` (may be NULL). The place that detects the failure fills the fault; callers only
 * forward it; the command line prints it once. The text names file, place and remedy.
 */
#ifndef TILEWISE_TRACES_STATUS_H
#define TILEWISE_TRACES_STATUS_H

#define STATUS_LIST(X)                                                                             \
    X(OK, "success")                                                                               \
    X(END, "no more records")                                                                      \
    X(NOMEM, "out of memory")                                                                      \
    X(IO, "input/output error")                                                                    \
    X(FORMAT, "not a trace file, or damaged")                                                      \
    X(VERSION, "trace version not supported")                                                      \
    X(LIMIT, "a limit was reached")                                                                \
    X(UNSUPPORTED, "operation or element type not supported")                                      \
    X(MISMATCH, "result differs from the reference")                                               \
    X(INVALID, "invalid input")                                                                    \
    X(DEVICE, "device error")

enum status {
#define X(id, text) ST_##id,
    STATUS_LIST(X)
#undef X
        ST_COUNT
};

struct fault {
    enum status status;
    char text[512]; /* one line, no newline, control bytes replaced */
};

/* Static text of a status; "unknown status" for anything else. */
const char *status_text(enum status st);

/* Fill `fault` (if not NULL) and return `st`, so that `return fault_set(...)` reads well. */
enum status fault_set(struct fault *fault, enum status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
