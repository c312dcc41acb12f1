/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/handle.h"

#include <stdatomic.h>
#include <stddef.h>

#include "tracer/hot.h"
#include "tracer/stream.h"

enum { SETS = 256, WAYS = 4 };

enum { BUSY = 1 }; /* a name that no handle has: the entry is being written */

/* The modes are written alone, by a setter that may have lost the place to another handle
 * meanwhile: so they say whose they are. Of an address that is its lowest 48 bits without the last
 * one; handles are memory that was allocated. */
enum {
    POINTER_MODE_BITS = 1,
    MATH_MODE_BITS = 16,
    OWNER_SHIFT = POINTER_MODE_BITS + MATH_MODE_BITS
};

struct entry {
    _Atomic uintptr_t name; /* 0 = free */
    _Atomic(void *) stream;
    _Atomic uint32_t version, stream_number; /* version: of all but the modes */
    _Atomic uint64_t modes;                  /* owner, math mode, pointer mode */
};

static _Alignas(HOT_LINE) struct entry entries[SETS][WAYS];
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

static uint64_t owner_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle >> 1 << OWNER_SHIFT;
}

static uint64_t pack(const void *handle, const struct handle_state *state)
{
    return owner_of(handle) | (uint64_t)state->math_mode << POINTER_MODE_BITS |
           (state->pointer_mode != 0);
}

HOT_TEXT bool handle_get(const void *handle, struct handle_state *out)
{
    struct entry *e = handle ? find(handle) : NULL;
    if (!e)
        return false;
    uint32_t version = atomic_load_explicit(&e->version, memory_order_acquire);
    bool is_mine = atomic_load_explicit(&e->name, memory_order_acquire) == (uintptr_t)handle;
    uint64_t modes = atomic_load_explicit(&e->modes, memory_order_acquire);
    out->stream = atomic_load_explicit(&e->stream, memory_order_acquire);
    out->stream_number = atomic_load_explicit(&e->stream_number, memory_order_acquire);
    out->math_mode = (uint16_t)(modes >> POINTER_MODE_BITS);
    out->pointer_mode = modes & 1;
    /* Another handle may have taken the place meanwhile. */
    return is_mine && modes >> OWNER_SHIFT == owner_of(handle) >> OWNER_SHIFT &&
           atomic_load_explicit(&e->version, memory_order_relaxed) == version;
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

/* The entry that is called `name`, to write to it. */
static bool take(struct entry *e, uintptr_t name)
{
    if (name == BUSY || !atomic_compare_exchange_strong(&e->name, &name, BUSY))
        return false;
    atomic_fetch_add_explicit(&e->version, 1, memory_order_acq_rel);
    return true;
}

static void store_stream(struct entry *e, void *stream, uint32_t number)
{
    atomic_store_explicit(&e->stream, stream, memory_order_release);
    atomic_store_explicit(&e->stream_number, number, memory_order_release);
}

static void give(struct entry *e, const void *handle)
{
    atomic_store_explicit(&e->name, (uintptr_t)handle, memory_order_release);
}

void handle_put(const void *handle, const struct handle_state *state)
{
    if (!handle)
        return;
    struct entry *e = place_for(handle);
    /* Not the owner of the place: then it is not kept, and asked for again. */
    if (!take(e, atomic_load_explicit(&e->name, memory_order_relaxed)))
        return;
    store_stream(e, state->stream, state->stream_number);
    atomic_store_explicit(&e->modes, pack(handle, state), memory_order_release);
    give(e, handle);
}

void handle_set_stream(const void *handle, void *stream)
{
    struct entry *e = handle ? find(handle) : NULL;
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
    struct entry *e = handle ? find(handle) : NULL;
    if (!e)
        return;
    uint64_t was = atomic_load_explicit(&e->modes, memory_order_relaxed);
    uint64_t is = (was & ~without) | with;
    if (is != was && was >> OWNER_SHIFT == owner_of(handle) >> OWNER_SHIFT)
        atomic_store_explicit(&e->modes, is, memory_order_release);
}

void handle_set_math_mode(const void *handle, uint16_t mode)
{
    change_modes(handle, UINT64_C(0xffff) << POINTER_MODE_BITS,
                 (uint64_t)mode << POINTER_MODE_BITS);
}

void handle_set_pointer_mode(const void *handle, bool is_device)
{
    change_modes(handle, 1, is_device);
}

void handle_forget(const void *handle)
{
    struct entry *e = handle ? find(handle) : NULL;
    uintptr_t name = (uintptr_t)handle;
    if (e)
        atomic_compare_exchange_strong(&e->name, &name, 0);
}
