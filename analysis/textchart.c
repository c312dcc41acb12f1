/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/textchart.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/shape_bins.h"
#include "analysis/words.h"

enum { LABEL_WIDTH = 30, BAR_WIDTH = 28, SHAPES_MAX = 16, LABEL_BYTES = 64 };

static void head(FILE *out, const char *label, bool by_calls)
{
    fprintf(out, " %-*s %8s %8s  bars: %s\n", LABEL_WIDTH + 1, label, "time", "calls",
            by_calls ? "calls" : "time");
}

static void bar(FILE *out, const char *label, double time, double calls, bool by_calls)
{
    char marks[BAR_WIDTH + 1];
    double length = (by_calls ? calls : time) * BAR_WIDTH + 0.5;
    int used = length > 0 ? length < BAR_WIDTH ? (int)length : BAR_WIDTH : 0;
    memset(marks, '#', (size_t)used);
    marks[used] = '\0';
    fprintf(out, "  %-*s %8s %8s%s%s\n", LABEL_WIDTH, label, words_share(time), words_share(calls),
            used ? "  " : "", marks);
}

enum status textchart_dimension(const struct analysis *a, const struct analysis_group *g,
                                enum shape_dimension d, bool by_calls, FILE *out)
{
    struct shape_bins bins;
    char label[LABEL_BYTES];
    if (shape_bins_fill(&bins, a, g, d) != ST_OK)
        return ST_NOMEM;
    snprintf(label, sizeof label, "by %s: %zu value%s", shape_dimension_name(d), bins.values,
             bins.values == 1 ? "" : "s");
    head(out, label, by_calls);
    for (size_t i = 0; i < bins.count; i++) {
        const struct shape_bin *b = &bins.bin[i];
        if (b->from == b->to)
            snprintf(label, sizeof label, "%lld", (long long)b->from);
        else
            snprintf(label, sizeof label, "%lld to %lld", (long long)b->from, (long long)b->to);
        bar(out, label, b->time, b->calls, by_calls);
    }
    return ST_OK;
}

static void shape_label(const struct analysis *a, uint32_t signature, char text[LABEL_BYTES])
{
    const struct tilewise_signature *s = &a->summary->signatures[signature].signature;
    snprintf(text, LABEL_BYTES, "%s %s", words_shape(s), words_trans(s));
}

enum status textchart_shapes(const struct analysis *a, const struct analysis_group *g,
                             bool by_calls, FILE *out)
{
    struct shape_shares shares;
    char label[LABEL_BYTES];
    double time = 1, calls = 1;
    enum status st = shape_bins_shares(&shares, a, g);
    size_t shown = st != ST_OK ? 0 : shares.count < SHAPES_MAX ? shares.count : SHAPES_MAX;
    if (st == ST_OK) {
        snprintf(label, sizeof label, "%zu shape%s, as called", shares.count,
                 shares.count == 1 ? "" : "s");
        head(out, label, by_calls);
    }
    for (size_t i = 0; i < shown; i++) {
        const struct shape_share *one = &shares.share[i];
        shape_label(a, one->signature, label);
        bar(out, label, one->time, one->calls, by_calls);
        time -= one->time;
        calls -= one->calls;
    }
    if (st == ST_OK && shown < shares.count) {
        snprintf(label, sizeof label, "%zu others", shares.count - shown);
        bar(out, label, time > 0 ? time : 0, calls > 0 ? calls : 0, by_calls);
    }
    shape_bins_free_shares(&shares);
    return st;
}

static void print_line(const struct analysis *a, const char *label, const double *part,
                       size_t width, FILE *out)
{
    static const char density[] = " .:-=+*#%@";
    enum { DENSEST = sizeof density - 2 };
    fprintf(out, "  %-*s |", LABEL_WIDTH, label);
    for (size_t w = 0; w < a->summary->nwindows; w++) {
        double share = part[w * width];
        int step = share > 0 ? 1 + (int)(share * DENSEST) : 0;
        fputc(density[step > DENSEST ? DENSEST : step], out);
    }
    fputs("|\n", out);
}

enum status textchart_windows(const struct analysis *a, const struct analysis_group *g,
                              bool by_calls, FILE *out)
{
    struct shape_shares shares;
    char label[LABEL_BYTES];
    enum status st = shape_bins_shares(&shares, a, g);
    size_t shown = st != ST_OK ? 0 : shares.count < SHAPES_MAX ? shares.count : SHAPES_MAX;
    double *part = st == ST_OK ? shape_bins_windows(a, &shares, shown, by_calls) : NULL;
    if (part)
        fprintf(out, " over time: share of %s in each of %zu windows, from none ' ' to all '@'\n",
                by_calls ? "calls" : "time", a->summary->nwindows);
    for (size_t i = 0; i < shown && part; i++) {
        shape_label(a, shares.share[i].signature, label);
        print_line(a, label, part + i, shown + 1, out);
    }
    if (part && shown < shares.count) {
        snprintf(label, sizeof label, "%zu others", shares.count - shown);
        print_line(a, label, part + shown, shown + 1, out);
    }
    shape_bins_free_shares(&shares);
    free(part);
    return part ? ST_OK : ST_NOMEM;
}
