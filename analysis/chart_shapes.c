/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chart.h"
#include "analysis/mix.h"
#include "analysis/shape.h"
#include "analysis/shape_bins.h"
#include "analysis/words.h"

enum { STRIPS = 8 };

/* Of a histogram: the bars stand between these. */
static const double left = 46, right = 396, base = 126, height = 110;

struct bars {
    double width, highest;
    bool is_level; /* labels fit side by side */
};

/* Characters of a label: its dash takes three bytes. */
static size_t letters(const char *label)
{
    return strlen(label) - (strchr(label, '\xe2') ? 2 : 0);
}

static struct bars measure(const struct shape_bins *bins)
{
    struct bars of = { .width = fmin((right - left) / (double)bins->count, 56), .is_level = true };
    for (size_t i = 0; i < bins->count; i++) {
        char range[48];
        shape_bins_label(&bins->bin[i], range, sizeof range);
        of.highest = fmax(of.highest, fmax(bins->bin[i].time, bins->bin[i].calls));
        of.is_level &= 6.6 * (double)letters(range) + 5 < of.width;
    }
    return of;
}

static void bar(FILE *out, const struct shape_bin *b, const struct bars *of, size_t number)
{
    double time = height * b->time / of->highest, calls = height * b->calls / of->highest;
    double at = left + of->width * (double)number, middle = at + of->width * 0.46;
    char range[48];
    shape_bins_label(b, range, sizeof range);
    fprintf(out,
            "<g><title>%s: %s of the time, %s of the calls</title>"
            "<rect class=\"time\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
            "<rect class=\"calls\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
            range, words_share(b->time), words_share(b->calls), at, base - time, of->width * 0.44,
            time, at + of->width * 0.48, base - calls, of->width * 0.38, calls);
    if (of->is_level)
        fprintf(out, "<text class=\"bin\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">", middle,
                base + 15);
    else
        fprintf(out,
                "<text class=\"bin\" transform=\"translate(%.1f %.0f) rotate(-40)\" "
                "text-anchor=\"end\">",
                middle + 4, base + 12);
    fprintf(out, "%s</text></g>\n", range);
}

static void scale(FILE *out, double highest)
{
    for (int half = 0; half <= 2; half++) {
        double y = base - height * half / 2;
        fprintf(out,
                "<line class=\"grid\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>"
                "<text class=\"bin\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.*f %%</text>\n",
                left - 3, y, right, y, left - 7, y + 4, half && highest < 0.1, 50 * half * highest);
    }
}

void chart_histogram(const struct analysis *a, const struct analysis_group *g,
                     enum shape_dimension d, FILE *out)
{
    struct shape_bins bins;
    if (shape_bins_fill(&bins, a, g, d) != ST_OK || bins.count == 0)
        return;
    const char *name = shape_dimension_name(d);
    if (bins.values == 1) {
        fprintf(out, "<figure><figcaption><b>%s</b>: always %" PRId64 "</figcaption></figure>\n",
                name, bins.bin[0].from);
        return;
    }
    struct bars of = measure(&bins);
    fprintf(out,
            "<figure><figcaption><b>%s</b>: %zu values, %s effective%s</figcaption>"
            "<svg class=\"histogram\" viewBox=\"0 0 400 %d\" role=\"img\" aria-label=\""
            "Histogram of %s: %zu values\">\n",
            name, bins.values, words_real(g->stability.effective[d], 1),
            g->stability.moving[d] ? "; it moves" : "", of.is_level ? 148 : 186, name, bins.values);
    scale(out, of.highest);
    for (size_t i = 0; i < bins.count && of.highest > 0; i++)
        bar(out, &bins.bin[i], &of, i);
    fputs("</svg></figure>\n", out);
}

/* The shapes of a group and the strip (0..STRIPS - 1, STRIPS for all others) that shows each. */
struct strips {
    int *of_signature;       /* per signature of the summary; -1: not in the group */
    double *call_ns;         /* mix_call_ns, per signature of the summary */
    uint32_t member[STRIPS]; /* a signature of each strip's shape */
    size_t count, shapes;
};

static bool find_call_ns(const struct analysis *a, const struct analysis_group *g,
                         struct strips *strips)
{
    double *call_ns = malloc((g->nmembers + 1) * sizeof *call_ns);
    strips->call_ns = calloc(a->summary->nsignatures + 1, sizeof *strips->call_ns);
    bool found = call_ns && strips->call_ns;
    if (found) {
        mix_call_ns(a->summary, g->members, g->nmembers, call_ns);
        for (size_t i = 0; i < g->nmembers; i++)
            strips->call_ns[g->members[i]] = call_ns[i];
    }
    free(call_ns);
    return found;
}

