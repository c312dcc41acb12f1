/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "analysis/diff.h"
#include "analysis/escape.h"
#include "analysis/json.h"
#include "analysis/words.h"

enum { SHAPES_SHOWN = 8, SHAPES_JSON = 64 };

static const char *const side_names[DIFF_SIDES] = { "before", "after" };

static const struct stability_grain *grain_of(const struct diff_op *op, int side)
{
    const struct stability *s = &op->group[side]->stability;
    return op->grain == SHAPE_BUCKET ? &s->bucket : &s->raw;
}

static double effective(const struct diff_op *op, int side)
{
    return op->group[side] ? grain_of(op, side)->effective_shapes : NAN;
}

static double k90(const struct diff_op *op, int side)
{
    return op->group[side] ? (double)grain_of(op, side)->k90 : NAN;
}

static double heat(const struct diff_op *op, int side)
{
    return op->group[side] ? op->group[side]->heat.value : 0;
}

static const char *state(const struct diff_op *op)
{
    return op->drifted && op->verdict_changed ? "DRIFTED, CHANGED"
           : op->drifted                      ? "DRIFTED"
           : op->verdict_changed              ? "CHANGED"
                                              : "same";
}

static void text_sides(const struct diff *d, FILE *out)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct analysis *a = d->side[side];
        const char *device = analysis_device(a);
        fprintf(out,
                "%-7s %s calls, %s, %zu windows, coverage of time %s; device: ", side_names[side],
                words_count(a->summary->calls), words_ns((double)a->summary->time_ns),
                a->summary->nwindows, words_share(a->evidence.coverage_time));
        escape_plain(out, device ? device : "unknown");
        fputc('\n', out);
    }
    if (!diff_same_device(d))
        fputs("The devices differ or are unknown: heat and time per call compare with care.\n",
              out);
}

static void row(const struct diff_op *op, FILE *out, bool markdown)
{
    fprintf(out,
            markdown
                ? "| %s %s | %s | %s | %s | %s | %s > %s | %s > %s | %s > %s | %s > %s | %s |\n"
                : "%-10s %-6s %7s %9s %8s %9s %6s > %-6s %4s > %-4s %5s > %-5s %s > %s: %s\n",
            tilewise_op_name(op->op), tilewise_dtype_name(op->dtype),
            words_real(op->drift.divergence, 3), words_real(op->drift.null95, 3),
            words_share(op->new_share), words_share(op->vanished_share),
            words_real(effective(op, 0), 1), words_real(effective(op, 1), 1),
            words_real(k90(op, 0), 0), words_real(k90(op, 1), 0), words_real(heat(op, 0), 3),
            words_real(heat(op, 1), 3), diff_verdict(op, 0), diff_verdict(op, 1), state(op));
}

static void text_reasons(const struct diff_op *op, FILE *out)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        if (op->group[side])
            fprintf(out, "  %-7s %s. %s\n", side_names[side], diff_verdict(op, side),
                    op->group[side]->decision.reason);
        else
            fprintf(out, "  %-7s no call\n", side_names[side]);
}

static void text_shapes(const struct diff_op *op, FILE *out)
{
    for (size_t i = 0; i < op->nshapes && i < SHAPES_SHOWN; i++) {
        const struct diff_shape *s = &op->shapes[i];
        if (s->time_share[0] == s->time_share[1])
            break;
        fprintf(out, "  %-24s %s %8s > %-8s of its time%s\n", words_shape(&s->shape),
                words_trans(&s->shape), words_share(s->time_share[0]),
                words_share(s->time_share[1]),
                s->calls[0] == 0   ? ", new"
                : s->calls[1] == 0 ? ", vanished"
                                   : "");
    }
}

static void text_details(const struct diff_op *op, FILE *out)
{
    fprintf(out, "\n%s %s%s: %s\n", tilewise_op_name(op->op), tilewise_dtype_name(op->dtype),
            op->grain == SHAPE_BUCKET ? ", padded as the decision pads" : "", state(op));
    text_reasons(op, out);
    if (!isnan(op->pace.ratio))
        fprintf(out, "  time per call at the same mix: %s times what it was (%s to %s)\n",
                words_real(op->pace.ratio, 3), words_real(op->pace.lo, 3),
                words_real(op->pace.hi, 3));
    text_shapes(op, out);
}

static void text_outcome(const struct diff *d, FILE *out)
{
    size_t findings = diff_findings(d);
    double threshold = d->side[0]->policy->stability.drift;
    if (findings == 0)
        fprintf(out, "\nno finding: no verdict changed and no mix drifted beyond %g and its null\n",
                threshold);
    else
        fprintf(out, "\n%zu finding%s: see above\n", findings, findings == 1 ? "" : "s");
}

void diff_text(const struct diff *d, FILE *out)
{
    text_sides(d, out);
    fprintf(out, "\n%-10s %-6s %7s %9s %8s %9s %-15s %-11s %-13s %s\n", "op", "dtype", "drift",
            "its null", "new", "vanished", "effective", "k90", "heat", "verdict");
    for (size_t i = 0; i < d->nops; i++)
        row(&d->ops[i], out, false);
    for (size_t i = 0; i < d->nops; i++)
        if (d->ops[i].drifted || d->ops[i].verdict_changed)
            text_details(&d->ops[i], out);
    text_outcome(d, out);
}

