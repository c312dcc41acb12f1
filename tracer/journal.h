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
    uint64_t handle[2]; /* what was known of the handle: the end of a struct handle_entry */
    uint64_t slot;      /* enum slot_id */
    uint64_t word[JOURNAL_WORDS]; /* the arguments, or what else tells what the call was */
};

_Static_assert(sizeof(struct journal_call) == PASS_CALL_BYTES &&
                   offsetof(struct journal_call, end_ticks) == PASS_CALL_END &&
                   offsetof(struct journal_call, handle) == PASS_CALL_HANDLE &&
                   offsetof(struct journal_call, slot) == PASS_CALL_SLOT &&
                   offsetof(struct journal_call, word) == PASS_CALL_WORDS,
               "pass_entry.S");

struct journal {
    /* The producer's line: where the next call will be; the place after the last is the first. */
    struct journal_call *_Atomic next;
    char rest[HOT_LINE - sizeof(void *)];
    /* The consumer's: how many it has taken; what they were. */
    _Atomic uint64_t taken;
    struct table table;
    _Alignas(HOT_LINE) struct journal_call call[JOURNAL_CALLS];
};

_Static_assert(offsetof(struct journal, next) == 0, "pass_entry.S");

/* An empty one; NULL without memory. */
struct journal *journal_make(void);

/* Producer: where to write the next call, and how many fit from there on. */
uint32_t journal_room(struct journal *j, struct journal_call **next);

/* How many calls wait. */
static inline uint64_t journal_waiting(const struct journal *j)
{
    const struct journal_call *next = atomic_load_explicit(&j->next, memory_order_acquire);
    uint64_t taken = atomic_load_explicit(&j->taken, memory_order_relaxed);
    return ((uint64_t)(next - j->call) - taken) % JOURNAL_CALLS;
}

/* How many there ever were; any thread. */
static inline uint64_t journal_seen(const struct journal *j)
{
    uint64_t taken;
    do {
        taken = atomic_load_explicit(&j->taken, memory_order_acquire);
        const struct journal_call *next = atomic_load_explicit(&j->next, memory_order_acquire);
        uint64_t waiting = ((uint64_t)(next - j->call) - taken) % JOURNAL_CALLS;
        if (taken == atomic_load_explicit(&j->taken, memory_order_relaxed))
            return taken + waiting;
    } while (true);
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

/* What a call was, by the file that wrote it there. Asks no library: the handle may be gone. */
void cublas_read(const struct journal_call *call, struct tilewise_signature *key, uint32_t *stream);
void cudnn_plan_read(const struct journal_call *call, struct tilewise_signature *key,
                     uint32_t *stream);

#endif
