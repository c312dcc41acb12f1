/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/intern.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct intern_item {
    uint64_t hash;
    uint32_t offset, bytes;
};

static const struct intern_item *item(const struct intern *t, uint32_t id)
{
    return (const struct intern_item *)t->items.bytes + id;
}

/* The slot that holds these bytes, or the free one where they belong. */
static uint32_t *find(const struct intern *t, const void *bytes, size_t count, uint64_t hash)
{
    uint32_t *slots = (uint32_t *)t->slots.bytes;
    size_t mask = t->slots.size / sizeof *slots - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        if (slots[i] == 0)
            return &slots[i];
        const struct intern_item *it = item(t, slots[i] - 1);
        if (it->hash == hash && it->bytes == count &&
            memcmp(t->arena.bytes + it->offset, bytes, count) == 0)
            return &slots[i];
    }
}

/* At most half of the slots are in use. */
static bool grow(struct intern *t)
{
    size_t slots = t->slots.size / sizeof(uint32_t);
    if (2 * (t->count + 1) <= slots)
        return true;
    struct buffer bigger = { 0 };
    size_t bytes = slots ? 2 * t->slots.size : 1024 * sizeof(uint32_t);
    if (!buffer_reserve(&bigger, bytes))
        return false;
    bigger.size = bytes;
    buffer_free(&t->slots);
    t->slots = bigger;
    uint32_t *to = (uint32_t *)t->slots.bytes;
    size_t mask = bytes / sizeof *to - 1;
    for (uint32_t id = 0; id < t->count; id++) {
        size_t i = item(t, id)->hash & mask;
        while (to[i])
            i = (i + 1) & mask;
        to[i] = id + 1;
    }
    return true;
}

enum status intern_add(struct intern *t, const void *bytes, size_t count,
                       const struct intern_limits *limits, uint32_t *id)
{
    if (!grow(t))
        return ST_NOMEM;
    uint64_t hash = XXH3_64bits(bytes, count);
    uint32_t *slot = find(t, bytes, count, hash);
    if (*slot) {
        *id = *slot - 1;
        return ST_OK;
    }
    if (t->count >= limits->count || count + t->tail > limits->bytes - t->arena.size)
        return ST_LIMIT;
    struct intern_item new = { hash, (uint32_t)t->arena.size, (uint32_t)count };
    if (!buffer_reserve(&t->items, sizeof new) || !buffer_reserve(&t->arena, count + t->tail))
        return ST_NOMEM;
    buffer_put(&t->items, &new, sizeof new);
    buffer_put(&t->arena, bytes, count);
    buffer_put(&t->arena, "", t->tail);
    *id = (uint32_t)t->count++;
    *slot = *id + 1;
    return ST_OK;
}

const void *intern_get(const struct intern *t, uint32_t id, size_t *count)
{
    const struct intern_item *it = item(t, id);
    if (count)
        *count = it->bytes;
    return t->arena.bytes + it->offset;
}

void intern_free(struct intern *t)
{
    buffer_free(&t->items);
    buffer_free(&t->slots);
    buffer_free(&t->arena);
    t->count = 0;
}
