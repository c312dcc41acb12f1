/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gain.h"
#include "analysis/hardware.h"

const struct result_run *history_run(const struct history_entry *e)
{
    return &e->set->runs[e->set->nruns - 1];
}

static int by_date(const void *a, const void *b)
{
    const struct history_entry *x = a, *y = b;
    int order = strcmp(history_run(x)->date_utc, history_run(y)->date_utc);
    return order ? order : strcmp(x->name, y->name);
}

const struct history_entry *history_stranger(const struct history *h)
{
    for (size_t i = 1; i < h->nentries; i++)
        if (!hardware_same(history_run(&h->entries[0]), history_run(&h->entries[i])))
            return &h->entries[i];
    return NULL;
}

static const struct result_candidate *best_candidate(const struct result_case *row)
{
    const struct result_candidate *best = NULL;
    for (size_t i = 0; i < row->ncandidates; i++) {
        const struct result_candidate *c = &row->candidates[i];
        if (c->status == RESULT_PASSED && c->ratio_best > 0 &&
            (!best || c->ratio_best > best->ratio_best))
            best = c;
    }
    return best;
}

static int by_call(const struct result_case *a, const struct result_case *b)
{
    int order = memcmp(&a->signature, &b->signature, sizeof a->signature);
    return order ? order : strcmp(a->entry, b->entry);
}

static int by_shape_then_time(const void *a, const void *b)
{
    const struct history_point *x = a, *y = b;
    int order = by_call(x->row, y->row);
    if (order)
        return order;
    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_time(const void *a, const void *b)
{
    const struct history_shape *x = a, *y = b;
    if (x->row->time_ns != y->row->time_ns)
        return x->row->time_ns < y->row->time_ns ? 1 : -1;
    return by_call(x->row, y->row);
}

/* All cases as points, each shape's together. Of several measurements of a shape in one replay the
 * last one counts. */
static size_t collect_points(struct history *h)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < h->nentries; i++)
        for (size_t j = 0; j < h->entries[i].set->ncases; j++) {
            const struct result_case *row = &h->entries[i].set->cases[j];
            h->points[count++] = (struct history_point){ i, row, best_candidate(row) };
        }
    if (count)
        qsort(h->points, count, sizeof *h->points, by_shape_then_time);
    for (size_t i = 0; i < count; i++) {
        bool again = i + 1 < count && h->points[i].entry == h->points[i + 1].entry &&
                     by_call(h->points[i].row, h->points[i + 1].row) == 0;
        if (!again)
            h->points[kept++] = h->points[i];
    }
    return kept;
}

static enum status build(struct history *h)
{
    size_t cases = 0;
    for (size_t i = 0; i < h->nentries; i++)
        cases += h->entries[i].set->ncases;
    h->points = calloc(cases + 1, sizeof *h->points);
    h->shapes = calloc(cases + 1, sizeof *h->shapes);
    if (!h->points || !h->shapes)
        return ST_NOMEM;
    size_t count = collect_points(h);
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && by_call(h->points[i - 1].row, h->points[i].row) == 0;
        if (!same)
            h->shapes[h->nshapes++].points = &h->points[i];
        struct history_shape *shape = &h->shapes[h->nshapes - 1];
        shape->npoints++;
        shape->row = h->points[i].row;
    }
    if (h->nshapes)
        qsort(h->shapes, h->nshapes, sizeof *h->shapes, by_time);
    return ST_OK;
}

enum status history_build(struct history **out, struct history_entry *entries, size_t count,
                          struct fault *fault)
{
    struct history *h = *out = calloc(1, sizeof *h);
    if (!h)
        return fault_set(fault, ST_NOMEM, "out of memory for the history");
    if (count)
        qsort(entries, count, sizeof *entries, by_date);
    h->entries = entries;
    h->nentries = count;
    if (build(h) == ST_OK)
        return ST_OK;
    history_free(h);
    *out = NULL;
    return fault_set(fault, ST_NOMEM, "out of memory for the history");
}

