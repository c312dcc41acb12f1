/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/chart.h"
#include "analysis/chart_symbol.h"
#include "analysis/headroom.h"
#include "analysis/words.h"

enum { POINTS_MAX = 60, ROOFS_MAX = CHART_TRIANGLE + 1 }; /* a form each */
static const double left = 84, right = 640, top = 14, bottom = 350;

/* One call of a shape: where it stands, and the roof above it. */
struct point {
    const struct analysis_shape *shape;
    double intensity, rate_flops; /* flops a byte; flops a second */
    size_t roof;
};

struct plot {
    size_t npoints, nroofs;
    struct point points[POINTS_MAX];
    const struct result_ceiling *roofs[ROOFS_MAX];
    double x0, x1, y0, y1; /* decades */
};

static double x_of(const struct plot *p, double intensity)
{
    return left + (right - left) * (log10(intensity) - p->x0) / (p->x1 - p->x0);
}

static double y_of(const struct plot *p, double rate)
{
    return bottom - (bottom - top) * (log10(rate) - p->y0) / (p->y1 - p->y0);
}

static bool is_known(const struct result_ceiling *c)
{
    return c && c->rate_flops > 0 && c->bandwidth_bytes_per_s > 0;
}

static void add(struct plot *p, const struct analysis *a, const struct analysis_shape *shape)
{
    const struct tilewise_signature *s = shape->signature;
    const struct result_case *r = shape->result;
    const struct result_ceiling *roof =
        r ? headroom_ceiling(a->results, signature_rate_dtype(s)) : NULL;
    double flops = signature_flops(s), bytes = signature_bytes(s);
    if (!is_known(roof) || !(r->baseline_best_ns > 0) || !(flops > 0) || !(bytes > 0))
        return;
    size_t i = 0;
    while (i < p->nroofs && p->roofs[i] != roof)
        i++;
    if (i == ROOFS_MAX || p->npoints == POINTS_MAX)
        return;
    p->roofs[i] = roof;
    p->nroofs += i == p->nroofs;
    p->points[p->npoints++] =
        (struct point){ shape, flops / bytes, flops / (r->baseline_best_ns * 1e-9), i };
}

/* Around all points and the tops of the roofs, in decades. */
static void set_range(struct plot *p)
{
    p->x0 = p->y0 = INFINITY;
    p->x1 = p->y1 = -INFINITY;
    for (size_t i = 0; i < p->npoints; i++) {
        const struct point *at = &p->points[i];
        const struct result_ceiling *roof = p->roofs[at->roof];
        double ridge = roof->rate_flops / roof->bandwidth_bytes_per_s;
        p->x0 = fmin(p->x0, log10(fmin(at->intensity, ridge)) - 0.2);
        p->x1 = fmax(p->x1, log10(fmax(at->intensity, ridge)) + 0.2);
        p->y0 = fmin(p->y0, log10(at->rate_flops) - 0.2);
        p->y1 = fmax(p->y1, log10(fmax(at->rate_flops, roof->rate_flops)) + 0.1);
    }
}

/* 1, 2 and 5 times the powers of ten, or these alone where the range is wide. */
static double next_tick(double value, double decades)
{
    double power = pow(10, floor(log10(value) + 1e-9)), lead = value / power;
    if (decades > 2)
        return 10 * power;
    return power * (lead < 1.5 ? 2 : lead < 3.5 ? 5 : 10);
}

static double first_tick(double from, double decades)
{
    double tick = pow(10, floor(from));
    while (log10(tick) < from)
        tick = next_tick(tick, decades);
    return tick;
}

