/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/stability.h"

#include <math.h>
#include <stdlib.h>

enum { DRIFT_SEED = 0x7117e };

/* What every step of one measurement works on. */
struct group {
    const struct summary *summary;
    const uint32_t *members;
    size_t count;
    uint32_t *key;     /* scratch, one per member */
    double *member_ns; /* mix_member_ns */
    const struct policy *policy;
};

const char *stability_level_name(enum stability_level level)
{
    static const char *const names[] = { NULL, "stable", "bucketable", "varying" };
    return names[level];
}

bool stability_holds(const struct stability_grain *g, const struct policy_stability *policy)
{
    bool calm = g->drift.adjacent <= policy->drift || g->drift.adjacent <= g->drift.null95;
    return g->k90 <= policy->k90 && g->cov05 >= policy->cov05 && g->unseen <= policy->unseen &&
           calm;
}

/* Work that padding adds, as a share of the padded work. */
static double padding_waste(const struct group *g, const struct shape_rule *rule)
{
    double useful = 0, padded = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct summary_signature *row = &g->summary->signatures[g->members[i]];
        struct tilewise_signature shape = shape_project(&row->signature, rule);
        useful += (double)row->calls * signature_flops(&row->signature);
        padded += (double)row->calls * signature_flops(&shape);
    }
    return padded > 0 ? 1 - useful / padded : NAN;
}

static enum status measure_grain(const struct group *g, const struct shape_rule *rule,
                                 struct stability_grain *out, size_t *windows)
{
    struct mix mix;
    size_t keys = shape_number(g->summary, g->members, g->count, rule, g->key);
    if (keys == SIZE_MAX ||
        mix_build(&mix, g->summary, g->members, g->count, g->key, keys) != ST_OK)
        return ST_NOMEM;
    struct mix_coverage coverage = mix_coverage(&mix, g->policy->stability.table);
    *out = (struct stability_grain){
        .shapes = keys,
        .effective_shapes = mix_effective(&mix),
        .k90 = mix_k90(&mix),
        .cov05 = coverage.p05,
        .cov05_lo = coverage.lo,
        .cov05_hi = coverage.hi,
        .unseen = mix_unseen(&mix),
        /* No verdict asks whether whole tiles drift. */
        .drift = rule->grain == SHAPE_TILE ? mix_drift_alone(&mix)
                                           : mix_drift(&mix, (struct prng){ DRIFT_SEED }),
        .padding_waste = rule->grain == SHAPE_RAW ? 0 : padding_waste(g, rule),
    };
    *windows = mix.nwindows;
    mix_free(&mix);
    return ST_OK;
}

struct value {
    int64_t v;
    double time_ns;
};

static int by_value(const void *a, const void *b)
{
    int64_t x = ((const struct value *)a)->v, y = ((const struct value *)b)->v;
    return (x > y) - (x < y);
}

/* D1 of one dimension's own values, by time. */
static enum status measure_dimension(const struct group *g, enum shape_dimension d,
                                     struct stability *out)
{
    struct value *values = calloc(g->count + 1, sizeof *values);
    if (!values)
        return ST_NOMEM;
    double total = 0, entropy = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct summary_signature *row = &g->summary->signatures[g->members[i]];
        values[i] = (struct value){ shape_dimension(&row->signature, d), g->member_ns[i] };
        total += values[i].time_ns;
    }
    qsort(values, g->count, sizeof *values, by_value);
    for (size_t i = 0; i < g->count;) {
        double time_ns = 0;
        int64_t v = values[i].v;
        for (; i < g->count && values[i].v == v; i++)
            time_ns += values[i].time_ns;
        entropy -= time_ns > 0 ? time_ns / total * log(time_ns / total) : 0;
        out->values[d]++;
    }
    out->effective[d] = total > 0 ? exp(entropy) : NAN;
    out->moving[d] = out->effective[d] > g->policy->stability.moving;
    free(values);
    return ST_OK;
}

/* A server that pads its requests pads every dimension that follows from them: the moving ones.
 * Where none moves by itself, the two that serving engines pad: m and the batch. */
static struct shape_rule bucket_rule(struct stability *st)
{
    struct shape_rule rule = { .grain = SHAPE_BUCKET };
    bool any = false;
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        any |= rule.round[d] = st->moving[d];
    if (!any)
        rule.round[SHAPE_M] = rule.round[SHAPE_BATCH] = true;
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        st->rounded[d] = rule.round[d];
    return rule;
}

static enum stability_level judge(const struct stability *st, const struct policy_stability *policy)
{
    if (st->windows < 2)
        return STABILITY_UNKNOWN;
    if (stability_holds(&st->raw, policy))
        return STABILITY_STABLE;
    return stability_holds(&st->bucket, policy) ? STABILITY_BUCKETABLE : STABILITY_VARYING;
}

static enum status measure_all(const struct group *g, struct stability *out)
{
    enum status st = ST_OK;
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS && st == ST_OK; d++)
        st = measure_dimension(g, d, out);
    const struct policy_tile *t = &g->policy->tile;
    const struct shape_rule raw = { .grain = SHAPE_RAW }, bucket = bucket_rule(out);
    const struct shape_rule tile = { .grain = SHAPE_TILE,
                                     .tile = { (int64_t)t->m, (int64_t)t->n, (int64_t)t->k, 1 } };
    if (st != ST_OK || (st = measure_grain(g, &raw, &out->raw, &out->windows)) != ST_OK ||
        (st = measure_grain(g, &bucket, &out->bucket, &out->windows)) != ST_OK)
        return st;
    return measure_grain(g, &tile, &out->tile, &out->windows);
}

enum status stability_measure(struct stability *out, const struct summary *s,
                              const uint32_t *members, size_t count, const struct policy *policy)
{
    struct group g = { .summary = s, .members = members, .count = count, .policy = policy };
    *out = (struct stability){ 0 };
    g.key = calloc(count + 1, sizeof *g.key);
    g.member_ns = calloc(count + 1, sizeof *g.member_ns);
    enum status st = g.key && g.member_ns ? ST_OK : ST_NOMEM;
    if (st == ST_OK) {
        mix_member_ns(s, members, count, g.member_ns);
        st = measure_all(&g, out);
    }
    free(g.key);
    free(g.member_ns);
    if (st == ST_OK)
        out->level = judge(out, &policy->stability);
    return st;
}
