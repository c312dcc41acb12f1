/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of one thread on their way to the writer thread: one producer, one consumer, no lock, no
 * system call. When the ring is full, the newest event is refused. The memory is touched only as
 * far as it is used.
 */
#ifndef TILEWISE_TRACER_RING_H
#define TILEWISE_TRACER_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/hot.h"

enum {
    RING_EVENTS = 1 << 16,
    RING_ENTRY_BITS = 16,
    RING_STREAM_BITS = 10,
    RING_STREAMS = 1 << RING_STREAM_BITS,
    RING_DURATION_BITS = 64 - RING_ENTRY_BITS - RING_STREAM_BITS, /* 90 s at 3 GHz */
};

struct ring_event {
    uint64_t start_ticks;
    uint64_t
        duration_and_entry; /* duration in ticks, stream, entry of the thread's table: ring_pack */
};

static inline uint64_t ring_pack(uint64_t duration_ticks, uint32_t stream, uint32_t entry)
{
    const uint64_t most = (UINT64_C(1) << RING_DURATION_BITS) - 1;
    uint64_t ticks = duration_ticks < most ? duration_ticks : most;
    return (ticks << RING_STREAM_BITS | stream) << RING_ENTRY_BITS | entry;
}

static inline uint32_t ring_entry(struct ring_event e)
{
    return e.duration_and_entry & ((1 << RING_ENTRY_BITS) - 1);
}

static inline uint32_t ring_stream(struct ring_event e)
{
    return e.duration_and_entry >> RING_ENTRY_BITS & (RING_STREAMS - 1);
}

static inline uint64_t ring_duration_ticks(struct ring_event e)
{
    return e.duration_and_entry >> (RING_ENTRY_BITS + RING_STREAM_BITS);
}

/* Of a line's alignment where the two sides are not to share one. */
struct ring {
    struct ring_event event[RING_EVENTS];
    /* The consumer's line. */
    _Atomic uint64_t tail;
    char rest[HOT_LINE - sizeof(uint64_t)];
    /* The producer's line: its position and what it last knew of the consumer's. Last, so that it
     * lies beside what the producer needs of its thread (thread.h). */
    _Atomic uint64_t head;
    uint64_t seen_tail;
};

/* Producer. False when the ring is full. */
static inline bool ring_push(struct ring *r, struct ring_event event)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (__builtin_expect(head - r->seen_tail >= RING_EVENTS, 0)) {
        r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (head - r->seen_tail >= RING_EVENTS)
            return false;
    }
    r->event[head % RING_EVENTS] = event;
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return true;
}

/* Consumer: how many events wait. */
static inline uint64_t ring_waiting(const struct ring *r)
{
    return atomic_load_explicit(&r->head, memory_order_acquire) -
           atomic_load_explicit(&r->tail, memory_order_relaxed);
}

/* Consumer: the i-th event that waits. */
static inline struct ring_event ring_peek(const struct ring *r, uint64_t i)
{
    return r->event[(atomic_load_explicit(&r->tail, memory_order_relaxed) + i) % RING_EVENTS];
}

/* Consumer: done with `count` of them. */
static inline void ring_pop(struct ring *r, uint64_t count)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + count, memory_order_release);
}

#endif
