/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/chart.h"
#include "analysis/escape.h"
#include "analysis/html.h"
#include "analysis/words.h"

enum { CARDS_MAX = 12 };

static void facts(FILE *out, const struct analysis_group *g)
{
    const struct decide_replay *r = &g->replay;
    char text[96];
    fputs("<dl class=\"facts\">", out);
    html_fact(out, "calls", words_count(g->calls));
    html_fact(out, "ceiling (if it took no time)", words_real(g->heat.ceiling, 2));
    snprintf(text, sizeof text, "%s, padded %s, in tiles %s", words_count(g->stability.raw.shapes),
             words_count(g->stability.bucket.shapes), words_count(g->stability.tile.shapes));
    html_fact(out, "shapes", text);
    snprintf(text, sizeof text, "%s padded, %s in tiles",
             words_share(g->stability.bucket.padding_waste),
             words_share(g->stability.tile.padding_waste));
    html_fact(out, "padding waste", text);
    html_fact(out, "headroom", words_share(r->headroom));
    snprintf(text, sizeof text, "%s to %s of the whole", words_share(r->gain_lo),
             words_share(r->gain_hi));
    html_fact(out, "gain by replay", r->replayed_share > 0 ? text : "not replayed");
    fputs("</dl>\n", out);
}

static void histograms(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    fputs("<ul class=\"key\"><li><span class=\"swatch time\"></span>share of the time</li>"
          "<li><span class=\"swatch calls\"></span>share of the calls</li><li>dimensions as "
          "called</li></ul>\n<div class=\"charts\">\n",
          out);
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        if (d != SHAPE_BATCH || g->stability.values[d] > 1)
            chart_histogram(a, g, d, out);
    fputs("</div>\n", out);
    chart_windows(a, g, out);
}

static void card(const struct analysis *a, const struct analysis_group *g, size_t number, FILE *out)
{
    fprintf(out, "<section class=\"card\" id=\"card-%zu\"><header><h3>%s</h3>", number,
            words_operation(g->op, g->dtype));
    html_verdict(out, g);
    fputs("</header>\n<p class=\"why\">", out);
    escape_html(out, g->decision.reason);
    fprintf(out, "</p>\n<p class=\"next\">%s</p>\n", decide_advice(g->decision.verdict));
    char regimes[480];
    if (regimes_words(&g->regimes, regimes, sizeof regimes)) {
        fputs("<p class=\"soft\">Regimes: ", out);
        escape_html(out, regimes);
        fputs("</p>\n", out);
    }
    facts(out, g);
    histograms(a, g, out);
    fputs("</section>\n", out);
}

void html_cards(const struct analysis *a, FILE *out)
{
    fputs("<section id=\"verdicts\"><h2>Verdicts</h2>\n", out);
    if (a->nops == 0)
        fputs("<p>The trace holds no calls.</p>\n", out);
    for (size_t i = 0; i < a->nops && i < CARDS_MAX; i++)
        card(a, &a->ops[i], i + 1, out);
    if (a->nops > CARDS_MAX)
        fprintf(out, "<p>%zu more operations are in the table above.</p>\n", a->nops - CARDS_MAX);
    fputs("</section>\n", out);
}
