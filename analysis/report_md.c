/* SPDX-License-Identifier: Apache-2.0
 *
 * For pasting into a review: what somebody who was not there needs, in its order.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/causal_attach.h"
#include "analysis/escape.h"
#include "analysis/kernel_name.h"
#include "analysis/phases.h"
#include "analysis/report.h"
#include "analysis/trace_names.h"
#include "analysis/words.h"

enum { SHAPES = 20, CLASSES = 12, KERNELS = 8, GROUPED = 8 };
static const double least_share = 0.01; /* of the busy time: what a class must hold to be listed */

static void coverage(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    const struct policy_evidence *p = &a->policy->evidence;
    fputs("Recorded on ", out);
    trace_devices(a, "a device that is not known", ", GPU ", escape_markdown, out);
    fprintf(out, ": %zu process%s, %s of wall time, %zu windows.\n\n", s->nshards,
            s->nshards == 1 ? "" : "es", words_ns((double)s->wall_ns), s->nwindows);
    fprintf(out,
            "| coverage of calls | coverage of time | lost | failed in the library | recording |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| %s of %s | %s (needed: %s) | %s (limit: %s) | %s | %s |\n",
            words_share(a->coverage_calls), words_count(s->counters.seen),
            words_share(a->evidence.coverage_time), words_share(p->coverage_time),
            words_share(a->evidence.lost_share), words_share(p->lost),
            words_count(s->counters.failed), s->complete ? "complete" : "**incomplete**");
    for (unsigned cause = 0; cause < LOSS_MAX; cause++)
        if (s->counters.dropped[cause])
            fprintf(out, "\n> Lost: %s calls (%s)\n", words_count(s->counters.dropped[cause]),
                    words_loss(cause));
    for (size_t i = 0; i < a->nnotes; i++) {
        fputs("\n> Note: ", out);
        escape_markdown(out, a->notes[i]);
        fputs("\n", out);
    }
}

static bool is_same(const struct analysis_group *a, const struct analysis_group *b)
{
    return a->decision.verdict == b->decision.verdict &&
           strcmp(a->decision.reason, b->decision.reason) == 0;
}

/* Operations with the same verdict for the same reason stand together. False: it stood before. */
static bool names(const struct analysis *a, size_t op, FILE *out)
{
    size_t others = 0;
    for (size_t i = 0; i < op; i++)
        if (is_same(&a->ops[i], &a->ops[op]))
            return false;
    fprintf(out, "- **%s", words_operation(a->ops[op].op, a->ops[op].dtype));
    for (size_t i = op + 1; i < a->nops; i++)
        if (is_same(&a->ops[i], &a->ops[op]) && others++ < GROUPED)
            fprintf(out, ", %s", words_operation(a->ops[i].op, a->ops[i].dtype));
    if (others > GROUPED)
        fprintf(out, " and %zu more", others - GROUPED);
    fprintf(out, ": %s.** ", decide_word(a->ops[op].decision.verdict));
    return true;
}

static void verdicts(const struct analysis *a, FILE *out)
{
    fputs("\n## Verdicts\n\n", out);
    if (a->nops == 0)
        fputs("The trace holds no calls.\n", out);
    if (a->withheld[0])
        fprintf(out, "**Every verdict is withheld:** %s.\n", a->withheld);
    for (size_t i = 0; i < a->nops && !a->withheld[0]; i++) {
        const struct analysis_group *g = &a->ops[i];
        if (!names(a, i, out))
            continue;
        escape_markdown(out, g->decision.reason); /* it may name phases of the program */
        fprintf(out, " _%s_\n", decide_advice(g->decision.verdict));
        char regimes[480];
        if (regimes_words(&g->regimes, regimes, sizeof regimes)) {
            fputs("  - Regimes: ", out);
            escape_markdown(out, regimes);
            fputs("\n", out);
        }
    }
}

static const char *interval(double value, double lo, double hi, char text[64])
{
    if (isnan(lo))
        return words_real(value, 3);
    snprintf(text, 64, "%s (%s to %s)", words_real(value, 3), words_real(lo, 3), words_real(hi, 3));
    return text;
}

static void matrix_row(const struct analysis_group *g, FILE *out)
{
    const struct stability_grain *s = &g->stability.raw;
    const struct heat *h = &g->heat;
    char heat[64], coverage[64];
    fprintf(out, "| %s%s%s | %s | %s | %s%s | %s | %s | %s | %" PRIu64,
            words_operation(g->op, g->dtype), g->shape_class ? " " : "",
            g->shape_class ? g->shape_class : "", words_count(g->calls),
            words_real(h->is_of_launches ? NAN : h->busy_share, 3),
            h->method == HEAT_CAUSAL || isnan(h->value) ? "" : "\xe2\x89\xa4 ",
            interval(h->value, h->lo, h->hi, heat), words_level(heat_level_name(h->level)),
            words_level(stability_level_name(g->stability.level)),
            words_real(s->effective_shapes, 1), s->k90);
    fprintf(out, " | %s | %s | %s | %s | %s | **%s** |\n",
            interval(s->cov05, s->cov05_lo, s->cov05_hi, coverage),
            words_real(g->stability.bucket.cov05, 3), words_real(s->unseen, 3),
            words_real(s->drift.adjacent, 3), words_moving(&g->stability),
            decide_word(g->decision.verdict));
}