void history_free(struct history *h)
{
    if (!h)
        return;
    free(h->points);
    free(h->shapes);
    free(h);
}

struct history_cost history_cost(const struct history_entry *e, unsigned op, unsigned dtype,
                                 const struct policy *policy)
{
    struct history_cost cost = { NAN, NAN };
    for (size_t i = 0; i < e->set->ncases; i++) {
        const struct result_case *row = &e->set->cases[i];
        double library_ns = (double)row->calls * row->baseline_best_ns;
        if (row->signature.op != op || shape_dtype(&row->signature) != dtype || !(library_ns > 0))
            continue;
        const struct result_candidate *winner = gain_winner(row, e->set, policy);
        cost.library_ns = (isnan(cost.library_ns) ? 0 : cost.library_ns) + library_ns;
        cost.table_ns = (isnan(cost.table_ns) ? 0 : cost.table_ns) +
                        (winner ? library_ns / winner->ratio_best : library_ns);
    }
    return cost;
}

const struct result_verdict *history_verdict(const struct history_entry *e, unsigned op,
                                             unsigned dtype)
{
    for (size_t i = e->set->nverdicts; i-- > 0;)
        if (e->set->verdicts[i].op == op && e->set->verdicts[i].dtype == dtype)
            return &e->set->verdicts[i];
    return NULL;
}

static size_t add_op(uint8_t (*ops)[2], size_t count, size_t most, uint8_t op, uint8_t dtype)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i][0] == op && ops[i][1] == dtype)
            return count;
    if (count == most)
        return count;
    ops[count][0] = op;
    ops[count][1] = dtype;
    return count + 1;
}

size_t history_ops(const struct history *h, uint8_t (*ops)[2], size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < h->nshapes; i++)
        count = add_op(ops, count, most, h->shapes[i].row->signature.op,
                       shape_dtype(&h->shapes[i].row->signature));
    for (size_t i = 0; i < h->nentries; i++)
        for (size_t j = 0; j < h->entries[i].set->nverdicts; j++)
            count = add_op(ops, count, most, h->entries[i].set->verdicts[j].op,
                           h->entries[i].set->verdicts[j].dtype);
    return count;
}

static enum status write_verdict(struct result_writer *w, const struct analysis_group *g)
{
    bool replayed = g->replay.replayed_share > 0;
    const char *level = stability_level_name(g->stability.level);
    const struct result_verdict row = {
        .op = g->op,
        .dtype = g->dtype,
        .verdict = (char *)decide_word(g->decision.verdict),
        .stability = (char *)(level ? level : ""),
        .reason = (char *)g->decision.reason,
        .heat = g->heat.value,
        .heat_lo = g->heat.lo,
        .heat_hi = g->heat.hi,
        .gain_lo = replayed ? g->replay.gain_lo : NAN,
        .gain_hi = replayed ? g->replay.gain_hi : NAN,
    };
    return result_put_verdict(w, &row);
}

enum status history_write(struct result_writer *w, const struct analysis *a)
{
    const struct result_set *set = a->results;
    enum status st = ST_OK;
    for (size_t i = 0; i < set->nruns && st == ST_OK; i++)
        st = result_put_run(w, &set->runs[i]);
    for (size_t i = 0; i < set->nceilings && st == ST_OK; i++)
        st = result_put_ceiling(w, &set->ceilings[i]);
    for (size_t i = 0; i < set->ncases && st == ST_OK; i++)
        st = result_put_case(w, &set->cases[i]);
    for (size_t i = 0; i < set->norders && st == ST_OK; i++)
        st = result_put_order(w, &set->orders[i]);
    for (size_t i = 0; i < set->nparts && st == ST_OK; i++)
        st = result_put_order_part(w, &set->parts[i]);
    for (size_t i = 0; i < a->nops && st == ST_OK; i++)
        st = write_verdict(w, &a->ops[i]);
    return st;
}
