/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/bypass.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/elf.h"
#include "tracer/host.h"
#include "tracer/slot.h"

#if defined(__x86_64__)
enum { FILLED_WHEN_CALLED = R_X86_64_JUMP_SLOT, FILLED_AT_ONCE = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { FILLED_WHEN_CALLED = R_AARCH64_JUMP_SLOT, FILLED_AT_ONCE = R_AARCH64_GLOB_DAT };
#endif

/* What of a dynamic section is needed. */
struct linkage {
    const ElfW(Sym) * symbol;
    const char *string;
    const ElfW(Rela) * calls, *all;
    size_t calls_bytes, all_bytes, relative_count;
};

static struct linkage linkage_of(const struct elf_object *object)
{
    struct linkage l = { 0 };
    const ElfW(Dyn) *d = object->dynamic;
    for (; d && d->d_tag != DT_NULL; d++) {
        ElfW(Addr) address = d->d_un.d_ptr;
        const void *p = (const void *)(address < object->base ? address + object->base : address);
        switch (d->d_tag) {
        case DT_SYMTAB:
            l.symbol = p;
            break;
        case DT_STRTAB:
            l.string = p;
            break;
        case DT_JMPREL:
            l.calls = p;
            break;
        case DT_RELA:
            l.all = p;
            break;
        case DT_PLTRELSZ:
            l.calls_bytes = d->d_un.d_val;
            break;
        case DT_RELASZ:
            l.all_bytes = d->d_un.d_val;
            break;
        case DT_RELACOUNT:
            l.relative_count = d->d_un.d_val;
            break;
        }
    }
    return l;
}

/* Is this the place of a hooked function, filled with somebody else's? */
static bool goes_past(const struct elf_object *object, const struct linkage *l,
                      const ElfW(Rela) * r)
{
    unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
    if (type != FILLED_WHEN_CALLED && type != FILLED_AT_ONCE)
        return false;
    const ElfW(Sym) *symbol = &l->symbol[ELF64_R_SYM(r->r_info)];
    if (slot_find(l->string + symbol->st_name) == SLOT_COUNT)
        return false;
    const void *target = *(void *const *)(object->base + r->r_offset);
    bool own = (uintptr_t)target >= object->low && (uintptr_t)target < object->high;
    return target && !own && !host_is_self(target);
}

static bool any_goes_past(const struct elf_object *object, const struct linkage *l,
                          const ElfW(Rela) * table, size_t bytes, size_t first)
{
    for (size_t i = first; table && i < bytes / sizeof *table; i++)
        if (goes_past(object, l, &table[i]))
            return true;
    return false;
}

struct search {
    void (*visit)(const char *library, void *context);
    void *context;
};

static bool look(const struct elf_object *object, void *context)
{
    const struct search *search = context;
    struct linkage l = linkage_of(object);
    if (!l.symbol || !l.string || object->low == host_get()->self.low)
        return false;
    if (any_goes_past(object, &l, l.calls, l.calls_bytes, 0) ||
        any_goes_past(object, &l, l.all, l.all_bytes, l.relative_count))
        search->visit(elf_file_name(object->name), search->context);
    return false;
}

void bypass_each(bool again, void (*visit)(const char *library, void *context), void *context)
{
    static size_t known;
    size_t count = elf_count();
    if (count == known && !again)
        return;
    known = count;
    elf_each(look, &(struct search){ visit, context });
}
