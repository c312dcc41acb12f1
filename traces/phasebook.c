/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/phasebook.h"

#include <stdlib.h>
#include <string.h>

#include "traces/format.h"

enum { NAMES_MAX = 1 << 16, PAIRS_MAX = 1 << 18 };

struct pair {
    uint32_t name, signature;
};

static const struct intern_limits string_limits = { TRACE_STRINGS_MAX, TRACE_STRINGS_BYTES_MAX };
static const struct intern_limits name_limits = { NAMES_MAX, NAMES_MAX * sizeof(uint32_t) };
static const struct intern_limits pair_limits = { PAIRS_MAX, PAIRS_MAX * sizeof(struct pair) };

void phasebook_free(struct phasebook *p)
{
    intern_free(&p->names);
    intern_free(&p->pairs);
    intern_free(&p->marks);
    buffer_free(&p->phase_rows);
    buffer_free(&p->cell_rows);
    buffer_free(&p->mark_rows);
    *p = (struct phasebook){ 0 };
}

/* The row of a key in `rows`, a fresh one from `blank`; NULL with the cause in `st`. */
struct place {
    struct intern *keys;
    const struct intern_limits *limits;
    struct buffer *rows;
    const void *blank;
    size_t row_bytes;
};

static void *row_of(const struct place *at, const void *key, size_t key_bytes, enum status *st)
{
    uint32_t id;
    size_t known = at->keys->count;
    if (!buffer_reserve(at->rows, at->row_bytes)) {
        *st = ST_NOMEM;
        return NULL;
    }
    *st = intern_add(at->keys, key, key_bytes, at->limits, &id);
    if (*st != ST_OK)
        return NULL;
    if (id == known)
        buffer_put(at->rows, at->blank, at->row_bytes);
    return at->rows->bytes + id * at->row_bytes;
}

static enum status enter_name(struct intern *names, const struct reader *r, uint32_t *name)
{
    const char *text = reader_string(r, *name);
    return intern_add(names, text, strlen(text), &string_limits, name);
}

static struct summary_phase *phase_of(struct phasebook *p, uint32_t name, enum status *st)
{
    static const struct summary_phase blank;
    struct place at = { &p->names, &name_limits, &p->phase_rows, &blank, sizeof blank };
    return row_of(&at, &name, sizeof name, st);
}

static enum status add_total(struct phasebook *p, const struct phase_total *from, uint32_t name)
{
    enum status st;
    struct summary_phase *to = phase_of(p, name, &st);
    if (!to)
        return st;
    to->entries += from->entries;
    to->ended += from->ended;
    to->time_ns += from->sum_ns;
    return ST_OK;
}

static enum status add_calls(struct phasebook *p, const struct phase_calls *from,
                             const struct pair *pair)
{
    static const struct summary_phase_cell blank = { .min_ns = UINT64_MAX };
    struct place at = { &p->pairs, &pair_limits, &p->cell_rows, &blank, sizeof blank };
    enum status st;
    struct summary_phase *phase = phase_of(p, pair->name, &st);
    struct summary_phase_cell *to = phase ? row_of(&at, pair, sizeof *pair, &st) : NULL;
    if (!to)
        return st;
    phase->calls += from->calls;
    phase->call_ns += from->sum_ns;
    to->calls += from->calls;
    to->time_ns += from->sum_ns;
    to->min_ns = from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
    to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
    return ST_OK;
}

static enum status add_mark(struct phasebook *p, uint32_t name, uint64_t at_unix_ns)
{
    static const struct summary_mark blank = { .first_unix_ns = UINT64_MAX };
    struct place at = { &p->marks, &name_limits, &p->mark_rows, &blank, sizeof blank };
    enum status st;
    struct summary_mark *to = row_of(&at, &name, sizeof name, &st);
    if (!to)
        return st;
    to->count++;
    to->first_unix_ns = at_unix_ns < to->first_unix_ns ? at_unix_ns : to->first_unix_ns;
    to->last_unix_ns = at_unix_ns > to->last_unix_ns ? at_unix_ns : to->last_unix_ns;
    return ST_OK;
}

