/* SPDX-License-Identifier: Apache-2.0
 *
 * Length of a union of intervals that arrive nearly in order of their start, in bounded memory:
 * intervals that are old enough are added up and forgotten; what arrives later than that counts
 * only from the forgotten time on. Zero-initialise.
 */
#ifndef TILEWISE_TRACES_INTERVALS_H
#define TILEWISE_TRACES_INTERVALS_H

#include "traces/buffer.h"

struct intervals {
    uint64_t start, end;   /* the latest interval; start == end: none */
    struct buffer older;   /* struct intervals_item, disjoint, in order, all before `start` */
    uint64_t forgotten;    /* end of the last forgotten one */
    uint64_t forgotten_ns; /* their length */
};

/* Intervals that do not continue or follow the latest one; false: no memory. */
bool intervals_add_other(struct intervals *u, uint64_t start, uint64_t end);

static inline bool intervals_add(struct intervals *u, uint64_t start, uint64_t end)
{
    if (start >= u->start && start <= u->end) {
        u->end = end > u->end ? end : u->end;
        return true;
    }
    return intervals_add_other(u, start, end);
}

/* Nothing that starts before this time is expected any more. */
void intervals_forget(struct intervals *u, uint64_t before);
uint64_t intervals_length(const struct intervals *u);
/* Back to empty, keeping the memory. */
void intervals_clear(struct intervals *u);
void intervals_free(struct intervals *u);

#endif
