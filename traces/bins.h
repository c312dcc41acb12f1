/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of one process in stretches (bins) of equal numbers of calls, in order. Bounded: when
 * there are too many, two neighbours become one, so a long run has coarser bins. What a set of
 * bins looks like depends on the calls alone.
 */
#ifndef TILEWISE_TRACES_BINS_H
#define TILEWISE_TRACES_BINS_H

#include "traces/summary.h"

struct bins_bin {
    uint64_t begin_ns, end_ns, calls, time_ns;
    size_t first_cell, ncells; /* into cells; in no order */
};

struct bins {
    uint64_t calls_per_bin;
    size_t nbins, ncells, bins_capacity, cells_capacity;
    struct bins_bin *bins;
    struct summary_cell *cells;
    /* The bin that is being filled. */
    struct bins_bin open;
    struct bins_scratch *scratch;
};

/* Sums by signature, dense, shared by all bins of one summary. Zero-initialise. */
struct bins_scratch {
    size_t capacity, ntouched;
    struct bins_sum {
        uint64_t calls, time_ns;
        bool touched;
    } * sums;
    uint32_t *touched;
};

bool bins_scratch_reserve(struct bins_scratch *s, size_t signatures);
void bins_scratch_free(struct bins_scratch *s);

void bins_start(struct bins *b, struct bins_scratch *scratch);
void bins_free(struct bins *b);

/* Add one call; all signatures were reserved in the scratch. False: no memory. */
static inline void bins_touch(struct bins_scratch *s, uint32_t signature, uint64_t calls,
                              uint64_t time_ns)
{
    struct bins_sum *sum = &s->sums[signature];
    if (!sum->touched)
        s->touched[s->ntouched++] = signature;
    sum->touched = true;
    sum->calls += calls;
    sum->time_ns += time_ns;
}

/* Columns of calls, in order. */
bool bins_add_events(struct bins *b, const uint32_t *signature, const uint64_t *start_ns,
                     const uint32_t *duration_ns, size_t count);
/* The rows of a frame whose calls have no order: spread evenly over as many bins as they fill.
 * `index`: of the rows' signatures in the summary. */
bool bins_add_counts(struct bins *b, const struct reader_frame *frame, const uint32_t *index);
/* Close the open bin and give back memory that is not needed. */
bool bins_finish(struct bins *b);
/* Make two neighbours one until a bin holds at least so many calls. */
bool bins_coarsen(struct bins *b, uint64_t calls_per_bin);
/* What it takes in memory, in units of a cell. */
size_t bins_cost(const struct bins *b);

#endif
