/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: the CUDA runtime (also one that is linked statically into a program) and many
 * hosts take the driver's functions from it and not from the linker. Its results are replaced as
 * those of dlsym are. A name stands for all versions of the function; the hooks of graph.def are
 * made for all of them.
 */
#include <string.h>

#include "tracer/driver_calls.h"
#include "tracer/hook.h"
#include "tracer/host.h"
#include "tracer/tap.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 3 };

static int missing(void)
{
    return NOT_INITIALIZED;
}

/* Its second version, of CUDA 12.3, has other arguments; those of the others only grew. */
static bool is_first(const char *name, int version)
{
    return version < 12030 || strcmp(name, "cuGraphAddNode") != 0;
}

static enum slot_id find(const char *name, int version)
{
    char second[64];
    enum slot_id slot = is_first(name, version) ? slot_find(name) : SLOT_COUNT;
    if (slot != SLOT_COUNT || strlen(name) > sizeof second - 4)
        return slot;
    strcat(strcpy(second, name), "_v2");
    return slot_find(second);
}

static void replace(const char *name, void **address, int version)
{
    if (!name || !address || !*address || tap_is_inert() || host_is_self(*address))
        return;
    enum slot_id slot = find(name, version);
    if (slot != SLOT_COUNT)
        *address = slot_bind(slot, *address);
}

#define ROW(family, symbol)                                                                        \
    HOOK int symbol(family##_PARAMS);                                                              \
    INLINE int run_##symbol(const void *caller, __typeof__(&symbol) real, family##_PARAMS)         \
    {                                                                                              \
        (void)caller;                                                                              \
        int status = real(family##_ARGS);                                                          \
        if (status == SUCCESS)                                                                     \
            replace(name, address, version);                                                       \
        return status;                                                                             \
    }                                                                                              \
    HOOK_DEFINE(int, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/driver.def"
#undef ROW

HOOK_TABLE(wrap_driver_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/driver.def"
#undef ROW
HOOK_TABLE_END
