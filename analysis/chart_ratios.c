/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/chart.h"
#include "analysis/escape.h"
#include "analysis/words.h"

enum { ROWS_MAX = 24, LINE = 20 };

/* One row: a ratio, perhaps with an interval, and what it came to. */
struct ratio {
    const struct analysis_shape *shape;
    const char *name;      /* hostile; NULL: none */
    double value, lo, hi;  /* lo, hi: NaN without */
    const char *css, *end; /* end: behind the number */
};

/* From a quarter to four times, logarithmic; what is beyond lies on the edge. */
static double x_of(double ratio)
{
    double octaves = ratio > 0 ? log2(ratio) : -2;
    return 455 + 110 * fmax(-2, fmin(2, octaves));
}

static void row(FILE *out, const struct ratio *r, size_t line)
{
    const struct tilewise_signature *s = r->shape->signature;
    double y = 14 + LINE * (double)line;
    bool is_beyond = r->value > 4 || r->value < 0.25;
    fprintf(out, "<g class=\"ratio %s\"><title>%s %s: ", r->css,
            words_operation(s->op, shape_dtype(s)), words_shape(s));
    if (r->name) {
        escape_html(out, r->name);
        fputs(" ", out);
    }
    fprintf(out, "%s", words_real(r->value, 3));
    if (!isnan(r->lo))
        fprintf(out, " (%s to %s)", words_real(r->lo, 2), words_real(r->hi, 2));
    fprintf(out, "</title><text x=\"222\" y=\"%.0f\" text-anchor=\"end\">%s %s</text>", y + 4,
            tilewise_dtype_name(shape_dtype(s)), words_shape(s));
    if (!isnan(r->lo))
        fprintf(out, "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\"/>", x_of(r->lo), y,
                x_of(r->hi), y);
    if (is_beyond)
        fprintf(out, "<path class=\"mark\" d=\"M%.1f %.0fl%.0f 5v-10z\"/>",
                x_of(r->value) + (r->value > 4 ? 7 : -7), y, r->value > 4 ? -9.0 : 9.0);
    else
        fprintf(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.0f\" r=\"4\"/>", x_of(r->value), y);
    fprintf(out, "<text x=\"690\" y=\"%.0f\" text-anchor=\"start\">%s %s</text></g>\n", y + 4,
            words_real(r->value, 2), r->end);
}

static void axis(FILE *out, size_t height)
{
    static const double ticks[] = { 0.25, 0.5, 1, 2, 4 };
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        fprintf(out,
                "<line class=\"%s\" x1=\"%.1f\" y1=\"4\" x2=\"%.1f\" y2=\"%zu\"/>"
                "<text x=\"%.1f\" y=\"%zu\" text-anchor=\"middle\">%g</text>\n",
                ticks[i] == 1 ? "even" : "grid", x_of(ticks[i]), x_of(ticks[i]), height,
                x_of(ticks[i]), height + 16, ticks[i]);
}

static bool draw(const struct ratio *rows, size_t count, const char *label, const char *caption,
                 FILE *out)
{
    size_t height = LINE * count + 8;
    if (count == 0)
        return false;
    fprintf(out,
            "<figure><svg class=\"ratios\" viewBox=\"0 0 800 %zu\" role=\"img\" aria-label=\"%s\">"
            "\n",
            height + 22, label);
    axis(out, height);
    for (size_t i = 0; i < count; i++)
        row(out, &rows[i], i);
    fprintf(out, "</svg><figcaption>%s</figcaption></figure>\n", caption);
    return true;
}

bool chart_ratios(const struct analysis *a, FILE *out)
{
    static const char *const css[] = { "open", "faster", "open", "slower", "open" };
    struct ratio rows[ROWS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < a->nshapes && count < ROWS_MAX; i++) {
        const struct result_candidate *c = words_candidate(&a->shapes[i]);
        if (!c || !(c->ratio_best > 0))
            continue;
        unsigned call = c->call <= RESULT_UNCLEAR ? c->call : RESULT_UNCLEAR;
        rows[count++] = (struct ratio){ .shape = &a->shapes[i],
                                        .name = c->name,
                                        .value = c->ratio_best,
                                        .lo = c->best_lo,
                                        .hi = c->best_hi,
                                        .css = css[call],
                                        .end = words_outcome(c) };
    }
    return draw(rows, count, "Speed of the best candidate against the best library call",
                "Time of the best library call / time of the best candidate, with its 95 % "
                "interval, for the largest replayed shapes: right of 1 the candidate is faster. "
                "Hollow: not clearly faster or slower; arrows: beyond the scale.",
                out);
}

bool chart_fidelity(const struct analysis *a, FILE *out)
{
    struct ratio rows[ROWS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < a->nshapes && count < ROWS_MAX; i++) {
        const struct fidelity_row *f = &a->shapes[i].fidelity;
        double value = f->replayed_ns / f->recorded_ns;
        if (value > 0)
            rows[count++] = (struct ratio){ .shape = &a->shapes[i],
                                            .value = value,
                                            .lo = NAN,
                                            .hi = NAN,
                                            .css = "",
                                            .end = f->same_kernels == 0 ? "other kernels" : "" };
    }
    return draw(rows, count, "Time of the recorded call when replayed against its recorded time",
                "Time of the call when replayed / as recorded, for the largest shapes: at 1 the "
                "replay did what the process did.",
                out);
}
