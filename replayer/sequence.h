/* SPDX-License-Identifier: Apache-2.0
 *
 * One steady stretch of what a trace recorded, in its order: what to replay in order. On a GPU the
 * busiest repeating stretch of one stream in one window; without intervals of streams that of the
 * calls of one thread. A stretch is one period of what repeated, with the mean times of all its
 * repeats.
 */
#ifndef TILEWISE_REPLAYER_SEQUENCE_H
#define TILEWISE_REPLAYER_SEQUENCE_H

#include "replayer/plan.h"

enum { SEQUENCE_STEPS_MAX = 4096, SEQUENCE_FILLER = -1 };

struct sequence_step {
    int64_t item; /* of the plan; SEQUENCE_FILLER: it cannot be replayed */
    double ns;    /* recorded: all kernels of the call, or the call */
    bool reads;   /* a filler that reads much more than it writes: attention, a reduction */
};

struct sequence {
    size_t count, fillers;
    struct sequence_step *steps;
    uint64_t repeats;          /* how often it was recorded, at least 1 */
    double call_ns, filler_ns; /* sums of the steps' times */
    double least_filler_ns;    /* the shortest one: what starting it takes; 0: there are none */
    bool is_kernel_time;       /* on the GPU; else in the library on the host */
    bool in_graph;             /* as the application launched it */
    char source[128];          /* "stream 7 of process 4711" */
};

/* NULL in *out, and OK, where the traces hold no such stretch with a call that the plan measures.
 * IO, FORMAT, NOMEM. */
enum status sequence_find(struct sequence **out, const struct plan *plan, const char *const *paths,
                          size_t count, struct fault *fault);
void sequence_free(struct sequence *s); /* accepts NULL */

/* The smallest period of the longest stretch of `symbols` that repeats at least three times; its
 * length is the period times the whole repeats. False: nothing repeats. */
struct sequence_period {
    size_t start, period, repeats;
};
bool sequence_find_period(const uint64_t *symbols, size_t count, struct sequence_period *out);

#endif
