/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs by their handles: what one launch holds, and how often each was launched in
 * which phase. A launch takes no lock: it finds its graph in a table of fixed places and adds to an
 * atomic counter. The table is changed by one thread at a time (graph.c's lock). A place that
 * became free is used again; who looks meanwhile passes by it.
 */
#ifndef TILEWISE_TRACER_EXECS_H
#define TILEWISE_TRACER_EXECS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Phases in which one graph is launched between two settlements: more are counted without theirs.
 */
enum { EXECS_PHASES = 8 };

struct exec {
    _Atomic uint64_t name;
    _Atomic uint64_t calls, nodes;           /* of one launch */
    _Atomic uint64_t launches[EXECS_PHASES]; /* times << 8 | phase; the last: of no phase */
};

/* One thread at a time. False: no room, its launches are those of an unknown graph. */
bool execs_set(uint64_t name, uint64_t calls, uint64_t nodes);
void execs_remove(uint64_t name);

/* Any thread, no lock. NULL: unknown. */
struct exec *execs_find(uint64_t name);
void execs_count(struct exec *e, uint8_t phase);

/* In a fork child. */
void execs_forget(void);

#endif
