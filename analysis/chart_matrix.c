/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/chart.h"
#include "analysis/chart_symbol.h"
#include "analysis/words.h"

/* The plot area; both axes span two decades, with a margin so that no marker lies on the frame. */
static const double left = 76, right = 740, top = 16, bottom = 420, margin = 30;
static const double least = 0.01; /* heat: what is below lies on the edge, classes are left out */
enum { ROW = 8, OPS_SHOWN = 48, CLASSES_SHOWN = 24, SPOTS_MAX = OPS_SHOWN + CLASSES_SHOWN };

/* Where something is drawn: nothing else may be written over it. */
struct box {
    double x0, y0, x1, y1;
};

struct spot {
    const struct analysis_group *g;
    size_t number; /* of its row in the table, from 1 */
    double x, y, r;
};

struct plot {
    FILE *out;
    size_t nspots, ntaken, crowded; /* crowded: cold ones without room */
    struct spot spots[SPOTS_MAX];
    struct box taken[4 * SPOTS_MAX];
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

static bool overlaps(const struct plot *p, const struct box *b)
{
    for (size_t i = 0; i < p->ntaken; i++) {
        const struct box *t = &p->taken[i];
        if (b->x0 < t->x1 && t->x0 < b->x1 && b->y0 < t->y1 && t->y0 < b->y1)
            return true;
    }
    return false;
}

static void tick_x(FILE *out, double coverage, const char *words)
{
    fprintf(out,
            "<line class=\"grid\" x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\"/>"
            "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
            x_of(coverage), top, x_of(coverage), bottom + 5, x_of(coverage), bottom + 20, words);
}

static void tick_y(FILE *out, double heat, const char *words)
{
    fprintf(out,
            "<line class=\"grid\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>"
            "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            left - 5, y_of(heat), right, y_of(heat), left - 9, y_of(heat) + 4, words);
}

static void tint(const struct plot *p, const struct box *b, const char *word)
{
    fprintf(p->out,
            "<rect class=\"quadrant q-%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/>\n",
            word, b->x0, b->y0, b->x1 - b->x0, b->y1 - b->y0);
}

/* The name stands in the inner corner of its quarter, where markers are rare, and keeps labels
 * away. */
static void quarter_name(struct plot *p, const struct box *b, const char *word, const char *meaning)
{
    bool at_right = b->x1 >= right, is_low = b->y1 >= bottom;
    double x = at_right ? b->x0 + 10 : b->x1 - 10, y = is_low ? b->y0 + 22 : b->y1 - 25;
    double width = fmax(9.8 * (double)strlen(word), 6.6 * (double)strlen(meaning));
    fprintf(p->out,
            "<text class=\"quadrant-name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
            x, y, at_right ? "start" : "end", word, x, y + 15, at_right ? "start" : "end", meaning);
    take(p, (struct box){ at_right ? x : x - width, y - 15, at_right ? x + width : x, y + 19 });
}

static void ticks(FILE *out)
{
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
}

static void frame(struct plot *p, const struct policy *policy)
{
    double x = x_of(policy->stability.cov05), y = y_of(policy->heat.high);
    const struct {
        struct box box;
        const char *word, *meaning;
    } quarters[] = { { { left, top, x, y }, "batch-first", "hot, shapes vary" },
                     { { x, top, right, y }, "spike", "hot, shapes stable" },
                     { { left, y, x, bottom }, "stay", "cold, shapes vary" },
                     { { x, y, right, bottom }, "note", "cold, shapes stable" } };
    for (size_t i = 0; i < sizeof quarters / sizeof *quarters; i++)
        tint(p, &quarters[i].box, quarters[i].word);
    ticks(p->out);
    fprintf(p->out,
            "<path class=\"threshold\" d=\"M%.1f %.0fV%.0fM%.0f %.1fH%.0f\"/>"
            "<text class=\"axis\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">coverage of the "
            "next window by the shapes known so far (cov05)</text>\n"
            "<text class=\"axis\" transform=\"translate(18 %.0f) rotate(-90)\" "
            "text-anchor=\"middle\">heat: share of the whole</text>\n",
            x, top, bottom, left, y, right, (left + right) / 2, bottom + 42, (top + bottom) / 2);
    for (size_t i = 0; i < sizeof quarters / sizeof *quarters; i++)
        quarter_name(p, &quarters[i].box, quarters[i].word, quarters[i].meaning);
}

static void symbol(FILE *out, enum stability_level level, double x, double y, double r)
{
    static const enum chart_symbol symbols[] = { [STABILITY_UNKNOWN] = CHART_TRIANGLE,
                                                 [STABILITY_STABLE] = CHART_CIRCLE,
                                                 [STABILITY_BUCKETABLE] = CHART_DIAMOND,
                                                 [STABILITY_VARYING] = CHART_SQUARE };
    chart_symbol(out, symbols[level], x, y, r);
}

static void key(FILE *out)
{
    static const struct {
        double x;
        enum stability_level level;
        const char *words;
    } keys[] = { { 84, STABILITY_STABLE, "stable" },
                 { 154, STABILITY_BUCKETABLE, "stable once padded" },
                 { 300, STABILITY_VARYING, "varying" },
                 { 376, STABILITY_UNKNOWN, "unknown" } };
    double y = bottom + 66;
    fputs("<g class=\"matrix-key\">", out);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        symbol(out, keys[i].level, keys[i].x, y, 5);
        fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">%s</text>", keys[i].x + 11, y + 4, keys[i].words);
    }
    fprintf(out,
            "<path class=\"whisker\" d=\"M459 %.0fv14M453 %.0fh12\"/>"
            "<text x=\"472\" y=\"%.0f\">95 %% intervals</text>"
            "<path class=\"padding\" d=\"M578 %.0fh26\"/>"
            "<text x=\"610\" y=\"%.0f\">by padding shapes</text></g>\n",
            y - 7, y, y + 4, y, y + 4);
}

