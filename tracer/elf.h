/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects loaded in this process, read straight from their headers. Needs neither dlsym nor
 * dladdr, whose symbol versions would raise our glibc floor, and leaves dlerror() alone.
 * Any thread; allocates nothing; takes the loader's lock for the length of one walk.
 */
#ifndef TILEWISE_TRACER_ELF_H
#define TILEWISE_TRACER_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_NAME_BYTES = 1024 };

struct elf_object {
    uintptr_t base, low, high; /* load bias; addresses [low, high) */
    const void *dynamic;       /* its dynamic section, NULL if it has none */
    char name[ELF_NAME_BYTES]; /* path as loaded; "" for the program, or when too long */
};

/* The object that `address` lies in. False when there is none. */
bool elf_at(const void *address, struct elf_object *out);

/* Exported function `name` of one object, or NULL. The object must stay loaded meanwhile. */
void *elf_symbol(const struct elf_object *object, const char *name);

/* `name` in the first object behind `self` in load order (behind none: in the first object of all)
 * that exports it; never in `self`. NULL when none does. */
void *elf_next(const struct elf_object *self, bool behind, const char *name);

/* Call visit(object, context) for every object until it returns true. The loader's lock is held:
 * no object is unloaded meanwhile. */
void elf_each(bool (*visit)(const struct elf_object *object, void *context), void *context);

/* How many objects there are. */
size_t elf_count(void);

/* The last part of a path. */
const char *elf_file_name(const char *path);

/* Around a fork: no walk may be under way, or the child inherits the loader's lock without the
 * thread that would release it. Waits for walks to end, 2 s at most; none begins until the end.
 * `in_child`: only the calling thread is left. */
void elf_fork_begin(void);
void elf_fork_end(bool in_child);

#endif
