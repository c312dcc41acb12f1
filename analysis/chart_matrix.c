/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/chart.h"
#include "analysis/words.h"

/* The plot area; both axes span two decades, with a margin so that no marker lies on the frame. */
static const double left = 76, right = 740, top = 16, bottom = 400, margin = 26;
static const double least_heat = 0.01; /* classes that stay below are left to the table */
enum { MARKERS_MAX = 64, CLASSES_SHOWN = 40 };

/* Where a label or a marker stands: nothing else may be drawn over it. */
struct box {
    double x0, y0, x1, y1;
};

struct plot {
    FILE *out;
    struct box taken[2 * MARKERS_MAX];
    size_t ntaken;
};

/* Position on a logarithmic axis of two decades below 1; outside and unknown go to the edge. */
static double decades(double share)
{
    if (!(share > 0.01))
        return 0;
    return fmin(1, 1 + log10(share) / 2);
}

/* Coverage grows to the right: the axis is of what is missed. */
static double x_of(double coverage)
{
    return right - margin -
           (right - left - 2 * margin) * decades(1 - (isnan(coverage) ? 0 : coverage));
}

static double y_of(double heat)
{
    return bottom - margin - (bottom - top - 2 * margin) * decades(heat);
}

static void take(struct plot *p, struct box b)
{
    if (p->ntaken < sizeof p->taken / sizeof *p->taken)
        p->taken[p->ntaken++] = b;
}

static void tick_x(FILE *out, double coverage, const char *words)
{
    fprintf(out,
            "<line class=\"tick\" x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\"/>"
            "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
            x_of(coverage), bottom, x_of(coverage), bottom + 5, x_of(coverage), bottom + 20, words);
}

static void tick_y(FILE *out, double heat, const char *words)
{
    fprintf(out,
            "<line class=\"tick\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>"
            "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            left - 5, y_of(heat), left, y_of(heat), left - 9, y_of(heat) + 4, words);
}

/* A quarter of the plot; its name stands in the outer corner and keeps labels away. */
static void quadrant(struct plot *p, const struct box *b, const char *word)
{
    bool at_right = b->x1 >= right;
    double x = at_right ? b->x1 - 10 : b->x0 + 10, y = b->y0 + 22;
    double width = 9.5 * (double)strlen(word);
    fprintf(p->out,
            "<rect class=\"quadrant q-%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
            "<text class=\"quadrant-name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
            word, b->x0, b->y0, b->x1 - b->x0, b->y1 - b->y0, x, y, at_right ? "end" : "start",
            word);
    take(p, (struct box){ at_right ? x - width : x, y - 15, at_right ? x : x + width, y + 5 });
}

static void frame(struct plot *p, const struct policy *policy)
{
    double x = x_of(policy->stability.cov05), y = y_of(policy->heat.high);
    FILE *out = p->out;
    quadrant(p, &(struct box){ left, top, x, y }, "batch-first");
    quadrant(p, &(struct box){ x, top, right, y }, "spike");
    quadrant(p, &(struct box){ left, y, x, bottom }, "stay");
    quadrant(p, &(struct box){ x, y, right, bottom }, "note");
    tick_x(out, 0, "0 %");
    tick_x(out, 0.7, "70 %");
    tick_x(out, 0.9, "90 %");
    tick_x(out, 0.97, "97 %");
    tick_x(out, 0.99, "\xe2\x89\xa5 99 %");
    tick_y(out, 0.01, "\xe2\x89\xa4 1 %");
    tick_y(out, 0.03, "3 %");
    tick_y(out, 0.1, "10 %");
    tick_y(out, 0.3, "30 %");
    tick_y(out, 1, "100 %");
    fprintf(out,
            "<text class=\"axis\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">coverage of the "
            "next window by the shapes known so far (Cov05): stable to the right</text>\n"
            "<text class=\"axis\" transform=\"translate(18 %.0f) rotate(-90)\" "
            "text-anchor=\"middle\">heat: share of the whole</text>\n",
            (left + right) / 2, bottom + 42, (top + bottom) / 2);
}

static bool overlaps(const struct plot *p, const struct box *b)
{
    for (size_t i = 0; i < p->ntaken; i++) {
        const struct box *t = &p->taken[i];
        if (b->x0 < t->x1 && t->x0 < b->x1 && b->y0 < t->y1 && t->y0 < b->y1)
            return true;
    }
    return false;
}

/* Near (x, y), where nothing stands yet; a line leads back from a place that is not at its side. */
static void place_label(struct plot *p, double x, double y, const char *css, const char *label)
{
    double width = 8.0 * (double)strlen(label) + 2, bx = 0, by = 0;
    bool free_place = false;
    for (int i = 0; i < 48 && !free_place; i++) {
        double away = 12 + 9 * (i / 8), turn = (i % 8) * M_PI / 4;
        bx = x + away * cos(turn) - (cos(turn) < -0.1 ? width : cos(turn) < 0.1 ? width / 2 : 0);
        by = y + away * sin(turn);
        struct box b = { bx, by - 8, bx + width, by + 7 };
        free_place =
            b.x0 > left && b.x1 < right + 16 && b.y0 > top && b.y1 < bottom && !overlaps(p, &b);
    }
    take(p, (struct box){ bx, by - 8, bx + width, by + 7 });
    if (hypot(bx - x, by - y) > 24 + width)
        fprintf(p->out, "<line class=\"lead\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x,
                y, bx < x ? bx + width : bx, by);
    fprintf(p->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", css, bx, by + 5, label);
}

/* Circle: stable; diamond: stable once padded; square: varying; triangle: unknown. */
static void symbol(FILE *out, enum stability_level level, const double at[2], double r)
{
    double x = at[0], y = at[1];
    if (level == STABILITY_STABLE)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, r);
    else if (level == STABILITY_BUCKETABLE)
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\"/>", x, y - 1.3 * r,
                1.3 * r, 1.3 * r, -1.3 * r, 1.3 * r, -1.3 * r, -1.3 * r);
    else if (level == STABILITY_VARYING)
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x - r, y - r,
                2 * r, 2 * r);
    else
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>", x, y - r, r, 1.8 * r, -2 * r);
}

