/* SPDX-License-Identifier: Apache-2.0
 *
 * From a row of a table to its functions, for the wrap files. A wrap file declares each symbol and
 * defines `run_SYMBOL(caller, real, arguments...)`, which makes the real call and records it;
 * HOOK_DEFINE makes the exported hook of it and the hooks for results of dlsym, HOOK_TABLE what
 * slot.c needs to find them.
 */
#ifndef TILEWISE_TRACER_HOOK_H
#define TILEWISE_TRACER_HOOK_H

#include <stddef.h>

#include "tracer/slot.h"

#define HOOK   __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

#define HOOK_BOUND(number, result, symbol, parameters, arguments)                                  \
    static result bound##number##_##symbol(parameters)                                             \
    {                                                                                              \
        return bound_##symbol(CALLER, slot_states[SLOT_##symbol].bound[number], arguments);        \
    }

/* The linked hook, of any name; the bound ones; both. run_SYMBOL is inlined into the linked hook
 * and stands once out of line for the bound ones. */
#define HOOK_LINKED(name, result, symbol, parameters, arguments)                                   \
    result name(parameters)                                                                        \
    {                                                                                              \
        const void *caller = CALLER;                                                               \
        return run_##symbol(caller, slot_real(SLOT_##symbol, caller), arguments);                  \
    }
#define HOOK_BOUNDS(result, symbol, parameters, arguments)                                         \
    static __attribute__((noinline))                                                               \
    result bound_##symbol(const void *caller, __typeof__(&symbol) real, parameters)                \
    {                                                                                              \
        return run_##symbol(caller, real, arguments);                                              \
    }                                                                                              \
    HOOK_BOUND(0, result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))                     \
    HOOK_BOUND(1, result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))                     \
    HOOK_BOUND(2, result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))
#define HOOK_DEFINE(result, symbol, parameters, arguments)                                         \
    HOOK_LINKED(symbol, result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))               \
    HOOK_BOUNDS(result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))
#define HOOK_LIST(...) __VA_ARGS__

/* Of a function that changes what a handle does later. It is no work and is not recorded; once it
 * did its work (status `success`), `tell` says so. Hosts call it again and again with what is there
 * already: then (`is_idle`) the real function returns to the caller. Where pass_entry.S can tell
 * that too, it has the symbol's name, and this one is for all else. Needs tap.h and hot.h. */
#define HOOK_SETTER(result, success, symbol, parameters, arguments, is_idle, tell)                 \
    HOOK HOT_TEXT result symbol(parameters);                                                       \
    HOT_TEXT result PASS_NAME(symbol)(parameters);                                                 \
    INLINE result run_##symbol(const void *caller, __typeof__(&symbol) real, parameters)           \
    {                                                                                              \
        (void)caller;                                                                              \
        result status = real(arguments);                                                           \
        if (status == (success))                                                                   \
            tell;                                                                                  \
        return status;                                                                             \
    }                                                                                              \
    result PASS_NAME(symbol)(parameters)                                                           \
    {                                                                                              \
        const void *caller = CALLER;                                                               \
        __typeof__(&symbol) real = slot_real(SLOT_##symbol, caller);                               \
        if (tap_is_inert() || (is_idle))                                                           \
            return real(arguments);                                                                \
        return run_##symbol(caller, real, arguments);                                              \
    }                                                                                              \
    HOOK_BOUNDS(result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))

/* The wrap file's slot_hooks: HOOK_TABLE(name), a HOOK_ROW for each of its rows, HOOK_TABLE_END. A
 * switch and not an array of addresses: those would be relocated when the shim is loaded, in every
 * process. Exported hooks do not stand in it for the same reason: nobody asks for one by its slot,
 * but for the bare ones, which are called linked_SYMBOL and not exported. */
#define HOOK_TABLE(name)                                                                           \
    slot_hooks name;                                                                               \
    void *name(enum slot_id slot, unsigned which)                                                  \
    {                                                                                              \
        switch ((int)slot) {
#define HOOK_ROW(symbol, missing)  HOOK_CASE(symbol, NULL, missing)
#define HOOK_BARE(symbol, missing) HOOK_CASE(symbol, linked_##symbol, missing)
#define HOOK_CASE(symbol, linked, missing)                                                         \
    case SLOT_##symbol:                                                                            \
        return which == 0             ? (void *)bound0_##symbol                                    \
               : which == 1           ? (void *)bound1_##symbol                                    \
               : which == 2           ? (void *)bound2_##symbol                                    \
               : which == SLOT_LINKED ? (void *)linked                                             \
                                      : (void *)missing;
#define HOOK_TABLE_END                                                                             \
    }                                                                                              \
    return NULL;                                                                                   \
    }

_Static_assert(SLOT_BOUND == 3, "one bound hook each");

#endif
