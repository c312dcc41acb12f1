/* SPDX-License-Identifier: Apache-2.0
 *
 * Bags: which calls a CUDA graph holds, and how often each. A bag is a list of nodes in a pool of
 * mapped memory; copying, adding up and emptying cost its number of distinct calls. Callers hold
 * graph.c's lock.
 */
#ifndef TILEWISE_TRACER_BAG_H
#define TILEWISE_TRACER_BAG_H

#include <stdint.h>

/* Zero is an empty bag. */
struct bag {
    uint32_t first; /* node, 0 = none */
    uint32_t lost;  /* calls that did not fit in memory: known by number alone */
};

/* Add `count` calls of table entry `entry`; without memory they are lost. */
void bag_add(struct bag *b, uint32_t entry, uint32_t count);
void bag_add_all(struct bag *b, const struct bag *other);
/* Take out what was added with bag_add_all. */
void bag_remove_all(struct bag *b, const struct bag *other);
void bag_empty(struct bag *b);

/* All calls of the bag. */
uint64_t bag_calls(const struct bag *b);

/* Call visit(entry, count, context) for each distinct call. */
void bag_each(const struct bag *b, void (*visit)(uint32_t entry, uint32_t count, void *context),
              void *context);

/* Forget every bag; in a fork child. */
void bag_reset(void);

#endif
