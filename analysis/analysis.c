/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal_attach.h"
#include "analysis/evidence.h"
#include "analysis/gain.h"
#include "analysis/match.h"
#include "analysis/notes.h"
#include "analysis/phases.h"

/* NaN is unknown: what is known is the sum. */
static void add_known(double *sum, double value)
{
    if (!isnan(value))
        *sum = (isnan(*sum) ? 0 : *sum) + value;
}

/* Signatures come by time, largest first: the first of a shape stands for it. */
static void add_to_shape(struct analysis *a, struct analysis_shape *shape, size_t signature)
{
    const struct summary_signature *row = &a->summary->signatures[signature];
    if (shape->signatures++ == 0) {
        shape->signature = &row->signature;
        shape->entry = match_entry(a->summary, &row->signature);
        shape->min_ns = row->min_ns;
        shape->headroom = shape->gpu_time_ns = shape->work_ns = NAN;
        shape->fidelity = fidelity_row(a->summary, a->results, signature, NULL);
    }
    add_known(&shape->gpu_time_ns, summary_gpu_time_ns(row));
    add_known(&shape->work_ns, evidence_time_ns(a->summary, row));
    shape->calls += row->calls;
    shape->time_ns += row->time_ns;
    shape->min_ns = row->min_ns < shape->min_ns ? row->min_ns : shape->min_ns;
    shape->max_ns = row->max_ns > shape->max_ns ? row->max_ns : shape->max_ns;
    histogram_add(&shape->histogram, &row->histogram);
    if (a->result_of[signature] && !shape->result) {
        shape->result = a->result_of[signature];
        shape->fidelity = fidelity_row(a->summary, a->results, signature, shape->result);
        shape->headroom = headroom_of(
            shape->result, headroom_ceiling(a->results, signature_rate_dtype(&row->signature)),
            &a->policy->headroom);
    }
}

static int by_shape_time(const void *a, const void *b)
{
    const struct analysis_shape *x = a, *y = b;
    double work_x = isnan(x->work_ns) ? -1 : x->work_ns;
    double work_y = isnan(y->work_ns) ? -1 : y->work_ns;
    if (work_x < work_y || work_x > work_y)
        return work_x < work_y ? 1 : -1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return (x->signature > y->signature) - (x->signature < y->signature);
}

static void share_time(struct analysis *a)
{
    double sum_ns = NAN;
    for (size_t i = 0; i < a->nshapes; i++)
        add_known(&sum_ns, a->shapes[i].work_ns);
    for (size_t i = 0; i < a->nshapes; i++)
        a->shapes[i].time_share = sum_ns > 0 ? a->shapes[i].work_ns / sum_ns : NAN;
}

static enum status build_shapes(struct analysis *a)
{
    const struct shape_rule as_called = { .grain = SHAPE_RAW, .as_called = true };
    size_t count = a->summary->nsignatures;
    uint32_t *all = calloc(2 * count + 1, sizeof *all), *key = all + count;
    for (size_t i = 0; i < count && all; i++)
        all[i] = (uint32_t)i;
    size_t shapes = all ? shape_number(a->summary, all, count, &as_called, key) : SIZE_MAX;
    a->shapes = shapes == SIZE_MAX ? NULL : calloc(shapes + 1, sizeof *a->shapes);
    if (!a->shapes) {
        free(all);
        return ST_NOMEM;
    }
    a->nshapes = shapes;
    for (size_t i = 0; i < count; i++)
        add_to_shape(a, &a->shapes[key[i]], i);
    share_time(a);
    enum status st = phases_attach(a, key);
    qsort(a->shapes, shapes, sizeof *a->shapes, by_shape_time);
    free(all);
    return st;
}

/* Same (op, type of the shape) and, for classes, the same class. */
static bool belongs(const struct analysis_group *g, const struct tilewise_signature *s,
                    const char *shape_class)
{
    return g->op == s->op && g->dtype == shape_dtype(s) &&
           (!g->shape_class || strcmp(g->shape_class, shape_class) == 0);
}

static struct analysis_group *find_group(struct analysis_group **groups, size_t *count,
                                         const struct tilewise_signature *s, bool by_class)
{
    const char *shape_class = by_class ? shape_class_name(s) : NULL;
    for (size_t i = 0; i < *count; i++)
        if (belongs(&(*groups)[i], s, shape_class))
            return &(*groups)[i];
    struct analysis_group *more = realloc(*groups, (*count + 1) * sizeof *more);
    if (!more)
        return NULL;
    *groups = more;
    more[*count] =
        (struct analysis_group){ .op = s->op, .dtype = shape_dtype(s), .shape_class = shape_class };
    return &more[(*count)++];
}

