/* SPDX-License-Identifier: Apache-2.0
 *
 * One page, no network, no script. What comes from a trace goes through escape_html; the content
 * security policy would refuse it even if it did not.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/causal_attach.h"
#include "analysis/chart.h"
#include "analysis/escape.h"
#include "analysis/html_style.h"
#include "analysis/phases.h"
#include "analysis/report.h"
#include "analysis/words.h"

enum { CARDS_MAX = 12, SHAPES_MAX = 1000, SHAPES_OPEN = 25, SHARDS_MAX = 50, FACTS_MAX = 60 };

static void head(FILE *out)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<title>tilewise report</title>\n<style>%s</style></head>\n<body><main>\n"
            "<a class=\"skip\" href=\"#verdicts\">Skip to the verdicts</a>\n",
            html_style_sha256, html_style);
}

static void tile(FILE *out, bool bad, const char *name, const char *value, const char *small)
{
    fprintf(out, "<div%s><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n",
            bad ? " class=\"bad\"" : "", name, value, small);
}

static void coverage(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    const struct policy_evidence *p = &a->policy->evidence;
    char small[96];
    fputs("<h1>tilewise report</h1>\n<p class=\"sub\">", out);
    escape_html(out, analysis_device(a) ? analysis_device(a) : "device unknown");
    if (analysis_gpu(a, small, sizeof small)) {
        fputs(" · GPU ", out);
        escape_html(out, small);
    }
    fprintf(out, " · %zu process%s · %s of wall time · %zu windows</p>\n", s->nshards,
            s->nshards == 1 ? "" : "es", words_ns((double)s->wall_ns), s->nwindows);
    fputs("<dl class=\"coverage\" aria-label=\"Coverage and loss\">\n", out);
    snprintf(small, sizeof small, "%s recorded of %s seen", words_count(s->counters.recorded),
             words_count(s->counters.seen));
    tile(out, !(a->coverage_calls >= 1 - p->lost), "coverage of calls",
         words_share(a->coverage_calls), small);
    tile(out, !(a->evidence.coverage_time >= p->coverage_time), "coverage of time",
         words_share(a->evidence.coverage_time), "with a replayable signature");
    snprintf(small, sizeof small, "%s more failed in the library", words_count(s->counters.failed));
    tile(out, !(a->evidence.lost_share <= p->lost), "calls lost",
         words_share(a->evidence.lost_share), small);
    tile(out, !s->complete, "recording", s->complete ? "complete" : "INCOMPLETE",
         s->complete ? "every process ended cleanly" : "see the notes");
    fputs("</dl>\n", out);
    if (a->withheld[0])
        fprintf(out, "<p class=\"notice withheld\"><b>Every verdict is withheld:</b> %s.</p>\n",
                a->withheld);
    for (size_t i = 0; i < a->nnotes; i++) {
        fputs("<p class=\"notice\">", out);
        escape_html(out, a->notes[i]);
        fputs("</p>\n", out);
    }
}

static void word(FILE *out, const struct analysis_group *g)
{
    const char *verdict = decide_word(g->decision.verdict);
    fprintf(out, "<span class=\"word v-%s\">%s</span>", verdict, verdict);
}

static void matrix_row(FILE *out, const struct analysis_group *g, size_t number)
{
    const struct heat *h = &g->heat;
    const struct stability *s = &g->stability;
    fprintf(out, "<tr id=\"%s-%zu\"%s><th scope=\"row\" class=\"t\">",
            g->shape_class ? "class" : "op", number, g->shape_class ? "" : " class=\"whole\"");
    if (g->shape_class)
        fprintf(out, "%zu", number);
    fprintf(out, "</th><td class=\"t\">%s %s</td><td class=\"t\">%s</td><td class=\"t\">",
            tilewise_op_name(g->op), tilewise_dtype_name(g->dtype),
            g->shape_class ? g->shape_class : "all");
    word(out, g);
    fprintf(out,
            "</td><td>%s</td><td>%s%s</td><td>%s – %s</td><td class=\"t\">%s</td>"
            "<td class=\"t\">%s</td><td>%s</td><td>%" PRIu64 "</td><td>%s</td><td>%s</td><td>%s"
            "</td><td>%s</td><td class=\"t\">%s</td><td>%s</td></tr>\n",
            words_count(g->calls), words_real(h->value, 3),
            h->method == HEAT_CAUSAL || isnan(h->value) ? "" : "~", words_real(h->lo, 3),
            words_real(h->hi, 3), words_level(heat_level_name(h->level)),
            words_level(stability_level_name(s->level)), words_real(s->raw.effective_shapes, 1),
            s->raw.k90, words_real(s->raw.cov05, 3), words_real(s->bucket.cov05, 3),
            words_real(s->raw.unseen, 3), words_real(s->raw.drift.adjacent, 3), words_moving(s),
            words_real(h->busy_share, 3));
}

/* The head of a table: words by '|', left-aligned ones start with '<'. */
static void table_head(FILE *out, const char *columns)
{
    fputs("<thead><tr>", out);
    for (const char *p = columns; *p;) {
        bool at_left = *p == '<';
        int length = (int)strcspn(p += at_left, "|");
        fprintf(out, "<th scope=\"col\"%s>%.*s</th>", at_left ? " class=\"t\"" : "", length, p);
        p += length + (p[length] == '|');
    }
    fputs("</tr></thead><tbody>\n", out);
}

