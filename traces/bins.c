/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/bins.h"

#include <stdlib.h>
#include <string.h>

enum { BINS_MAX = 2048, CELLS_MAX = 1 << 19 };

bool bins_scratch_reserve(struct bins_scratch *s, size_t signatures)
{
    if (signatures <= s->capacity)
        return true;
    size_t capacity = s->capacity ? s->capacity : 256;
    while (capacity < signatures)
        capacity *= 2;
    void *sums = realloc(s->sums, capacity * sizeof *s->sums);
    if (sums)
        s->sums = sums;
    void *touched = realloc(s->touched, capacity * sizeof *s->touched);
    if (touched)
        s->touched = touched;
    if (!sums || !touched)
        return false;
    memset(s->sums + s->capacity, 0, (capacity - s->capacity) * sizeof *s->sums);
    s->capacity = capacity;
    return true;
}

void bins_scratch_free(struct bins_scratch *s)
{
    free(s->sums);
    free(s->touched);
    *s = (struct bins_scratch){ 0 };
}

void bins_start(struct bins *b, struct bins_scratch *scratch)
{
    *b = (struct bins){ .calls_per_bin = 1, .scratch = scratch };
}

void bins_free(struct bins *b)
{
    free(b->bins);
    free(b->cells);
    *b = (struct bins){ 0 };
}

size_t bins_cost(const struct bins *b)
{
    return b->ncells + 2 * b->nbins;
}

static bool reserve(void **rows, size_t *capacity, size_t need, size_t row_bytes)
{
    if (need <= *capacity)
        return true;
    size_t more = *capacity ? *capacity : 64;
    while (more < need)
        more *= 2;
    void *grown = realloc(*rows, more * row_bytes);
    if (!grown)
        return false;
    *rows = grown;
    *capacity = more;
    return true;
}

/* The sums in the scratch become the cells of one more bin. */
static bool emit(struct bins *b, struct bins_bin bin)
{
    struct bins_scratch *s = b->scratch;
    if (!reserve((void **)&b->bins, &b->bins_capacity, b->nbins + 1, sizeof *b->bins) ||
        !reserve((void **)&b->cells, &b->cells_capacity, b->ncells + s->ntouched, sizeof *b->cells))
        return false;
    bin.first_cell = b->ncells;
    bin.ncells = s->ntouched;
    for (size_t i = 0; i < s->ntouched; i++) {
        struct bins_sum *sum = &s->sums[s->touched[i]];
        b->cells[b->ncells++] = (struct summary_cell){ s->touched[i], sum->calls, sum->time_ns };
        *sum = (struct bins_sum){ 0 };
    }
    s->ntouched = 0;
    b->bins[b->nbins++] = bin;
    return true;
}

static void touch_cells(struct bins *b, const struct bins_bin *bin)
{
    for (size_t i = 0; i < bin->ncells; i++) {
        const struct summary_cell *cell = &b->cells[bin->first_cell + i];
        bins_touch(b->scratch, cell->signature, cell->calls, cell->time_ns);
    }
}

/* Two neighbours become one. Their cells are written over their own, so it needs no memory. */
static bool halve(struct bins *b)
{
    size_t n = b->nbins;
    b->nbins = b->ncells = 0;
    if (b->calls_per_bin < UINT64_MAX / 4) /* hostile counts only */
        b->calls_per_bin *= 2;
    for (size_t i = 0; i < n; i += 2) {
        struct bins_bin bin = b->bins[i];
        touch_cells(b, &b->bins[i]);
        if (i + 1 < n) {
            const struct bins_bin *next = &b->bins[i + 1];
            touch_cells(b, next);
            bin.begin_ns = next->begin_ns < bin.begin_ns ? next->begin_ns : bin.begin_ns;
            bin.end_ns = next->end_ns > bin.end_ns ? next->end_ns : bin.end_ns;
            bin.calls += next->calls;
            bin.time_ns += next->time_ns;
        }
        if (!emit(b, bin))
            return false;
    }
    return true;
}

