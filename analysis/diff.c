/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRIFT_SEED = 0xd1ff };

const char *diff_verdict(const struct diff_op *op, int side)
{
    return op->group[side] ? decide_word(op->group[side]->decision.verdict) : "absent";
}

bool diff_same_device(const struct diff *d)
{
    const char *before = analysis_device(d->side[DIFF_BEFORE]),
               *after = analysis_device(d->side[DIFF_AFTER]);
    return before && after && strcmp(before, after) == 0;
}

size_t diff_findings(const struct diff *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->nops; i++)
        count += d->ops[i].drifted || d->ops[i].verdict_changed;
    return count;
}

/* Both sides' signatures by shape: one numbering for both. */
struct member {
    struct tilewise_signature shape;
    int side;
    size_t place; /* in its group's members */
};

static int by_shape(const void *a, const void *b)
{
    return memcmp(&((const struct member *)a)->shape, &((const struct member *)b)->shape,
                  sizeof(struct tilewise_signature));
}

static struct shape_rule rule_of(struct diff_op *op)
{
    const struct stability *s = &op->group[DIFF_BEFORE]->stability;
    struct shape_rule rule = { .grain = SHAPE_RAW };
    if (s->level == STABILITY_BUCKETABLE) {
        rule.grain = SHAPE_BUCKET;
        memcpy(rule.round, s->rounded, sizeof rule.round);
    }
    op->grain = rule.grain;
    return rule;
}

/* What one operation's comparison works on. */
struct work {
    struct member *members;
    size_t count, nkeys;
    uint32_t *key[DIFF_SIDES];
    struct mix mix[DIFF_SIDES];
};

static void free_work(struct work *k)
{
    free(k->members);
    for (int side = 0; side < DIFF_SIDES; side++) {
        free(k->key[side]);
        mix_free(&k->mix[side]);
    }
}

static enum status number_shapes(struct work *k, const struct diff *d, struct diff_op *op)
{
    struct shape_rule rule = rule_of(op);
    size_t most = op->group[0]->nmembers + op->group[1]->nmembers;
    k->members = calloc(most + 1, sizeof *k->members);
    op->shapes = calloc(most + 1, sizeof *op->shapes);
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct analysis_group *g = op->group[side];
        k->key[side] = calloc(g->nmembers + 1, sizeof *k->key[side]);
        if (!k->members || !op->shapes || !k->key[side])
            return ST_NOMEM;
        for (size_t i = 0; i < g->nmembers; i++) {
            const struct summary *s = d->side[side]->summary;
            k->members[k->count++] =
                (struct member){ shape_project(&s->signatures[g->members[i]].signature, &rule),
                                 side, i };
        }
    }
    qsort(k->members, k->count, sizeof *k->members, by_shape);
    for (size_t i = 0; i < k->count; i++) {
        const struct member *m = &k->members[i];
        if (i == 0 || by_shape(m - 1, m) != 0)
            op->shapes[k->nkeys++].shape = m->shape;
        k->key[m->side][m->place] = (uint32_t)(k->nkeys - 1);
    }
    op->nshapes = k->nkeys;
    return ST_OK;
}

static void fill_shapes(struct diff_op *op, const struct work *k)
{
    for (size_t i = 0; i < op->nshapes; i++) {
        struct diff_shape *s = &op->shapes[i];
        for (int side = 0; side < DIFF_SIDES; side++) {
            const struct mix *m = &k->mix[side];
            s->calls[side] = m->key_calls[i];
            s->time_share[side] = m->time_ns > 0 ? m->key_time_ns[i] / m->time_ns : NAN;
        }
        if (s->calls[DIFF_BEFORE] == 0) {
            op->new_shapes++;
            op->new_share += s->time_share[DIFF_AFTER];
        }
        if (s->calls[DIFF_AFTER] == 0) {
            op->vanished_shapes++;
            op->vanished_share += s->time_share[DIFF_BEFORE];
        }
    }
}

static double change(const struct diff_shape *s)
{
    return fabs(s->time_share[DIFF_AFTER] - s->time_share[DIFF_BEFORE]);
}

static int by_change(const void *a, const void *b)
{
    double x = change(a), y = change(b);
    if (x != y)
        return x < y ? 1 : -1;
    return memcmp(&((const struct diff_shape *)a)->shape, &((const struct diff_shape *)b)->shape,
                  sizeof(struct tilewise_signature));
}

