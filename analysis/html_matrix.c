/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "analysis/chart.h"
#include "analysis/html.h"
#include "analysis/words.h"

enum { GLANCES_MAX = 12, CLASSES_OPEN = 24 };

/* "0.446 (0.360–0.544)" */
static void interval(FILE *out, double value, double lo, double hi)
{
    fputs(words_real(value, 3), out);
    if (!isnan(lo))
        fprintf(out, " <small>(%s–%s)</small>", words_real(lo, 3), words_real(hi, 3));
}

static void glance(const struct analysis *a, FILE *out)
{
    fputs("<div><h3>In short</h3><ol class=\"glance\">\n", out);
    for (size_t i = 0; i < a->nops && i < GLANCES_MAX; i++) {
        const struct analysis_group *g = &a->ops[i];
        fprintf(out, "<li><a href=\"#card-%zu\">%s</a> ", i + 1, words_operation(g->op, g->dtype));
        html_verdict(out, g);
        fprintf(out, "<br><small>heat %s, shapes %s, %s calls</small></li>\n",
                words_real(g->heat.value, 3), words_level(stability_level_name(g->stability.level)),
                words_count(g->calls));
    }
    fputs("</ol>\n", out);
    if (a->nops > GLANCES_MAX)
        fprintf(out, "<p class=\"soft\">%zu more are in the table below.</p>\n",
                a->nops - GLANCES_MAX);
    fputs("</div>\n", out);
}

static void row(FILE *out, const struct analysis_group *g, size_t number)
{
    const struct heat *h = &g->heat;
    const struct stability *s = &g->stability;
    fprintf(
        out,
        "<tr id=\"%s-%zu\"%s><th scope=\"row\" class=\"t\">%s%zu</th><td class=\"t\">%s%s%s</td>"
        "<td class=\"t\">",
        g->shape_class ? "class" : "op", number, g->shape_class ? "" : " class=\"whole\"",
        g->shape_class ? "c" : "", number, words_operation(g->op, g->dtype),
        g->shape_class ? " · " : "", g->shape_class ? g->shape_class : "");
    html_verdict(out, g);
    fprintf(out, "</td><td>%s</td><td>%s</td><td>%s", words_count(g->calls),
            words_real(h->is_of_launches ? NAN : h->busy_share, 3),
            h->method == HEAT_CAUSAL || isnan(h->value) ? "" : "\xe2\x89\xa4 ");
    interval(out, h->value, h->lo, h->hi);
    fprintf(out,
            "</td><td class=\"t\">%s</td><td class=\"t\">%s</td><td>%s</td><td>%" PRIu64
            "</td><td>",
            words_level(heat_level_name(h->level)), words_level(stability_level_name(s->level)),
            words_real(s->raw.effective_shapes, 1), s->raw.k90);
    interval(out, s->raw.cov05, s->raw.cov05_lo, s->raw.cov05_hi);
    fprintf(out, "</td><td>%s</td><td>%s</td><td>%s</td><td class=\"t\">%s</td></tr>\n",
            words_real(s->bucket.cov05, 3), words_real(s->raw.unseen, 3),
            words_real(s->raw.drift.adjacent, 3), words_moving(s));
}

static const char columns[] = "<no.|<operation|<verdict|calls|busy|heat|<level|<shapes|eff.|k90|"
                              "cov05|padded|unseen|drift|<moves";

static void table(const struct analysis *a, FILE *out)
{
    size_t open = a->nclasses < CLASSES_OPEN ? a->nclasses : CLASSES_OPEN;
    fputs("<h3>The same in numbers</h3>\n", out);
    html_open_table(out, "Heat and stability of the operations", columns);
    for (size_t i = 0; i < a->nops; i++)
        row(out, &a->ops[i], i + 1);
    html_close_table(out);
    if (a->nclasses == 0)
        return;
    fputs("<h3>By class of shape</h3>\n", out);
    html_open_table(out, "Heat and stability of classes of shapes", columns);
    for (size_t i = 0; i < open; i++)
        row(out, &a->classes[i], i + 1);
    html_close_table(out);
    if (open == a->nclasses)
        return;
    fprintf(out, "<details><summary>%zu more classes</summary>\n", a->nclasses - open);
    html_open_table(out, "More classes of shapes", columns);
    for (size_t i = open; i < a->nclasses; i++)
        row(out, &a->classes[i], i + 1);
    html_close_table(out);
    fputs("</details>\n", out);
}

void html_matrix(const struct analysis *a, FILE *out)
{
    fputs("<section id=\"matrix\"><h2>Heat × stability</h2>\n<p>Is it hot, and are its shapes "
          "stable? Up: how much shorter the whole would be if the operation took no time. To the "
          "right: how much of tomorrow's time the shapes known today hold.</p>\n"
          "<div class=\"twin\"><figure>",
          out);
    chart_matrix(a, out);
    fputs("<figcaption>Outlined markers with bold names are operations; small filled ones classes "
          "of their shapes that reach 1 % of heat. A number stands for a name where there is no "
          "room: it is that of the row below. On the lower edge, where heat is 1 % or less, "
          "markers give way to one another. Hot means that all of the upright interval is above "
          "the line. Stability asks for more than coverage (few shapes, "
          "none new, no drift): the form of a marker says what it came to.</figcaption></figure>"
          "\n",
          out);
    glance(a, out);
    fputs("</div>\n", out);
    table(a, out);
    fputs("<p class=\"soft\">heat with its 95 % interval, by replaying the recorded timeline; "
          "\xe2\x89\xa4: its share of the time, an upper bound. busy: its share of the time in "
          "which anything ran. eff.: effective number of shapes. k90: shapes that hold 90 % of the "
          "time. cov05: coverage of the next window, 5th percentile, with its interval; padded: "
          "once sizes are rounded up as serving engines do. unseen: calls of a shape met once. "
          "drift: of the mix from window to window. moves: dimensions with more than a few "
          "values.</p>\n</section>\n",
          out);
}
