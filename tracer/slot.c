/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/slot.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tracer/host.h"

enum { LIBRARIES = 64 };

struct slot_state slot_states[SLOT_COUNT];

/* Libraries that real functions were found in. Append only: `high` is stored last. */
struct library {
    bool is_blas; /* it exports names that only a BLAS has */
    uintptr_t low;
    _Atomic uintptr_t high;
};

static struct library library[LIBRARIES];
static _Atomic bool busy; /* somebody appends to `library` or to a slot */

static void missing(void)
{
}

enum slot_id slot_find(const char *name)
{
    enum slot_id i = 0;
    while (i < SLOT_COUNT && strcmp(slot_table[i].name, name) != 0)
        i++;
    return i;
}

static const struct library *library_of(const void *address)
{
    for (struct library *l = library; l < library + LIBRARIES; l++) {
        uintptr_t high = atomic_load_explicit(&l->high, memory_order_acquire);
        if (high == 0)
            return NULL;
        if ((uintptr_t)address >= l->low && (uintptr_t)address < high)
            return l;
    }
    return NULL;
}

bool slot_is_library(const void *address)
{
    return library_of(address) != NULL;
}

void slot_after_fork(void)
{
    atomic_store(&busy, false);
}

unsigned slot_libraries(void)
{
    unsigned count = 0;
    while (count < LIBRARIES && atomic_load_explicit(&library[count].high, memory_order_acquire))
        count++;
    return count;
}

static void remember_library(const void *real)
{
    struct elf_object object;
    if (slot_is_library(real) || !elf_at(real, &object))
        return;
    for (struct library *l = library; l < library + LIBRARIES; l++)
        if (l->high == 0) {
            l->low = object.low;
            l->is_blas = elf_symbol(&object, "sgemm_") || elf_symbol(&object, "cblas_sgemm");
            atomic_store_explicit(&l->high, object.high, memory_order_release);
            return;
        }
}

/* As the dynamic linker would have: first the global scope behind us, which serves every caller,
 * then the scope of the calling object, then (an object that we cannot see into, such as code made
 * at run time) whoever exports the name. */
static void *global_scope(const struct host *host, const char *name)
{
    void *real = host->dlsym ? host->dlsym(RTLD_NEXT, name) : NULL;
    if (!real && host->dlsym && host->dlerror)
        host->dlerror(); /* the failure was ours: the host shall not read it */
    return real && !host_is_self(real) ? real : NULL;
}

static void *local_scope(const struct host *host, const char *name, const struct elf_object *object)
{
    if (!host->dlopen || !host->dlsym || !host->dlclose || !host->dlerror || !object->name[0])
        return NULL;
    void *handle = host->dlopen(object->name, RTLD_NOLOAD | RTLD_LAZY), *real = NULL;
    if (handle) {
        real = host->dlsym(handle, name);
        /* The pair outlives the caller: its library must not leave. */
        struct elf_object owner;
        if (real && elf_at(real, &owner) && owner.name[0])
            host->dlopen(owner.name, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE);
        host->dlclose(handle);
    }
    host->dlerror();
    return real && !host_is_self(real) ? real : NULL;
}

static void append(enum slot_id slot, uintptr_t low, uintptr_t bytes, void *real)
{
    struct slot_state *state = &slot_states[slot];
    if (atomic_exchange_explicit(&busy, true, memory_order_acquire))
        return; /* the next call will find it again */
    remember_library(real);
    for (struct slot_caller *c = state->caller; c < state->caller + SLOT_CALLERS; c++) {
        if (c->real)
            continue;
        c->low = low;
        c->bytes = bytes;
        atomic_store_explicit(&c->real, real, memory_order_release);
        break;
    }
    atomic_store_explicit(&busy, false, memory_order_release);
}

static void *find(enum slot_id slot, const void *caller)
{
    const struct host *host = host_get();
    void *real = global_scope(host, slot_table[slot].name);
    if (real) {
        append(slot, 0, UINTPTR_MAX, real);
        return real;
    }
    struct elf_object object;
    bool known = elf_at(caller, &object);
    real = known ? local_scope(host, slot_table[slot].name, &object) : NULL;
    if (!real)
        real = elf_next(&host->self, false, slot_table[slot].name);
    if (real && known)
        append(slot, object.low, object.high - object.low, real);
    return real ? real : (void *)(uintptr_t)missing;
}

void *slot_resolve(enum slot_id slot, const void *caller)
{
    struct slot_state *state = &slot_states[slot];
    for (struct slot_caller *c = state->caller; c < state->caller + SLOT_CALLERS; c++) {
        void *real = atomic_load_explicit(&c->real, memory_order_acquire);
        if (!real)
            break;
        if ((uintptr_t)caller - c->low < c->bytes)
            return real;
    }
    int kept = errno;
    void *real = find(slot, caller);
    errno = kept;
    return real;
}

const void *slot_bare(enum slot_id slot, const void *caller)
{
    const void *real = slot_real(slot, caller);
    const struct library *l = library_of(real);
    return l && l->is_blas ? slot_table[slot].hook[0] : real;
}

bool slot_exists(enum slot_id slot, const void *caller)
{
    const struct host *host = host_get();
    struct elf_object object;
    return global_scope(host, slot_table[slot].name) ||
           (caller && elf_at(caller, &object) && local_scope(host, slot_table[slot].name, &object));
}

/* Remember the library, unless somebody else is at it. */
static void learn(const void *real)
{
    if (atomic_exchange_explicit(&busy, true, memory_order_acquire))
        return;
    remember_library(real);
    atomic_store_explicit(&busy, false, memory_order_release);
}

void *slot_bind(enum slot_id slot, void *real)
{
    learn(real);
    const struct library *l = library_of(real);
    if (slot_table[slot].is_bare && !(l && l->is_blas))
        return real;
    for (int i = 0; i < SLOT_BOUND; i++) {
        void *bound = NULL;
        if (atomic_compare_exchange_strong(&slot_states[slot].bound[i], &bound, real) ||
            bound == real)
            return slot_table[slot].hook[1 + i];
    }
    return real;
}
