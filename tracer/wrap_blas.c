/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks: every row of cblas.def and fblas.def becomes an exported function, hooks for dlsym's
 * results, and a slot. The arguments go on unchanged; nothing is validated for the host. What a
 * BARE row exports is in bare_entry.S, and comes here once it is known to be a BLAS.
 */
#include "tracer/blas.h"
#include "tracer/slot.h"
#include "tracer/tap.h"

#define HOOK   __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* Pass 1: the recorded call. Inlined into the linked hook, once out of line for the bound ones. */
#define ROW(family, symbol, integer, element)                                                      \
    HOOK void symbol(family##_PARAMS(integer, element));                                           \
    INLINE void run_##symbol(const void *caller, __typeof__(&symbol) real,                         \
                             family##_PARAMS(integer, element))                                    \
    {                                                                                              \
        struct tilewise_signature key;                                                             \
        bool on = tap_enter(caller), valid = on && family##_KEY(&key, element);                    \
        if (on && !valid)                                                                          \
            tap_fail(caller);                                                                      \
        key.entry = SLOT_##symbol;                                                                 \
        uint64_t start_ticks = valid ? clock_ticks() : 0;                                          \
        real(family##_ARGS);                                                                       \
        if (valid)                                                                                 \
            tap_leave(&key, start_ticks);                                                          \
    }
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW

/* Pass 2: the hooks themselves; a bare one is called linked_<name> here. */
#define BOUND(number, family, symbol, integer, element)                                            \
    static void bound##number##_##symbol(family##_PARAMS(integer, element))                        \
    {                                                                                              \
        bound_##symbol(CALLER, slot_states[SLOT_##symbol].bound[number], family##_ARGS);           \
    }
#define LINKED(name, family, symbol, integer, element)                                             \
    void name(family##_PARAMS(integer, element))                                                   \
    {                                                                                              \
        const void *caller = CALLER;                                                               \
        run_##symbol(caller, slot_real(SLOT_##symbol, caller), family##_ARGS);                     \
    }
#define BOUNDS(family, symbol, integer, element)                                                   \
    static __attribute__((noinline)) void bound_##symbol(                                          \
        const void *caller, __typeof__(&symbol) real, family##_PARAMS(integer, element))           \
    {                                                                                              \
        run_##symbol(caller, real, family##_ARGS);                                                 \
    }                                                                                              \
    BOUND(0, family, symbol, integer, element)                                                     \
    BOUND(1, family, symbol, integer, element)                                                     \
    BOUND(2, family, symbol, integer, element)
#define ROW(family, symbol, integer, element)                                                      \
    LINKED(symbol, family, symbol, integer, element)                                               \
    BOUNDS(family, symbol, integer, element)
#define BARE(family, symbol, integer, element)                                                     \
    static LINKED(linked_##symbol, family, symbol, integer, element)                               \
        BOUNDS(family, symbol, integer, element)
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
#undef BARE
#undef LINKED
#undef BOUNDS
#undef BOUND

/* Pass 3: the slots. */
#define ROW(family, symbol, integer, element)                                                      \
    { #symbol, false, { symbol, bound0_##symbol, bound1_##symbol, bound2_##symbol } },
#define BARE(family, symbol, integer, element)                                                     \
    { #symbol, true, { linked_##symbol, bound0_##symbol, bound1_##symbol, bound2_##symbol } },
const struct slot slot_table[SLOT_COUNT] = {
#include "tracer/cblas.def"
#include "tracer/fblas.def"
};
#undef ROW
#undef BARE
_Static_assert(SLOT_BOUND == 3, "one bound hook each");
#define ROW(family, symbol, integer, element)                                                      \
    _Static_assert(sizeof #symbol <= SLOT_NAME_BYTES, "the name and its end fit");
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
