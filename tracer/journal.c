/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/journal.h"

#include "tracer/pages.h"

_Static_assert((JOURNAL_CALLS & (JOURNAL_CALLS - 1)) == 0, "places are numbers modulo it");

struct journal *journal_make(void)
{
    struct journal *j = pages_map(sizeof *j);
    if (j)
        atomic_store_explicit(&j->next, j->call, memory_order_relaxed);
    return j;
}

/* One place stays free, to tell a full journal from an empty one. */
uint32_t journal_room(struct journal *j, struct journal_call **next)
{
    uint64_t taken = atomic_load_explicit(&j->taken, memory_order_acquire);
    uint64_t at = (uint64_t)(atomic_load_explicit(&j->next, memory_order_relaxed) - j->call);
    uint64_t room = JOURNAL_CALLS - 1 - (at - taken) % JOURNAL_CALLS;
    at %= JOURNAL_CALLS;
    *next = &j->call[at];
    return (uint32_t)(room < JOURNAL_CALLS - at ? room : JOURNAL_CALLS - at);
}