static const char matrix_head[] =
    "| operation | calls | busy | heat | level | shapes | eff. | k90 | cov05 | padded | unseen | "
    "drift | moves | verdict |\n"
    "| --- | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- "
    "|\n";

static void classes(const struct analysis *a, FILE *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < a->nclasses && shown < CLASSES; i++) {
        const struct heat *h = &a->classes[i].heat;
        if (h->is_of_launches || !(h->busy_share >= least_share))
            continue;
        if (shown++ == 0)
            fprintf(out, "\nBy class of shape:\n\n%s", matrix_head);
        matrix_row(&a->classes[i], out);
    }
    if (shown && shown < a->nclasses)
        fprintf(out, "\n%zu more classes hold less, or are in the JSON report.\n",
                a->nclasses - shown);
}

static void matrix(const struct analysis *a, FILE *out)
{
    fprintf(out, "\n## Heat x stability\n\n%s", matrix_head);
    for (size_t i = 0; i < a->nops; i++)
        matrix_row(&a->ops[i], out);
    classes(a, out);
    fputs(
        "\n- heat: how much shorter the whole would be if the operation took no time, by "
        "replaying the recorded timeline, with its 95 % interval; \xe2\x89\xa4: its share of the "
        "time, an upper bound. busy: its share of the time in which anything ran, not known of "
        "work on a GPU that was not timed.\n"
        "- eff.: effective number of shapes. k90: shapes that hold 90 % of the time. cov05: share "
        "of the next window's time that the shapes known so far hold, 5th percentile, with its "
        "95 % interval; padded: once sizes are rounded up as serving engines do.\n"
        "- unseen: share of calls whose shape was met once. drift: of the mix from window to "
        "window, 0 to 1. moves: dimensions with more than a few values.\n",
        out);
}

static void kernels(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    if (s->gpu.kernel_ns == 0 || s->nkernels == 0)
        return;
    fputs("\n| kernel | launched by | launches | share of GPU time |\n| --- | --- | ---: | ---: "
          "|\n",
          out);
    for (size_t i = 0; i < s->nkernels && i < KERNELS; i++) {
        const struct summary_kernel *k = &s->kernels[i];
        char name[KERNEL_NAME_BYTES];
        fputs("| ", out);
        escape_markdown(out, kernel_name(s->strings[k->name], name));
        fprintf(out, " | %s | %s | %s |\n", words_launcher(s, k), words_count(k->launches),
                words_share((double)k->time_ns / (double)s->gpu.kernel_ns));
    }
}

static void time_of_run(const struct analysis *a, FILE *out)
{
    const struct summary_gpu *gpu = &a->summary->gpu;
    char idle[320];
    bool is_known = causal_words_idle(a, idle, sizeof idle);
    if (!is_known && gpu->totals.windows == 0)
        return;
    fputs("\n## Busy and idle\n", out);
    if (is_known)
        fprintf(out, "\nIdle: %s.\n", idle);
    if (gpu->totals.windows == 0)
        return;
    fprintf(out, "\nGPU: %s", words_windows(gpu));
    if (!isnan(gpu->busy_lo))
        fprintf(out, " (%s to %s)", words_share(gpu->busy_lo), words_share(gpu->busy_hi));
    if (gpu->kernel_ns)
        fprintf(out, ". %s of the GPU time belongs to recorded calls",
                words_share((double)gpu->attributed_ns / (double)gpu->kernel_ns));
    fputs(".\n", out);
    kernels(a, out);
}

static void shape_row(const struct analysis_shape *shape, bool is_replayed, FILE *out)
{
    const struct tilewise_signature *s = shape->signature;
    const struct result_candidate *c = words_candidate(shape);
    fprintf(out, "| %s | %s | %s %s ", words_operation(s->op, shape_dtype(s)), words_shape(s),
            words_trans(s), s->layout == TILEWISE_ROW_MAJOR ? "row" : "col");
    escape_markdown(out, shape->entry);
    fputs(s->flags & TILEWISE_IN_GRAPH ? ", in a graph" : "", out);
    fprintf(out, " | %s | %s | %s |", words_count(shape->calls), words_share(shape->time_share),
            words_ns(shape->work_ns / (double)shape->calls));
    if (is_replayed) {
        fprintf(out, " %s | ", words_ns(shape->result ? shape->result->baseline_best_ns : NAN));
        escape_markdown(out, c ? c->name : "-");
        fprintf(out, " | %s (%s to %s) | %s |", words_real(c ? c->ratio_best : NAN, 2),
                words_real(c ? c->best_lo : NAN, 2), words_real(c ? c->best_hi : NAN, 2),
                c ? words_outcome(c) : "-");
    }
    fputs("\n", out);
}