static double level_coverage(const struct stability *s)
{
    return s->level == STABILITY_BUCKETABLE ? s->bucket.cov05 : s->raw.cov05;
}

/* The point, the heat's interval upright, and how far padding moves the coverage across. */
static void marker(struct plot *p, const struct analysis_group *g, double r)
{
    const double at[2] = { x_of(level_coverage(&g->stability)), y_of(g->heat.value) };
    fprintf(p->out, "<title>%s %s, %s: heat %s (%s to %s), coverage %s, padded %s, %s</title>",
            tilewise_op_name(g->op), tilewise_dtype_name(g->dtype),
            g->shape_class ? g->shape_class : "all shapes", words_real(g->heat.value, 3),
            words_real(g->heat.lo, 3), words_real(g->heat.hi, 3),
            words_real(g->stability.raw.cov05, 3), words_real(g->stability.bucket.cov05, 3),
            decide_word(g->decision.verdict));
    if (!isnan(g->heat.lo))
        fprintf(p->out, "<line class=\"whisker\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
                at[0], y_of(g->heat.lo), at[0], y_of(g->heat.hi));
    fprintf(p->out, "<line class=\"padding\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
            x_of(g->stability.raw.cov05), at[1], x_of(g->stability.bucket.cov05), at[1]);
    symbol(p->out, g->stability.level, at, r);
}

static void take_marker(struct plot *p, const struct analysis_group *g, double r)
{
    double x = x_of(level_coverage(&g->stability)), y = y_of(g->heat.value);
    take(p, (struct box){ x - r, y - r, x + r, y + r });
}

static void group(struct plot *p, const struct analysis_group *g, size_t number)
{
    char label[48], css[32];
    bool whole = !g->shape_class;
    if (whole)
        snprintf(label, sizeof label, "%s %s", tilewise_op_name(g->op),
                 tilewise_dtype_name(g->dtype));
    else
        snprintf(label, sizeof label, "%zu", number);
    snprintf(css, sizeof css, "%s", whole ? "op-label" : "class-label");
    fprintf(p->out, "<a href=\"#%s-%zu\" class=\"marker v-%s%s\">", whole ? "op" : "class", number,
            decide_word(g->decision.verdict), whole ? " whole" : "");
    marker(p, g, whole ? 9 : 5);
    place_label(p, x_of(level_coverage(&g->stability)), y_of(g->heat.value), css, label);
    fputs("</a>\n", p->out);
}

/* What has no heat has no place. */
static bool is_drawn(const struct analysis_group *g)
{
    return !isnan(g->heat.value) && !(g->shape_class && g->heat.hi < least_heat);
}

void chart_matrix(const struct analysis *a, FILE *out)
{
    struct plot p = { .out = out };
    size_t ops = a->nops < MARKERS_MAX - CLASSES_SHOWN ? a->nops : MARKERS_MAX - CLASSES_SHOWN;
    size_t classes = a->nclasses < CLASSES_SHOWN ? a->nclasses : CLASSES_SHOWN;
    fputs("<svg class=\"matrix\" viewBox=\"0 0 760 450\" role=\"group\" aria-label=\"Heat against "
          "stability; the same numbers are in the table below\">\n",
          out);
    frame(&p, a->policy);
    for (size_t i = 0; i < ops; i++)
        if (is_drawn(&a->ops[i]))
            take_marker(&p, &a->ops[i], 11);
    for (size_t i = 0; i < classes; i++)
        if (is_drawn(&a->classes[i]))
            take_marker(&p, &a->classes[i], 7);
    for (size_t i = 0; i < ops; i++)
        if (is_drawn(&a->ops[i]))
            group(&p, &a->ops[i], i + 1);
    for (size_t i = 0; i < classes; i++)
        if (is_drawn(&a->classes[i]))
            group(&p, &a->classes[i], i + 1);
    fputs("</svg>\n", out);
}