/* Members come in order of time, so the first ones to bring a new shape are nearly the largest:
 * shapes are ranked by the time of all their signatures. */
static bool find_strips(const struct analysis *a, const struct analysis_group *g,
                        struct strips *strips)
{
    const struct shape_rule raw = { .grain = SHAPE_RAW };
    uint32_t *key = calloc(g->nmembers + 1, sizeof *key);
    strips->of_signature = malloc((a->summary->nsignatures + 1) * sizeof(int));
    size_t keys = key ? shape_number(a->summary, g->members, g->nmembers, &raw, key) : SIZE_MAX;
    double *time_ns = keys == SIZE_MAX ? NULL : calloc(keys + 1, sizeof *time_ns);
    if (!time_ns || !strips->of_signature) {
        free(key);
        free(time_ns);
        return false;
    }
    memset(strips->of_signature, 0xff, (a->summary->nsignatures + 1) * sizeof(int));
    for (size_t i = 0; i < g->nmembers; i++) {
        const struct summary_signature *row = &a->summary->signatures[g->members[i]];
        time_ns[key[i]] += mix_time_ns(strips->call_ns[g->members[i]], row->calls, row->time_ns);
        strips->of_signature[g->members[i]] = STRIPS;
    }
    for (strips->count = 0; strips->count < STRIPS && strips->count < keys; strips->count++) {
        size_t best = 0;
        for (size_t k = 1; k < keys; k++)
            best = time_ns[k] > time_ns[best] ? k : best;
        time_ns[best] = -1;
        for (size_t i = g->nmembers; i > 0; i--)
            if (key[i - 1] == best) {
                strips->of_signature[g->members[i - 1]] = (int)strips->count;
                strips->member[strips->count] = g->members[i - 1];
            }
    }
    strips->shapes = keys;
    free(key);
    free(time_ns);
    return true;
}

/* One window: a cell per strip, as dark as its share of the group's time in that window. */
static void column(FILE *out, const struct analysis *a, size_t w, const struct strips *strips,
                   double width)
{
    double time_ns[STRIPS + 1] = { 0 }, total = 0;
    const struct summary_window *window = &a->summary->windows[w];
    for (size_t i = 0; i < window->ncells; i++) {
        const struct summary_cell *cell = &window->cells[i];
        int strip = strips->of_signature[cell->signature];
        if (strip >= 0) {
            double cell_ns =
                mix_time_ns(strips->call_ns[cell->signature], cell->calls, cell->time_ns);
            time_ns[strip] += cell_ns;
            total += cell_ns;
        }
    }
    for (size_t i = 0; i <= STRIPS; i++) {
        if (!(time_ns[i] > 0))
            continue;
        size_t place = i < STRIPS ? i : strips->count;
        fprintf(out,
                "<rect class=\"cell\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"15\" "
                "fill-opacity=\"%.2f\"/>",
                190 + width * (double)w, 4 + 18 * place, width, 0.08 + 0.92 * time_ns[i] / total);
    }
}

void chart_windows(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    struct strips strips = { 0 };
    size_t windows = a->summary->nwindows;
    if (windows > 0 && find_call_ns(a, g, &strips) && find_strips(a, g, &strips)) {
        size_t lines = strips.count + (strips.shapes > strips.count);
        fprintf(out,
                "<figure><svg class=\"windows\" viewBox=\"0 0 760 %zu\" role=\"img\" aria-label=\""
                "Shapes over time: %zu windows, one line per shape\">\n",
                18 * lines + 8, windows);
        for (size_t i = 0; i < strips.count; i++)
            fprintf(out, "<text x=\"182\" y=\"%zu\" text-anchor=\"end\">%s</text>", 16 + 18 * i,
                    words_shape(&a->summary->signatures[strips.member[i]].signature));
        if (lines > strips.count)
            fprintf(out, "<text x=\"182\" y=\"%zu\" text-anchor=\"end\">%zu others</text>",
                    16 + 18 * strips.count, strips.shapes - strips.count);
        for (size_t w = 0; w < windows; w++)
            column(out, a, w, &strips, 565.0 / (double)windows);
        fprintf(out,
                "</svg><figcaption>Shapes over time: %zu windows of equal numbers of calls, left "
                "to right; the stronger, the larger the share of the operation's time in that "
                "window.</figcaption></figure>\n",
                windows);
    }
    free(strips.of_signature);
    free(strips.call_ns);
}
