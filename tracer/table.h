/* SPDX-License-Identifier: Apache-2.0
 *
 * The signatures that one thread has met, and the counts of its calls that got no event. Written by
 * the owner thread alone; the writer thread reads entries below `used` and the counts, which only
 * grow. Memory is mapped in chunks, never freed while the process records.
 */
#ifndef TILEWISE_TRACER_TABLE_H
#define TILEWISE_TRACER_TABLE_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "traces/histogram.h"
#include "traces/signature.h"

enum {
    TABLE_CHUNK = 256,
    TABLE_CHUNKS = 256,
    TABLE_ENTRIES = TABLE_CHUNK * TABLE_CHUNKS - 1, /* the number must fit a ring event */
    TABLE_INDEX = 1 << 17,
};

/* Counts of calls without an event, cumulative. */
struct table_counts {
    _Atomic uint64_t sum_ns, min_ns, max_ns; /* min_ns is 0 before the first call */
    _Atomic uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* What a hook compares in place of a key: all that the key of a call is made of, as the hook has
 * it, with nothing undefined between the fields, and not all 0. Calls that are equal in it have
 * equal keys; the opposite need not hold. */
enum { TABLE_CALL_BYTES = 120, TABLE_CALL_ENTRY = 72 /* where each hook has the key's entry */ };
struct table_call {
    _Alignas(8) unsigned char byte[TABLE_CALL_BYTES];
};

/* The owner's but for the key. */
struct table_row {
    struct table_call call; /* the last one with this key that was learnt */
    uint16_t next;          /* the entry that was found after this one last time */
    struct tilewise_signature key;
};
static_assert(offsetof(struct table_row, key) == 128 && sizeof(struct table_row) == 256,
              "two lines each");

/* The rows do not begin with a page, as the ring and the counts do: lines that have one place in
 * their pages are in each other's way. */
enum { TABLE_ROWS_OFFSET = 1024 };
struct table_rows {
    char none[TABLE_ROWS_OFFSET];
    struct table_row row[TABLE_CHUNK];
};

struct table_chunk_counts {
    struct table_counts counts[TABLE_CHUNK];
    struct table_counts written[TABLE_CHUNK]; /* the writer's: as far as they are in the file */
};

/* Calls made in a phase that the file does not tell yet, by entry. */
struct table_phase {
    uint64_t calls, sum_ns, min_ns, max_ns;
};

struct table_phases {
    struct table_phase entry[TABLE_ENTRIES + 1];
};

struct table_chunk {
    struct table_rows *rows;
    struct table_chunk_counts *_Atomic counts;
};

/* What an owner needs for a call that it expected comes first, and lies together. */
struct table {
    const struct table_row *expected; /* of entry `guess`; NULL: nothing found yet */
    _Atomic uint32_t used;
    uint16_t guess, last; /* the entry that is expected next; that was found last */
    struct table_chunk chunk[TABLE_CHUNKS];
    uint32_t index[TABLE_INDEX];           /* part of the hash << 16 | entry + 1; 0 = free */
    uint32_t writer_id[TABLE_ENTRIES + 1]; /* the writer's: id in the file + 1, 0 = none yet */
    struct table_phases *phases;           /* the writer's; NULL until a call is made in a phase */
};

/* What table_find returns instead of an entry. */
enum { TABLE_FULL = -1, TABLE_NO_MEMORY = -2 };

static inline struct table_row *table_row(const struct table *t, uint32_t entry)
{
    return &t->chunk[entry / TABLE_CHUNK].rows->row[entry % TABLE_CHUNK];
}

static inline const struct tilewise_signature *table_key(const struct table *t, uint32_t entry)
{
    return &table_row(t, entry)->key;
}

/* A hash for this table alone: the words that BLAS calls differ in. */
static inline uint64_t table_hash(const struct tilewise_signature *key)
{
    uint64_t w[16];
    memcpy(w, key, sizeof w);
    uint64_t a = (w[0] ^ w[4] * 0x9e3779b97f4a7c15u) + (w[5] ^ w[6] * 0xc2b2ae3d27d4eb4fu) * 3;
    uint64_t b = (w[1] ^ w[8] * 0x165667b19e3779f9u) + (w[9] ^ w[10] * 0x27d4eb2f165667c5u) * 5;
    uint64_t c = (w[2] ^ w[3]) * 0x85ebca77c2b2ae63u + w[7] + (w[11] ^ w[12]) * 7 +
                 (w[13] ^ w[14] ^ w[15]) * 11;
    unsigned __int128 product = (unsigned __int128)(a ^ c) * (b | 1);
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ b * 0x9fb21c651e98df25u;
}

/* Without a branch; `bytes` is a constant, a multiple of 8. */
static inline int table_same_bytes(const void *a, const void *b, size_t bytes)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    words differ = { 0 };
    size_t at = 0;
#pragma GCC unroll 2
    for (; at + sizeof(words) <= bytes; at += sizeof(words)) {
        words x, y;
        memcpy(&x, (const char *)a + at, sizeof x);
        memcpy(&y, (const char *)b + at, sizeof y);
        differ |= x ^ y;
    }
    uint64_t x = 0, y = 0;
    memcpy(&x, (const char *)a + at, bytes - at);
    memcpy(&y, (const char *)b + at, bytes - at);
    return (differ[0] | differ[1] | (x ^ y)) == 0;
}