static bool add_member(struct analysis_group *g, uint32_t index,
                       const struct summary_signature *row)
{
    if ((g->nmembers & (g->nmembers - 1)) == 0) { /* full at every power of two */
        size_t room = g->nmembers ? 2 * g->nmembers : 1;
        uint32_t *more = realloc(g->members, room * sizeof *more);
        if (!more)
            return false;
        g->members = more;
    }
    g->members[g->nmembers++] = index;
    g->calls += row->calls;
    g->time_ns += row->time_ns;
    return true;
}

static int by_group_time(const void *a, const void *b)
{
    const struct analysis_group *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    if (x->op != y->op || x->dtype != y->dtype)
        return x->op * 256 + x->dtype - y->op * 256 - y->dtype;
    return x->shape_class ? strcmp(x->shape_class, y->shape_class) : 0;
}

static enum status build_groups(struct analysis *a, struct analysis_group **groups, size_t *count,
                                bool by_class)
{
    for (size_t i = 0; i < a->summary->nsignatures; i++) {
        const struct summary_signature *row = &a->summary->signatures[i];
        struct analysis_group *g = find_group(groups, count, &row->signature, by_class);
        if (!g || !add_member(g, (uint32_t)i, row))
            return ST_NOMEM;
    }
    if (*count)
        qsort(*groups, *count, sizeof **groups, by_group_time);
    return ST_OK;
}

/* The union of a class's intervals is not recorded: it gets its share of the op's. */
static double active_ns(const struct summary *s, const struct analysis_group *g)
{
    for (size_t i = 0; i < s->nops; i++) {
        const struct summary_op *op = &s->ops[i];
        if (op->op == g->op && op->dtype == g->dtype && op->time_ns > 0)
            return (double)op->active_ns * ((double)g->time_ns / (double)op->time_ns);
    }
    return (double)g->time_ns;
}

static double level_cov05(const struct stability *s)
{
    return s->level == STABILITY_BUCKETABLE ? s->bucket.cov05 : s->raw.cov05;
}

/* What the group's heat is a share of: kernels that were not measured have no part in it. */
static double time_of(const struct analysis_group *g, const struct summary_signature *row)
{
    double gpu_ns = summary_gpu_time_ns(row);
    return !g->heat.is_of_gpu ? (double)row->time_ns : isnan(gpu_ns) ? 0 : gpu_ns;
}

static enum status measure_gain(const struct analysis *a, struct analysis_group *g)
{
    struct gain_row *rows = calloc(g->nmembers + 1, sizeof *rows);
    if (!rows)
        return ST_NOMEM;
    double time_ns = 0;
    for (size_t i = 0; i < g->nmembers; i++) {
        const struct summary_signature *row = &a->summary->signatures[g->members[i]];
        rows[i] = (struct gain_row){ time_of(g, row), row->calls, a->result_of[g->members[i]] };
        time_ns += rows[i].time_ns;
    }
    const struct gain_input in = { .rows = rows,
                                   .count = g->nmembers,
                                   .time_ns = time_ns,
                                   .heat = g->heat.value,
                                   .cov05 = level_cov05(&g->stability),
                                   .wall_ns = a->summary->wall_ns,
                                   .results = a->results };
    gain_measure(&g->replay, &in, a->policy);
    free(rows);
    return ST_OK;
}

static bool is_mostly_on_gpu(const struct summary *s, const struct analysis_group *g)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < g->nmembers; i++)
        if (match_is_on_gpu(s, &s->signatures[g->members[i]].signature))
            calls += s->signatures[g->members[i]].calls;
    return calls > g->calls / 2;
}

/* `effect`: NULL where there is no timeline. */
static enum status measure_group(const struct analysis *a, struct analysis_group *g,
                                 const struct causal_effect *effect)
{
    const struct summary *s = a->summary;
    g->active_ns = active_ns(s, g);
    enum status st = stability_measure(&g->stability, s, g->members, g->nmembers, a->policy);
    if (st == ST_OK)
        st = heat_measure(&g->heat, s, g->members, g->nmembers, g->active_ns, a->policy);
    if (st == ST_OK && effect)
        heat_refine(&g->heat, effect, a->policy);
    if (st == ST_OK && !g->heat.is_of_gpu && is_mostly_on_gpu(s, g))
        heat_of_launches(&g->heat);
    if (st == ST_OK && !g->shape_class)
        st = regimes_measure(&g->regimes, s, g->members, g->nmembers, &g->stability, a->policy);
    return st == ST_OK ? measure_gain(a, g) : st;
}

static enum status measure_groups(struct analysis *a)
{
    enum status st = causal_attach(a);
    const struct causal_effect *effects = a->causal ? a->causal->effects : NULL;
    for (size_t i = 0; i < a->nops + a->nclasses && st == ST_OK; i++)
        st = measure_group(a, i < a->nops ? &a->ops[i] : &a->classes[i - a->nops],
                           effects ? &effects[i] : NULL);
    return st;
}

