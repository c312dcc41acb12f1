/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of one thread as they were made, on their way to the writer thread, which finds out what
 * they were. So the host's thread stores its arguments and no more: nothing is compared, nothing is
 * looked up. One producer (pass_entry.S, gpu.h), one consumer (drain.c), no lock. What does not fit
 * goes the way of all other calls, through the thread's table and ring.
 */
#ifndef TILEWISE_TRACER_JOURNAL_H
#define TILEWISE_TRACER_JOURNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/hot.h"
#include "tracer/pass.h"
#include "tracer/table.h"

enum { JOURNAL_CALLS = 1024, JOURNAL_WORDS = 27 };

struct journal_call {
    uint64_t start_ticks, end_ticks;
    uint64_t handle[2];      /* what was known of the handle: the end of a struct handle_entry */
    uint32_t slot;           /* enum slot_id */
    _Atomic uint32_t number; /* of the call in this journal, from 1 on; stored last */
    uint64_t word[JOURNAL_WORDS]; /* the arguments, or what else tells what the call was */
};

_Static_assert(sizeof(struct journal_call) == PASS_CALL_BYTES &&
                   offsetof(struct journal_call, end_ticks) == PASS_CALL_END &&
                   offsetof(struct journal_call, handle) == PASS_CALL_HANDLE &&
                   offsetof(struct journal_call, slot) == PASS_CALL_SLOT &&
                   offsetof(struct journal_call, number) == PASS_CALL_NUMBER &&
                   offsetof(struct journal_call, word) == PASS_CALL_WORDS,
               "pass_entry.S");

/* The producer writes to its calls alone: what it has written is told by their numbers. */
struct journal {
    /* The consumer's: how many it has taken; what they were. */
    _Atomic uint64_t taken;
    struct table table;
    _Alignas(HOT_LINE) struct journal_call call[JOURNAL_CALLS];
};

/* An empty one; NULL without memory. */
struct journal *journal_make(void);

/* Producer: where to write call `number`, and how many fit from there on. */
uint32_t journal_room(struct journal *j, uint32_t number, struct journal_call **next);

/* How many calls there are behind the first `taken`. */
static inline uint64_t journal_behind(const struct journal *j, uint64_t taken)
{
    uint64_t n = 0;
    while (atomic_load_explicit(&j->call[(taken + n) % JOURNAL_CALLS].number,
                                memory_order_acquire) == (uint32_t)(taken + n + 1))
        n++;
    return n;
}

/* How many calls wait; the consumer. */
static inline uint64_t journal_waiting(const struct journal *j)
{
    return journal_behind(j, atomic_load_explicit(&j->taken, memory_order_relaxed));
}

/* How many there ever were; any thread. */
static inline uint64_t journal_seen(const struct journal *j)
{
    uint64_t taken, behind;
    do {
        taken = atomic_load_explicit(&j->taken, memory_order_acquire);
        behind = journal_behind(j, taken);
    } while (taken != atomic_load_explicit(&j->taken, memory_order_acquire));
    return taken + behind;
}

/* Consumer: the i-th call that waits. */
static inline const struct journal_call *journal_peek(const struct journal *j, uint64_t i)
{
    return &j->call[(atomic_load_explicit(&j->taken, memory_order_relaxed) + i) % JOURNAL_CALLS];
}

/* Consumer: done with `count` of them. */
static inline void journal_take(struct journal *j, uint64_t count)
{
    uint64_t taken = atomic_load_explicit(&j->taken, memory_order_relaxed);
    atomic_store_explicit(&j->taken, taken + count, memory_order_release);
}

/* What a call was, by the file that has its hook. Asks no library: the handle may be gone. */
void cublas_read(const struct journal_call *call, struct tilewise_signature *key, uint32_t *stream);
void cudnn_plan_read(const struct journal_call *call, struct tilewise_signature *key,
                     uint32_t *stream);
/* Producer, in the call: it launched something in a window of GPU time, so it has a number and is
 * recorded at once. */
void cublas_launched(const struct journal_call *call);
void cudnn_plan_launched(const struct journal_call *call);

#endif
