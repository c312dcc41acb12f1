/* SPDX-License-Identifier: Apache-2.0
 *
 * A generated trace: an encoder server that serves requests of many lengths. Durations spread
 * around a mean per signature and gaps around a few microseconds, as in a recorded server; both are
 * drawn anew for every call, from a fixed seed.
 */
#ifndef TILEWISE_TESTS_SERVER_TRACE_H
#define TILEWISE_TESTS_SERVER_TRACE_H

#include <stdbool.h>
#include <stdint.h>

enum { SERVER_TRACE_KINDS = 7, SERVER_TRACE_LENGTHS_MAX = 1024, SERVER_TRACE_THREADS_MAX = 16 };

struct server_trace {
    uint64_t events;
    unsigned lengths; /* signatures: SERVER_TRACE_KINDS times so many */
    unsigned threads; /* that serve at once */
    bool untimed;     /* events without times */
    bool shuffled;    /* any call is of any length; else a request is of one, near a mean */
    bool on_gpu;      /* calls launch kernels, and a tenth of the time is in windows */
};

/* Write it. Returns the bytes of the file; ends the program when that fails. */
uint64_t server_trace_write(const char *path, const struct server_trace *of);

#endif
