/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/copies.h"

#include <stdlib.h>

#include "traces/scan.h"

struct copies_row {
    struct shard_id id;
    const char *name;
    size_t path;
    uint64_t frames, bytes;
    bool complete, best;
};

static struct copies_row *rows_of(const struct copies *c, size_t *count)
{
    *count = c->rows.size / sizeof(struct copies_row);
    return (struct copies_row *)c->rows.bytes;
}

/* By id, the best copy first. */
static int compare(const void *left, const void *right)
{
    const struct copies_row *a = left, *b = right;
    int order = frame_compare_shards(&a->id, &b->id);
    if (order)
        return order;
    if (a->frames != b->frames)
        return a->frames > b->frames ? -1 : 1;
    if (a->complete != b->complete)
        return a->complete ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    order = strcmp(a->name, b->name);
    return order ? order : (a->path > b->path) - (a->path < b->path);
}

/* One row per shard of a file that is open at its start. */
static enum status list_shards(struct copies *c, struct scan *scan, const char *name, size_t path,
                               struct fault *fault)
{
    size_t first = c->rows.size / sizeof(struct copies_row), known = 0;
    enum status st;
    do {
        struct scan_frame frame;
        st = scan_next(scan, &frame, fault);
        for (; known < scan_shard_count(scan); known++) {
            struct copies_row row = { .id = scan_shard(scan, (uint32_t)known)->id,
                                      .name = name,
                                      .path = path };
            if (!buffer_reserve(&c->rows, sizeof row))
                return fault_set(fault, ST_NOMEM, "out of memory");
            buffer_put(&c->rows, &row, sizeof row);
        }
        if (st == ST_OK) {
            struct copies_row *row = (struct copies_row *)c->rows.bytes + first + frame.shard;
            row->frames++;
            row->bytes += frame.count;
            row->complete = scan_shard(scan, frame.shard)->complete;
        }
    } while (st == ST_OK);
    return st == ST_END ? ST_OK : st;
}

enum status copies_find(struct copies *c, const char *const *paths, size_t count,
                        struct fault *fault)
{
    enum status st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        struct scan scan;
        struct fault inner;
        st = scan_open(&scan, paths[i], fault);
        if (st != ST_OK)
            break;
        scan.headers_only = true;
        st = list_shards(c, &scan, paths[i], i, &inner);
        scan_close(&scan);
        if (st != ST_OK)
            return fault_set(fault, st, "%s: %s", paths[i], inner.text);
    }
    size_t rows;
    struct copies_row *row = rows_of(c, &rows);
    if (rows)
        qsort(row, rows, sizeof *row, compare);
    for (size_t i = 0; i < rows; i++)
        row[i].best = i == 0 || frame_compare_shards(&row[i].id, &row[i - 1].id) != 0;
    return st;
}

bool copies_is_best(const struct copies *c, const struct shard_id *id, size_t path)
{
    size_t high, low = 0;
    const struct copies_row *row = rows_of(c, &high);
    size_t count = high;
    while (low < high) { /* the first row of this id is the best one */
        size_t middle = low + (high - low) / 2;
        if (frame_compare_shards(&row[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && frame_compare_shards(&row[low].id, id) == 0 && row[low].path == path;
}

bool copies_is_needed(const struct copies *c, size_t path)
{
    size_t count;
    const struct copies_row *row = rows_of(c, &count);
    for (size_t i = 0; i < count; i++)
        if (row[i].best && row[i].path == path)
            return true;
    return false;
}

void copies_free(struct copies *c)
{
    buffer_free(&c->rows);
}
