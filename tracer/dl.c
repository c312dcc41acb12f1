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

static void *nothing_versioned(void *handle, const char *name, const char *version)
{
    (void)version;
    return nothing(handle, name);
}

/* A library that looks its own names up in its parts must get its own. */
static bool is_vendor(const void *caller, const char *name)
{
    struct elf_object object;
    return elf_at(caller, &object) && elf_symbol(&object, name) != NULL;
}

enum route { REAL, FIND, ABSENT };

static enum route route(void *handle, const char *name, const void *caller)
{
    if (tap_is_inert() || handle == RTLD_NEXT || !name)
        return REAL;
    enum slot_id slot = slot_find(name);
    if (slot == SLOT_COUNT || host_is_self(caller))
        return REAL;
    if (handle == RTLD_DEFAULT)
        return slot_exists(slot, caller) ? REAL : ABSENT;
    return is_vendor(caller, name) ? REAL : FIND;
}

const void *dl_route(void *handle, const char *name, const void *caller)
{
    const struct host *host = host_get();
    enum route to = host->dlsym ? route(handle, name, caller) : REAL;
    void *(*entry)(void *, const char *) = to == FIND     ? dl_find
                                           : to == ABSENT ? dl_absent
                                           : host->dlsym  ? host->dlsym
                                                          : nothing;
    return (const void *)(uintptr_t)entry;
}

const void *dl_vroute(void *handle, const char *name, const void *caller)
{
    const struct host *host = host_get();
    enum route to = host->dlvsym && host->dlsym ? route(handle, name, caller) : REAL;
    void *(*entry)(void *, const char *, const char *) = to == FIND     ? dl_vfind
                                                         : to == ABSENT ? dl_vabsent
                                                         : host->dlvsym ? host->dlvsym
                                                                        : nothing_versioned;
    return (const void *)(uintptr_t)entry;
}

static void *replace(const char *name, void *real)
{
    enum slot_id slot = slot_find(name);
    if (!real || slot == SLOT_COUNT)
        return real;
    if (!host_is_self(real))
        return slot_bind(slot, real);
    return slot_exists(slot, NULL) ? real : dl_absent(NULL, name);
}

void *dl_find(void *handle, const char *name)
{
    return replace(name, host_get()->dlsym(handle, name));
}

void *dl_vfind(void *handle, const char *name, const char *version)
{
    return replace(name, host_get()->dlvsym(handle, name, version));
}

void *dl_absent(void *handle, const char *name)
{
    (void)handle;
    void *found = host_get()->dlsym(RTLD_NEXT, name);
    /* Not a tail call: "next" is what follows us, not what follows the host. */
    __asm__ volatile("" : "+r"(found));
    return found;
}

void *dl_vabsent(void *handle, const char *name, const char *version)
{
    (void)version;
    return dl_absent(handle, name);
}
