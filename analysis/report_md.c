/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "analysis/causal_attach.h"
#include "analysis/escape.h"
#include "analysis/phases.h"
#include "analysis/report.h"
#include "analysis/words.h"

enum { MARKDOWN_SHAPES = 20 };

static void coverage(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    fprintf(out, "**Coverage:** %s of %s calls, %s of the time; lost %s, failed %s; recording %s.",
            words_share(a->coverage_calls), words_count(s->counters.seen),
            words_share(a->evidence.coverage_time), words_share(a->evidence.lost_share),
            words_count(s->counters.failed), s->complete ? "complete" : "incomplete");
    fprintf(out, " %zu process%s, wall %s, %zu windows. Device: ", s->nshards,
            s->nshards == 1 ? "" : "es", words_ns((double)s->wall_ns), s->nwindows);
    escape_markdown(out, analysis_device(a) ? analysis_device(a) : "unknown");
    char card[256];
    if (analysis_gpu(a, card, sizeof card)) {
        fputs(". GPU: ", out);
        escape_markdown(out, card);
    }
    fputs("\n", out);
    if (a->withheld[0])
        fprintf(out, "\n**Withheld:** %s.\n", a->withheld);
    for (size_t i = 0; i < a->nnotes; i++) {
        fputs("\n> Note: ", out);
        escape_markdown(out, a->notes[i]);
        fputs("\n", out);
    }
}

static void gpu(const struct analysis *a, FILE *out)
{
    const struct summary_gpu *gpu = &a->summary->gpu;
    if (gpu->totals.windows == 0)
        return;
    fprintf(out, "\n**GPU:** %s kernels in %s windows of %s together, %s without a record; busy %s",
            words_count(gpu->totals.launches), words_count(gpu->totals.windows),
            words_ns((double)gpu->totals.window_ns), words_count(gpu->totals.dropped),
            words_share(gpu->busy_share));
    fprintf(out, " (%s to %s)", words_share(gpu->busy_lo), words_share(gpu->busy_hi));
    if (gpu->kernel_ns)
        fprintf(out, "; %s of the GPU time belongs to recorded calls",
                words_share((double)gpu->attributed_ns / (double)gpu->kernel_ns));
    fputs(".\n", out);
}

static void matrix_row(const struct analysis_group *g, FILE *out)
{
    const struct stability_grain *s = &g->stability.raw;
    fprintf(out,
            "| %s %s | %s | %s | %s | %s%s | %s to %s | %s | %s | %" PRIu64
            " | %s | %s | %s | %s | **%s** |\n",
            tilewise_op_name(g->op), tilewise_dtype_name(g->dtype),
            g->shape_class ? g->shape_class : "all", words_count(g->calls),
            words_real(g->heat.wall_share, 3), words_real(g->heat.value, 3),
            g->heat.method == HEAT_CAUSAL || isnan(g->heat.value) ? "" : "~",
            words_real(g->heat.lo, 3), words_real(g->heat.hi, 3),
            words_level(heat_level_name(g->heat.level)), words_real(s->effective_shapes, 1), s->k90,
            words_real(s->cov05, 2), words_real(s->drift.adjacent, 3), words_moving(&g->stability),
            words_level(stability_level_name(g->stability.level)),
            decide_word(g->decision.verdict));
}

static void matrix(const struct analysis *a, FILE *out)
{
    fputs("\n## Heat x stability\n\n"
          "| operation | class | calls | wall share | E | interval | heat | eff. shapes | k90 | "
          "cov05 "
          "| drift | moves | stability | verdict |\n"
          "| --- | --- | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | --- | --- | "
          "--- |\n",
          out);
    for (size_t i = 0; i < a->nops; i++)
        matrix_row(&a->ops[i], out);
    for (size_t i = 0; i < a->nclasses; i++)
        matrix_row(&a->classes[i], out);
    fputs(
        "\nE: how much shorter the whole would be if the operation took no time, by replaying the "
        "recorded timeline; marked ~ its share of the wall time, an upper bound.\n",
        out);
    char idle[320];
    if (causal_words_idle(a, idle, sizeof idle))
        fprintf(out, "\nIdle: %s.\n", idle);
}

static void verdicts(const struct analysis *a, FILE *out)
{
    fputs("\n## Verdicts\n\n", out);
    for (size_t i = 0; i < a->nops; i++) {
        const struct analysis_group *g = &a->ops[i];
        fprintf(out, "- **%s %s: %s.** ", tilewise_op_name(g->op), tilewise_dtype_name(g->dtype),
                decide_word(g->decision.verdict));
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

static void shape_row(const struct analysis_shape *shape, FILE *out)
{
    const struct tilewise_signature *s = shape->signature;
    const struct result_candidate *c = words_candidate(shape);
    fprintf(out, "| %s %s | %s | %s | %s | %s | ", tilewise_op_name(s->op),
            tilewise_dtype_name(shape_dtype(s)), words_shape(s), words_trans(s),
            words_count(shape->calls), words_share(shape->time_share));
    if (c) {
        escape_markdown(out, c->name);
        fprintf(out, " %s: %s (%s to %s) %s", result_status_name(c->status),
                words_real(c->ratio_best, 2), words_real(c->best_lo, 2), words_real(c->best_hi, 2),
                result_call_name(c->call));
    }
    fputs(" |\n", out);
}

void report_md(const struct analysis *a, FILE *out)
{
    fputs("# tilewise report\n\n", out);
    coverage(a, out);
    gpu(a, out);
    matrix(a, out);
    verdicts(a, out);
    phases_md(a, out);
    fputs(
        "\n## Largest shapes\n\n| operation | m x n x k | trans | calls | time | candidate against "
        "best |\n| --- | --- | --- | ---: | ---: | --- |\n",
        out);
    for (size_t i = 0; i < a->nshapes && i < MARKDOWN_SHAPES; i++)
        shape_row(&a->shapes[i], out);
    if (a->results->ncases)
        fprintf(
            out,
            "\nFidelity of the replay: replayed / recorded %s in total, median error of a shape "
            "%s, the same kernels in %s of the time (- is not measured).\n",
            words_real(a->fidelity.total, 3), words_share(a->fidelity.median_abs_error),
            words_share(a->fidelity.same_kernel_share));
    for (size_t i = 0; i < a->results->norders; i++) {
        struct fidelity_order f = fidelity_order(a->results, i);
        fprintf(out, "In the recorded order: %s in total, median error of a shape %s.\n",
                words_real(f.total, 3), words_share(f.median_abs_error));
    }
}
