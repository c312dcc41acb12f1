/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/windows.h"

#include <stdlib.h>

#include "traces/frame.h"

/* A bin of a shard, by the time at which it began. */
struct place {
    uint64_t begin_unix_ns;
    const struct books_shard *shard;
    const struct bins_bin *bin;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->begin_unix_ns != b->begin_unix_ns)
        return a->begin_unix_ns < b->begin_unix_ns ? -1 : 1;
    int order = frame_compare_shards(&a->shard->shard.shard.id, &b->shard->shard.shard.id);
    return order ? order : (a->bin > b->bin) - (a->bin < b->bin);
}

static int compare_cells(const void *left, const void *right)
{
    const struct summary_cell *a = left, *b = right;
    return (a->signature > b->signature) - (a->signature < b->signature);
}

static struct place *list_places(const struct books *b, size_t *count, uint64_t *calls)
{
    *count = 0;
    *calls = 0;
    for (size_t i = 0; i < b->nshards; i++)
        *count += b->shards[i].bins.nbins;
    struct place *places = malloc((*count ? *count : 1) * sizeof *places);
    if (!places)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < b->nshards; i++) {
        const struct books_shard *s = &b->shards[i];
        for (size_t k = 0; k < s->bins.nbins; k++) {
            const struct bins_bin *bin = &s->bins.bins[k];
            places[n++] = (struct place){ s->shard.shard.start_unix_ns + bin->begin_ns, s, bin };
            *calls += bin->calls;
        }
    }
    qsort(places, n, sizeof *places, compare_places);
    return places;
}

struct making {
    const uint32_t *rank;
    struct bins_scratch scratch;
    struct buffer windows, cells;
};

/* The sums in the scratch become the cells of the window. */
static enum status close_window(struct making *m, struct summary_window window)
{
    struct bins_scratch *s = &m->scratch;
    size_t first = m->cells.size;
    if (!buffer_reserve(&m->cells, s->ntouched * sizeof(struct summary_cell)) ||
        !buffer_reserve(&m->windows, sizeof window))
        return ST_NOMEM;
    for (size_t i = 0; i < s->ntouched; i++) {
        struct bins_sum *sum = &s->sums[s->touched[i]];
        struct summary_cell cell = { .signature = m->rank[s->touched[i]],
                                     .calls = sum->calls,
                                     .time_ns = sum->time_ns };
        buffer_put(&m->cells, &cell, sizeof cell);
        *sum = (struct bins_sum){ 0 };
    }
    window.ncells = s->ntouched;
    s->ntouched = 0;
    if (window.ncells)
        qsort(m->cells.bytes + first, window.ncells, sizeof(struct summary_cell), compare_cells);
    buffer_put(&m->windows, &window, sizeof window);
    return ST_OK;
}

static void add_place(struct making *m, struct summary_window *window, const struct place *p)
{
    uint64_t end_unix_ns = p->shard->shard.shard.start_unix_ns + p->bin->end_ns;
    if (window->calls == 0)
        window->begin_unix_ns = p->begin_unix_ns;
    window->end_unix_ns = end_unix_ns > window->end_unix_ns ? end_unix_ns : window->end_unix_ns;
    window->calls += p->bin->calls;
    window->time_ns += p->bin->time_ns;
    const struct summary_cell *cells = p->shard->bins.cells + p->bin->first_cell;
    for (size_t i = 0; i < p->bin->ncells; i++)
        bins_touch(&m->scratch, cells[i].signature, cells[i].calls, cells[i].time_ns);
}

/* A bin belongs to the window in which its middle lies, counted in calls. */
static enum status fill(struct making *m, const struct place *places, size_t count, uint64_t calls,
                        size_t target)
{
    struct summary_window window = { 0 };
    uint64_t before = 0, current = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned __int128 middle = (unsigned __int128)before + places[i].bin->calls / 2;
        uint64_t belongs = calls ? (uint64_t)(middle * target / calls) : 0;
        if (belongs != current && window.calls) {
            enum status st = close_window(m, window);
            if (st != ST_OK)
                return st;
            window = (struct summary_window){ 0 };
        }
        current = belongs;
        add_place(m, &window, &places[i]);
        before += places[i].bin->calls;
    }
    return window.calls ? close_window(m, window) : ST_OK;
}

static void *copy(const struct buffer *b)
{
    void *bytes = malloc(b->size ? b->size : 1);
    if (bytes && b->size)
        memcpy(bytes, b->bytes, b->size);
    return bytes;
}

enum status windows_make(const struct books *b, const uint32_t *rank, size_t target,
                         struct summary_window **windows, size_t *nwindows,
                         struct summary_cell **cells)
{
    struct making m = { .rank = rank };
    size_t count;
    uint64_t calls;
    struct place *places = list_places(b, &count, &calls);
    enum status st =
        places && bins_scratch_reserve(&m.scratch, b->signatures.count) ? ST_OK : ST_NOMEM;
    if (st == ST_OK)
        st = fill(&m, places, count, calls, target < 1 ? 1 : target);
    free(places);
    bins_scratch_free(&m.scratch);
    if (st == ST_OK) {
        *windows = copy(&m.windows);
        *cells = copy(&m.cells);
        *nwindows = m.windows.size / sizeof **windows;
        if (!*windows || !*cells)
            st = ST_NOMEM;
    }
    buffer_free(&m.windows);
    buffer_free(&m.cells);
    if (st != ST_OK)
        return st;
    for (size_t i = 0, first = 0; i < *nwindows; first += (*windows)[i++].ncells)
        (*windows)[i].cells = *cells + first;
    return ST_OK;
}
