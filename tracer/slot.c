/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/slot.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tracer/host.h"

enum { OBJECTS = 64 };

HOT_DATA _Alignas(HOT_LINE) struct slot_caller slot_first[SLOT_COUNT];
struct slot_state slot_states[SLOT_COUNT];

static struct slot_caller *caller_at(enum slot_id slot, int i)
{
    return i == 0 ? &slot_first[slot] : &slot_states[slot].caller[i - 1];
}

/* An object that we looked at. Append only: `high` is stored last. */
struct known {
    bool is_blas; /* it exports names that only a BLAS has */
    uintptr_t low;
    _Atomic uintptr_t high;
};

/* Libraries that real functions were found in, and their parts; callers that are none of these. */
static struct known library[OBJECTS], stranger[OBJECTS];
static _Atomic bool busy; /* somebody appends to one of these or to a slot */

#define ROW(family, symbol, ...)  { #symbol, false },
#define BARE(family, symbol, ...) { #symbol, true },
const struct slot slot_table[SLOT_COUNT] = {
#include "tracer/slots.def"
};
#undef ROW
#undef BARE
#define ROW(family, symbol, ...)                                                                   \
    _Static_assert(sizeof #symbol <= SLOT_NAME_BYTES, "the name and its end fit");
#include "tracer/slots.def"
#undef ROW

/* One for each wrap file. */
slot_hooks wrap_blas_hook, wrap_cublas_hook, wrap_cublaslt_hook, wrap_cudnn_hook,
    wrap_cudnn_plan_hook, wrap_cudnn_state_hook, wrap_driver_hook, wrap_graph_hook, wrap_nccl_hook,
    wrap_cupti_hook;

static void *hook_of(enum slot_id slot, unsigned which)
{
    slot_hooks *const of[] = { wrap_blas_hook,   wrap_cublas_hook,     wrap_cublaslt_hook,
                               wrap_cudnn_hook,  wrap_cudnn_plan_hook, wrap_cudnn_state_hook,
                               wrap_driver_hook, wrap_graph_hook,      wrap_nccl_hook,
                               wrap_cupti_hook };
    void *hook = NULL;
    for (size_t i = 0; i < sizeof of / sizeof *of && !hook; i++)
        hook = of[i](slot, which);
    return hook;
}

/* Hosts ask dlsym for thousands of names that are none of ours: an index answers them with a hash.
 * Whoever comes first fills it; two who do so at once find each other's entries. */
enum { INDEX = 2048 };
static _Atomic uint16_t index_entry[INDEX]; /* slot + 1 */
static _Atomic bool is_indexed;
_Static_assert(SLOT_COUNT < INDEX / 2, "the index has room");

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash ^ hash >> 15;
}

static void make_index(void)
{
    for (uint16_t i = 0; i < SLOT_COUNT; i++)
        for (uint32_t at = hash_name(slot_table[i].name);; at++) {
            uint16_t found = 0;
            if (atomic_compare_exchange_strong(&index_entry[at % INDEX], &found, i + 1) ||
                found == i + 1)
                break;
        }
    atomic_store_explicit(&is_indexed, true, memory_order_release);
}

enum slot_id slot_find(const char *name)
{
    if (!atomic_load_explicit(&is_indexed, memory_order_acquire))
        make_index();
    for (uint32_t at = hash_name(name);; at++) {
        uint16_t entry = atomic_load_explicit(&index_entry[at % INDEX], memory_order_relaxed);
        if (entry == 0)
            return SLOT_COUNT;
        if (strcmp(slot_table[entry - 1].name, name) == 0)
            return (enum slot_id)(entry - 1);
    }
}

static const struct known *find_in(const struct known *objects, const void *address)
{
    for (const struct known *k = objects; k < objects + OBJECTS; k++) {
        uintptr_t high = atomic_load_explicit(&k->high, memory_order_acquire);
        if (high == 0)
            return NULL;
        if ((uintptr_t)address >= k->low && (uintptr_t)address < high)
            return k;
    }
    return NULL;
}

bool slot_is_library(const void *address)
{
    return find_in(library, address) != NULL;
}

/* Vendors' libraries come in parts that load each other: cuDNN's engines call cuBLASLt. In place:
 * no relocation. */
