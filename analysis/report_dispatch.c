/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/gain.h"
#include "analysis/report.h"
#include "analysis/words.h"

/* One line in double quotes, whatever the name holds. */
static void quoted(FILE *out, const char *text)
{
    char *clean = text ? escape_copy(text) : NULL;
    fputc('"', out);
    for (const char *c = clean ? clean : ""; *c; c++)
        fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fputc('"', out);
    free(clean);
}

static const struct analysis_group *group_of(const struct analysis *a,
                                             const struct analysis_shape *shape)
{
    for (size_t i = 0; i < a->nops; i++)
        if (a->ops[i].op == shape->signature->op &&
            a->ops[i].dtype == shape_dtype(shape->signature))
            return &a->ops[i];
    return NULL;
}

static bool may_leave(const struct analysis_group *g)
{
    return g && (g->decision.verdict == DECIDE_ADOPT || g->decision.verdict == DECIDE_PILOT);
}

/* The kernel that a shape goes to; NULL: it stays, and *why says so. */
static const struct result_candidate *chosen(const struct analysis *a,
                                             const struct analysis_shape *shape, const char **why)
{
    const struct analysis_group *g = group_of(a, shape);
    *why = "not replayed";
    if (!shape->result)
        return NULL;
    *why = "no verified kernel wins beyond noise";
    const struct result_candidate *winner = gain_winner(shape->result, a->results, a->policy);
    if (winner && !may_leave(g))
        *why = "the verdict of its operation";
    return may_leave(g) ? winner : NULL;
}

static void shape_row(const struct analysis_shape *shape, FILE *out)
{
    const struct tilewise_signature *s = shape->signature;
    fprintf(out, "  - op: %s\n    dtype: %s\n    layout: %s\n    trans: %s\n",
            tilewise_op_name(s->op), tilewise_dtype_name(shape_dtype(s)),
            s->layout == TILEWISE_ROW_MAJOR ? "row" : "col", words_trans(s));
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        fprintf(out, "    %s: %" PRId64 "\n", shape_dimension_name(d), shape_dimension(s, d));
    fprintf(out, "    ld: { a: %" PRId64 ", b: %" PRId64 ", c: %" PRId64 " }\n    entry: ", s->lda,
            s->ldb, s->ldc);
    quoted(out, shape->entry);
    if (isnan(shape->time_share))
        fputs("\n    time-share: null\n", out);
    else
        fprintf(out, "\n    time-share: %.6g\n", shape->time_share);
}

static void kernels(const struct analysis *a, FILE *out)
{
    const char *why;
    size_t count = 0;
    fputs("\nkernels:\n", out);
    for (size_t i = 0; i < a->nshapes; i++) {
        const struct result_candidate *c = chosen(a, &a->shapes[i], &why);
        if (!c)
            continue;
        shape_row(&a->shapes[i], out);
        fputs("    kernel: ", out);
        quoted(out, c->name);
        fprintf(out, "\n    ratio: { best: %.4f, lo: %.4f, hi: %.4f }\n    deterministic: %s\n",
                c->ratio_best, c->best_lo, c->best_hi, c->deterministic ? "yes" : "no");
        count++;
    }
    if (count == 0)
        fputs("  []\n", out);
}

static void stays(const struct analysis *a, FILE *out)
{
    const char *why;
    size_t count = 0;
    fputs("\nstays:\n", out);
    for (size_t i = 0; i < a->nshapes; i++) {
        if (chosen(a, &a->shapes[i], &why))
            continue;
        shape_row(&a->shapes[i], out);
        fprintf(out, "    why: \"%s\"\n", why);
        count++;
    }
    if (count == 0)
        fputs("  []\n", out);
}

static void header(const struct analysis *a, FILE *out)
{
    const struct result_set *set = a->results;
    const struct result_run *run = set->nruns ? &set->runs[set->nruns - 1] : NULL;
    fputs(
        "# Which kernel for which shape, by verdict and replay. What is not under `kernels` stays "
        "on the\n# library; TILEWISE_FORCE_BASELINE=1 takes everything back.\ntilewise: "
        "\"" TILEWISE_VERSION "\"\ndevice: ",
        out);
    quoted(out, analysis_device(a));
    fputs("\nlibrary: ", out);
    quoted(out, run ? run->baseline_library : "");
    fputs("\nreplayed: ", out);
    quoted(out, run ? run->date_utc : "");
    fputs("\n\nops:\n", out);
    for (size_t i = 0; i < a->nops; i++) {
        const struct analysis_group *g = &a->ops[i];
        fprintf(out,
                "  - op: %s\n    dtype: %s\n    verdict: %s\n    reason: ", tilewise_op_name(g->op),
                tilewise_dtype_name(g->dtype), decide_word(g->decision.verdict));
        quoted(out, g->decision.reason);
        fputc('\n', out);
    }
    if (a->nops == 0)
        fputs("  []\n", out);
}

void report_dispatch(const struct analysis *a, FILE *out)
{
    header(a, out);
    kernels(a, out);
    stays(a, out);
}
