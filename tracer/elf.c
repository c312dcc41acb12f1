/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/elf.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAITS = 20000, WAIT_NS = 100000 };

static _Atomic int walkers;
static _Atomic pid_t forker; /* thread that is in fork */

struct symbols {
    const ElfW(Sym) * symbol;
    const char *string;
    const uint32_t *gnu_hash, *hash;
};

/* glibc rewrites the addresses of most dynamic sections when it loads them, but not of all. */
static const void *pointer(const struct elf_object *object, ElfW(Addr) address)
{
    return (const void *)(address < object->base ? address + object->base : address);
}

static struct symbols symbols_of(const struct elf_object *object)
{
    struct symbols s = { 0 };
    const ElfW(Dyn) *d = object->dynamic;
    for (; d && d->d_tag != DT_NULL; d++) {
        const void *p = pointer(object, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            s.symbol = p;
        else if (d->d_tag == DT_STRTAB)
            s.string = p;
        else if (d->d_tag == DT_GNU_HASH)
            s.gnu_hash = p;
        else if (d->d_tag == DT_HASH)
            s.hash = p;
    }
    return s;
}

static void *match(const struct elf_object *object, const struct symbols *s, uint32_t i,
                   const char *name)
{
    const ElfW(Sym) *y = &s->symbol[i];
    if (y->st_shndx == SHN_UNDEF || (y->st_info & 15) != STT_FUNC ||
        strcmp(s->string + y->st_name, name) != 0)
        return NULL;
    return (void *)(object->base + y->st_value);
}

static void *find_gnu(const struct elf_object *object, const struct symbols *s, const char *name)
{
    const uint32_t *head = s->gnu_hash;
    uint32_t nbuckets = head[0], first = head[1], bloom_words = head[2];
    const uint32_t *bucket =
        head + 4 + (size_t)bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + nbuckets;
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    if (nbuckets == 0)
        return NULL;
    uint32_t i = bucket[hash % nbuckets];
    if (i < first)
        return NULL;
    for (;; i++) {
        uint32_t link = chain[i - first];
        void *found = (link | 1) == (hash | 1) ? match(object, s, i, name) : NULL;
        if (found || (link & 1))
            return found;
    }
}

static void *find_sysv(const struct elf_object *object, const struct symbols *s, const char *name)
{
    uint32_t nbuckets = s->hash[0];
    const uint32_t *bucket = s->hash + 2, *chain = bucket + nbuckets;
    uint32_t hash = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        hash = (hash << 4) + *c;
        uint32_t top = hash & 0xf0000000;
        hash = (hash ^ (top >> 24)) & ~top;
    }
    if (nbuckets == 0)
        return NULL;
    void *found = NULL;
    for (uint32_t i = bucket[hash % nbuckets]; i != STN_UNDEF && !found; i = chain[i])
        found = match(object, s, i, name);
    return found;
}

void *elf_symbol(const struct elf_object *object, const char *name)
{
    struct symbols s = symbols_of(object);
    if (!s.symbol || !s.string)
        return NULL;
    return s.gnu_hash ? find_gnu(object, &s, name) : s.hash ? find_sysv(object, &s, name) : NULL;
}

struct walk {
    bool (*visit)(const struct elf_object *object, void *context);
    void *context;
};

static int step(struct dl_phdr_info *info, size_t bytes, void *data)
{
    (void)bytes;
    struct walk *walk = data;
    struct elf_object object = { .base = info->dlpi_addr, .low = UINTPTR_MAX };
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
        if (p->p_type == PT_DYNAMIC)
            object.dynamic = (const void *)begin;
        if (p->p_type != PT_LOAD)
            continue;
        object.low = begin < object.low ? begin : object.low;
        object.high = end > object.high ? end : object.high;
    }
    if (info->dlpi_name && strlen(info->dlpi_name) < sizeof object.name)
        strcpy(object.name, info->dlpi_name);
    return walk->visit(&object, walk->context);
}

static void pause_until(bool (*met)(void))
{
    const struct timespec t = { 0, WAIT_NS };
    for (int i = 0; i < WAITS && !met(); i++)
        nanosleep(&t, NULL);
}

static bool nobody_walks(void)
{
    return atomic_load(&walkers) == 0;
}

/* A handler of the same fork may look something up: it must not wait for itself. */
static bool nobody_forks(void)
{
    pid_t now = atomic_load(&forker);
    return now == 0 || now == (pid_t)syscall(SYS_gettid);
}

void elf_fork_begin(void)
{
    atomic_store(&forker, (pid_t)syscall(SYS_gettid));
    pause_until(nobody_walks);
}

void elf_fork_end(bool in_child)
{
    if (in_child)
        atomic_store(&walkers, 0);
    atomic_store(&forker, 0);
}

void elf_each(bool (*visit)(const struct elf_object *object, void *context), void *context)
{
    struct walk walk = { visit, context };
    atomic_fetch_add(&walkers, 1);
    if (!nobody_forks()) {
        atomic_fetch_sub(&walkers, 1);
        pause_until(nobody_forks);
        atomic_fetch_add(&walkers, 1);
    }
    dl_iterate_phdr(step, &walk);
    atomic_fetch_sub(&walkers, 1);
}

static bool count_one(const struct elf_object *object, void *count)
{
    (void)object;
    ++*(size_t *)count;
    return false;
}

size_t elf_count(void)
{
    size_t count = 0;
    elf_each(count_one, &count);
    return count;
}

const char *elf_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct at {
    uintptr_t address;
    struct elf_object *out;
};

static bool visit_at(const struct elf_object *object, void *context)
{
    struct at *at = context;
    if (at->address < object->low || at->address >= object->high)
        return false;
    *at->out = *object;
    return true;
}

bool elf_at(const void *address, struct elf_object *out)
{
    struct at at = { (uintptr_t)address, out };
    out->high = 0;
    elf_each(visit_at, &at);
    return out->high != 0;
}

struct next {
    const struct elf_object *self;
    const char *name;
    bool passed;
    void *found;
};

static bool visit_next(const struct elf_object *object, void *context)
{
    struct next *next = context;
    if (object->low == next->self->low)
        next->passed = true;
    else if (next->passed)
        next->found = elf_symbol(object, next->name);
    return next->found != NULL;
}

void *elf_next(const struct elf_object *self, bool behind, const char *name)
{
    struct next next = { self, name, !behind, NULL };
    elf_each(visit_next, &next);
    return next.found;
}
