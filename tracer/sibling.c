/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/sibling.h"

#include <stdbool.h>
#include <stddef.h>

#include "tracer/elf.h"

static void *look(const void *real, const char *name)
{
    struct elf_object object;
    return elf_at(real, &object) ? elf_symbol(&object, name) : NULL;
}

static void remember(struct sibling *known, const void *real, void *found)
{
    if (atomic_exchange_explicit(&known->is_busy, true, memory_order_acquire))
        return; /* the next call will look again */
    for (int i = 0; i < SIBLING_LIBRARIES && known->of[i].real != real; i++)
        if (!known->of[i].real) {
            atomic_store_explicit(&known->of[i].found, found, memory_order_relaxed);
            atomic_store_explicit(&known->of[i].real, real, memory_order_release);
            break;
        }
    atomic_store_explicit(&known->is_busy, false, memory_order_release);
}

void *sibling_find_far(struct sibling *known, const void *real, const char *name)
{
    for (int i = 0; i < SIBLING_LIBRARIES; i++)
        if (atomic_load_explicit(&known->of[i].real, memory_order_acquire) == real)
            return atomic_load_explicit(&known->of[i].found, memory_order_relaxed);
    void *found = look(real, name);
    remember(known, real, found);
    return found;
}
