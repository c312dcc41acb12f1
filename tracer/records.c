/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/records.h"

#include <sys/mman.h>

#include "tracer/pages.h"

enum { FIRST_RECORDS = 1024 };

/* Open addressing by name and kind; `size` is a power of two. */
static struct record *records;
static size_t size, filled;

static size_t place_of(uint64_t name, enum record_kind kind)
{
    return (size_t)((name ^ kind) * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
}

struct record *records_find(uint64_t name, enum record_kind kind)
{
    if (size == 0)
        return NULL;
    for (size_t i = place_of(name, kind); records[i].kind != FREE; i = (i + 1) & (size - 1))
        if (records[i].name == name && records[i].kind == kind)
            return &records[i];
    return NULL;
}

static struct record *place(const struct record *record)
{
    size_t i = place_of(record->name, record->kind);
    while (records[i].kind != FREE)
        i = (i + 1) & (size - 1);
    records[i] = *record;
    filled++;
    return &records[i];
}

static bool grow(void)
{
    struct record *old = records;
    size_t old_size = size, wanted = size ? size * 2 : FIRST_RECORDS;
    struct record *larger = pages_map(wanted * sizeof *larger);
    if (!larger)
        return false;
    records = larger;
    size = wanted;
    filled = 0;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].kind != FREE)
            place(&old[i]);
    if (old)
        munmap(old, old_size * sizeof *old);
    return true;
}

struct record *records_get(uint64_t name, enum record_kind kind)
{
    struct record *r = records_find(name, kind);
    if (r)
        return r;
    if (filled + 1 > size / 2 && !grow())
        return NULL;
    return place(&(struct record){ .name = name, .kind = (uint8_t)kind });
}

/* Without holes: later records of the same run move up. */
void records_remove(struct record *r)
{
    r->kind = FREE;
    filled--;
    for (size_t i = ((size_t)(r - records) + 1) & (size - 1); records[i].kind != FREE;
         i = (i + 1) & (size - 1)) {
        struct record moved = records[i];
        records[i].kind = FREE;
        filled--;
        place(&moved);
    }
}

size_t records_places(void)
{
    return size;
}

struct record *records_at(size_t at)
{
    return &records[at];
}

void records_forget(void)
{
    if (records)
        munmap(records, size * sizeof *records);
    records = NULL;
    size = filled = 0;
}
