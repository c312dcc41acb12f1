/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/table.h"

#include <stdbool.h>

#include "tracer/pages.h"

int32_t table_insert(struct table *t, const struct tilewise_signature *key, uint32_t at,
                     uint32_t tag)
{
    uint32_t entry = atomic_load_explicit(&t->used, memory_order_relaxed);
    if (entry >= TABLE_ENTRIES)
        return TABLE_FULL;
    struct table_rows **chunk = &t->chunk[entry / TABLE_CHUNK].rows;
    if (!*chunk)
        *chunk = pages_map(sizeof **chunk);
    if (!*chunk)
        return TABLE_NO_MEMORY;
    (*chunk)->row[entry % TABLE_CHUNK].key = *key;
    t->index[at] = tag | (entry + 1);
    atomic_store_explicit(&t->used, entry + 1, memory_order_release);
    return (int32_t)entry;
}

int32_t table_find_other(struct table *t, const struct tilewise_signature *key)
{
    int32_t entry = table_find(t, key);
    if (entry >= 0)
        table_row(t, t->last)->next = (uint16_t)entry;
    return entry;
}

void table_learn(struct table *t, const struct table_call *call,
                 const struct tilewise_signature *key)
{
    struct table_row *row = t->expected ? table_row(t, t->last) : NULL;
    if (row && table_same(&row->key, key))
        memcpy(&row->call, call, sizeof row->call); /* whatever the hook has it in */
}

static void add(_Atomic uint64_t *counter, uint64_t by)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + by, memory_order_relaxed);
}

/* Counts of an entry, or NULL without memory. */
static struct table_counts *counts_of(struct table *t, uint32_t entry)
{
    struct table_chunk_counts *_Atomic *slot = &t->chunk[entry / TABLE_CHUNK].counts;
    struct table_chunk_counts *chunk = atomic_load_explicit(slot, memory_order_relaxed);
    if (__builtin_expect(!chunk, 0)) {
        chunk = pages_map(sizeof *chunk);
        if (!chunk)
            return NULL;
        atomic_store_explicit(slot, chunk, memory_order_release);
    }
    return &chunk->counts[entry % TABLE_CHUNK];
}

/* Last, and released: the writer takes the number of calls from the buckets. */
static void add_to_bucket(struct table_counts *c, uint64_t ns, uint64_t calls)
{
    _Atomic uint64_t *bucket = &c->bucket[histogram_bucket(ns)];
    atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + calls,
                          memory_order_release);
}

bool table_count(struct table *t, uint32_t entry, uint64_t ns)
{
    struct table_counts *c = counts_of(t, entry);
    if (!c)
        return false;
    uint64_t least = atomic_load_explicit(&c->min_ns, memory_order_relaxed);
    if (ns < least || least == 0)
        atomic_store_explicit(&c->min_ns, ns ? ns : 1, memory_order_relaxed);
    if (ns > atomic_load_explicit(&c->max_ns, memory_order_relaxed))
        atomic_store_explicit(&c->max_ns, ns, memory_order_relaxed);
    add(&c->sum_ns, ns);
    add_to_bucket(c, ns, 1);
    return true;
}

bool table_count_many(struct table *t, uint32_t entry, uint64_t calls)
{
    struct table_counts *c = counts_of(t, entry);
    if (!c)
        return false;
    add_to_bucket(c, 0, calls);
    return true;
}
