/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/handle.h"

#include <stdatomic.h>
#include <stddef.h>

#include "tracer/stream.h"

enum { SETS = 256, WAYS = 4 };

enum { BUSY = 1 }; /* a name that no handle has: the entry is being written */

/* A handle has a place in the first table, or where others have both, in a set of the second one.
 */
HOT_DATA _Alignas(HOT_PAGE) struct handle_entry handle_near[1 << HANDLE_NEAR_BITS];
static _Alignas(HOT_LINE) struct handle_entry entries[SETS][WAYS];
static _Atomic uint32_t victim;

static struct handle_entry *set_of(const void *handle)
{
    return entries[(uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u >> 56];
}

HOT_NOT struct handle_entry *handle_find_far(const void *handle)
{
    struct handle_entry *set = set_of(handle);
    for (int i = 0; i < WAYS; i++)
        if (handle_is_named(&set[i], handle))
            return &set[i];
    return NULL;
}

static uint64_t pack(const void *handle, const struct handle_state *state)
{
    return handle_owner(handle) | state->math_mode |
           (uint64_t)(state->pointer_mode != 0) << HANDLE_POINTER_MODE_SHIFT;
}

/* Its own entry, a free one, or somebody's. */
static struct handle_entry *place_for(const void *handle)
{
    struct handle_entry *set = set_of(handle), *own = handle_find(handle);
    for (int other = 0; other < 2 && !own; other++)
        if (atomic_load_explicit(&handle_near_of(handle, other)->name, memory_order_relaxed) == 0)
            own = handle_near_of(handle, other);
    for (int i = 0; i < WAYS && !own; i++)
        if (atomic_load_explicit(&set[i].name, memory_order_relaxed) == 0)
            own = &set[i];
    return own ? own : &set[atomic_fetch_add(&victim, 1) % WAYS];
}

/* The entry that is called `name`, to write to it. */
static bool take(struct handle_entry *e, uintptr_t name)
{
    if (name == BUSY || !atomic_compare_exchange_strong(&e->name, &name, BUSY))
        return false;
    atomic_fetch_add_explicit(&e->version, 1, memory_order_acq_rel);
    return true;
}

static void store_stream(struct handle_entry *e, void *stream, uint32_t number)
{
    atomic_store_explicit(&e->stream, stream, memory_order_release);
    atomic_store_explicit(&e->stream_number, number, memory_order_release);
}

static void give(struct handle_entry *e, const void *handle)
{
    atomic_store_explicit(&e->name, (uintptr_t)handle, memory_order_release);
}

void handle_put(const void *handle, const struct handle_state *state)
{
    if (!handle)
        return;
    struct handle_entry *e = place_for(handle);
    /* Not the owner of the place: then it is not kept, and asked for again. */
    if (!take(e, atomic_load_explicit(&e->name, memory_order_relaxed)))
        return;
    store_stream(e, state->stream, state->stream_number);
    atomic_store_explicit(&e->modes, pack(handle, state), memory_order_release);
    give(e, handle);
}

void handle_set_stream(const void *handle, void *stream)
{
    struct handle_entry *e = handle ? handle_find(handle) : NULL;
    if (!e || atomic_load_explicit(&e->stream, memory_order_relaxed) == stream)
        return;
    uint32_t number = stream_number(stream);
    if (!take(e, (uintptr_t)handle))
        return;
    store_stream(e, stream, number);
    give(e, handle);
}

/* Nobody waits for another: no read-modify-write that locks the line. */
static void change_modes(const void *handle, uint64_t without, uint64_t with)
{
    struct handle_entry *e = handle ? handle_find(handle) : NULL;
    if (!e)
        return;
    uint64_t was = atomic_load_explicit(&e->modes, memory_order_relaxed);
    uint64_t is = (was & ~without) | with;
    if (is != was && was >> HANDLE_OWNER_SHIFT == handle_owner(handle) >> HANDLE_OWNER_SHIFT)
        atomic_store_explicit(&e->modes, is, memory_order_release);
}

void handle_set_math_mode(const void *handle, uint16_t mode)
{
    change_modes(handle, UINT16_MAX, mode);
}

void handle_set_pointer_mode(const void *handle, bool is_device)
{
    change_modes(handle, UINT64_C(1) << HANDLE_POINTER_MODE_SHIFT,
                 (uint64_t)is_device << HANDLE_POINTER_MODE_SHIFT);
}

/* Of two threads that told at once, each may have found a place. */
void handle_forget(const void *handle)
{
    struct handle_entry *e;
    while (handle && (e = handle_find(handle))) {
        uintptr_t name = (uintptr_t)handle;
        atomic_compare_exchange_strong(&e->name, &name, 0);
    }
}
