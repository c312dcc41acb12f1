/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/textchart.h"

#include <math.h>
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

static void shape_label(const struct analysis *a, uint32_t signature, char text[64])
{
    const struct tilewise_signature *s = &a->summary->signatures[signature].signature;
    snprintf(text, 64, "%s %s", words_shape(s), words_trans(s));
}

enum status textchart_shapes(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    struct shape_share *shares = shape_bins_shares(a, g);
    fprintf(out, " by shape, as called: %zu signature%s\n", g->nmembers,
            g->nmembers == 1 ? "" : "s");
    for (size_t i = 0; i < g->nmembers && i < SHAPES_MAX && shares; i++) {
        char label[64];
        shape_label(a, shares[i].signature, label);
        bar(out, label, shares[i].time, shares[i].calls);
    }
    free(shares);
    return shares ? ST_OK : ST_NOMEM;
}

/* What one call of each signature weighs: NaN outside the group. NULL without memory. */
static double *weigh(const struct analysis *a, const struct shape_share *shares, size_t members,
                     bool by_calls)
{
    const struct summary *s = a->summary;
    double *weight = malloc((s->nsignatures + 1) * sizeof *weight);
    for (size_t i = 0; i < s->nsignatures && weight; i++)
        weight[i] = NAN;
    for (size_t i = 0; i < members && weight; i++)
        weight[shares[i].signature] =
            by_calls || shares[i].calls <= 0 ? 1 : shares[i].time / shares[i].calls;
    return weight;
}

double *textchart_window_shares(const struct analysis *a, const struct analysis_group *g,
                                const struct shape_share *shares, size_t shown, bool by_calls)
{
    const struct summary *s = a->summary;
    double *out = calloc(s->nwindows * shown + 1, sizeof *out);
    double *weight = weigh(a, shares, g->nmembers, by_calls);
    for (size_t w = 0; w < s->nwindows && out && weight; w++) {
        double total = 0;
        for (size_t c = 0; c < s->windows[w].ncells; c++) {
            const struct summary_cell *cell = &s->windows[w].cells[c];
            double value = weight[cell->signature] * (double)cell->calls;
            if (isnan(value))
                continue;
            total += value;
            for (size_t i = 0; i < shown; i++)
                out[w * shown + i] += shares[i].signature == cell->signature ? value : 0;
        }
        for (size_t i = 0; i < shown; i++)
            out[w * shown + i] /= total > 0 ? total : 1;
    }
    if (!weight) {
        free(out);
        return NULL;
    }
    free(weight);
    return out;
}

static void print_windows(const struct analysis *a, const struct shape_share *shares,
                          const double *part, size_t shown, FILE *out)
{
    static const char density[] = " .:-=+*#%@";
    enum { DENSEST = sizeof density - 2 };
    for (size_t i = 0; i < shown; i++) {
        char label[64];
        shape_label(a, shares[i].signature, label);
        fprintf(out, "  %-26s |", label);
        for (size_t w = 0; w < a->summary->nwindows; w++) {
            double share = part[w * shown + i];
            int step = share > 0 ? 1 + (int)(share * DENSEST) : 0;
            fputc(density[step > DENSEST ? DENSEST : step], out);
        }
        fputs("|\n", out);
    }
}

enum status textchart_windows(const struct analysis *a, const struct analysis_group *g,
                              bool by_calls, FILE *out)
{
    size_t shown = g->nmembers < SHAPES_MAX ? g->nmembers : SHAPES_MAX;
    struct shape_share *shares = shape_bins_shares(a, g);
    double *part = shares ? textchart_window_shares(a, g, shares, shown, by_calls) : NULL;
    fprintf(out, " over time: share of %s in each of %zu windows, from none ' ' to all '@'\n",
            by_calls ? "calls" : "time", a->summary->nwindows);
    if (part)
        print_windows(a, shares, part, shown, out);
    free(shares);
    free(part);
    return part ? ST_OK : ST_NOMEM;
}