static void matrix(const struct analysis *a, FILE *out)
{
    fprintf(out,
            "<h2>Heat × stability</h2>\n<p>Is it hot, and are its shapes stable? Heat is how much "
            "shorter the whole would be if the operation took no time, by replaying the recorded "
            "timeline; marked ~ it is the share of the wall time, an upper bound. The upright line "
            "is its 95 %% interval. Coverage is the "
            "share of the next window's time that the shapes known so far hold; the dashed line "
            "leads from the shapes as called to the padded ones. Stability asks for more than "
            "coverage, so the marker's form counts: circle stable, diamond stable once padded, "
            "square varying, triangle unknown.</p>\n<figure>");
    chart_matrix(a, out);
    fputs("<figcaption>Large outlined markers are whole operations, numbered ones the shape "
          "classes of the table that may reach 1 % of heat. What has no known heat is in the table "
          "alone.</figcaption></figure>\n"
          "<div class=\"scroll\"><table><caption>The same in numbers; operations first, then their "
          "shape classes</caption>",
          out);
    table_head(out, "<no.|<operation|<class|<verdict|calls|heat|95 % interval|<level|<stability|"
                    "eff. shapes|k90|cov05|padded|unseen|drift|<moves|busy");
    for (size_t i = 0; i < a->nops; i++)
        matrix_row(out, &a->ops[i], i + 1);
    for (size_t i = 0; i < a->nclasses; i++)
        matrix_row(out, &a->classes[i], i + 1);
    fputs("</tbody></table></div>\n", out);
    char idle[320];
    if (causal_words_idle(a, idle, sizeof idle))
        fprintf(out, "<p>Idle: %s.</p>\n", idle);
}

static void fact(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<div><dt>%s</dt><dd>%s</dd></div>", name, value);
}

static void card_facts(FILE *out, const struct analysis_group *g)
{
    const struct decide_replay *r = &g->replay;
    char text[96];
    bool replayed = r->replayed_share > 0;
    fputs("<dl class=\"facts\">", out);
    fact(out, "calls", words_count(g->calls));
    fact(out, "ceiling (if it took no time)", words_real(g->heat.ceiling, 2));
    snprintf(text, sizeof text, "%s, padded %s, in tiles %s", words_count(g->stability.raw.shapes),
             words_count(g->stability.bucket.shapes), words_count(g->stability.tile.shapes));
    fact(out, "shapes", text);
    snprintf(text, sizeof text, "%s padded, %s in tiles",
             words_share(g->stability.bucket.padding_waste),
             words_share(g->stability.tile.padding_waste));
    fact(out, "padding waste", text);
    fact(out, "headroom", words_share(r->headroom));
    snprintf(text, sizeof text, "%s to %s of the whole", words_share(replayed ? r->gain_lo : NAN),
             words_share(replayed ? r->gain_hi : NAN));
    fact(out, "gain by replay", replayed ? text : "not replayed");
    fputs("</dl>\n", out);
}

static void card(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    fprintf(out, "<section class=\"card\"><header><h3>%s %s</h3>", tilewise_op_name(g->op),
            tilewise_dtype_name(g->dtype));
    word(out, g);
    fputs("</header>\n<p class=\"why\">", out);
    escape_html(out, g->decision.reason);
    fprintf(out, "</p>\n<p class=\"next\">%s</p>\n", decide_advice(g->decision.verdict));
    char regimes[480];
    if (regimes_words(&g->regimes, regimes, sizeof regimes)) {
        fputs("<p class=\"soft\">Regimes: ", out);
        escape_html(out, regimes);
        fputs("</p>\n", out);
    }
    card_facts(out, g);
    fputs("<div class=\"charts\">\n", out);
    for (enum shape_dimension d = 0; d <= SHAPE_K; d++)
        chart_histogram(a, g, d, out);
    fputs("</div>\n<p class=\"soft\">Filled bars: share of the time. Outlined bars: share of the "
          "calls. Dimensions as called.</p>\n",
          out);
    chart_windows(a, g, out);
    fputs("</section>\n", out);
}

