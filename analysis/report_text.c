/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "analysis/causal_attach.h"
#include "analysis/escape.h"
#include "analysis/kernel_name.h"
#include "analysis/phases.h"
#include "analysis/report.h"
#include "analysis/trace_names.h"
#include "analysis/words.h"

enum { TEXT_SHAPES = 15, TEXT_KERNELS = 5 };

static void coverage(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    fprintf(out, "coverage: %s of %s calls, %s of the time; lost %s, failed %s; recording %s\n",
            words_share(a->coverage_calls), words_count(s->counters.seen),
            words_share(a->evidence.coverage_time), words_share(a->evidence.lost_share),
            words_count(s->counters.failed), s->complete ? "complete" : "INCOMPLETE");
    for (unsigned cause = 0; cause < LOSS_MAX; cause++)
        if (s->counters.dropped[cause])
            fprintf(out, "  dropped: %s calls, %s\n", words_count(s->counters.dropped[cause]),
                    words_loss(cause));
    fprintf(out, "trace: %zu process%s, wall %s, busy %s, %zu windows, %zu signatures; device ",
            s->nshards, s->nshards == 1 ? "" : "es", words_ns((double)s->wall_ns),
            words_ns((double)s->busy_ns), s->nwindows, s->nsignatures);
    trace_devices(a, "unknown", "; GPU ", escape_plain, out);
    fputs("\n", out);
    if (a->withheld[0])
        fprintf(out, "WITHHELD: %s\n", a->withheld);
    for (size_t i = 0; i < a->nnotes; i++) {
        fputs("note: ", out);
        escape_plain(out, a->notes[i]);
        fputs("\n", out);
    }
}

/* What the GPU did in the windows, and what of it no signature stands for. */
static void gpu(const struct analysis *a, FILE *out)
{
    const struct summary_gpu *gpu = &a->summary->gpu;
    if (gpu->totals.windows == 0)
        return;
    fprintf(out, "GPU: %s [%s..%s]\n", words_windows(gpu), words_real(gpu->busy_lo, 3),
            words_real(gpu->busy_hi, 3));
    if (gpu->kernel_ns == 0)
        return;
    double share = (double)gpu->attributed_ns / (double)gpu->kernel_ns;
    fprintf(out, "GPU time: %s belongs to recorded calls; the largest of the rest:\n",
            words_share(share));
    for (size_t i = 0, shown = 0; i < a->summary->nkernels && shown < TEXT_KERNELS; i++) {
        const struct summary_kernel *k = &a->summary->kernels[i];
        if (k->signature != GPU_NO_SIGNATURE)
            continue;
        fprintf(out, "  %7s  ", words_share((double)k->time_ns / (double)gpu->kernel_ns));
        char name[KERNEL_NAME_BYTES];
        escape_plain(out, kernel_name(a->summary->strings[k->name], name));
        fputs("\n", out);
        shown++;
    }
}

static void matrix_row(const struct analysis_group *g, FILE *out)
{
    const struct heat *h = &g->heat;
    const struct stability_grain *s = &g->stability.raw;
    char interval[32], value[16];
    snprintf(value, sizeof value, "%s%s", words_real(h->value, 3),
             h->method == HEAT_CAUSAL || isnan(h->value) ? "" : "~");
    snprintf(interval, sizeof interval, "%s..%s", words_real(h->lo, 3), words_real(h->hi, 3));
    fprintf(out,
            "%-5s %-5s %-22s %11s %6s %6s %-7s %-13s %-5s %6s %4" PRIu64
            " %5s %6s %5s %-8s %-10s %s\n",
            tilewise_op_name(g->op), tilewise_dtype_name(g->dtype),
            g->shape_class ? g->shape_class : "(all)", words_count(g->calls),
            words_real(h->busy_share, 3), words_real(h->wall_share, 3), value, interval,
            words_level(heat_level_name(h->level)), words_real(s->effective_shapes, 1), s->k90,
            words_real(s->cov05, 2), words_real(s->unseen, 3), words_real(s->drift.adjacent, 2),
            words_moving(&g->stability), words_level(stability_level_name(g->stability.level)),
            decide_word(g->decision.verdict));
}

static void matrix(const struct analysis *a, FILE *out)
{
    char idle[320];
    if (causal_words_idle(a, idle, sizeof idle))
        fprintf(out, "idle: %s\n", idle);
    fputs("\nheat x stability (E: how much shorter the whole would be, as a share of it, if the "
          "operation took no time;\nby replaying the recorded timeline, or, marked ~, its share of "
          "the wall time, an upper bound; 95 % interval)\n",
          out);
    fprintf(out, "%-5s %-5s %-22s %11s %6s %6s %-7s %-13s %-5s %6s %4s %5s %6s %5s %-8s %-10s %s\n",
            "op", "dtype", "shape class", "calls", "busy", "wall", "E", "interval", "heat",
            "shapes", "k90", "cov05", "unseen", "drift", "moves", "stability", "verdict");
    for (size_t i = 0; i < a->nclasses; i++)
        matrix_row(&a->classes[i], out);
    fputs("per operation\n", out);
    for (size_t i = 0; i < a->nops; i++)
        matrix_row(&a->ops[i], out);
}

