/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/shape_bins.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct row {
    int64_t value;
    double time_ns, calls;
};

static int by_value(const void *a, const void *b)
{
    int64_t x = ((const struct row *)a)->value, y = ((const struct row *)b)->value;
    return (x > y) - (x < y);
}

/* Sorted values of a dimension, each once; returns how many. */
static size_t distinct_values(const struct analysis *a, const struct analysis_group *g,
                              enum shape_dimension d, struct row *rows)
{
    for (size_t i = 0; i < g->nmembers; i++) {
        const struct summary_signature *s = &a->summary->signatures[g->members[i]];
        rows[i] =
            (struct row){ shape_dimension(&s->signature, d), (double)s->time_ns, (double)s->calls };
    }
    qsort(rows, g->nmembers, sizeof *rows, by_value);
    size_t used = 0;
    for (size_t i = 0; i < g->nmembers; i++) {
        if (used && rows[used - 1].value == rows[i].value) {
            rows[used - 1].time_ns += rows[i].time_ns;
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
    *out = (struct shape_bins){ 0 };
    if (!rows)
        return ST_NOMEM;
    out->values = distinct_values(a, g, d, rows);
    if (out->values)
        set_edges(out, rows);
    for (size_t i = 0, bin = 0; i < out->values; i++) {
        while (bin + 1 < out->count && rows[i].value > out->bin[bin].to)
            bin++;
        out->bin[bin].time += g->time_ns ? rows[i].time_ns / (double)g->time_ns : 0;
        out->bin[bin].calls += g->calls ? rows[i].calls / (double)g->calls : 0;
    }
    free(rows);
    return ST_OK;
}

char *shape_bins_label(const struct shape_bin *b, char *text, size_t text_bytes)
{
    if (b->from == b->to)
        snprintf(text, text_bytes, "%" PRId64, b->from);
    else
        snprintf(text, text_bytes, "%" PRId64 "–%" PRId64, b->from, b->to);
    return text;
}