static void cards(const struct analysis *a, FILE *out)
{
    fputs("<h2 id=\"verdicts\">Verdicts</h2>\n", out);
    if (a->nops == 0)
        fputs("<p>The trace holds no calls.</p>\n", out);
    for (size_t i = 0; i < a->nops && i < CARDS_MAX; i++)
        card(a, &a->ops[i], out);
    if (a->nops > CARDS_MAX)
        fprintf(out, "<p>%zu more operations are in the table above.</p>\n", a->nops - CARDS_MAX);
}

static void shape_candidate(FILE *out, const struct result_candidate *c)
{
    if (!c) {
        fputs("<td class=\"t\">-</td><td>-</td><td>-</td><td class=\"t\">-</td>", out);
        return;
    }
    fputs("<td class=\"t\">", out);
    escape_html(out, c->name);
    fprintf(out, "</td><td>%s</td><td>%s – %s</td><td class=\"t\">%s %s</td>",
            words_real(c->ratio_best, 2), words_real(c->best_lo, 2), words_real(c->best_hi, 2),
            result_status_name(c->status), result_call_name(c->call));
}

static void shape_row(FILE *out, const struct analysis_shape *shape)
{
    const struct tilewise_signature *s = shape->signature;
    const struct result_case *r = shape->result;
    fprintf(out,
            "<tr><td class=\"t\">%s %s</td><td class=\"t\">%s</td><td class=\"t\">%s</td>"
            "<td class=\"t\">%s %s</td><td class=\"t\">",
            tilewise_op_name(s->op), tilewise_dtype_name(shape_dtype(s)), words_shape(s),
            words_row_view(s), words_trans(s), s->layout == TILEWISE_ROW_MAJOR ? "row" : "col");
    escape_html(out, shape->entry);
    fprintf(out, "</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td>",
            words_count(shape->calls), words_share(shape->time_share),
            words_ns(shape->work_ns / (double)shape->calls),
            words_ns(r ? r->baseline_recorded_ns : NAN), words_ns(r ? r->baseline_best_ns : NAN));
    shape_candidate(out, words_candidate(shape));
    fputs("</tr>\n", out);
}

static void shape_table(const struct analysis *a, size_t from, size_t to, FILE *out)
{
    fputs("<div class=\"scroll\"><table>", out);
    table_head(out, "<operation|<m x n x k as called|<row-major|<trans|<entry|calls|time|mean|"
                    "replayed|best call|<candidate|ratio|95 % interval|<result");
    for (size_t i = from; i < to; i++)
        shape_row(out, &a->shapes[i]);
    fputs("</tbody></table></div>\n", out);
}

static void shapes(const struct analysis *a, FILE *out)
{
    size_t open = a->nshapes < SHAPES_OPEN ? a->nshapes : SHAPES_OPEN;
    size_t all = a->nshapes < SHAPES_MAX ? a->nshapes : SHAPES_MAX;
    fputs("<h2>Shapes</h2>\n", out);
    chart_ratios(a, out);
    shape_table(a, 0, open, out);
    if (all > open) {
        fprintf(out, "<details><summary>%zu more shapes</summary>\n", all - open);
        shape_table(a, open, all, out);
        fputs("</details>\n", out);
    }
    if (a->nshapes > all)
        fprintf(out,
                "<p>%s further shapes are left out of this page; the JSON and CSV reports "
                "hold all of them.</p>\n",
                words_count(a->nshapes - all));
}

static void in_order(const struct analysis *a, FILE *out)
{
    for (size_t i = 0; i < a->results->norders && i < SHARDS_MAX; i++) {
        const struct result_order *row = &a->results->orders[i];
        struct fidelity_order f = fidelity_order(a->results, i);
        fputs("<p>In the recorded order, ", out);
        escape_html(out, row->source);
        fprintf(out,
                ": replayed / recorded <b>%s</b> in total, median error of one <b>%s</b>; with the "
                "quickest verified kernels <b>%s</b> times as fast (%s to %s).</p>\n",
                words_real(f.total, 3), words_share(f.median_abs_error), words_real(row->ratio, 3),
                words_real(row->ratio_lo, 3), words_real(row->ratio_hi, 3));
    }
}

