/* SPDX-License-Identifier: Apache-2.0
 *
 * What we know of a library handle (cuBLAS, cuDNN): its stream and its modes. Kept by address, told
 * by the hooks of the setters, so that a call asks the library nothing. A cache: what falls out is
 * asked for again. Any thread, no lock; as in the library itself, two threads that change one
 * handle at once get one of the two states.
 */
#ifndef TILEWISE_TRACER_HANDLE_H
#define TILEWISE_TRACER_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/hot.h"
#include "tracer/pass.h"

struct handle_state {
    void *stream;
    uint32_t stream_number;
    uint16_t math_mode;
    uint8_t pointer_mode; /* 0 host, 1 device */
};

void handle_put(const void *handle, const struct handle_state *state);

/* The first handles of a process are found at a glance, with what each was told last: each in one
 * of two places, which are one line. */
struct handle_entry {
    _Atomic uintptr_t name; /* 0 = free */
    _Atomic(void *) stream;
    _Atomic uint32_t version, stream_number; /* version: of all but the modes */
    _Atomic uint64_t modes;                  /* math mode, pointer mode, owner */
};

/* The modes are written alone, by a setter that may have lost the place to another handle
 * meanwhile: so they say whose they are. Of an address that is its lowest 48 bits without the last
 * one; handles are memory that was allocated. */
enum {
    HANDLE_POINTER_MODE_SHIFT = 16, /* after the math mode */
    HANDLE_OWNER_SHIFT,
};

static inline uint64_t handle_owner(const void *handle)
{
    return (uint64_t)(uintptr_t)handle >> 1 << HANDLE_OWNER_SHIFT;
}

enum { HANDLE_NEAR_BITS = PASS_HANDLE_BITS };
_Static_assert(sizeof(struct handle_entry) == 1 << PASS_HANDLE_BYTES_LOG2 &&
                   offsetof(struct handle_entry, name) == 0 &&
                   offsetof(struct handle_entry, stream) == PASS_HANDLE_STREAM &&
                   offsetof(struct handle_entry, version) == PASS_HANDLE_STATE &&
                   offsetof(struct handle_entry, modes) == PASS_HANDLE_MODES &&
                   PASS_HANDLE_MODES == PASS_HANDLE_STATE + sizeof(uint64_t),
               "pass_entry.S");
extern HOT_DATA struct handle_entry handle_near[1 << HANDLE_NEAR_BITS];

/* Its place; `is_other`: the other one. */
static inline struct handle_entry *handle_near_of(const void *handle, bool is_other)
{
    uint32_t at = (uint32_t)(uintptr_t)handle * PASS_NEAR_HASH >> (32 - HANDLE_NEAR_BITS);
    return &handle_near[at ^ is_other];
}

static inline bool handle_is_named(const struct handle_entry *e, const void *handle)
{
    return atomic_load_explicit(&e->name, memory_order_acquire) == (uintptr_t)handle;
}

struct handle_entry *handle_find_far(const void *handle);

/* Where the handle is, or NULL: among those at a glance; among all. */
static inline struct handle_entry *handle_find_near(const void *handle)
{
    struct handle_entry *first = handle_near_of(handle, false),
                        *other = handle_near_of(handle, true);
    if (__builtin_expect(handle_is_named(first, handle), 1))
        return first;
    return handle_is_named(other, handle) ? other : NULL;
}

static inline struct handle_entry *handle_find(const void *handle)
{
    struct handle_entry *near = handle_find_near(handle);
    return __builtin_expect(near != NULL, 1) ? near : handle_find_far(handle);
}

/* What the bytes of an entry from `version` on tell, but for the stream's address. False: they are
 * another handle's. */
static inline bool handle_read(const void *handle, const uint64_t bytes[2],
                               struct handle_state *out)
{
    *out = (struct handle_state){ .stream_number = (uint32_t)(bytes[0] >> 32),
                                  .math_mode = (uint16_t)bytes[1],
                                  .pointer_mode = bytes[1] >> HANDLE_POINTER_MODE_SHIFT & 1 };
    return bytes[1] >> HANDLE_OWNER_SHIFT == handle_owner(handle) >> HANDLE_OWNER_SHIFT;
}

static inline bool handle_get(const void *handle, struct handle_state *out)
{
    struct handle_entry *e = handle ? handle_find(handle) : NULL;
    if (!e)
        return false;
    uint32_t version = atomic_load_explicit(&e->version, memory_order_acquire);
    bool is_mine = handle_is_named(e, handle);
    uint64_t modes = atomic_load_explicit(&e->modes, memory_order_acquire);
    void *stream = atomic_load_explicit(&e->stream, memory_order_acquire);
    uint64_t number = atomic_load_explicit(&e->stream_number, memory_order_acquire);
    bool is_owner = handle_read(handle, (uint64_t[]){ number << 32, modes }, out);
    out->stream = stream;
    /* Another handle may have taken the place meanwhile. */
    return is_mine && is_owner &&
           atomic_load_explicit(&e->version, memory_order_relaxed) == version;
}

/* For setters, which hosts call at every product, mostly with what is there already: is it known to
 * be there? Then there is nothing to tell, whatever the library answers. False is always right. */
static inline bool handle_has_stream(const void *handle, const void *stream)
{
    const struct handle_entry *e = handle_find_near(handle);
    return e && atomic_load_explicit(&e->stream, memory_order_relaxed) == stream;
}

static inline bool handle_has_math_mode(const void *handle, uint16_t mode)
{
    const struct handle_entry *e = handle_find_near(handle);
    return e && (uint16_t)atomic_load_explicit(&e->modes, memory_order_relaxed) == mode;
}

static inline bool handle_has_pointer_mode(const void *handle, bool is_device)
{
    const struct handle_entry *e = handle_find_near(handle);
    return e &&
           (atomic_load_explicit(&e->modes, memory_order_relaxed) >> HANDLE_POINTER_MODE_SHIFT &
            1) == is_device;
}

/* A setter did its work. A handle that is not known stays so. */
void handle_set_stream(const void *handle, void *stream);
void handle_set_math_mode(const void *handle, uint16_t mode);
void handle_set_pointer_mode(const void *handle, bool is_device);

/* The handle is gone: another one may get its address. */
void handle_forget(const void *handle);

#endif
