/* SPDX-License-Identifier: Apache-2.0
 *
 * From a kernel's record back to the call that launched it. While a hooked call runs, each launch
 * and each graph node made in it is bound to the number of the call; when the call ends and its
 * signature is known, the number gets a name. All memory is fixed: what was launched 131,072
 * launches ago is forgotten, and nodes beyond a limit are not remembered; their kernels are then
 * known by name alone. Any thread; no lock but where a graph is made.
 */
#ifndef TILEWISE_TRACER_LAUNCHES_H
#define TILEWISE_TRACER_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/thread.h"
#include "traces/signature.h"

/* Map the memory. False without. */
bool launches_start(void);

/* A new number for a call, never 0. */
uint32_t launches_number(void);
/* The call has ended, and this was it. `t`: the calling thread's record, whose table the key goes
 * to; NULL if it has none, or the call is part of a graph. */
void launches_name(uint32_t call, struct thread *t, const struct tilewise_signature *key);

/* call 0: outside of hooked calls. `first`: the first kernel of the call. */
void launches_add(uint32_t correlation, uint32_t call, bool first);
/* Several launches bear this number: whose a record is cannot be told. */
void launches_blur(uint32_t correlation);
void launches_add_node(uint64_t node, uint32_t call, bool first);
void launches_clone_node(uint64_t node, uint64_t original);

/* Kernels in an executable graph; 0 forgets it. Unknown is 0. */
void launches_set_exec(const void *exec, uint64_t kernels);
uint64_t launches_exec(const void *exec);

/* What a record is about. op: see launches_place, 0 unknown. */
struct launches_found {
    uint32_t op;
    uint64_t launch_ticks; /* clock_ticks() when the host launched it, or its graph; 0 unknown */
    bool is_first;
    bool is_running; /* the call is known and has not been named: it may not have returned yet */
};
struct launches_found launches_find(uint32_t correlation, uint64_t node);

/* The table that op (not 0) is an entry of. */
struct launches_place {
    struct thread *thread;
    uint32_t entry;
} launches_place(uint32_t op);

/* In a fork child. */
void launches_forget(void);

#endif
