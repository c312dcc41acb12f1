/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks: every row of cblas.def and fblas.def becomes an exported function, hooks for dlsym's
 * results, and a slot. The arguments go on unchanged; nothing is validated for the host. What a
 * BARE row exports is in bare_entry.S, and comes here once it is known to be a BLAS.
 */
#include "tracer/blas.h"
#include "tracer/hook.h"
#include "tracer/tap.h"

/* Of a library that does not exist: no error to give back. */
static void missing(void)
{
}

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
#define ROW(family, symbol, integer, element)                                                      \
    HOOK_DEFINE(void, symbol, HOOK_LIST(family##_PARAMS(integer, element)),                        \
                HOOK_LIST(family##_ARGS))
#define BARE(family, symbol, integer, element)                                                     \
    static HOOK_LINKED(linked_##symbol, void, symbol,                                              \
                       HOOK_LIST(family##_PARAMS(integer, element)), HOOK_LIST(family##_ARGS))     \
        HOOK_BOUNDS(void, symbol, HOOK_LIST(family##_PARAMS(integer, element)),                    \
                    HOOK_LIST(family##_ARGS))
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
#undef BARE

HOOK_TABLE(wrap_blas_hook)
#define ROW(family, symbol, ...)  HOOK_ROW(symbol, missing)
#define BARE(family, symbol, ...) HOOK_BARE(symbol, missing)
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
#undef BARE
HOOK_TABLE_END
