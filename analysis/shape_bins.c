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

static int by_share(const void *a, const void *b)
{
    const struct shape_share *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return (x->signature > y->signature) - (x->signature < y->signature);
}

struct shape_share *shape_bins_shares(const struct analysis *a, const struct analysis_group *g)
{
    struct shape_share *shares = calloc(g->nmembers + 1, sizeof *shares);
    double *times = calloc(g->nmembers + 1, sizeof *times);
    double sum = shares && times ? mix_member_ns(a->summary, g->members, g->nmembers, times) : 0;
    for (size_t i = 0; i < g->nmembers && shares && times; i++)
        shares[i] = (struct shape_share){
            .signature = g->members[i],
            .time = sum > 0 ? times[i] / sum : 0,
            .calls = (double)a->summary->signatures[g->members[i]].calls / (double)g->calls,
        };
    if (shares && times)
        qsort(shares, g->nmembers, sizeof *shares, by_share);
    else {
        free(shares);
        shares = NULL;
    }
    free(times);
    return shares;
}

/* Sorted values of a dimension, each once; returns how many. */
static size_t distinct_values(const struct analysis *a, const struct shape_share *shares,
                              size_t count, enum shape_dimension d, struct row *rows)
{
    for (size_t i = 0; i < count; i++) {
        const struct summary_signature *s = &a->summary->signatures[shares[i].signature];
        rows[i] =
            (struct row){ shape_dimension(&s->signature, d), shares[i].time, shares[i].calls };
    }
    qsort(rows, count, sizeof *rows, by_value);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
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
    struct shape_share *shares = shape_bins_shares(a, g);
    *out = (struct shape_bins){ 0 };
    if (rows && shares)
        out->values = distinct_values(a, shares, g->nmembers, d, rows);
    if (out->values)
        set_edges(out, rows);
    for (size_t i = 0, bin = 0; i < out->values; i++) {
        while (bin + 1 < out->count && rows[i].value > out->bin[bin].to)
            bin++;
        out->bin[bin].time += rows[i].time;
        out->bin[bin].calls += rows[i].calls;
    }
    enum status st = rows && shares ? ST_OK : ST_NOMEM;
    free(rows);
    free(shares);
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