static const struct stability_grain *deciding_grain(const struct stability *s)
{
    return s->level == STABILITY_BUCKETABLE ? &s->bucket : &s->raw;
}

static bool is_cold(const struct spot *s)
{
    return !(s->g->heat.value > least);
}

static struct box box_of(const struct spot *s)
{
    return (struct box){ s->x - s->r - 1, s->y - s->r - 1, s->x + s->r + 1, s->y + s->r + 1 };
}

static bool covers(const struct plot *p, const struct spot *s)
{
    for (size_t i = 0; i < p->nspots; i++)
        if (fabs(p->spots[i].x - s->x) < p->spots[i].r + s->r + 1 &&
            fabs(p->spots[i].y - s->y) < p->spots[i].r + s->r + 1)
            return true;
    return false;
}

/* On the edge, which stands for all that is cold, markers give way: towards the middle, in two
 * rows. False: there is no room left. */
static bool give_way(const struct plot *p, struct spot *s)
{
    const struct spot first = *s;
    double step = (2 * s->r + 2) * (s->x > (left + right) / 2 ? -1 : 1);
    for (int i = 0; i < 2 * ROW && covers(p, s); i++) {
        s->x = first.x + step * ((i + 1) % ROW);
        s->y = first.y + (2 * s->r + 2) * ((i + 1) / ROW);
    }
    return !covers(p, s);
}

/* A class that is all or nearly all of its operation would stand on it, and says nothing new. */
static bool stands_on_its_op(const struct plot *p, const struct spot *s)
{
    for (size_t i = 0; i < p->nspots && s->g->shape_class; i++) {
        const struct spot *op = &p->spots[i];
        if (!op->g->shape_class && op->g->op == s->g->op && op->g->dtype == s->g->dtype)
            return hypot(op->x - s->x, op->y - s->y) < op->r;
    }
    return false;
}

/* What has no heat has no place. */
static void place(struct plot *p, const struct analysis_group *g, size_t number)
{
    bool is_whole = !g->shape_class;
    if (isnan(g->heat.value) || (!is_whole && g->heat.value < least))
        return;
    struct spot s = { g, number, x_of(deciding_grain(&g->stability)->cov05), y_of(g->heat.value),
                      is_whole ? 8 : 5 };
    if (stands_on_its_op(p, &s))
        return;
    if (is_cold(&s)) {
        s.r = 5;
        if (!give_way(p, &s)) {
            p->crowded++;
            return;
        }
    }
    take(p, box_of(&s));
    p->spots[p->nspots++] = s;
}

static void take_intervals(struct plot *p, const struct spot *s)
{
    const struct stability_grain *grain = deciding_grain(&s->g->stability);
    if (!is_cold(s) && !isnan(s->g->heat.lo))
        take(p, (struct box){ s->x - 2, y_of(s->g->heat.hi), s->x + 2, y_of(s->g->heat.lo) });
    if (!is_cold(s) && !isnan(grain->cov05_lo))
        take(p, (struct box){ x_of(grain->cov05_lo), s->y - 2, x_of(grain->cov05_hi), s->y + 2 });
}

/* Upright the heat's interval, across the coverage's, and how far padding moves the coverage. */
static void intervals(FILE *out, const struct spot *s)
{
    const struct stability *st = &s->g->stability;
    const struct stability_grain *grain = deciding_grain(st);
    if (!isnan(s->g->heat.lo))
        fprintf(out, "<path class=\"whisker\" d=\"M%.1f %.1fV%.1f\"/>", s->x, y_of(s->g->heat.lo),
                y_of(s->g->heat.hi));
    if (!isnan(grain->cov05_lo) && !is_cold(s))
        fprintf(out, "<path class=\"whisker\" d=\"M%.1f %.1fH%.1f\"/>", x_of(grain->cov05_lo), s->y,
                x_of(grain->cov05_hi));
    double raw = x_of(st->raw.cov05), padded = x_of(st->bucket.cov05);
    if (fabs(raw - padded) > 1 && !is_cold(s))
        fprintf(out, "<path class=\"padding\" d=\"M%.1f %.1fH%.1f\"/>", raw, s->y, padded);
}

