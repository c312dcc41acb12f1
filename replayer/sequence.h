/* SPDX-License-Identifier: Apache-2.0
 *
 * Steady stretches of what a trace recorded, in their order: what to replay in order. On a GPU the
 * repeating work of a stream in its windows; without intervals of streams that of the calls of one
 * thread. A stretch is one period of what repeated, with the mean times of all its repeats; work of
 * several phases (prefill, decode) is several stretches.
 */
#ifndef TILEWISE_REPLAYER_SEQUENCE_H
#define TILEWISE_REPLAYER_SEQUENCE_H

#include "replayer/plan.h"

enum { SEQUENCE_STEPS_MAX = 4096, SEQUENCES_MAX = 4, SEQUENCE_FILLER = -1 };

struct sequence_step {
    int64_t item;         /* of the plan; SEQUENCE_FILLER: it cannot be replayed */
    double ns;            /* recorded: all kernels of the call, or the call */
    bool reads;           /* a filler that reads much more than it writes: attention, a reduction */
    uint64_t symbol;      /* the same work has the same symbol */
    double operand_bytes; /* that an attention reads: activations; 0: unknown, or another call */
};

struct sequence {
    size_t count, fillers;
    struct sequence_step *steps;
    uint64_t repeats;          /* how often it was recorded, at least 1 */
    double call_ns, filler_ns; /* sums of the steps' times */
    double least_filler_ns;    /* the shortest one: what starting it takes; 0: there are none */
    double time_share;         /* of all recorded time: what its repeats stand for */
    bool is_kernel_time;       /* on the GPU; else in the library on the host */
    bool in_graph;             /* as the application launched it */
    char source[128];          /* "stream 7 of process 4711": where it was seen first */
};

/* Largest share first. */
struct sequences {
    size_t count;
    struct sequence *row[SEQUENCES_MAX];
};

/* The fewest stretches, each with a call that the plan measures, that stand for most of the
 * recorded time; none where the traces hold no order. IO, FORMAT, NOMEM. */
enum status sequences_find(struct sequences *out, const struct plan *plan, const char *const *paths,
                           size_t count, struct fault *fault);
void sequences_free(struct sequences *s); /* accepts a zeroed one */

#endif
