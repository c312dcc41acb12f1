/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/dl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "tracer/host.h"
#include "tracer/slot.h"
#include "tracer/tap.h"

/* Stands in for a dlsym that does not exist (no libdl in the process). */
static void *nothing(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

/* A library that looks its own names up in its parts must get its own. */
static bool is_vendor(const void *caller, const char *name)
{
    struct elf_object object;
    return elf_at(caller, &object) && elf_symbol(&object, name) != NULL;
}

static bool is_ours_to_answer(void *handle, const char *name, const void *caller)
{
    return !tap_is_inert() && handle != RTLD_NEXT && name && slot_find(name) &&
           !host_is_self(caller) && !is_vendor(caller, name);
}

const void *dl_route(void *handle, const char *name, const void *caller)
{
    if (is_ours_to_answer(handle, name, caller))
        return (const void *)(uintptr_t)dl_find;
    const struct host *host = host_get();
    return host->dlsym ? (const void *)(uintptr_t)host->dlsym : (const void *)(uintptr_t)nothing;
}

const void *dl_vroute(void *handle, const char *name, const void *caller)
{
    if (is_ours_to_answer(handle, name, caller))
        return (const void *)(uintptr_t)dl_vfind;
    const struct host *host = host_get();
    return host->dlvsym ? (const void *)(uintptr_t)host->dlvsym : (const void *)(uintptr_t)nothing;
}

static void *replace(const char *name, void *real)
{
    struct slot *slot = slot_find(name);
    if (!real || !slot)
        return real;
    if (!host_is_self(real))
        return slot_bind(slot, real);
    /* The global scope holds our hook whether or not there is anything behind it. */
    return slot_exists(slot) ? real : host_get()->dlsym(RTLD_NEXT, name);
}

void *dl_find(void *handle, const char *name)
{
    const struct host *host = host_get();
    return host->dlsym ? replace(name, host->dlsym(handle, name)) : NULL;
}

void *dl_vfind(void *handle, const char *name, const char *version)
{
    const struct host *host = host_get();
    return host->dlvsym ? replace(name, host->dlvsym(handle, name, version)) : NULL;
}
