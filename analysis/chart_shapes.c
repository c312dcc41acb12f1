/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chart.h"
#include "analysis/shape_bins.h"
#include "analysis/words.h"

enum { STRIPS = 8, STEPS = 12 };

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

/* The step of a share: 0 for none, else 1 to STEPS. */
static int step_of(double share)
{
    int step = share > 0 ? 1 + (int)(share * STEPS) : 0;
    return step < STEPS ? step : STEPS;
}

/* One strip, a cell per window: one path for all cells of a step, which keeps the page small. Cells
 * are of size 1, the picture around them scales. */
static void strip(FILE *out, const double *part, size_t stride, size_t windows, size_t line)
{
    for (int step = 1; step <= STEPS; step++) {
        bool any = false;
        for (size_t w = 0; w < windows; w++) {
            if (step_of(part[w * stride]) != step)
                continue;
            if (!any)
                fprintf(out, "<path class=\"cell\" fill-opacity=\"%.2f\" d=\"",
                        0.08 + 0.92 * (step - 0.5) / STEPS);
            fprintf(out, "M%zu %zuh1v.8h-1z", w, line);
            any = true;
        }
        fputs(any ? "\"/>" : "", out);
    }
}

static void strips(const struct analysis *a, const struct shape_shares *shares, size_t shown,
                   const double *part, FILE *out)
{
    size_t windows = a->summary->nwindows, lines = shown + (shares->count > shown);
    fprintf(out,
            "<figure><svg class=\"windows\" viewBox=\"0 0 760 %zu\" role=\"img\" aria-label=\""
            "Shapes over time: %zu windows, one line per shape\">\n",
            18 * lines + 8, windows);
    for (size_t i = 0; i < shown; i++)
        fprintf(out, "<text x=\"182\" y=\"%zu\" text-anchor=\"end\">%s</text>", 16 + 18 * i,
                words_shape(&a->summary->signatures[shares->share[i].signature].signature));
    if (lines > shown)
        fprintf(out, "<text x=\"182\" y=\"%zu\" text-anchor=\"end\">%zu others</text>",
                16 + 18 * shown, shares->count - shown);
    fprintf(out,
            "<svg x=\"190\" y=\"4\" width=\"565\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
            "preserveAspectRatio=\"none\">",
            18 * lines, windows, lines);
    for (size_t i = 0; i < lines; i++)
        strip(out, part + i, shown + 1, windows, i);
    fprintf(out,
            "</svg></svg><figcaption>Shapes over time: %zu windows of equal numbers of calls, left "
            "to right; the stronger, the larger the share of the operation's time in that "
            "window.</figcaption></figure>\n",
            windows);
}

void chart_windows(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    struct shape_shares shares;
    enum status st = shape_bins_shares(&shares, a, g);
    size_t shown = st != ST_OK ? 0 : shares.count < STRIPS ? shares.count : STRIPS;
    double *part = shown ? shape_bins_windows(a, &shares, shown, false) : NULL;
    if (part && a->summary->nwindows > 0)
        strips(a, &shares, shown, part, out);
    free(part);
    shape_bins_free_shares(&shares);
}
