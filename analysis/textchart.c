/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/textchart.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/shape_bins.h"
#include "analysis/words.h"

enum { BAR_WIDTH = 40, SHAPES_MAX = 16 };

static void bar(FILE *out, const char *label, double time, double calls)
{
    char marks[BAR_WIDTH + 1];
    double length = time * BAR_WIDTH + 0.5;
    int used = length > 0 ? length < BAR_WIDTH ? (int)length : BAR_WIDTH : 0;
    memset(marks, '#', (size_t)used);
    marks[used] = '\0';
    fprintf(out, "  %-26s %7s of time  %7s of calls  %s\n", label, words_share(time),
            words_share(calls), marks);
}

enum status textchart_dimension(const struct analysis *a, const struct analysis_group *g,
                                enum shape_dimension d, FILE *out)
{
    struct shape_bins bins;
    if (shape_bins_fill(&bins, a, g, d) != ST_OK)
        return ST_NOMEM;
    fprintf(out, " by %s: %zu value%s\n", shape_dimension_name(d), bins.values,
            bins.values == 1 ? "" : "s");
    for (size_t i = 0; i < bins.count; i++) {
        char label[48];
        const struct shape_bin *b = &bins.bin[i];
        if (b->from == b->to)
            snprintf(label, sizeof label, "%lld", (long long)b->from);
        else
            snprintf(label, sizeof label, "%lld to %lld", (long long)b->from, (long long)b->to);
        bar(out, label, b->time, b->calls);
    }
    return ST_OK;
}

static double part(uint64_t some, uint64_t all)
{
    return all ? (double)some / (double)all : 0;
}

static void shape_label(const struct analysis *a, const struct analysis_group *g, size_t member,
                        char text[64])
{
    const struct tilewise_signature *s = &a->summary->signatures[g->members[member]].signature;
    snprintf(text, 64, "%s %s", words_shape(s), words_trans(s));
}

void textchart_shapes(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    fprintf(out, " by shape, as called: %zu signature%s\n", g->nmembers,
            g->nmembers == 1 ? "" : "s");
    for (size_t i = 0; i < g->nmembers && i < SHAPES_MAX; i++) {
        const struct summary_signature *s = &a->summary->signatures[g->members[i]];
        char label[64];
        shape_label(a, g, i, label);
        bar(out, label, part(s->time_ns, g->time_ns), part(s->calls, g->calls));
    }
}

static size_t member_of(const struct analysis_group *g, size_t members, uint32_t signature)
{
    size_t i = 0;
    while (i < members && g->members[i] != signature)
        i++;
    return i;
}

static bool in_group(const struct analysis_group *g, const struct tilewise_signature *s)
{
    return s->op == g->op && shape_dtype(s) == g->dtype &&
           (!g->shape_class || strcmp(g->shape_class, shape_class_name(s)) == 0);
}

double *textchart_window_shares(const struct analysis *a, const struct analysis_group *g,
                                size_t members, bool by_calls)
{
    const struct summary *s = a->summary;
    double *shares = calloc(s->nwindows * members + 1, sizeof *shares);
    for (size_t w = 0; w < s->nwindows && shares; w++) {
        double total = 0;
        for (size_t c = 0; c < s->windows[w].ncells; c++) {
            const struct summary_cell *cell = &s->windows[w].cells[c];
            double value = by_calls ? (double)cell->calls : (double)cell->time_ns;
            size_t i = member_of(g, members, cell->signature);
            total += in_group(g, &s->signatures[cell->signature].signature) ? value : 0;
            if (i < members)
                shares[w * members + i] += value;
        }
        for (size_t i = 0; i < members; i++)
            shares[w * members + i] /= total > 0 ? total : 1;
    }
    return shares;
}

enum status textchart_windows(const struct analysis *a, const struct analysis_group *g,
                              bool by_calls, FILE *out)
{
    static const char density[] = " .:-=+*#%@";
    size_t members = g->nmembers < SHAPES_MAX ? g->nmembers : SHAPES_MAX;
    double *shares = textchart_window_shares(a, g, members, by_calls);
    if (!shares)
        return ST_NOMEM;
    fprintf(out, " over time: share of %s in each of %zu windows, from none ' ' to all '@'\n",
            by_calls ? "calls" : "time", a->summary->nwindows);
    for (size_t i = 0; i < members; i++) {
        char label[64];
        shape_label(a, g, i, label);
        fprintf(out, "  %-26s |", label);
        for (size_t w = 0; w < a->summary->nwindows; w++) {
            double share = shares[w * members + i];
            int step = share > 0 ? 1 + (int)(share * (sizeof density - 2.0)) : 0;
            fputc(density[step > (int)sizeof density - 2 ? (int)sizeof density - 2 : step], out);
        }
        fputs("|\n", out);
    }
    free(shares);
    return ST_OK;
}
