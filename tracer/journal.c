/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/journal.h"

#include "tracer/pages.h"

_Static_assert((JOURNAL_CALLS & (JOURNAL_CALLS - 1)) == 0, "places are numbers modulo it");

struct journal *journal_make(void)
{
    return pages_map(sizeof(struct journal));
}

uint32_t journal_room(struct journal *j, uint32_t number, struct journal_call **next)
{
    uint32_t taken = (uint32_t)atomic_load_explicit(&j->taken, memory_order_acquire);
    uint32_t room = JOURNAL_CALLS - (number - 1 - taken), at = (number - 1) % JOURNAL_CALLS;
    *next = &j->call[at];
    return room < JOURNAL_CALLS - at ? room : JOURNAL_CALLS - at;
}