static void grid(const struct plot *p, FILE *out)
{
    double wide = p->x1 - p->x0, high = p->y1 - p->y0;
    for (double v = first_tick(p->x0, wide); log10(v) <= p->x1; v = next_tick(v, wide))
        fprintf(out,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\"/>"
                "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n",
                x_of(p, v), top, x_of(p, v), bottom, x_of(p, v), bottom + 17, v);
    for (double v = first_tick(p->y0, high); log10(v) <= p->y1; v = next_tick(v, high))
        fprintf(out,
                "<line class=\"grid\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>"
                "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                left, y_of(p, v), right, y_of(p, v), left - 7, y_of(p, v) + 4, words_scaled(v));
    fprintf(out,
            "<text class=\"axis\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">flops for each "
            "byte that must be moved</text><text class=\"axis\" transform=\"translate(18 %.0f) "
            "rotate(-90)\" text-anchor=\"middle\">flops a second</text>\n",
            (left + right) / 2, bottom + 38, (top + bottom) / 2);
}

static double roof_at(const struct result_ceiling *c, double intensity)
{
    return fmin(c->rate_flops, intensity * c->bandwidth_bytes_per_s);
}

/* From where the bandwidth line enters the picture, over the ridge, to the right; labels keep
 * below `above`. Returns where this one ends. */
static double roof(const struct plot *p, size_t number, double above, FILE *out)
{
    const struct result_ceiling *c = p->roofs[number];
    double ridge = c->rate_flops / c->bandwidth_bytes_per_s;
    double from = fmax(pow(10, p->x0), pow(10, p->y0) / c->bandwidth_bytes_per_s);
    double y = y_of(p, c->rate_flops), text = fmax(y + 4, above + 14);
    fprintf(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\"/><g>", x_of(p, from),
            y_of(p, roof_at(c, from)), x_of(p, ridge), y, right, y);
    chart_symbol(out, (enum chart_symbol)number, right + 12, text - 4, 4);
    fprintf(out,
            "</g><text class=\"op-label\" x=\"%.0f\" y=\"%.1f\">%s</text><text x=\"%.0f\" "
            "y=\"%.1f\">%sflop/s</text><text x=\"%.0f\" y=\"%.1f\">%sB/s</text>\n",
            right + 20, text, tilewise_dtype_name(c->dtype), right + 54, text,
            words_scaled(c->rate_flops), right + 54, text + 15,
            words_scaled(c->bandwidth_bytes_per_s));
    return text + 22;
}

/* The highest first, so that labels go down. */
static void roofs(const struct plot *p, FILE *out)
{
    bool done[ROOFS_MAX] = { false };
    double above = 0;
    for (size_t n = 0; n < p->nroofs; n++) {
        size_t highest = ROOFS_MAX;
        for (size_t i = 0; i < p->nroofs; i++)
            if (!done[i] &&
                (highest == ROOFS_MAX || p->roofs[i]->rate_flops > p->roofs[highest]->rate_flops))
                highest = i;
        done[highest] = true;
        above = roof(p, highest, above, out);
    }
}

/* The library, and a line up to the best candidate, where that is faster. */
static void point(const struct plot *p, const struct point *at, FILE *out)
{
    const struct tilewise_signature *s = at->shape->signature;
    const struct result_candidate *c = words_candidate(at->shape);
    double share = isnan(at->shape->time_share) ? 0 : at->shape->time_share;
    double x = x_of(p, at->intensity), y = y_of(p, at->rate_flops), r = 3 + 10 * sqrt(share);
    fprintf(out, "<g><title>%s %s: %sflop/s, %s of what the roof allows; %s of the time</title>",
            words_operation(s->op, shape_dtype(s)), words_shape(s), words_scaled(at->rate_flops),
            words_share(at->rate_flops / roof_at(p->roofs[at->roof], at->intensity)),
            words_share(at->shape->time_share));
    if (c && c->status == RESULT_PASSED && c->call == RESULT_FASTER && c->ratio_best > 0) {
        double to = fmax(top, fmin(bottom, y_of(p, at->rate_flops * c->ratio_best)));
        fprintf(out,
                "<path class=\"lead\" d=\"M%.1f %.1fV%.1f\"/><path class=\"best\" "
                "d=\"M%.1f %.1fh%.1f\"/>",
                x, y, to, x - 4, to, 8.0);
    }
    chart_symbol(out, (enum chart_symbol)at->roof, x, y, r);
    fputs("</g>\n", out);
}

bool chart_roofline(const struct analysis *a, FILE *out)
{
    struct plot p = { 0 };
    for (size_t i = 0; i < a->nshapes; i++)
        add(&p, a, &a->shapes[i]);
    if (p.npoints == 0)
        return false;
    set_range(&p);
    fputs("<figure><svg class=\"roofline\" viewBox=\"0 0 760 400\" role=\"img\" aria-label=\""
          "Roofline: the library's rate of each shape under the measured limits\">\n",
          out);
    grid(&p, out);
    roofs(&p, out);
    for (size_t i = 0; i < p.npoints; i++)
        point(&p, &p.points[i], out);
    fputs("</svg><figcaption>Each marker is a shape by the best library call, the larger, the more "
          "of the time; the bar above it is a candidate that is faster. The lines are what this "
          "machine was measured to allow: bandwidth on the slope, matrix rate on the flat. Shapes "
          "that fit into a cache may stand above the slope.</figcaption></figure>\n",
          out);
    return true;
}