static void md_reasons(const struct diff_op *op, FILE *out)
{
    fprintf(out, "\n**%s %s** (%s)\n\n", tilewise_op_name(op->op), tilewise_dtype_name(op->dtype),
            state(op));
    for (int side = 0; side < DIFF_SIDES; side++)
        if (op->group[side]) {
            fprintf(out, "- %s: `%s`. ", side_names[side], diff_verdict(op, side));
            escape_markdown(out, op->group[side]->decision.reason);
            fputc('\n', out);
        }
}

void diff_md(const struct diff *d, FILE *out)
{
    fputs("| operation | drift | its null | new | vanished | effective shapes | k90 | heat | "
          "verdict | outcome |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
          out);
    for (size_t i = 0; i < d->nops; i++)
        row(&d->ops[i], out, true);
    for (size_t i = 0; i < d->nops; i++)
        if (d->ops[i].drifted || d->ops[i].verdict_changed)
            md_reasons(&d->ops[i], out);
}

static void json_side(yajl_gen g, const struct analysis *a, const char *name)
{
    json_open_map(g, name);
    json_key_whole(g, "calls", a->summary->calls);
    json_key_whole(g, "time_ns", a->summary->time_ns);
    json_key_whole(g, "windows", a->summary->nwindows);
    json_key_real(g, "coverage_time", a->evidence.coverage_time);
    json_key_text(g, "device", analysis_device(a));
    yajl_gen_map_close(g);
}

static void json_verdict(yajl_gen g, const struct diff_op *op, int side)
{
    const struct analysis_group *group = op->group[side];
    json_open_map(g, side_names[side]);
    json_key_text(g, "verdict", group ? diff_verdict(op, side) : NULL);
    json_key_text(g, "reason", group ? group->decision.reason : NULL);
    json_key_real(g, "heat", group ? group->heat.value : NAN);
    json_key_real(g, "heat_lo", group ? group->heat.lo : NAN);
    json_key_real(g, "heat_hi", group ? group->heat.hi : NAN);
    json_key_real(g, "effective_shapes", effective(op, side));
    json_key_real(g, "k90", k90(op, side));
    yajl_gen_map_close(g);
}

static void json_shapes(yajl_gen g, const struct diff_op *op)
{
    json_open_array(g, "shapes");
    for (size_t i = 0; i < op->nshapes && i < SHAPES_JSON; i++) {
        const struct diff_shape *s = &op->shapes[i];
        yajl_gen_map_open(g);
        json_problem(g, &s->shape);
        json_key_whole(g, "calls_before", s->calls[0]);
        json_key_whole(g, "calls_after", s->calls[1]);
        json_key_real(g, "time_share_before", s->time_share[0]);
        json_key_real(g, "time_share_after", s->time_share[1]);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}

static void json_op(yajl_gen g, const struct diff_op *op)
{
    yajl_gen_map_open(g);
    json_key_text(g, "op", tilewise_op_name(op->op));
    json_key_text(g, "dtype", tilewise_dtype_name(op->dtype));
    json_key_text(g, "grain", op->grain == SHAPE_BUCKET ? "bucket" : "raw");
    json_key_flag(g, "drifted", op->drifted);
    json_key_flag(g, "verdict_changed", op->verdict_changed);
    json_open_map(g, "drift");
    json_key_real(g, "divergence", op->drift.divergence);
    json_key_real(g, "null95", op->drift.null95);
    json_key_real(g, "p", op->drift.p);
    yajl_gen_map_close(g);
    json_open_map(g, "time_per_call");
    json_key_real(g, "ratio", op->pace.ratio);
    json_key_real(g, "lo", op->pace.lo);
    json_key_real(g, "hi", op->pace.hi);
    yajl_gen_map_close(g);
    json_key_whole(g, "new_shapes", op->new_shapes);
    json_key_real(g, "new_share", op->new_share);
    json_key_whole(g, "vanished_shapes", op->vanished_shapes);
    json_key_real(g, "vanished_share", op->vanished_share);
    for (int side = 0; side < DIFF_SIDES; side++)
        json_verdict(g, op, side);
    json_shapes(g, op);
    yajl_gen_map_close(g);
}

enum status diff_json(const struct diff *d, FILE *out)
{
    yajl_gen g = json_begin();
    if (!g)
        return ST_NOMEM;
    for (int side = 0; side < DIFF_SIDES; side++)
        json_side(g, d->side[side], side_names[side]);
    json_key_flag(g, "same_device", diff_same_device(d));
    json_key_real(g, "drift_threshold", d->side[0]->policy->stability.drift);
    json_key_whole(g, "findings", diff_findings(d));
    json_open_array(g, "ops");
    for (size_t i = 0; i < d->nops; i++)
        json_op(g, &d->ops[i]);
    yajl_gen_array_close(g);
    return json_end(g, out);
}
