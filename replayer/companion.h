/* SPDX-License-Identifier: Apache-2.0
 *
 * A process of another program that makes the same calls in its own way: PyTorch's matrix product
 * beside the library's (replayer/torch_companion.py). Lines of text on one socket, its standard
 * input and output; docs/measuring.md has the protocol. Started by the parent; the children that
 * measure inherit the socket and use it one after the other.
 */
#ifndef TILEWISE_REPLAYER_COMPANION_H
#define TILEWISE_REPLAYER_COMPANION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "replayer/operand.h"

enum { COMPANION_TEXT_BYTES = 160 };

struct companion {
    pid_t process;
    int socket;
    double patience_s;               /* for one answer */
    char name[COMPANION_TEXT_BYTES]; /* what it calls itself: "PyTorch 2.11.0" */
};

/* Start a program and wait until it is ready. IO: it cannot be started. UNSUPPORTED: it says why it
 * cannot serve, or ends. */
enum status companion_start(struct companion *c, const char *const *command, double patience_s,
                            struct fault *fault);
/* Accepts one that was not started. */
void companion_stop(struct companion *c);

/* What both sides must have in common for one signature. */
struct companion_case {
    const struct tilewise_signature *signature;
    double alpha, beta;
    size_t sets;      /* of buffers, used in turn */
    uint32_t threads; /* on a processor: at most so many */
    bool cold;        /* nothing of them may be in a cache when a burst begins */
    uint64_t seed;
};

/* Make ready; `call` gets what it will call ("torch.mm"). UNSUPPORTED with its reason. */
enum status companion_prepare(const struct companion *c, const struct companion_case *of,
                              char *call, size_t call_bytes, struct fault *fault);
/* Time of so many calls in ns; NaN on failure. */
double companion_burst(const struct companion *c, uint64_t calls);
/* Free the buffers of the last case. */
void companion_release(const struct companion *c);

#endif
