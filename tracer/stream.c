/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/stream.h"

#include <stdatomic.h>

#include "tracer/ring.h"

enum { MOST = RING_STREAMS - 1 };

HOT_DATA _Alignas(HOT_LINE) _Atomic uint64_t stream_near[1 << STREAM_NEAR_BITS];

/* In the order of their numbers; the address + 1: the null stream is one too. Whoever takes the
 * first free place has the number of it in the same moment, so that nobody finds a stream without
 * one. */
static _Atomic uintptr_t name[MOST - 1];

static uint32_t find(const void *stream)
{
    uintptr_t wanted = (uintptr_t)stream + 1;
    for (uint32_t i = 0; i < MOST - 1; i++) {
        uintptr_t found = atomic_load_explicit(&name[i], memory_order_relaxed);
        if ((found == 0 && atomic_compare_exchange_strong(&name[i], &found, wanted)) ||
            found == wanted)
            return i + 1;
    }
    return MOST;
}

HOT_NOT uint32_t stream_number_far(const void *stream)
{
    uint32_t found = find(stream);
    uint64_t wanted = (uint64_t)(uintptr_t)stream + 1;
    if (wanted >> STREAM_ADDRESS_BITS == 0)
        atomic_store_explicit(stream_near_of(stream),
                              (uint64_t)found << STREAM_ADDRESS_BITS | wanted,
                              memory_order_relaxed);
    return found;
}
