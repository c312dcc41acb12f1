/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/chart.h"
#include "analysis/escape.h"
#include "analysis/words.h"

enum { RATIOS_MAX = 24, LINE = 20 };

/* From a quarter to four times the speed, logarithmic. */
static double x_of(double ratio)
{
    double octaves = ratio > 0 ? log2(ratio) : -2;
    return 480 + 130 * fmax(-2, fmin(2, octaves));
}

static bool is_shown(const struct analysis_shape *shape)
{
    const struct result_candidate *c = words_candidate(shape);
    return c && c->ratio_best > 0;
}

static void ratio_row(FILE *out, const struct analysis_shape *shape, size_t line)
{
    const struct result_candidate *c = words_candidate(shape);
    const struct tilewise_signature *s = shape->signature;
    double y = 14 + LINE * (double)line;
    fprintf(out, "<g class=\"ratio call-%s\"><title>%s %s: ",
            c->call == RESULT_FASTER   ? "faster"
            : c->call == RESULT_SLOWER ? "slower"
                                       : "unclear",
            tilewise_op_name(s->op), words_shape(s));
    escape_html(out, c->name);
    fprintf(out,
            " %s (%s to %s), %s</title><text x=\"212\" y=\"%.0f\" text-anchor=\"end\">%s %s"
            "</text><line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\"/>"
            "<circle cx=\"%.1f\" cy=\"%.0f\" r=\"4\"/><text x=\"752\" y=\"%.0f\" "
            "text-anchor=\"end\">%s</text></g>\n",
            words_real(c->ratio_best, 2), words_real(c->best_lo, 2), words_real(c->best_hi, 2),
            result_call_name(c->call), y + 4, tilewise_dtype_name(s->dtype_c), words_shape(s),
            x_of(c->best_lo), y, x_of(c->best_hi), y, x_of(c->ratio_best), y, y + 4,
            c->status == RESULT_PASSED ? words_real(c->ratio_best, 2)
                                       : result_status_name(c->status));
}

void chart_ratios(const struct analysis *a, FILE *out)
{
    static const double ticks[] = { 0.25, 0.5, 1, 2, 4 };
    size_t shown = 0, line = 0;
    for (size_t i = 0; i < a->nshapes && shown < RATIOS_MAX; i++)
        shown += is_shown(&a->shapes[i]);
    if (shown == 0)
        return;
    size_t height = LINE * shown + 8;
    fprintf(out,
            "<figure><svg class=\"ratios\" viewBox=\"0 0 760 %zu\" role=\"img\" aria-label=\""
            "Speed of the best candidate against the best library call\">\n",
            height + 22);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        fprintf(out,
                "<line class=\"%s\" x1=\"%.1f\" y1=\"4\" x2=\"%.1f\" y2=\"%zu\"/>"
                "<text x=\"%.1f\" y=\"%zu\" text-anchor=\"middle\">%g</text>\n",
                ticks[i] == 1 ? "even" : "grid", x_of(ticks[i]), x_of(ticks[i]), height,
                x_of(ticks[i]), height + 16, ticks[i]);
    for (size_t i = 0; i < a->nshapes && line < shown; i++)
        if (is_shown(&a->shapes[i]))
            ratio_row(out, &a->shapes[i], line++);
    fputs("</svg><figcaption>Time of the best library call / time of the candidate, with its 95 % "
          "interval: right of 1 the candidate is faster.</figcaption></figure>\n",
          out);
}
