/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/books.h"

#include <stdlib.h>
#include <string.h>

/* All bins together, in units of a cell (24 bytes). */
enum { BINS_COST_MAX = 3 << 19, FACTS_MAX = 1 << 16, FACTS_BYTES_MAX = 8 << 20 };

static const struct intern_limits name_limits = { TRACE_STRINGS_MAX, TRACE_STRINGS_BYTES_MAX };
static const struct intern_limits signature_limits = {
    BOOKS_SIGNATURES_MAX, BOOKS_SIGNATURES_MAX * sizeof(struct tilewise_signature)
};
static const struct intern_limits fact_limits = { FACTS_MAX, FACTS_BYTES_MAX };

enum status books_open(struct books *b)
{
    *b = (struct books){ .names.tail = 1, .facts.tail = 1, .calls_per_bin = 1 };
    b->ops = calloc(BOOKS_OPS_MAX, sizeof *b->ops);
    if (!b->ops)
        return ST_NOMEM;
    return inorder_open(&b->inorder);
}

void books_free(struct books *b)
{
    for (size_t i = 0; i < b->nops; i++)
        intervals_free(&b->ops[i].active);
    for (size_t i = 0; i < b->nshards; i++)
        bins_free(&b->shards[i].bins);
    intervals_free(&b->busy);
    intern_free(&b->names);
    intern_free(&b->signatures);
    intern_free(&b->facts);
    bins_scratch_free(&b->scratch);
    inorder_close(b->inorder);
    gpubook_free(&b->gpu);
    phasebook_free(&b->phases);
    buffer_free(&b->phase_counts);
    free(b->totals);
    free(b->op_of);
    free(b->ops);
    free(b->shards);
    free(b->index);
    *b = (struct books){ 0 };
}

void books_begin_file(struct books *b)
{
    b->index_count = 0;
}

enum status books_begin_shard(struct books *b)
{
    if (b->nshards == b->shards_capacity) {
        size_t capacity = b->shards_capacity ? 2 * b->shards_capacity : 16;
        void *grown = realloc(b->shards, capacity * sizeof *b->shards);
        if (!grown)
            return ST_NOMEM;
        b->shards = grown;
        b->shards_capacity = capacity;
    }
    b->open = &b->shards[b->nshards++];
    *b->open = (struct books_shard){ 0 };
    bins_start(&b->open->bins, &b->scratch);
    intervals_clear(&b->busy);
    for (size_t i = 0; i < b->nops; i++)
        intervals_clear(&b->ops[i].active);
    b->last_begin_ns = b->event_ns = b->count_ns = 0;
    return ST_OK;
}

/* Numbers that this version does not know share one row, so that there are few rows. */
static uint8_t find_op(struct books *b, const struct tilewise_signature *s)
{
    uint8_t op = s->op < TILEWISE_OP_COUNT ? s->op : TILEWISE_OP_OTHER;
    uint8_t dtype = s->dtype_c < TILEWISE_DTYPE_COUNT ? s->dtype_c : TILEWISE_UNKNOWN;
    size_t i = 0;
    while (i < b->nops && (b->ops[i].sums.op != op || b->ops[i].sums.dtype != dtype))
        i++;
    if (i == b->nops) {
        b->ops[i] = (struct books_op){ .sums = { .op = op, .dtype = dtype } };
        b->nops++;
    }
    return (uint8_t)i;
}

_Static_assert(TILEWISE_OP_COUNT *TILEWISE_DTYPE_COUNT <= BOOKS_OPS_MAX, "op_of is one byte");

static enum status reserve_totals(struct books *b, size_t need)
{
    if (need <= b->totals_capacity)
        return ST_OK;
    size_t capacity = b->totals_capacity ? 2 * b->totals_capacity : 256;
    void *totals = realloc(b->totals, capacity * sizeof *b->totals);
    if (totals)
        b->totals = totals;
    void *op_of = realloc(b->op_of, capacity);
    if (op_of)
        b->op_of = op_of;
    if (!totals || !op_of)
        return ST_NOMEM;
    b->totals_capacity = capacity;
    return ST_OK;
}