static void replay(const struct analysis *a, FILE *out)
{
    const struct fidelity *f = &a->fidelity;
    fputs("<h2>Replay and fidelity</h2>\n", out);
    if (a->results->nruns == 0) {
        fputs("<p>No replay was given: verdicts rest on the recording alone. Run <code>tilewise "
              "replay -o result.twr TRACE…</code> and report again with the result.</p>\n",
              out);
        return;
    }
    fprintf(out,
            "<p>Replayed baseline time / recorded time: <b>%s</b> in total over %s signatures, "
            "median error of one <b>%s</b>. Kernels at the measured ceiling would win <b>%s</b> of "
            "the whole (not known for a heat of %s).</p>\n",
            words_real(f->total, 3), words_count(f->signatures), words_share(f->median_abs_error),
            words_share(a->potential), words_share(a->potential_unknown));
    in_order(a, out);
    for (size_t i = 0; i < a->results->nruns && i < SHARDS_MAX; i++) {
        const struct result_run *r = &a->results->runs[i];
        fputs("<p class=\"notice\">", out);
        escape_html(out, r->device);
        fputs(" · ", out);
        escape_html(out, r->baseline_library);
        fputs(" (", out);
        escape_html(out, r->baseline_core);
        fprintf(out, ") · %" PRIu32 " threads%s · planned %s of the time · noise %s<br>",
                r->threads, r->baseline_capped ? " · CAPPED instructions" : "",
                words_share(r->planned_time_share), words_share(r->noise_floor));
        escape_html(out, r->protocol);
        fputs("</p>\n", out);
    }
}

static void recorded_facts(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    fputs("<details><summary>Recorded processes and facts</summary>\n<table>", out);
    table_head(out, "<file|pid|wall|busy|calls|<end");
    for (size_t i = 0; i < s->nshards && i < SHARDS_MAX; i++) {
        const struct summary_shard *shard = &s->shards[i];
        fputs("<tr><td class=\"t\">", out);
        escape_html(out, shard->path);
        fprintf(out,
                "</td><td>%" PRIu32 "</td><td>%s</td><td>%s</td><td>%s</td><td class=\"t\">%s"
                "</td></tr>\n",
                shard->shard.id.pid, words_ns((double)shard->wall_ns),
                words_ns((double)shard->busy_ns), words_count(shard->shard.counters.recorded),
                shard->shard.complete ? "clean" : "cut off");
    }
    fputs("</tbody></table>\n<table><tbody>\n", out);
    for (size_t i = 0; i < s->nfacts && i < FACTS_MAX; i++) {
        fputs("<tr><th scope=\"row\" class=\"t\">", out);
        escape_html(out, s->facts[i].key);
        fputs("</th><td class=\"t\">", out);
        escape_html(out, s->facts[i].value);
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></details>\n", out);
}

/* How each threshold is printed, by its type in POLICY_LIST. */
#define VALUE_REAL(v)    fprintf(out, "%g", v)
#define VALUE_SECONDS(v) fputs(words_ns(1e9 * (v)), out)
#define VALUE_COUNT(v)   fprintf(out, "%" PRIu64, v)
#define VALUE_FLAG(v)    fputs((v) ? "yes" : "no", out)
static void thresholds(const struct policy *p, FILE *out)
{
    fputs("<details><summary>Thresholds in force</summary>\n<table><tbody>\n", out);
#define X(map, key, member, type, c_type, value, min, max)                                         \
    fputs("<tr><th scope=\"row\" class=\"t\">" #map " / " key "</th><td class=\"t\">", out);       \
    VALUE_##type(p->map.member);                                                                   \
    fputs("</td></tr>\n", out);
    POLICY_LIST(X)
#undef X
    fputs("</tbody></table></details>\n", out);
}
#undef VALUE_REAL
#undef VALUE_SECONDS
#undef VALUE_COUNT
#undef VALUE_FLAG

static void method(const struct analysis *a, FILE *out)
{
    fputs(
        "<h2>How this was measured</h2>\n<p>The calls were counted inside the recorded process, "
        "on their way to the library; durations are host time of each call, "
        "or, where the trace has them, of its kernels on the GPU. Heat is the union of "
        "the intervals in which a call of the operation was running, divided by the wall time: "
        "an upper bound of what a faster kernel can win. Its interval is a block bootstrap over "
        "windows of equal numbers of calls. Drift is the Jensen–Shannon divergence of "
        "neighbouring windows, and counts only above what the same mix gives by chance. Formulas, "
        "thresholds and their sources: docs/decision.md.</p>\n",
        out);
    thresholds(a->policy, out);
    recorded_facts(a, out);
}

void report_html(const struct analysis *a, FILE *out)
{
    head(out);
    coverage(a, out);
    matrix(a, out);
    cards(a, out);
    phases_html(a, out);
    shapes(a, out);
    replay(a, out);
    method(a, out);
    fputs("<p class=\"soft\">tilewise " TILEWISE_VERSION "</p>\n</main></body></html>\n", out);
}