enum status phasebook_add(struct phasebook *p, struct intern *names, const struct reader *r,
                          const struct phase_rows *rows, const uint32_t *index,
                          uint64_t start_unix_ns)
{
    enum status st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < rows->ntotals; i++) {
        uint32_t name = rows->totals[i].name;
        st = enter_name(names, r, &name);
        if (st == ST_OK)
            st = add_total(p, &rows->totals[i], name);
    }
    for (size_t i = 0; st == ST_OK && i < rows->ncalls; i++) {
        struct pair pair = { rows->calls[i].name, index[rows->calls[i].signature] };
        st = enter_name(names, r, &pair.name);
        if (st == ST_OK)
            st = add_calls(p, &rows->calls[i], &pair);
    }
    for (size_t i = 0; st == ST_OK && i < rows->nmarks; i++) {
        uint32_t name = rows->marks[i].name;
        st = enter_name(names, r, &name);
        if (st == ST_OK)
            st = add_mark(p, name, start_unix_ns + rows->marks[i].at_ns);
    }
    p->lost += rows->lost;
    return st;
}

static int by_calls(const void *left, const void *right)
{
    const struct summary_phase *a = left, *b = right;
    if (a->call_ns != b->call_ns)
        return a->call_ns > b->call_ns ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static int by_cell(const void *left, const void *right)
{
    const struct summary_phase_cell *a = left, *b = right;
    if (a->signature != b->signature)
        return a->signature > b->signature ? 1 : -1;
    return (a->phase > b->phase) - (a->phase < b->phase);
}

static int by_name(const void *left, const void *right)
{
    const struct summary_mark *a = left, *b = right;
    return (a->name > b->name) - (a->name < b->name);
}

/* A copy of the rows on the heap; NULL without memory. */
static void *copy(const struct buffer *rows)
{
    void *bytes = malloc(rows->size ? rows->size : 1);
    if (bytes && rows->size)
        memcpy(bytes, rows->bytes, rows->size);
    return bytes;
}

/* Cells still carry the name's index: make it that of the phase. */
static enum status number_cells(struct summary_phases *s, size_t nstrings)
{
    uint32_t *phase_of_name = calloc(nstrings + 1, sizeof *phase_of_name);
    if (!phase_of_name)
        return ST_NOMEM;
    for (size_t i = 0; i < s->nphases; i++)
        phase_of_name[s->phases[i].name] = (uint32_t)i;
    for (size_t i = 0; i < s->ncells; i++)
        s->cells[i].phase = phase_of_name[s->cells[i].phase];
    free(phase_of_name);
    return ST_OK;
}

enum status phasebook_make(struct phasebook *p, struct summary *s, const uint32_t *name_rank,
                           const uint32_t *rank)
{
    struct summary_phases *to = &s->phases;
    to->phases = copy(&p->phase_rows);
    to->cells = copy(&p->cell_rows);
    to->marks = copy(&p->mark_rows);
    if (!to->phases || !to->cells || !to->marks)
        return ST_NOMEM;
    to->nphases = p->names.count;
    to->ncells = p->pairs.count;
    to->nmarks = p->marks.count;
    to->lost = p->lost;
    for (uint32_t i = 0; i < to->nphases; i++)
        to->phases[i].name = name_rank[*(const uint32_t *)intern_get(&p->names, i, NULL)];
    for (uint32_t i = 0; i < to->nmarks; i++)
        to->marks[i].name = name_rank[*(const uint32_t *)intern_get(&p->marks, i, NULL)];
    for (uint32_t i = 0; i < to->ncells; i++) {
        const struct pair *pair = intern_get(&p->pairs, i, NULL);
        to->cells[i].phase = name_rank[pair->name];
        to->cells[i].signature = rank[pair->signature];
    }
    qsort(to->phases, to->nphases, sizeof *to->phases, by_calls);
    qsort(to->marks, to->nmarks, sizeof *to->marks, by_name);
    enum status st = number_cells(to, s->nstrings);
    qsort(to->cells, to->ncells, sizeof *to->cells, by_cell);
    return st;
}