static void verdicts(const struct analysis *a, FILE *out)
{
    fputs("\nverdicts\n", out);
    for (size_t i = 0; i < a->nops; i++) {
        const struct analysis_group *g = &a->ops[i];
        fprintf(out, "%s %s: %s\n  why:  %s\n  next: %s\n", tilewise_op_name(g->op),
                tilewise_dtype_name(g->dtype), decide_word(g->decision.verdict), g->decision.reason,
                decide_advice(g->decision.verdict));
        char regimes[480];
        if (regimes_words(&g->regimes, regimes, sizeof regimes))
            fprintf(out, "  regimes: %s\n", regimes);
    }
}

static void shape_row(const struct analysis_shape *shape, FILE *out)
{
    const struct tilewise_signature *s = shape->signature;
    const struct result_candidate *c = words_candidate(shape);
    fprintf(out, "%-5s %-5s %-22s %-2s %-3s %11s %7s %9s", tilewise_op_name(s->op),
            tilewise_dtype_name(shape_dtype(s)), words_shape(s), words_trans(s),
            s->layout == TILEWISE_ROW_MAJOR ? "row" : "col", words_count(shape->calls),
            words_share(shape->time_share), words_ns(shape->work_ns / (double)shape->calls));
    if (shape->result)
        fprintf(out, " %9s %9s", words_ns(shape->result->baseline_recorded_ns),
                words_ns(shape->result->baseline_best_ns));
    if (c) {
        fprintf(out, "  %s [%s..%s] %-7s ", words_real(c->ratio_best, 2), words_real(c->best_lo, 2),
                words_real(c->best_hi, 2), result_call_name(c->call));
        escape_plain(out, c->name);
        fprintf(out, " (%s)", result_status_name(c->status));
    }
    fputs("\n", out);
}

static void shapes(const struct analysis *a, FILE *out)
{
    size_t shown = a->nshapes < TEXT_SHAPES ? a->nshapes : TEXT_SHAPES;
    double rest = 1;
    fprintf(out, "\nlargest shapes (m x n x k as called)\n%-5s %-5s %-22s %-2s %-3s %11s %7s %9s",
            "op", "dtype", "shape", "tr", "lay", "calls", "time", "mean");
    fputs(a->results->ncases ? " as called      best  candidate against best\n" : "\n", out);
    for (size_t i = 0; i < shown; i++) {
        shape_row(&a->shapes[i], out);
        rest -= isnan(a->shapes[i].time_share) ? 0 : a->shapes[i].time_share;
    }
    if (shown < a->nshapes)
        fprintf(out, "and %s more, %s of the time\n", words_count(a->nshapes - shown),
                words_share(fmax(0, rest)));
}

static void in_order(const struct analysis *a, FILE *out)
{
    for (size_t i = 0; i < a->results->norders; i++) {
        const struct result_order *row = &a->results->orders[i];
        struct fidelity_order f = fidelity_order(a->results, i);
        fprintf(out, "in order: replayed / recorded %s in total, median error %s of a shape",
                words_real(f.total, 3), words_share(f.median_abs_error));
        if (isfinite(row->ratio))
            fprintf(out, "; with the chosen kernels %s times as fast (%s to %s)",
                    words_real(row->ratio, 3), words_real(row->ratio_lo, 3),
                    words_real(row->ratio_hi, 3));
        putc('\n', out);
    }
}

static void replay(const struct analysis *a, FILE *out)
{
    if (a->results->ncases == 0)
        return;
    fprintf(out, "\npotential: kernels at the measured ceiling would win %s of the whole",
            words_share(a->potential));
    fprintf(out, " (not known for heat of %s)\n", words_share(a->potential_unknown));
    if (isnan(a->fidelity.total)) {
        fputs("fidelity: not measured\n", out);
        in_order(a, out);
        return;
    }
    fprintf(out, "fidelity: replayed / recorded %s in total, median error %s of a shape",
            words_real(a->fidelity.total, 3), words_share(a->fidelity.median_abs_error));
    if (isfinite(a->fidelity.same_kernel_share))
        fprintf(out, ", the same kernels in %s of the time",
                words_share(a->fidelity.same_kernel_share));
    putc('\n', out);
    in_order(a, out);
}

void report_text(const struct analysis *a, FILE *out)
{
    coverage(a, out);
    gpu(a, out);
    matrix(a, out);
    verdicts(a, out);
    phases_text(a, out);
    shapes(a, out);
    replay(a, out);
}
