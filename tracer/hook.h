/* SPDX-License-Identifier: Apache-2.0
 *
 * From a row of a table to its functions, for the wrap files. A wrap file declares each symbol and
 * defines `run_SYMBOL(caller, real, arguments...)`, which makes the real call and records it;
 * HOOK_DEFINE makes the exported hook of it, the hooks for results of dlsym, and what slot.c needs.
 */
#ifndef TILEWISE_TRACER_HOOK_H
#define TILEWISE_TRACER_HOOK_H

#include "tracer/slot.h"

#define HOOK   __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

#define HOOK_BOUND(number, result, symbol, parameters, arguments)                                  \
    static result bound##number##_##symbol(parameters)                                             \
    {                                                                                              \
        return bound_##symbol(CALLER, slot_table[SLOT_##symbol].bound[number], arguments);         \
    }

/* `missing`: what the symbol does where no library has it. run_SYMBOL is inlined into the linked
 * hook and stands once out of line for the bound ones. */
#define HOOK_DEFINE(result, symbol, parameters, arguments, missing_function)                       \
    result symbol(parameters)                                                                      \
    {                                                                                              \
        const void *caller = CALLER;                                                               \
        return run_##symbol(caller, slot_real(&slot_table[SLOT_##symbol], caller), arguments);     \
    }                                                                                              \
    static __attribute__((noinline))                                                               \
    result bound_##symbol(const void *caller, __typeof__(&symbol) real, parameters)                \
    {                                                                                              \
        return run_##symbol(caller, real, arguments);                                              \
    }                                                                                              \
    HOOK_BOUND(0, result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))                     \
    HOOK_BOUND(1, result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))                     \
    HOOK_BOUND(2, result, symbol, HOOK_LIST(parameters), HOOK_LIST(arguments))                     \
    const struct slot_hooks slot_hooks_##symbol = {                                                \
        .bound = { bound0_##symbol, bound1_##symbol, bound2_##symbol },                            \
        .missing = missing_function,                                                               \
    };
#define HOOK_LIST(...) __VA_ARGS__

_Static_assert(SLOT_BOUND == 3, "one bound hook each");

#endif
