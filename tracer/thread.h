/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recorder keeps for one thread of the host: table, ring and loss counters. Records belong
 * to a pool: a thread that ends gives its record back as it is, the next new thread goes on with
 * it, and the writer thread drains all of them at any time. So memory is bounded by the largest
 * number of threads that lived at once, and nothing is lost when a thread ends.
 */
#ifndef TILEWISE_TRACER_THREAD_H
#define TILEWISE_TRACER_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/hot.h"
#include "tracer/journal.h"
#include "tracer/ring.h"
#include "tracer/table.h"
#include "traces/counters.h"

enum { THREAD_MAX = 4096 };

struct thread {
    _Alignas(HOT_LINE) struct ring ring; /* it ends with what a call needs of it */
    /* Calls that came to be recorded, whatever became of them, but for those of the journal. */
    _Atomic uint64_t seen;
    _Atomic uint64_t untimed; /* calls in the table's counts */
    struct table table;       /* it begins with what a call needs of it */
    _Atomic bool owned;
    uint32_t number;                 /* thread_at(number) is this one */
    struct journal *_Atomic journal; /* NULL before its first call */
    _Atomic uint64_t failed;
    _Atomic uint64_t dropped[LOSS_MAX];
    struct matmuls *matmuls;  /* the owner's, of wrap_cublaslt.c; NULL before its first call */
    uint64_t untimed_written; /* the writer's */
    uint64_t last_start_ns;   /* the writer's: starts never go back */
};

/* A host has other things in its caches: a call needs one line here. */
_Static_assert(offsetof(struct thread, ring.head) % HOT_LINE == 0 &&
                   offsetof(struct thread, table.chunk[1]) - offsetof(struct thread, ring.head) <=
                       HOT_LINE,
               "one line");

/* A record for the calling thread, or NULL with the cause. */
struct thread *thread_take(enum loss_cause *cause);
/* The owner will not touch it any more. */
void thread_give(struct thread *t);

/* Number of records; thread_at(0 .. count - 1) are valid. */
uint32_t thread_count(void);
struct thread *thread_at(uint32_t i);

/* Forget everything: in a fork child, which must not write its parent's events again. */
void thread_reset(void);

/* All calls that came to be recorded; any thread. */
static inline uint64_t thread_seen(const struct thread *t)
{
    const struct journal *j = atomic_load_explicit(&t->journal, memory_order_acquire);
    return atomic_load_explicit(&t->seen, memory_order_acquire) + (j ? journal_seen(j) : 0);
}

/* One writer, any reader: the owner adds to its own counter. */
static inline void thread_add(_Atomic uint64_t *counter)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + 1, memory_order_relaxed);
}

#endif