/* The index here of a signature of the reader. */
static enum status enter_signature(struct books *b, const struct reader *r,
                                   const struct tilewise_signature *s, uint32_t *index)
{
    const char *name = reader_string(r, s->entry);
    struct tilewise_signature here = *s;
    enum status st = intern_add(&b->names, name, strlen(name), &name_limits, &here.entry);
    if (st == ST_OK)
        st = reserve_totals(b, b->signatures.count + 1);
    if (st == ST_OK && !bins_scratch_reserve(&b->scratch, b->signatures.count + 1))
        st = ST_NOMEM;
    size_t known = b->signatures.count;
    if (st == ST_OK)
        st = intern_add(&b->signatures, &here, sizeof here, &signature_limits, index);
    if (st == ST_OK && *index == known) {
        memset(&b->totals[known], 0, sizeof b->totals[known]);
        b->totals[known].min_ns = UINT64_MAX;
        b->op_of[known] = find_op(b, s);
    }
    return st;
}

static enum status enter_signatures(struct books *b, const struct reader *r)
{
    size_t count;
    const struct tilewise_signature *signatures = reader_signatures(r, &count);
    if (count > b->index_capacity) {
        void *grown = realloc(b->index, 2 * count * sizeof *b->index);
        if (!grown)
            return ST_NOMEM;
        b->index = grown;
        b->index_capacity = 2 * count;
    }
    for (; b->index_count < count; b->index_count++) {
        enum status st =
            enter_signature(b, r, &signatures[b->index_count], &b->index[b->index_count]);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status enter_facts(struct books *b, const struct reader_frame *frame)
{
    char text[2 * (TRACE_STRING_BYTES_MAX + 1)];
    for (size_t i = 0; i < frame->nfacts; i++) {
        size_t key = strlen(frame->facts[i].key), value = strlen(frame->facts[i].value);
        memcpy(text, frame->facts[i].key, key + 1);
        memcpy(text + key + 1, frame->facts[i].value, value);
        uint32_t id;
        enum status st = intern_add(&b->facts, text, key + 1 + value, &fact_limits, &id);
        if (st == ST_NOMEM)
            return st;
    }
    return ST_OK;
}

static void add_totals(struct books *b, const struct inorder_columns *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct summary_signature *t = &b->totals[c->signature[i]];
        uint64_t ns = c->duration_ns[i];
        t->calls++;
        t->time_ns += ns;
        t->min_ns = ns < t->min_ns ? ns : t->min_ns;
        t->max_ns = ns > t->max_ns ? ns : t->max_ns;
        t->histogram.count[histogram_bucket(ns)]++;
    }
}

static bool add_intervals(struct books *b, const struct inorder_columns *c)
{
    bool fine = true;
    for (size_t i = 0; i < c->count; i++) {
        uint64_t start = c->start_ns[i], end = start + c->duration_ns[i];
        struct books_op *op = &b->ops[b->op_of[c->signature[i]]];
        op->sums.calls++;
        op->event_ns += c->duration_ns[i];
        b->event_ns += c->duration_ns[i];
        fine &= intervals_add(&op->active, start, end);
        fine &= intervals_add(&b->busy, start, end);
    }
    return fine;
}

/* Events come in the frame in which they ended: one may begin before the frames before it did. What
 * began before the frame before this one is forgotten. */
static void forget(struct books *b, uint64_t begin_ns)
{
    intervals_forget(&b->busy, b->last_begin_ns);
    for (size_t i = 0; i < b->nops; i++)
        intervals_forget(&b->ops[i].active, b->last_begin_ns);
    b->last_begin_ns = begin_ns;
}

static enum status add_events(struct books *b, const struct reader_frame *frame)
{
    struct inorder_columns c = inorder_merge(b->inorder, frame, b->index);
    add_totals(b, &c);
    b->events += c.count;
    if (!add_intervals(b, &c) ||
        !bins_add_events(&b->open->bins, c.signature, c.start_ns, c.duration_ns, c.count))
        return ST_NOMEM;
    return ST_OK;
}

static enum status add_counts(struct books *b, const struct reader_frame *frame)
{
    for (size_t i = 0; i < frame->ncounts; i++) {
        const struct reader_count *row = &frame->counts[i];
        struct summary_signature *t = &b->totals[b->index[row->signature]];
        struct books_op *op = &b->ops[b->op_of[b->index[row->signature]]];
        t->calls += row->calls;
        t->time_ns += row->sum_ns;
        t->min_ns = row->min_ns < t->min_ns ? row->min_ns : t->min_ns;
        t->max_ns = row->max_ns > t->max_ns ? row->max_ns : t->max_ns;
        histogram_add(&t->histogram, row->histogram);
        op->sums.calls += row->calls;
        op->count_ns += row->sum_ns;
        b->count_ns += row->sum_ns;
    }
    return bins_add_counts(&b->open->bins, frame, b->index) ? ST_OK : ST_NOMEM;
}

/* The frame with nothing but the calls made in the wanted phase, as counts. */
static enum status keep_phase(struct books *b, const struct reader *r, struct reader_frame *frame)
{
    static const struct histogram unknown;
    const struct phase_rows *rows = frame->phases;
    b->phase_counts.size = 0;
    for (size_t i = 0; rows && i < rows->ncalls; i++) {
        const struct phase_calls *c = &rows->calls[i];
        struct reader_count count = { c->signature, c->calls,  c->sum_ns,
                                      c->min_ns,    c->max_ns, &unknown };
        if (strcmp(reader_string(r, c->name), b->phase) != 0)
            continue;
        if (!buffer_reserve(&b->phase_counts, sizeof count))
            return ST_NOMEM;
        buffer_put(&b->phase_counts, &count, sizeof count);
    }
    frame->nevents = 0;
    frame->ncounts = b->phase_counts.size / sizeof(struct reader_count);
    frame->counts = (const struct reader_count *)b->phase_counts.bytes;
    return ST_OK;
}

static enum status add_phases(struct books *b, const struct reader *r,
                              const struct reader_frame *frame)
{
    size_t count;
    const struct reader_shard *shard = &reader_shards(r, &count)[frame->shard];
    return phasebook_add(&b->phases, &b->names, r, frame->phases, b->index, shard->start_unix_ns);
}

static enum status add_frame(struct books *b, const struct reader *r,
                             const struct reader_frame *frame)
{
    enum status st = enter_signatures(b, r);
    if (st == ST_OK)
        st = enter_facts(b, frame);
    if (st == ST_OK && frame->nevents)
        st = add_events(b, frame);
    if (st == ST_OK && frame->ncounts)
        st = add_counts(b, frame);
    if (st == ST_OK)
        st = gpubook_add(&b->gpu, &b->names, r, frame, b->index);
    if (st == ST_OK && frame->phases)
        st = add_phases(b, r, frame);
    b->open->shard.unresolved += frame->unresolved;
    forget(b, frame->begin_ns);
    return st;
}

enum status books_add_frame(struct books *b, const struct reader *r,
                            const struct reader_frame *frame)
{
    struct reader_frame kept = *frame;
    enum status st = b->phase ? keep_phase(b, r, &kept) : ST_OK;
    return st == ST_OK ? add_frame(b, r, &kept) : st;
}

/* Length of a union of which only the part with events is known: the rest overlaps as much. */
static uint64_t scale_union(const struct intervals *u, uint64_t event_ns, uint64_t count_ns)
{
    uint64_t length = intervals_length(u);
    if (count_ns == 0)
        return length;
    double factor = event_ns ? (double)length / (double)event_ns : 1;
    return length + (uint64_t)((double)count_ns * factor);
}

static size_t bins_cost_of_all(const struct books *b)
{
    size_t cost = 0;
    for (size_t i = 0; i < b->nshards; i++)
        cost += bins_cost(&b->shards[i].bins);
    return cost;
}

static bool is_coarsest(const struct books *b)
{
    for (size_t i = 0; i < b->nshards; i++)
        if (b->shards[i].bins.nbins > 1)
            return false;
    return true;
}

/* Every shard has bins of at least calls_per_bin calls, and that is the least power of two with
 * which all of them fit: so the outcome does not depend on the order of the shards. */
static bool fit_bins(struct books *b)
{
    if (!bins_coarsen(&b->open->bins, b->calls_per_bin))
        return false;
    while (bins_cost_of_all(b) > BINS_COST_MAX && !is_coarsest(b)) {
        b->calls_per_bin *= 2;
        for (size_t i = 0; i < b->nshards; i++)
            if (!bins_coarsen(&b->shards[i].bins, b->calls_per_bin))
                return false;
    }
    return true;
}

enum status books_end_shard(struct books *b, const struct reader_shard *last)
{
    struct summary_shard *shard = &b->open->shard;
    shard->shard = *last;
    shard->wall_ns = last->end_ns;
    gpubook_end_shard(&b->gpu);
    shard->busy_ns = scale_union(&b->busy, b->event_ns, b->count_ns);
    for (size_t i = 0; i < b->nops; i++) {
        struct books_op *op = &b->ops[i];
        op->sums.time_ns += op->event_ns + op->count_ns;
        op->sums.active_ns += scale_union(&op->active, op->event_ns, op->count_ns);
        op->event_ns = op->count_ns = 0;
    }
    return bins_finish(&b->open->bins) && fit_bins(b) ? ST_OK : ST_NOMEM;
}