/* What perfect kernels could win; an op that was not replayed might win all of its heat. */
static void measure_potential(struct analysis *a)
{
    a->potential = NAN;
    for (size_t i = 0; i < a->nops; i++) {
        const struct analysis_group *g = &a->ops[i];
        if (isnan(g->replay.headroom))
            a->potential_unknown += isnan(g->heat.value) ? 1 : g->heat.value;
        else
            a->potential =
                (isnan(a->potential) ? 0 : a->potential) + g->heat.value * g->replay.headroom;
    }
}

static enum status measure_agreement(struct analysis *a)
{
    struct agreement_promise *promises = calloc(a->nops + 1, sizeof *promises);
    if (!promises)
        return ST_NOMEM;
    for (size_t i = 0; i < a->nops; i++) {
        const struct analysis_group *g = &a->ops[i];
        promises[i] = (struct agreement_promise){ g->replay.order_lo, g->replay.order_hi,
                                                  g->heat.value, g->heat.busy_share };
    }
    agreement_measure(&a->in_order, a->results, promises, a->nops);
    free(promises);
    return ST_OK;
}

static void decide_groups(struct analysis *a, struct analysis_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct analysis_group *g = &groups[i];
        g->replay.potential = a->potential + a->potential_unknown;
        const struct decide_input in = { .evidence = a->evidence,
                                         .heat = &g->heat,
                                         .stability = &g->stability,
                                         .replay = g->replay,
                                         .in_order = a->in_order };
        g->decision = decide(&in, a->policy);
        regimes_add_reason(&g->regimes, g->decision.reason, sizeof g->decision.reason);
    }
}

static enum status build(struct analysis *a)
{
    enum status st;
    if ((st = match_results(&a->result_of, &a->elsewhere, a->summary, a->results)) != ST_OK ||
        (st = build_shapes(a)) != ST_OK ||
        (st = build_groups(a, &a->ops, &a->nops, false)) != ST_OK ||
        (st = build_groups(a, &a->classes, &a->nclasses, true)) != ST_OK ||
        (st = measure_groups(a)) != ST_OK)
        return st;
    a->evidence = evidence_of(a->summary, &a->policy->evidence);
    a->coverage_calls = evidence_coverage_calls(a->summary);
    decide_withheld(&a->evidence, &a->policy->evidence, a->withheld, sizeof a->withheld);
    measure_potential(a);
    if ((st = measure_agreement(a)) != ST_OK ||
        (st = fidelity_measure(a->summary, a->results, a->result_of, &a->fidelity)) != ST_OK)
        return st;
    decide_groups(a, a->ops, a->nops);
    decide_groups(a, a->classes, a->nclasses);
    return notes_collect(a);
}

enum status analysis_build(struct analysis **out, const struct summary *s,
                           const struct result_set *results, const struct policy *policy,
                           struct fault *fault)
{
    struct analysis *a = calloc(1, sizeof *a);
    *out = NULL;
    if (!a)
        return fault_set(fault, ST_NOMEM, "out of memory for the analysis");
    a->summary = s;
    a->results = results;
    a->policy = policy;
    enum status st = build(a);
    if (st != ST_OK) {
        analysis_free(a);
        return fault_set(fault, st, "out of memory for the analysis");
    }
    *out = a;
    return ST_OK;
}

static void free_groups(struct analysis_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(groups[i].members);
    free(groups);
}

void analysis_free(struct analysis *a)
{
    if (!a)
        return;
    free_groups(a->ops, a->nops);
    free_groups(a->classes, a->nclasses);
    free(a->shapes);
    free(a->phase_rows);
    causal_free(a->causal);
    free(a->result_of);
    free(a->notes);
    free(a);
}

static const char *fact(const struct analysis *a, const char *key)
{
    for (size_t i = 0; i < a->summary->nfacts; i++)
        if (strcmp(a->summary->facts[i].key, key) == 0)
            return a->summary->facts[i].value;
    return NULL;
}

bool analysis_gpu(const struct analysis *a, char *text, size_t bytes)
{
    const char *name = fact(a, "gpu"), *cards = fact(a, "gpus");
    if (name)
        snprintf(text, bytes, "%s", name);
    else if (cards)
        snprintf(text, bytes, "model not recorded (%s visible)", cards);
    return name || cards;
}

const char *analysis_device(const struct analysis *a)
{
    const char *recorded = fact(a, "device");
    if (recorded)
        return recorded;
    for (size_t i = 0; i < a->results->nruns; i++)
        if (a->results->runs[i].device && a->results->runs[i].device[0])
            return a->results->runs[i].device;
    return NULL;
}
