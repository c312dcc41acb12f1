/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/handle.h"

#include <stdatomic.h>
#include <stddef.h>

enum { SETS = 256, WAYS = 4 };

enum { BUSY = 1 }; /* a name that no handle has: the entry is being written */

struct entry {
    _Atomic uintptr_t name; /* 0 = free */
    _Atomic uint32_t version;
    _Atomic(void *) stream;
    _Atomic uint64_t modes; /* stream number << 32 | math mode << 8 | pointer mode */
};

static struct entry entries[SETS][WAYS];
static _Atomic uint32_t victim;

static struct entry *set_of(const void *handle)
{
    return entries[(uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u >> 56];
}

static struct entry *find(const void *handle)
{
    struct entry *set = set_of(handle);
    for (int i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set[i].name, memory_order_acquire) == (uintptr_t)handle)
            return &set[i];
    return NULL;
}

bool handle_get(const void *handle, struct handle_state *out)
{
    struct entry *e = handle ? find(handle) : NULL;
    if (!e)
        return false;
    uint32_t version = atomic_load_explicit(&e->version, memory_order_acquire);
    bool is_mine = atomic_load_explicit(&e->name, memory_order_acquire) == (uintptr_t)handle;
    uint64_t modes = atomic_load_explicit(&e->modes, memory_order_acquire);
    out->stream = atomic_load_explicit(&e->stream, memory_order_acquire);
    out->stream_number = (uint32_t)(modes >> 32);
    out->math_mode = (uint16_t)(modes >> 8);
    out->pointer_mode = (uint8_t)modes;
    /* Another handle may have taken the place meanwhile. */
    return is_mine && atomic_load_explicit(&e->version, memory_order_relaxed) == version;
}

/* Its own entry, a free one, or somebody's. */
static struct entry *place_for(const void *handle)
{
    struct entry *set = set_of(handle), *own = find(handle);
    for (int i = 0; i < WAYS && !own; i++)
        if (atomic_load_explicit(&set[i].name, memory_order_relaxed) == 0)
            own = &set[i];
    return own ? own : &set[atomic_fetch_add(&victim, 1) % WAYS];
}

void handle_put(const void *handle, const struct handle_state *state)
{
    if (!handle)
        return;
    struct entry *e = place_for(handle);
    uintptr_t name = atomic_load_explicit(&e->name, memory_order_relaxed);
    /* Not the owner of the place: then it is not kept, and asked for again. */
    if (name == BUSY || !atomic_compare_exchange_strong(&e->name, &name, BUSY))
        return;
    atomic_fetch_add_explicit(&e->version, 1, memory_order_acq_rel);
    atomic_store_explicit(&e->stream, state->stream, memory_order_release);
    atomic_store_explicit(&e->modes,
                          (uint64_t)state->stream_number << 32 | (uint64_t)state->math_mode << 8 |
                              state->pointer_mode,
                          memory_order_release);
    atomic_store_explicit(&e->name, (uintptr_t)handle, memory_order_release);
}

void handle_forget(const void *handle)
{
    struct entry *e = handle ? find(handle) : NULL;
    uintptr_t name = (uintptr_t)handle;
    if (e)
        atomic_compare_exchange_strong(&e->name, &name, 0);
}