static void shapes(const struct analysis *a, FILE *out)
{
    bool is_replayed = a->results->ncases > 0;
    double rest = 1;
    fprintf(out,
            "\n## Largest shapes\n\n| operation | m x n x k | called as | calls | time | mean |%s\n"
            "| --- | --- | --- | ---: | ---: | ---: |%s\n",
            is_replayed ? " best call | candidate | ratio | result |" : "",
            is_replayed ? " ---: | --- | ---: | --- |" : "");
    for (size_t i = 0; i < a->nshapes && i < SHAPES; i++) {
        shape_row(&a->shapes[i], is_replayed, out);
        rest -= isnan(a->shapes[i].time_share) ? 0 : a->shapes[i].time_share;
    }
    if (a->nshapes > SHAPES)
        fprintf(out, "\n%s more shapes hold %s of the time.\n", words_count(a->nshapes - SHAPES),
                words_share(fmax(0, rest)));
    fputs(is_replayed
              ? "\nbest call: the quickest library call that does the same. ratio: best call "
                "/ candidate with its 95 % interval; above 1 the candidate is faster.\n"
              : "",
          out);
}

static void in_order(const struct analysis *a, FILE *out)
{
    for (size_t i = 0; i < a->results->norders; i++) {
        const struct result_order *row = &a->results->orders[i];
        struct fidelity_order f = fidelity_order(a->results, i);
        fputs("- In the recorded order, ", out);
        escape_markdown(out, row->source);
        fprintf(out, ": replayed / recorded %s in total, median error of a shape %s",
                words_real(f.total, 3), words_share(f.median_abs_error));
        if (isfinite(row->ratio))
            fprintf(out, "; with the quickest verified kernels %s times as fast (%s to %s)",
                    words_real(row->ratio, 3), words_real(row->ratio_lo, 3),
                    words_real(row->ratio_hi, 3));
        fputs(".\n", out);
    }
}

static void replay(const struct analysis *a, FILE *out)
{
    const struct fidelity *f = &a->fidelity;
    if (a->results->nruns == 0)
        return;
    fprintf(out,
            "\n## Replay\n\n- Kernels at the measured ceiling would win %s of the whole (not known "
            "for a heat of %s).\n"
            "- Fidelity: replayed / recorded %s in total, median error of a shape %s, the same "
            "kernels in %s of the time (- is not measured).\n",
            words_share(a->potential), words_share(a->potential_unknown), words_real(f->total, 3),
            words_share(f->median_abs_error), words_share(f->same_kernel_share));
    in_order(a, out);
    for (size_t i = 0; i < a->results->nruns; i++) {
        const struct result_run *r = &a->results->runs[i];
        fputs("- Where: ", out);
        escape_markdown(out, r->device);
        fputs(", ", out);
        escape_markdown(out, r->baseline_library);
        fprintf(out, ", %" PRIu32 " threads%s, %s of the time planned, noise %s. How: ", r->threads,
                r->baseline_capped ? ", CAPPED instructions" : "",
                words_share(r->planned_time_share), words_share(r->noise_floor));
        escape_markdown(out, r->protocol);
        fputs(".\n", out);
    }
}

static void recorded(const struct summary *s, FILE *out)
{
    if (s->nfacts == 0)
        return;
    fputs("\n## What the recorder found\n\n", out);
    for (size_t i = 0; i < s->nfacts; i++) {
        bool is_more = i && strcmp(s->facts[i].key, s->facts[i - 1].key) == 0;
        fputs(is_more ? ", " : i ? "\n- " : "- ", out);
        if (!is_more) {
            escape_markdown(out, s->facts[i].key);
            fputs(": ", out);
        }
        escape_markdown(out, s->facts[i].value);
    }
    fputs("\n", out);
}

void report_md(const struct analysis *a, FILE *out)
{
    fputs("# tilewise report: ", out);
    trace_names(a->summary, escape_markdown, out);
    fputs("\n\n", out);
    coverage(a, out);
    verdicts(a, out);
    matrix(a, out);
    time_of_run(a, out);
    phases_md(a, out);
    shapes(a, out);
    replay(a, out);
    recorded(a->summary, out);
}
