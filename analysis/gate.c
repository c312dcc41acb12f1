/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/gate.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/gain.h"
#include "analysis/hardware.h"
#include "analysis/json.h"
#include "analysis/words.h"
#include "traces/list.h"

enum { LINES_MAX = 50 }; /* of one kind */

static const char *kind_word(enum gate_kind kind)
{
    static const char *const words[GATE_KINDS] = {
#define X(id, word) [GATE_##id] = #word,
        GATE_KIND_LIST(X)
#undef X
            [GATE_COVERAGE] = "coverage",
    };
    return words[kind];
}

static bool fails(const struct policy_gate *p, enum gate_kind kind)
{
    const bool asked[GATE_KINDS] = {
#define X(id, word) [GATE_##id] = p->word,
        GATE_KIND_LIST(X)
#undef X
            [GATE_COVERAGE] = true,
    };
    return asked[kind];
}

/* What is being collected. */
struct work {
    const struct gate_input *in;
    const struct policy_gate *policy;
    struct gate *gate;
    bool out_of_memory;
};

static void add(struct work *k, enum gate_kind kind, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(struct work *k, enum gate_kind kind, const char *where, const char *format, ...)
{
    struct gate *g = k->gate;
    void *more = realloc(g->findings, (g->count + 1) * sizeof *g->findings);
    if (!more) {
        k->out_of_memory = true;
        return;
    }
    g->findings = more;
    struct gate_finding *f = &g->findings[g->count++];
    *f = (struct gate_finding){ .kind = kind, .fails = fails(k->policy, kind) };
    g->failing += f->fails;
    snprintf(f->where, sizeof f->where, "%s", where);
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

static const char *op_where(const struct analysis_group *g, char text[96])
{
    snprintf(text, 96, "%s %s", tilewise_op_name(g->op), tilewise_dtype_name(g->dtype));
    return text;
}

static const char *shape_where(const struct tilewise_signature *s, char text[96])
{
    snprintf(text, 96, "%s %s %s %s", tilewise_op_name(s->op), tilewise_dtype_name(shape_dtype(s)),
             words_shape(s), words_trans(s));
    return text;
}

static const struct result_candidate *find_candidate(const struct result_case *row,
                                                     const char *name)
{
    for (size_t i = 0; row && i < row->ncandidates; i++)
        if (strcmp(row->candidates[i].name, name) == 0)
            return &row->candidates[i];
    return NULL;
}

/* A candidate's name comes from a file. */
static const char *clean_name(const char *name, char text[64])
{
    char *copy = escape_copy(name);
    snprintf(text, 64, "%.60s", copy ? copy : "?");
    free(copy);
    return text;
}

/* Broken kernels, kernels that lose to the library although they must not, and what the replay
 * could not tell. */
static void check_candidate(struct work *k, const struct result_case *row,
                            const struct result_candidate *c)
{
    char where[96], name[64];
    double least = 1 - k->policy->max_regression;
    shape_where(&row->signature, where);
    clean_name(c->name, name);
    if (c->status == RESULT_FAILED || c->status == RESULT_CRASHED || c->status == RESULT_TIMEOUT)
        add(k, GATE_VERIFICATION, where, "%s %s (largest error %s of the bound); none may", name,
            result_status_name(c->status), words_real(c->worst_error, 3));
    if (c->status != RESULT_PASSED)
        return;
    if (list_holds(k->in->kernels, ',', c->name) && c->best_hi < least)
        add(k, GATE_REGRESSION, where,
            "%s runs at %.3f (%.3f to %.3f) of the library's speed; at least %.3f is asked for",
            name, c->ratio_best, c->best_lo, c->best_hi, least);
    if (c->call == RESULT_UNCLEAR)
        add(k, GATE_UNCLEAR, where,
            "%s runs at %.3f (%.3f to %.3f) of the library's speed; too noisy to tell", name,
            c->ratio_best, c->best_lo, c->best_hi);
}

static void check_results(struct work *k)
{
    const struct result_set *set = k->in->now->results;
    for (size_t i = 0; i < set->ncases; i++)
        for (size_t j = 0; j < set->cases[i].ncandidates; j++)
            check_candidate(k, &set->cases[i], &set->cases[i].candidates[j]);
}

/* The last measurement of the same call. */
static const struct result_case *find_case(const struct result_set *set,
                                           const struct result_case *row)
{
    for (size_t i = set->ncases; i-- > 0;)
        if (memcmp(&set->cases[i].signature, &row->signature, sizeof row->signature) == 0 &&
            strcmp(set->cases[i].entry, row->entry) == 0)
            return &set->cases[i];
    return NULL;
}

/* The kernel that the base's dispatch table chose for a shape must still be what it was. */
static void check_chosen(struct work *k, const struct result_candidate *chosen,
                         const struct result_case *now)
{
    char where[96], name[64];
    const struct result_candidate *c = find_candidate(now, chosen->name);
    double allowed = k->policy->max_regression, least = chosen->best_lo * (1 - allowed);
    shape_where(&now->signature, where);
    clean_name(chosen->name, name);
    if (!c || c->status == RESULT_UNSUPPORTED || c->status == RESULT_SKIPPED)
        add(k, GATE_REGRESSION, where, "%s was chosen at %.3f of the library's speed and is now %s",
            name, chosen->ratio_best, c ? result_status_name(c->status) : "not offered");
    else if (c->status == RESULT_PASSED && c->best_hi < least)
        add(k, GATE_REGRESSION, where,
            "%s runs at %.3f (%.3f to %.3f) of the library's speed, was %.3f (%.3f to %.3f); at "
            "most %.1f %% less is allowed",
            name, c->ratio_best, c->best_lo, c->best_hi, chosen->ratio_best, chosen->best_lo,
            chosen->best_hi, 100 * allowed);
}

/* What the base sends to a kernel and nobody measured this time can have become anything. */
static void check_unmeasured(struct work *k, const struct result_set *before,
                             const struct result_set *now)
{
    char where[96] = "";
    size_t chosen = 0, unmeasured = 0;
    for (size_t i = 0; i < before->ncases; i++) {
        const struct result_case *row = &before->cases[i];
        if (find_case(before, row) != row || !gain_winner(row, before, k->in->now->policy))
            continue;
        chosen++;
        if (find_case(now, row))
            continue;
        if (unmeasured++ == 0)
            shape_where(&row->signature, where);
    }
    if (unmeasured)
        add(k, GATE_UNCLEAR, "replay",
            "%zu of %zu shapes that the base sends to a kernel were not replayed (first: %s)",
            unmeasured, chosen, where);
}

static void check_replays(struct work *k)
{
    const struct result_set *before = k->in->replayed, *now = k->in->now->results;
    check_unmeasured(k, before, now);
    if (before->nruns == 0 || now->nruns == 0)
        return;
    if (!k->in->any_hardware &&
        !hardware_same(&before->runs[before->nruns - 1], &now->runs[now->nruns - 1])) {
        add(k, GATE_UNCLEAR, "replay",
            "the base was replayed on other hardware: its ratios are "
            "not compared (--any-hardware does)");
        return;
    }
    for (size_t i = 0; i < now->ncases; i++) {
        if (find_case(now, &now->cases[i]) != &now->cases[i])
            continue; /* measured again further down */
        const struct result_case *row = find_case(before, &now->cases[i]);
        const struct result_candidate *chosen =
            row ? gain_winner(row, before, k->in->now->policy) : NULL;
        if (chosen)
            check_chosen(k, chosen, &now->cases[i]);
    }
}

static void check_drift(struct work *k, const struct diff_op *op, const char *where)
{
    const struct diff *d = k->in->diff;
    bool thin = d->side[DIFF_BEFORE]->withheld[0] || d->side[DIFF_AFTER]->withheld[0];
    double threshold = k->in->now->policy->stability.drift;
    if (!op->drifted)
        return;
    add(k, thin ? GATE_WITHHELD : GATE_DRIFT, where,
        "the mix of shapes is %.3f from the base (chance: %s, allowed: %.3f); %.1f %% of the time "
        "is in new shapes, %.1f %% of the base's in vanished ones%s",
        op->drift.divergence, words_real(op->drift.null95, 3), threshold, 100 * op->new_share,
        100 * op->vanished_share, thin ? "; the evidence is too thin to call it drift" : "");
}

static void check_op(struct work *k, const struct diff_op *op)
{
    char where[96];
    const struct analysis_group *now = op->group[DIFF_AFTER];
    op_where(now ? now : op->group[DIFF_BEFORE], where);
    check_drift(k, op, where);
    if (op->verdict_changed)
        add(k, GATE_VERDICT, where, "%s, was %s. %s", diff_verdict(op, DIFF_AFTER),
            diff_verdict(op, DIFF_BEFORE), now ? now->decision.reason : "No call any more.");
    bool comparable = k->in->any_hardware || diff_same_device(k->in->diff);
    if (comparable && op->pace.lo > 1 + k->policy->max_regression)
        add(k, GATE_PACE, where,
            "a recorded call takes %.3f (%.3f to %.3f) times what it took at the same mix; at most "
            "%.3f is allowed",
            op->pace.ratio, op->pace.lo, op->pace.hi, 1 + k->policy->max_regression);
}

static void check_evidence(struct work *k)
{
    const struct analysis *a = k->in->now;
    double coverage = a->evidence.coverage_time;
    char where[96];
    if (k->policy->min_coverage > 0 && !(coverage >= k->policy->min_coverage))
        add(k, GATE_COVERAGE, "trace",
            "%s of the time has a replayable signature; at least %s is "
            "asked for",
            words_share(coverage), words_share(k->policy->min_coverage));
    if (a->nops == 0)
        add(k, GATE_WITHHELD, "trace", "%s%s", a->withheld,
            a->summary->complete ? "" : " (the recording did not end cleanly)");
    for (size_t i = 0; i < a->nops; i++)
        if (a->ops[i].decision.verdict == DECIDE_WITHHELD)
            add(k, GATE_WITHHELD, op_where(&a->ops[i], where), "%s", a->ops[i].decision.reason);
}

/* Those that fail first, in the order of the kinds; else as they were found. */
static int by_weight(const void *a, const void *b)
{
    const struct gate_finding *x = a, *y = b;
    if (x->fails != y->fails)
        return x->fails ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int order = strcmp(x->where, y->where);
    return order ? order : strcmp(x->text, y->text);
}

enum status gate_run(struct gate **out, const struct gate_input *in, struct fault *fault)
{
    struct gate *g = *out = calloc(1, sizeof *g);
    if (!g)
        return fault_set(fault, ST_NOMEM, "out of memory for the findings");
    struct work k = { .in = in, .policy = &in->now->policy->gate, .gate = g };
    check_evidence(&k);
    check_results(&k);
    check_replays(&k);
    for (size_t i = 0; in->diff && i < in->diff->nops; i++)
        check_op(&k, &in->diff->ops[i]);
    if (k.out_of_memory) {
        gate_free(g);
        *out = NULL;
        return fault_set(fault, ST_NOMEM, "out of memory for the findings");
    }
    if (g->count)
        qsort(g->findings, g->count, sizeof *g->findings, by_weight);
    return ST_OK;
}

void gate_free(struct gate *g)
{
    if (g)
        free(g->findings);
    free(g);
}

void gate_text(const struct gate *g, FILE *out)
{
    size_t told[GATE_KINDS] = { 0 };
    for (size_t i = 0; i < g->count; i++) {
        const struct gate_finding *f = &g->findings[i];
        if (told[f->kind]++ < LINES_MAX)
            fprintf(out, "%s %s: %s: %s\n", f->fails ? "FAIL" : "note", kind_word(f->kind),
                    f->where, f->text);
    }
    for (enum gate_kind kind = 0; kind < GATE_KINDS; kind++)
        if (told[kind] > LINES_MAX)
            fprintf(out, "%s: %zu more; --format=json lists them all\n", kind_word(kind),
                    told[kind] - LINES_MAX);
    fprintf(out, "gate: %s; %zu finding%s, %zu of them fail%s\n", g->failing ? "FAILED" : "passed",
            g->count, g->count == 1 ? "" : "s", g->failing, g->failing == 1 ? "s" : "");
}

enum status gate_json(const struct gate *g, FILE *out)
{
    yajl_gen j = json_begin();
    if (!j)
        return ST_NOMEM;
    json_key_flag(j, "passed", g->failing == 0);
    json_key_whole(j, "failing", g->failing);
    json_open_array(j, "findings");
    for (size_t i = 0; i < g->count; i++) {
        const struct gate_finding *f = &g->findings[i];
        yajl_gen_map_open(j);
        json_key_text(j, "kind", kind_word(f->kind));
        json_key_flag(j, "fails", f->fails);
        json_key_text(j, "where", f->where);
        json_key_text(j, "text", f->text);
        yajl_gen_map_close(j);
    }
    yajl_gen_array_close(j);
    return json_end(j, out);
}
