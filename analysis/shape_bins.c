/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/shape_bins.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct row {
    int64_t value;
    double time, calls; /* shares of the group */
};

static int by_value(const void *a, const void *b)
{
    int64_t x = ((const struct row *)a)->value, y = ((const struct row *)b)->value;
    return (x > y) - (x < y);
}

/* A shape on its way to its place. */
struct ranked {
    struct shape_share share;
    double largest; /* time of its largest signature so far */
    uint32_t key;
};

static int by_share(const void *a, const void *b)
{
    const struct shape_share *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return (x->signature > y->signature) - (x->signature < y->signature);
}

/* Sum the members up by their keys. */
static void add_members(struct ranked *rows, const struct analysis *a,
                        const struct analysis_group *g, const uint32_t *key, const double *times,
                        double sum)
{
    for (size_t i = 0; i < g->nmembers; i++) {
        struct ranked *row = &rows[key[i]];
        double time = sum > 0 ? times[i] / sum : 0;
        if (row->share.calls == 0 || time > row->largest) {
            row->share.signature = g->members[i];
            row->largest = time;
        }
        row->key = key[i];
        row->share.time += time;
        row->share.calls += (double)a->summary->signatures[g->members[i]].calls / (double)g->calls;
    }
}

/* Put the rows in order, and say of each signature which one is its. */
static void place(struct shape_shares *out, struct ranked *rows, const struct analysis_group *g,
                  const uint32_t *key, int32_t *place_of)
{
    qsort(rows, out->count, sizeof *rows, by_share);
    for (size_t i = 0; i < out->count; i++) {
        out->share[i] = rows[i].share;
        place_of[rows[i].key] = (int32_t)i;
    }
    for (size_t i = 0; i < g->nmembers; i++)
        out->of_signature[g->members[i]] = place_of[key[i]];
}

enum status shape_bins_shares(struct shape_shares *out, const struct analysis *a,
                              const struct analysis_group *g)
{
    const struct shape_rule raw = { .grain = SHAPE_RAW };
    uint32_t *key = calloc(g->nmembers + 1, sizeof *key);
    double *times = calloc(g->nmembers + 1, sizeof *times);
    size_t keys = key ? shape_number(a->summary, g->members, g->nmembers, &raw, key) : SIZE_MAX;
    struct ranked *rows = keys == SIZE_MAX ? NULL : calloc(keys + 1, sizeof *rows);
    int32_t *place_of = rows ? calloc(keys + 1, sizeof *place_of) : NULL;
    *out = (struct shape_shares){ .count = keys };
    out->share = place_of ? calloc(keys + 1, sizeof *out->share) : NULL;
    out->of_signature =
        place_of ? malloc((a->summary->nsignatures + 1) * sizeof *out->of_signature) : NULL;
    bool fine = times && out->share && out->of_signature;
    if (fine) {
        for (size_t i = 0; i < a->summary->nsignatures; i++)
            out->of_signature[i] = SHAPE_BINS_NO_SHAPE;
        double sum = mix_member_ns(a->summary, g->members, g->nmembers, times);
        add_members(rows, a, g, key, times, sum);
        place(out, rows, g, key, place_of);
    }
    free(key);
    free(times);
    free(rows);
    free(place_of);
    return fine ? ST_OK : ST_NOMEM;
}

void shape_bins_free_shares(struct shape_shares *shares)
{
    free(shares->share);
    free(shares->of_signature);
    *shares = (struct shape_shares){ 0 };
}

double *shape_bins_windows(const struct analysis *a, const struct shape_shares *shares,
                           size_t shown, bool by_calls)
{
    const struct summary *s = a->summary;
    size_t width = shown + 1;
    double *out = calloc(s->nwindows * width + 1, sizeof *out);
    for (size_t w = 0; w < s->nwindows && out; w++) {
        double total = 0;
        for (size_t c = 0; c < s->windows[w].ncells; c++) {
            const struct summary_cell *cell = &s->windows[w].cells[c];
            int32_t shape = shares->of_signature[cell->signature];
            if (shape == SHAPE_BINS_NO_SHAPE)
                continue;
            const struct shape_share *one = &shares->share[shape];
            double weight = by_calls || one->calls <= 0 ? 1 : one->time / one->calls;
            double value = weight * (double)cell->calls;
            total += value;
            out[w * width + ((size_t)shape < shown ? (size_t)shape : shown)] += value;
        }
        for (size_t i = 0; i < width; i++)
            out[w * width + i] /= total > 0 ? total : 1;
    }
    return out;
}

/* Sorted values of a dimension, each once; returns how many. */
static size_t distinct_values(const struct analysis *a, const struct shape_shares *shares,
                              enum shape_dimension d, struct row *rows)
{
    for (size_t i = 0; i < shares->count; i++) {
        const struct shape_share *one = &shares->share[i];
        const struct summary_signature *s = &a->summary->signatures[one->signature];
        rows[i] = (struct row){ shape_dimension(&s->signature, d), one->time, one->calls };
    }
    qsort(rows, shares->count, sizeof *rows, by_value);
    size_t used = 0;
    for (size_t i = 0; i < shares->count; i++) {
        if (used && rows[used - 1].value == rows[i].value) {
            rows[used - 1].time += rows[i].time;
            rows[used - 1].calls += rows[i].calls;
        } else
            rows[used++] = rows[i];
    }
    return used;
}

static void set_edges(struct shape_bins *out, const struct row *rows)
{
    double first = (double)rows[0].value, last = (double)rows[out->values - 1].value;
    bool wide = first > 0 && last / first > SHAPE_BINS_MAX;
    int64_t from = rows[0].value;
    if (out->values <= SHAPE_BINS_MAX)
        for (; out->count < out->values; out->count++)
            out->bin[out->count] =
                (struct shape_bin){ rows[out->count].value, rows[out->count].value, 0, 0 };
    for (int i = 1; i <= SHAPE_BINS_MAX && out->values > SHAPE_BINS_MAX; i++) {
        double edge = wide ? first * pow(last / first, (double)i / SHAPE_BINS_MAX)
                           : first + (last - first) * i / SHAPE_BINS_MAX;
        int64_t to = i == SHAPE_BINS_MAX ? rows[out->values - 1].value : (int64_t)floor(edge);
        if (to < from)
            continue;
        out->bin[out->count++] = (struct shape_bin){ from, to, 0, 0 };
        from = i < SHAPE_BINS_MAX ? to + 1 : to;
    }
}

enum status shape_bins_fill(struct shape_bins *out, const struct analysis *a,
                            const struct analysis_group *g, enum shape_dimension d)
{
    struct row *rows = calloc(g->nmembers + 1, sizeof *rows);
    struct shape_shares shares;
    enum status st = shape_bins_shares(&shares, a, g);
    *out = (struct shape_bins){ 0 };
    if (!rows)
        st = ST_NOMEM;
    if (st == ST_OK)
        out->values = distinct_values(a, &shares, d, rows);
    if (out->values)
        set_edges(out, rows);
    for (size_t i = 0, bin = 0; i < out->values; i++) {
        while (bin + 1 < out->count && rows[i].value > out->bin[bin].to)
            bin++;
        out->bin[bin].time += rows[i].time;
        out->bin[bin].calls += rows[i].calls;
    }
    free(rows);
    shape_bins_free_shares(&shares);
    return st;
}

char *shape_bins_label(const struct shape_bin *b, char *text, size_t text_bytes)
{
    if (b->from == b->to)
        snprintf(text, text_bytes, "%" PRId64, b->from);
    else
        snprintf(text, text_bytes, "%" PRId64 "–%" PRId64, b->from, b->to);
    return text;
}
