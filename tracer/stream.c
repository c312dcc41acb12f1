/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/stream.h"

#include <stdatomic.h>

#include "tracer/ring.h"

enum { PLACES = RING_STREAMS * 2, MOST = RING_STREAMS - 1 };

HOT_DATA _Alignas(HOT_LINE) _Atomic uint64_t stream_near[1 << STREAM_NEAR_BITS];

/* The address + 1: the null stream is one too. */
static _Atomic uintptr_t name[PLACES];
static _Atomic uint32_t number[PLACES], count;

/* Between taking a place and numbering it lie a few instructions; whoever looks meanwhile (it may
 * be a signal handler on top of them) must not wait. */
static uint32_t number_at(uint32_t i)
{
    uint32_t n = atomic_load_explicit(&number[i], memory_order_acquire);
    return n ? n : MOST;
}

static uint32_t find(const void *stream)
{
    uintptr_t wanted = (uintptr_t)stream + 1;
    uint32_t i = (uint32_t)((uint64_t)wanted * 0x9e3779b97f4a7c15u >> 40) % PLACES;
    for (;; i = (i + 1) % PLACES) {
        uintptr_t found = atomic_load_explicit(&name[i], memory_order_relaxed);
        if (found == wanted)
            return number_at(i);
        if (found)
            continue;
        if (atomic_load_explicit(&count, memory_order_relaxed) >= MOST)
            return MOST;
        if (atomic_compare_exchange_strong(&name[i], &found, wanted)) {
            uint32_t n = atomic_fetch_add(&count, 1) + 1;
            n = n < MOST ? n : MOST;
            atomic_store_explicit(&number[i], n, memory_order_release);
            return n;
        }
        if (found == wanted)
            return number_at(i);
    }
}

HOT_NOT uint32_t stream_number_far(const void *stream)
{
    uint32_t found = find(stream);
    uint64_t wanted = (uint64_t)(uintptr_t)stream + 1;
    if (wanted >> STREAM_ADDRESS_BITS == 0 && found != MOST) /* which may be being numbered */
        atomic_store_explicit(stream_near_of(stream),
                              (uint64_t)found << STREAM_ADDRESS_BITS | wanted,
                              memory_order_relaxed);
    return found;
}