static const char family[][14] = {
    "libcublas", "libcudnn", "libcufft",   "libcusolver", "libcusparse", "libcutensor",
    "libcudart", "libcuda.", "libcufile",  "libcurand",   "libnccl",     "libnvrtc",
    "libnvJit",  "libnvjit", "libnvshmem", "libnvinfer",  "libmkl_",
};

bool slot_is_family(const char *path)
{
    const char *name = elf_file_name(path);
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        if (strncmp(name, family[i], strlen(family[i])) == 0)
            return true;
    return false;
}

void slot_after_fork(void)
{
    atomic_store(&busy, false);
}

unsigned slot_libraries(void)
{
    unsigned count = 0;
    while (count < OBJECTS && atomic_load_explicit(&library[count].high, memory_order_acquire))
        count++;
    return count;
}

static void add(struct known *objects, const struct elf_object *object, bool is_blas)
{
    for (struct known *k = objects; k < objects + OBJECTS; k++)
        if (k->high == 0) {
            k->low = object->low;
            k->is_blas = is_blas;
            atomic_store_explicit(&k->high, object->high, memory_order_release);
            return;
        }
}

static void remember_library(const void *real)
{
    struct elf_object object;
    if (slot_is_library(real) || !elf_at(real, &object))
        return;
    add(library, &object, elf_symbol(&object, "sgemm_") || elf_symbol(&object, "cblas_sgemm"));
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
    if (atomic_exchange_explicit(&busy, true, memory_order_acquire))
        return; /* the next call will find it again */
    remember_library(real);
    for (int i = 0; i < SLOT_CALLERS; i++) {
        struct slot_caller *c = caller_at(slot, i);
        if (c->bytes)
            continue;
        atomic_store_explicit(&c->real, real, memory_order_relaxed);
        atomic_store_explicit(&c->low, low, memory_order_relaxed);
        atomic_store_explicit(&c->bytes, bytes, memory_order_release);
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
    return real ? real : hook_of(slot, SLOT_MISSING);
}

void *slot_resolve(enum slot_id slot, const void *caller)
{
    for (int i = 0; i < SLOT_CALLERS; i++) {
        const struct slot_caller *c = caller_at(slot, i);
        if (slot_is_caller(c, caller))
            return atomic_load_explicit(&c->real, memory_order_relaxed);
        if (atomic_load_explicit(&c->bytes, memory_order_relaxed) == 0)
            break;
    }
    int kept = errno;
    void *real = find(slot, caller);
    errno = kept;
    return real;
}

const void *slot_bare(enum slot_id slot, const void *caller)
{
    const void *real = slot_real(slot, caller);
    const struct known *l = find_in(library, real);
    return l && l->is_blas ? hook_of(slot, SLOT_LINKED) : real;
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

/* By the names of the loaded objects; what is in none of them (code made at run time) by the page.
 * Remembers the answer, unless somebody else is at it. */
static bool look_for_vendor(const void *address)
{
    enum { PAGE_BYTES = 4096 };
    struct elf_object object;
    bool is_known = elf_at(address, &object), is_vendor = is_known && slot_is_family(object.name);
    if (!is_known) {
        object.low = (uintptr_t)address & ~(uintptr_t)(PAGE_BYTES - 1);
        object.high = object.low + PAGE_BYTES;
    }
    if (atomic_exchange_explicit(&busy, true, memory_order_acquire))
        return is_vendor;
    if (is_vendor)
        remember_library(address);
    else if (!find_in(stranger, address))
        add(stranger, &object, false);
    atomic_store_explicit(&busy, false, memory_order_release);
    return is_vendor;
}

bool slot_is_vendor(const void *address)
{
    if (slot_is_library(address))
        return true;
    if (find_in(stranger, address))
        return false;
    int kept = errno;
    bool is_vendor = look_for_vendor(address);
    errno = kept;
    return is_vendor;
}

void *slot_bind(enum slot_id slot, void *real)
{
    learn(real);
    const struct known *l = find_in(library, real);
    if (slot_table[slot].is_bare && !(l && l->is_blas))
        return real;
    for (int i = 0; i < SLOT_BOUND; i++) {
        void *bound = NULL;
        if (atomic_compare_exchange_strong(&slot_states[slot].bound[i], &bound, real) ||
            bound == real)
            return hook_of(slot, (unsigned)i);
    }
    return real;
}