static inline int table_same(const struct tilewise_signature *a, const struct tilewise_signature *b)
{
    return table_same_bytes(a, b, sizeof *a);
}

/* Owner: take in a signature that is not in the table; entry, TABLE_FULL or TABLE_NO_MEMORY. */
int32_t table_insert(struct table *t, const struct tilewise_signature *key, uint32_t at,
                     uint32_t tag);

/* Owner: entry of a signature, taken in if it is new. */
static inline int32_t table_find(struct table *t, const struct tilewise_signature *key)
{
    uint64_t hash = table_hash(key);
    uint32_t at = (uint32_t)hash % TABLE_INDEX, tag = (uint32_t)(hash >> 32) & 0xffff0000u;
    for (;; at = (at + 1) % TABLE_INDEX) {
        uint32_t found = t->index[at], entry = (found & 0xffff) - 1;
        if (found == 0)
            return table_insert(t, key, at, tag);
        if ((found & 0xffff0000u) == tag && table_same(table_key(t, entry), key))
            return (int32_t)entry;
    }
}

/* Owner: `expected` is the row of `entry`, which was found: expect what came after it. */
static inline void table_expect_next(struct table *t, uint16_t entry)
{
    t->last = entry;
    t->guess = t->expected->next;
    t->expected = table_row(t, t->guess);
}

/* Owner: table_find for a key that was not expected; remembers that it came. */
int32_t table_find_other(struct table *t, const struct tilewise_signature *key);

/* Owner: as table_find, and what is found is remembered: a program calls in the same order again
 * and again, so that most calls are the one that is expected, and need neither hash nor index. */
static inline int32_t table_find_next(struct table *t, const struct tilewise_signature *key)
{
    int32_t entry = t->guess;
    if (__builtin_expect(!t->expected || !table_same(&t->expected->key, key), 0)) {
        entry = table_find_other(t, key);
        if (entry < 0)
            return entry;
        t->expected = table_row(t, (uint32_t)entry);
    }
    table_expect_next(t, (uint16_t)entry);
    return entry;
}

/* Owner: is this the call that is expected? Then its entry is `guess`. */
static inline int table_is_expected(const struct table *t, const struct table_call *call)
{
    return t->expected && table_same_bytes(&t->expected->call, call, sizeof *call);
}

/* Owner: the entry found last has `key`; next time `call` will do. */
void table_learn(struct table *t, const struct table_call *call,
                 const struct tilewise_signature *key);

/* Owner: count one call of `entry`. False when there is no memory for counts. */
_Bool table_count(struct table *t, uint32_t entry, uint64_t ns);
/* Owner: count `calls` calls whose time nobody measured: 0 ns each. */
_Bool table_count_many(struct table *t, uint32_t entry, uint64_t calls);

#endif
