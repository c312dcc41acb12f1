/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/chart.h"
#include "analysis/words.h"

enum { LEFT = 128, RIGHT = 750, TOP = 8, HEIGHT = 120, LINE = 18, OPS_MAX = 8 };

/* What a slice of time was spent on, from the bottom up. */
static const struct layer {
    const char *css, *words;
    const char *of_calls; /* where calls were recorded, not windows of a GPU; NULL: not known */
} layers[] = { { "busy", "computing", "computing" },
               { "communication", "nothing but communication", "nothing but communication" },
               { "copy", "nothing but copies", NULL },
               { "wait", "launched work had not begun", NULL },
               { "host", "nothing to do", "no recorded call" } };
enum { LAYERS = sizeof layers / sizeof *layers };

static double part(const struct causal_span *s, size_t layer)
{
    const double ns[LAYERS] = { s->busy_ns - s->communication_ns - s->copy_ns, s->communication_ns,
                                s->copy_ns, s->wait_ns, s->host_ns };
    return fmax(ns[layer], 0);
}

static double whole(const struct causal_span *s)
{
    double sum = 0;
    for (size_t i = 0; i < LAYERS; i++)
        sum += part(s, i);
    return sum;
}

static double span_ns(const struct causal *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->nslices; i++)
        sum += c->slices[i].span_ns;
    return sum;
}

/* Each slice is as wide as its time is long. */
static void columns(const struct causal *c, double per_ns, FILE *out)
{
    double x = LEFT;
    for (size_t i = 0; i < c->nslices; i++) {
        const struct causal_span *s = &c->slices[i];
        double width = s->span_ns * per_ns, sum = whole(s), y = TOP + HEIGHT;
        fprintf(out, "<g><title>%s busy</title>", words_share(s->busy_ns / s->span_ns));
        for (size_t k = 0; k + 1 < LAYERS; k++) {
            double height = sum > 0 ? HEIGHT * part(s, k) / sum : 0;
            y -= height;
            if (height >= 0.05)
                fprintf(out,
                        "<rect class=\"t-%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                        "height=\"%.1f\"/>",
                        layers[k].css, x, y, width, height);
        }
        fputs("</g>\n", out);
        x += width;
    }
}

static void scale(FILE *out)
{
    static const double shares[] = { 0, 0.5, 1 };
    for (size_t i = 0; i < 3; i++)
        fprintf(out,
                "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f %%</text>",
                LEFT - 4, TOP + HEIGHT * (1 - shares[i]), RIGHT, TOP + HEIGHT * (1 - shares[i]),
                LEFT - 8, TOP + HEIGHT * (1 - shares[i]) + 4, 100 * shares[i]);
    fprintf(out,
            "<text x=\"%d\" y=\"%d\" transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\" "
            "class=\"axis\">share of time</text>\n",
            14, TOP + HEIGHT / 2, TOP + HEIGHT / 2);
}

/* When the calls or kernels of an operation ran: the darker, the more of the slice. */
static void strip(const struct analysis *a, size_t op, double per_ns, FILE *out)
{
    const struct causal *c = a->causal;
    const double *active_ns = c->active_ns + op * CAUSAL_SLICES_MAX;
    double x = LEFT;
    size_t y = TOP + HEIGHT + 12 + LINE * op;
    fprintf(out, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">%s</text>", LEFT - 8, y + 12,
            words_operation(a->ops[op].op, a->ops[op].dtype));
    for (size_t i = 0; i < c->nslices; i++) {
        double width = c->slices[i].span_ns * per_ns;
        double share = fmin(active_ns[i] / c->slices[i].span_ns, 1);
        if (share > 0)
            fprintf(out,
                    "<rect class=\"cell\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\" "
                    "fill-opacity=\"%.2f\"/>",
                    x, y, width, LINE - 3, 0.08 + 0.92 * share);
        x += width;
    }
    fprintf(out, "<rect class=\"frame\" x=\"%d\" y=\"%zu\" width=\"%d\" height=\"%d\"/>\n", LEFT, y,
            RIGHT - LEFT, LINE - 3);
}

static void time_axis(double total_ns, size_t y, FILE *out)
{
    for (int i = 0; i <= 4; i++)
        fprintf(out, "<text x=\"%.1f\" y=\"%zu\" text-anchor=\"%s\">%s</text>",
                LEFT + (RIGHT - LEFT) * i / 4.0, y,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                words_ns(total_ns * i / 4));
    fputs("\n", out);
}

static void key(const struct causal *c, double total_ns, FILE *out)
{
    fputs("<ul class=\"key\">", out);
    for (size_t k = 0; k < LAYERS; k++) {
        const char *words = c->idle.source == CAUSAL_THREADS ? layers[k].of_calls : layers[k].words;
        double sum = 0;
        for (size_t i = 0; i < c->nslices; i++)
            sum += part(&c->slices[i], k);
        if (words)
            fprintf(out, "<li><span class=\"swatch t-%s\"></span>%s: %s</li>", layers[k].css, words,
                    words_share(sum / total_ns));
    }
    fputs("</ul>\n", out);
}

void chart_timeline(const struct analysis *a, FILE *out)
{
    const struct causal *c = a->causal;
    size_t ops = a->nops < OPS_MAX ? a->nops : OPS_MAX;
    size_t height = TOP + HEIGHT + 12 + LINE * ops + 24;
    double total_ns = span_ns(c), per_ns = (RIGHT - LEFT) / total_ns;
    fprintf(out,
            "<figure><svg class=\"timeline\" viewBox=\"0 0 760 %zu\" role=\"img\" aria-label=\""
            "Busy and idle over time; the sums are in the key below\">\n",
            height);
    columns(c, per_ns, out);
    scale(out);
    for (size_t i = 0; i < ops; i++)
        strip(a, i, per_ns, out);
    time_axis(total_ns, height - 6, out);
    fputs("</svg>\n", out);
    key(c, total_ns, out);
    fprintf(out,
            "<figcaption>Left to right: %s. Below, when each operation was at work: the stronger, "
            "the more of the time.</figcaption></figure>\n",
            c->idle.source == CAUSAL_THREADS
                ? "the wall time of the recorded processes, one after the other"
                : "the windows in which the GPU was watched, each for the time around it");
}
