/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/escape.h"
#include "analysis/html.h"
#include "analysis/words.h"

enum { SHAPES_MAX = 1000, SHAPES_OPEN = 25 };

static void candidate(FILE *out, const struct result_candidate *c)
{
    if (!c) {
        fputs("<td class=\"t\">-</td><td>-</td><td class=\"t\">-</td>", out);
        return;
    }
    fputs("<td class=\"t\">", out);
    escape_html(out, c->name);
    fprintf(out, "</td><td>%s", words_real(c->ratio_best, 2));
    if (!isnan(c->best_lo))
        fprintf(out, " <small>(%s–%s)</small>", words_real(c->best_lo, 2),
                words_real(c->best_hi, 2));
    fprintf(out, "</td><td class=\"t\">%s</td>", words_outcome(c));
}

static void row(FILE *out, const struct analysis_shape *shape, bool is_replayed)
{
    const struct tilewise_signature *s = shape->signature;
    const struct result_case *r = shape->result;
    bool is_row = s->layout == TILEWISE_ROW_MAJOR;
    fprintf(out, "<tr><td class=\"t\">%s</td><td class=\"t\">%s",
            words_operation(s->op, shape_dtype(s)), words_shape(s));
    if (!is_row && words_row_view(s)[0])
        fprintf(out, "<br><small>%s</small>", words_row_view(s));
    fprintf(out, "</td><td class=\"t\">%s %s ", words_trans(s), is_row ? "row" : "col");
    escape_html(out, shape->entry);
    fputs(s->flags & TILEWISE_IN_GRAPH ? ", in a graph" : "", out);
    fprintf(out, "</td><td>%s</td><td>%s</td><td>%s</td>", words_count(shape->calls),
            words_share(shape->time_share), words_ns(shape->work_ns / (double)shape->calls));
    if (is_replayed) {
        fprintf(out, "<td>%s</td><td>%s</td><td>%s</td>",
                words_ns(r ? r->baseline_recorded_ns : NAN),
                words_ns(r ? r->baseline_best_ns : NAN),
                words_real(shape->fidelity.replayed_ns / shape->fidelity.recorded_ns, 2));
        candidate(out, words_candidate(shape));
    }
    fputs("</tr>\n", out);
}

static void table(const struct analysis *a, size_t from, size_t to, FILE *out)
{
    bool is_replayed = a->results->ncases > 0;
    html_open_table(out, "Shapes by time",
                    is_replayed ? "<operation|<m x n x k|<called as|calls|time|mean|replayed|best "
                                  "call|fidelity|<candidate|ratio|<result"
                                : "<operation|<m x n x k|<called as|calls|time|mean");
    for (size_t i = from; i < to; i++)
        row(out, &a->shapes[i], is_replayed);
    html_close_table(out);
}

void html_shapes(const struct analysis *a, FILE *out)
{
    size_t open = a->nshapes < SHAPES_OPEN ? a->nshapes : SHAPES_OPEN;
    size_t all = a->nshapes < SHAPES_MAX ? a->nshapes : SHAPES_MAX;
    fputs("<section id=\"shapes\"><h2>Shapes</h2>\n<p>By time, largest first. One row is a shape "
          "as called through one entry point; of column-major calls the row-major view, as a "
          "framework writes it, is below. mean is the recorded time of a call",
          out);
    fputs(a->results->ncases
              ? ", replayed that of the same call when replayed, best call that of the quickest "
                "library call that does the same. fidelity: replayed / recorded. ratio: best call "
                "/ candidate with its 95 % interval, above 1 the candidate is faster.</p>\n"
              : ".</p>\n",
          out);
    table(a, 0, open, out);
    if (all > open) {
        fprintf(out, "<details><summary>%zu more shapes</summary>\n", all - open);
        table(a, open, all, out);
        fputs("</details>\n", out);
    }
    if (a->nshapes > all)
        fprintf(out,
                "<p>%s further shapes are left out of this page; the JSON and CSV reports "
                "hold all of them.</p>\n",
                words_count(a->nshapes - all));
    fputs("</section>\n", out);
}
