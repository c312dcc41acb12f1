/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/host.h"

#include <stdatomic.h>

static struct host host;
static _Atomic bool complete;

/* Several threads may be here at once and store the same values: nobody may wait for another, who
 * could be waiting for a lock of the loader that the first one holds. */
static void fill(void)
{
    struct elf_object self;
    if (!elf_at((const void *)(uintptr_t)&host_get, &self))
        return;
    host.self = self;
    /* Loaded by dlopen (through a vendor's door alone), we stand behind all of them. */
    bool behind = elf_next(&self, true, "dlsym") != NULL;
#define X(name, result, parameters)                                                                \
    host.name = (result(*) parameters)(uintptr_t)elf_next(&self, behind, #name);
    HOST_LIST(X)
#undef X
    /* Without libdl, look again next time: it may be loaded later. */
    atomic_store_explicit(&complete, host.dlsym != NULL, memory_order_release);
}

const struct host *host_get(void)
{
    if (!atomic_load_explicit(&complete, memory_order_acquire))
        fill();
    return &host;
}

bool host_is_self(const void *address)
{
    const struct elf_object *self = &host_get()->self;
    return (uintptr_t)address >= self->low && (uintptr_t)address < self->high;
}