/* Time on the host and on a GPU do not compare; a GPU's means have no windows to vary over. */
static void measure_pace(struct diff_op *op, const struct mix *before, const struct mix *after)
{
    if (before->is_of_kernels != after->is_of_kernels)
        return;
    op->pace = diff_pace(before, after);
    if (after->is_of_kernels)
        op->pace.lo = op->pace.hi = NAN;
}

static enum status compare_mixes(const struct diff *d, struct diff_op *op, struct work *k)
{
    const struct policy *policy = d->side[DIFF_BEFORE]->policy;
    enum status st = number_shapes(k, d, op);
    for (int side = 0; side < DIFF_SIDES && st == ST_OK; side++)
        st = mix_build(&k->mix[side], d->side[side]->summary, op->group[side]->members,
                       op->group[side]->nmembers, k->key[side], k->nkeys);
    if (st != ST_OK)
        return st;
    fill_shapes(op, k);
    qsort(op->shapes, op->nshapes, sizeof *op->shapes, by_change);
    op->drift = diff_drift(&k->mix[DIFF_BEFORE], &k->mix[DIFF_AFTER], (struct prng){ DRIFT_SEED });
    measure_pace(op, &k->mix[DIFF_BEFORE], &k->mix[DIFF_AFTER]);
    /* An unknown null excuses nothing. */
    op->drifted = op->drift.divergence > policy->stability.drift &&
                  !(op->drift.divergence <= op->drift.null95);
    return ST_OK;
}

static bool is_quiet(const struct analysis_group *g)
{
    return !g || g->decision.verdict == DECIDE_STAY || g->decision.verdict == DECIDE_NOTE;
}

static enum status compare_op(const struct diff *d, struct diff_op *op)
{
    const struct analysis_group *before = op->group[DIFF_BEFORE], *after = op->group[DIFF_AFTER];
    struct work k = { 0 };
    op->drift = (struct diff_drift){ NAN, NAN, NAN };
    op->pace = (struct diff_pace){ NAN, NAN, NAN };
    if (!before || !after) {
        op->verdict_changed = !is_quiet(before) || !is_quiet(after);
        op->new_share = before ? 0 : 1;
        op->vanished_share = after ? 0 : 1;
        return ST_OK;
    }
    op->verdict_changed = before->decision.verdict != after->decision.verdict;
    enum status st = compare_mixes(d, op, &k);
    free_work(&k);
    return st;
}

static struct diff_op *find_op(struct diff *d, const struct analysis_group *g)
{
    for (size_t i = 0; i < d->nops; i++)
        if (d->ops[i].op == g->op && d->ops[i].dtype == g->dtype)
            return &d->ops[i];
    d->ops[d->nops] = (struct diff_op){ .op = g->op, .dtype = g->dtype };
    return &d->ops[d->nops++];
}

static double time_of(const struct diff_op *op)
{
    double ns = 0;
    for (int side = 0; side < DIFF_SIDES; side++)
        ns += op->group[side] ? (double)op->group[side]->time_ns : 0;
    return ns;
}

static int by_time(const void *a, const void *b)
{
    const struct diff_op *x = a, *y = b;
    double xt = time_of(x), yt = time_of(y);
    if (xt != yt)
        return xt < yt ? 1 : -1;
    return x->op * 256 + x->dtype - y->op * 256 - y->dtype;
}

static enum status compare_all(struct diff *d)
{
    enum status st = ST_OK;
    d->ops = calloc(d->side[0]->nops + d->side[1]->nops + 1, sizeof *d->ops);
    if (!d->ops)
        return ST_NOMEM;
    for (int side = 0; side < DIFF_SIDES; side++)
        for (size_t i = 0; i < d->side[side]->nops; i++)
            find_op(d, &d->side[side]->ops[i])->group[side] = &d->side[side]->ops[i];
    qsort(d->ops, d->nops, sizeof *d->ops, by_time);
    for (size_t i = 0; i < d->nops && st == ST_OK; i++)
        st = compare_op(d, &d->ops[i]);
    return st;
}

enum status diff_build(struct diff **out, const struct analysis *before,
                       const struct analysis *after, struct fault *fault)
{
    *out = NULL;
    struct diff *d = calloc(1, sizeof *d);
    if (!d)
        return fault_set(fault, ST_NOMEM, "out of memory for the comparison");
    d->side[DIFF_BEFORE] = before;
    d->side[DIFF_AFTER] = after;
    enum status st = compare_all(d);
    if (st != ST_OK) {
        diff_free(d);
        return fault_set(fault, st, "out of memory for the comparison");
    }
    *out = d;
    return ST_OK;
}

void diff_free(struct diff *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->nops; i++)
        free(d->ops[i].shapes);
    free(d->ops);
    free(d);
}
