/* SPDX-License-Identifier: Apache-2.0
 *
 * One slot per row of the tables: the hook, and the real functions behind it. A process may hold
 * several libraries that export one name (numpy and scipy each carry an OpenBLAS): a caller must
 * reach the one that it would have reached without us.
 *
 *   - linked calls (through the PLT): the real function depends on the object that calls, so each
 *     slot remembers a few (range of addresses, function) pairs;
 *   - calls through dlsym: the function that dlsym returned is bound to a hook of its own, of which
 *     each slot has SLOT_BOUND.
 */
#ifndef TILEWISE_TRACER_SLOT_H
#define TILEWISE_TRACER_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/hot.h"
#include "tracer/pass.h"

enum slot_id {
#define ROW(family, symbol, ...) SLOT_##symbol,
#include "tracer/slots.def"
#undef ROW
    SLOT_COUNT
};

enum { SLOT_CALLERS = 16, SLOT_BOUND = 3, SLOT_NAME_BYTES = 40 };

struct slot_caller {
    _Atomic uintptr_t low, bytes; /* bytes is stored last: 0 means that the entry is free */
    void *_Atomic real;
};

_Static_assert(sizeof(struct slot_caller) == PASS_SLOT_BYTES &&
                   offsetof(struct slot_caller, bytes) == PASS_SLOT_RANGE &&
                   offsetof(struct slot_caller, real) == PASS_SLOT_REAL,
               "pass_entry.S");

/* What is fixed, apart from what is learnt: the latter costs a process nothing until it calls. */
struct slot {
    char name[SLOT_NAME_BYTES]; /* in place: no relocation */
    bool is_bare;               /* a name that others use too: only a BLAS is recorded */
};

struct slot_state {
    _Alignas(HOT_LINE) void *_Atomic bound[SLOT_BOUND];
    struct slot_caller caller[SLOT_CALLERS - 1]; /* after the first one */
};

/* What a wrap file makes of its rows (tracer/hook.h): of slot `slot` the bound hook number `which`;
 * for SLOT_LINKED what a bare name is linked to (no other slot has one here); for SLOT_MISSING what
 * is called where no library has the function: it answers as one that fails. NULL for a slot that
 * is not its own. */
enum { SLOT_LINKED = SLOT_BOUND, SLOT_MISSING };
typedef void *slot_hooks(enum slot_id slot, unsigned which);

extern const struct slot slot_table[SLOT_COUNT];
extern struct slot_state slot_states[SLOT_COUNT];
/* The first caller's pairs, beside those of the slots that are called next: most processes have no
 * others. */
extern HOT_DATA struct slot_caller slot_first[SLOT_COUNT];

/* Slot of a symbol name, or SLOT_COUNT. */
enum slot_id slot_find(const char *name);

/* The real function for a call that returns to `caller`. Never NULL: where none exists, the
 * wrap file's SLOT_MISSING. Any thread; keeps errno. */
void *slot_resolve(enum slot_id slot, const void *caller);

/* Is it the pair of this caller? False for a free one. */
static inline bool slot_is_caller(const struct slot_caller *c, const void *caller)
{
    uintptr_t bytes = atomic_load_explicit(&c->bytes, memory_order_acquire);
    return (uintptr_t)caller - atomic_load_explicit(&c->low, memory_order_relaxed) < bytes;
}

/* The same without a look at anything else than the first pair: NULL if it is not the caller's. */
static inline void *slot_first_real(enum slot_id slot, const void *caller)
{
    const struct slot_caller *c = &slot_first[slot];
    return __builtin_expect(slot_is_caller(c, caller), 1)
               ? atomic_load_explicit(&c->real, memory_order_relaxed)
               : NULL;
}

static inline void *slot_real(enum slot_id slot, const void *caller)
{
    void *real = slot_first_real(slot, caller);
    return __builtin_expect(real != NULL, 1) ? real : slot_resolve(slot, caller);
}

/* Where a call of a bare name goes: to its hook if the real function is a BLAS's, else straight to
 * the real function. Called by bare_entry.S. */
const void *slot_bare(enum slot_id slot, const void *caller);

/* Would `caller` find the slot's name without us, in the global scope or (caller not NULL) its own?
 * Keeps neither errno nor dlerror. */
bool slot_exists(enum slot_id slot, const void *caller);

/* A hook that calls `real`; `real` itself when all hooks of the slot are taken by others. */
void *slot_bind(enum slot_id slot, void *real);

/* Does the address lie in a library that one of the real functions lives in? Async-signal-safe. */
bool slot_is_library(const void *address);
/* Or in a part of such a library, by the names of the vendors' families? Looks at the loaded
 * objects, under the loader's lock, the first time that it is asked of an object (the first 64 that
 * are none; of code in no object: of a page); then it costs loads. Keeps errno. */
bool slot_is_vendor(const void *address);
/* The same by the path of an object alone. */
bool slot_is_family(const char *path);

/* In a fork child: whoever was appending is not here any more. */
void slot_after_fork(void);

/* How many such libraries there are. */
unsigned slot_libraries(void);

#endif