static bool close_open(struct bins *b)
{
    if (b->scratch->ntouched == 0)
        return true;
    if (!emit(b, b->open))
        return false;
    b->open = (struct bins_bin){ 0 };
    while (b->nbins > 1 && (b->nbins >= BINS_MAX || b->ncells >= CELLS_MAX))
        if (!halve(b))
            return false;
    return true;
}

static void enter(struct bins_bin *open, uint64_t begin_ns, uint64_t end_ns, uint64_t calls,
                  uint64_t time_ns)
{
    if (open->calls == 0 || begin_ns < open->begin_ns)
        open->begin_ns = begin_ns;
    open->end_ns = end_ns > open->end_ns ? end_ns : open->end_ns;
    open->calls += calls;
    open->time_ns += time_ns;
}

bool bins_add_events(struct bins *b, const uint32_t *signature, const uint64_t *start_ns,
                     const uint32_t *duration_ns, size_t count)
{
    for (size_t i = 0; i < count;) {
        uint64_t room = b->calls_per_bin - b->open.calls;
        size_t stop = count - i < room ? count : i + (size_t)room;
        for (; i < stop; i++) {
            bins_touch(b->scratch, signature[i], 1, duration_ns[i]);
            enter(&b->open, start_ns[i], start_ns[i] + duration_ns[i], 1, duration_ns[i]);
        }
        if (b->open.calls >= b->calls_per_bin && !close_open(b))
            return false;
    }
    return true;
}

/* Part `i` of `parts` of a number; the parts add up to it exactly. */
static uint64_t part(uint64_t whole, uint64_t i, uint64_t parts)
{
    unsigned __int128 upper = (unsigned __int128)whole * (i + 1) / parts;
    unsigned __int128 lower = (unsigned __int128)whole * i / parts;
    return (uint64_t)(upper - lower);
}

/* Part `p` of `parts` of the calls of a frame. */
static void add_part(struct bins *b, const struct reader_frame *frame, const uint32_t *index,
                     uint64_t p, uint64_t parts)
{
    uint64_t span = frame->end_ns > frame->begin_ns ? frame->end_ns - frame->begin_ns : 0;
    uint64_t begin_ns = frame->begin_ns + span / parts * p;
    for (size_t i = 0; i < frame->ncounts; i++) {
        const struct reader_count *row = &frame->counts[i];
        uint64_t calls = part(row->calls, p, parts), ns = part(row->sum_ns, p, parts);
        if (calls == 0 && ns == 0)
            continue;
        bins_touch(b->scratch, index[row->signature], calls, ns);
        enter(&b->open, begin_ns, begin_ns + span / parts, calls, ns);
    }
}

bool bins_add_counts(struct bins *b, const struct reader_frame *frame, const uint32_t *index)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < frame->ncounts; i++)
        if (__builtin_add_overflow(calls, frame->counts[i].calls, &calls))
            calls = UINT64_MAX;
    uint64_t parts = calls / b->calls_per_bin;
    parts = parts < 1 ? 1 : parts > BINS_MAX ? BINS_MAX : parts;
    for (uint64_t p = 0; p < parts; p++) {
        add_part(b, frame, index, p, parts);
        if (b->open.calls >= b->calls_per_bin && !close_open(b))
            return false;
    }
    return true;
}

bool bins_finish(struct bins *b)
{
    if (!close_open(b))
        return false;
    void *bins = realloc(b->bins, (b->nbins ? b->nbins : 1) * sizeof *b->bins);
    void *cells = realloc(b->cells, (b->ncells ? b->ncells : 1) * sizeof *b->cells);
    b->bins = bins ? bins : b->bins;
    b->cells = cells ? cells : b->cells;
    b->bins_capacity = b->nbins;
    b->cells_capacity = b->ncells;
    return bins && cells;
}

bool bins_coarsen(struct bins *b, uint64_t calls_per_bin)
{
    while (b->calls_per_bin < calls_per_bin && b->nbins > 1)
        if (!halve(b))
            return false;
    return true;
}