static void title(FILE *out, const struct analysis_group *g)
{
    const struct stability *s = &g->stability;
    fprintf(out, "<title>%s, %s: heat %s (%s to %s), coverage %s (%s to %s), padded %s, %s</title>",
            words_operation(g->op, g->dtype), g->shape_class ? g->shape_class : "all shapes",
            words_real(g->heat.value, 3), words_real(g->heat.lo, 3), words_real(g->heat.hi, 3),
            words_real(s->raw.cov05, 3), words_real(s->raw.cov05_lo, 3),
            words_real(s->raw.cov05_hi, 3), words_real(s->bucket.cov05, 3),
            decide_word(g->decision.verdict));
}

/* Near the spot, where nothing stands yet. */
static bool find_place(const struct plot *p, const struct spot *s, double width, struct box *found)
{
    for (int i = 0; i < 40; i++) {
        double away = s->r + 6 + 7 * (i / 8), turn = (i % 8) * M_PI / 4;
        double x = s->x + away * cos(turn), y = s->y + away * sin(turn);
        x -= cos(turn) < -0.1 ? width : cos(turn) < 0.1 ? width / 2 : 0;
        const struct box wide = { x - 4, y - 8, x + width + 4, y + 7 };
        *found = (struct box){ x, wide.y0, x + width, wide.y1 };
        if (x > left && found->x1 < right && found->y0 > top && found->y1 < bottom &&
            !overlaps(p, &wide))
            return true;
    }
    return false;
}

/* The name where there is room for it, else the number of the row, else nothing. */
static void label(struct plot *p, const struct spot *s)
{
    char number[24];
    struct box b;
    bool is_whole = !s->g->shape_class;
    double letter = is_whole ? 8.6 : 6.8;
    const char *text = is_whole ? words_operation(s->g->op, s->g->dtype) : s->g->shape_class;
    snprintf(number, sizeof number, "%s%zu", is_whole ? "" : "c", s->number);
    if (!find_place(p, s, letter * (double)strlen(text), &b)) {
        text = number;
        if (!find_place(p, s, letter * (double)strlen(text), &b))
            return;
    }
    take(p, b);
    double reach = hypot(fmax(0, fmax(b.x0 - s->x, s->x - b.x1)), (b.y0 + b.y1) / 2 - s->y);
    if (reach > s->r + 14)
        fprintf(p->out, "<path class=\"lead\" d=\"M%.1f %.1fL%.1f %.1f\"/>", s->x, s->y,
                fmin(fmax(s->x, b.x0), b.x1), fmin(fmax(s->y, b.y0), b.y1));
    fprintf(p->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>",
            is_whole ? "op-label" : "class-label", b.x0, b.y1 - 2, text);
}

static void draw(struct plot *p, const struct spot *s)
{
    bool is_whole = !s->g->shape_class;
    fprintf(p->out, "<a href=\"#%s-%zu\" class=\"marker v-%s%s\">", is_whole ? "op" : "class",
            s->number, decide_word(s->g->decision.verdict), is_whole ? " whole" : "");
    title(p->out, s->g);
    intervals(p->out, s);
    symbol(p->out, s->g->stability.level, s->x, s->y, s->r);
    label(p, s);
    fputs("</a>\n", p->out);
}

void chart_matrix(const struct analysis *a, FILE *out)
{
    struct plot p = { .out = out };
    fputs("<svg class=\"matrix\" viewBox=\"0 0 760 500\" role=\"group\" aria-label=\"Heat against "
          "stability; the same numbers are in the table below\">\n",
          out);
    frame(&p, a->policy);
    for (size_t i = 0; i < a->nops && i < OPS_SHOWN; i++)
        place(&p, &a->ops[i], i + 1);
    for (size_t i = 0; i < a->nclasses && i < CLASSES_SHOWN; i++)
        place(&p, &a->classes[i], i + 1);
    for (size_t i = 0; i < p.nspots; i++)
        take_intervals(&p, &p.spots[i]);
    for (size_t i = 0; i < p.nspots; i++)
        draw(&p, &p.spots[i]);
    if (p.nspots == 0)
        fprintf(out,
                "<text class=\"axis\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">the heat of no "
                "operation is known</text>\n",
                (left + right) / 2, (top + bottom) / 2);
    if (p.crowded)
        fprintf(
            out,
            "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">and %zu more that are cold</text>\n",
            right - 6, bottom - 6, p.crowded);
    key(out);
    fputs("</svg>\n", out);
}
