/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/intervals.h"

enum { ITEMS_MAX = 1 << 20 };

struct intervals_item {
    uint64_t start, end;
};

static struct intervals_item *items(const struct intervals *u, size_t *count)
{
    *count = u->older.size / sizeof(struct intervals_item);
    return (struct intervals_item *)u->older.bytes;
}

static void forget_first(struct intervals *u, size_t n)
{
    size_t count;
    struct intervals_item *item = items(u, &count);
    for (size_t i = 0; i < n; i++) {
        u->forgotten_ns += item[i].end - item[i].start;
        u->forgotten = item[i].end;
    }
    if (n)
        memmove(item, item + n, (count - n) * sizeof *item);
    u->older.size = (count - n) * sizeof *item;
}

/* The latest interval joins the older ones; the new one becomes the latest. */
static bool push(struct intervals *u, uint64_t start, uint64_t end)
{
    struct intervals_item latest = { u->start, u->end };
    if (latest.start != latest.end) {
        if (!buffer_reserve(&u->older, sizeof latest))
            return false;
        buffer_put(&u->older, &latest, sizeof latest);
        if (u->older.size / sizeof latest >= ITEMS_MAX)
            forget_first(u, ITEMS_MAX / 2);
    }
    u->start = start;
    u->end = end;
    return true;
}

/* First item that ends at or behind `time`. */
static size_t lower_bound(const struct intervals_item *item, size_t count, uint64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (item[middle].end < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An interval that starts before the latest one. */
static bool add_late(struct intervals *u, uint64_t start, uint64_t end)
{
    if (!buffer_reserve(&u->older, sizeof(struct intervals_item)))
        return false;
    size_t count;
    struct intervals_item *item = items(u, &count);
    size_t first = lower_bound(item, count, start), last = first;
    for (; last < count && item[last].start <= end; last++) {
        start = item[last].start < start ? item[last].start : start;
        end = item[last].end > end ? item[last].end : end;
    }
    if (end >= u->start) { /* reaches into the latest: that one grows backwards */
        u->start = start;
        u->end = end > u->end ? end : u->end;
        u->older.size = first * sizeof *item;
        return true;
    }
    memmove(item + first + 1, item + last, (count - last) * sizeof *item);
    item[first] = (struct intervals_item){ start, end };
    u->older.size = (count - (last - first) + 1) * sizeof *item;
    return true;
}

bool intervals_add_other(struct intervals *u, uint64_t start, uint64_t end)
{
    if (start < u->forgotten)
        start = u->forgotten;
    if (start >= end)
        return true;
    if (u->start == u->end || start > u->end)
        return push(u, start, end);
    if (start >= u->start) {
        u->end = end > u->end ? end : u->end;
        return true;
    }
    return add_late(u, start, end);
}

void intervals_forget(struct intervals *u, uint64_t before)
{
    size_t count;
    const struct intervals_item *item = items(u, &count);
    forget_first(u, lower_bound(item, count, before));
}

uint64_t intervals_length(const struct intervals *u)
{
    size_t count;
    const struct intervals_item *item = items(u, &count);
    uint64_t length = u->forgotten_ns + (u->end - u->start);
    for (size_t i = 0; i < count; i++)
        length += item[i].end - item[i].start;
    return length;
}

void intervals_clear(struct intervals *u)
{
    struct buffer older = u->older;
    older.size = 0;
    *u = (struct intervals){ .older = older };
}

void intervals_free(struct intervals *u)
{
    buffer_free(&u->older);
    *u = (struct intervals){ 0 };
}
