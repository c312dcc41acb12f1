/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/replay_order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/clock.h"
#include "replayer/isolate.h"

static const double least_s = 1;      /* what a stretch gets in any case */
static const double start_s_max = 90; /* sessions, buffers and their data, before any timing */

static struct result_order row_of(const struct sequence *s, const struct order_outcome *m)
{
    return (struct result_order){
        .source = (char *)s->source,
        .reason = (char *)m->reason,
        .traffic = (char *)m->traffic,
        .status = (uint8_t)m->status,
        .in_graph = s->in_graph,
        .is_kernel_time = s->is_kernel_time,
        .calls = s->count - s->fillers,
        .fillers = s->fillers,
        .repeats = s->repeats,
        .recorded_ns = s->call_ns,
        .filler_ns = s->filler_ns,
        .kernel_ns = m->kernel_ns,
        .baseline_ns = m->baseline_ns,
        .chosen_ns = m->chosen_ns,
        .ratio = m->ratio.mid,
        .ratio_lo = m->ratio.lo,
        .ratio_hi = m->ratio.hi,
        .noise = m->noise,
        .rounds = m->rounds,
        .nparts = (uint32_t)m->nparts,
        .time_share = s->time_share,
    };
}

static struct result_order_part part_of(const struct plan *plan, const struct order_part *part)
{
    const struct plan_item *item = &plan->items[part->item];
    struct result_order_part row = {
        .signature = plan_recorded(item),
        .entry = (char *)item->entry,
        .calls = part->calls,
        .recorded_ns = part->recorded_ns,
        .kernel_ns = part->kernel_ns,
        .chosen = part->chosen,
    };
    return row;
}

static void measure(const struct replay_order *order, const struct sequence *sequence,
                    double budget_s, struct order_outcome *out)
{
    const struct replay_options *o = order->options;
    struct order_job job = {
        .setup = &o->setup,
        .plan = o->plan,
        .sequence = sequence,
        .choice = order->choice,
        .budget_ns = budget_s * 1e9,
    };
    struct isolate_limits limits = { .seconds = start_s_max + 4 * budget_s };
    struct isolate_end end;
    isolate_run(order_measure, &job, out, sizeof *out, &limits, &end);
    if (end.status == RESULT_PASSED)
        return;
    *out = (struct order_outcome){ .status = end.status, .kernel_ns = NAN };
    out->baseline_ns = out->chosen_ns = out->noise = NAN;
    out->ratio = (struct stats_interval){ NAN, NAN, NAN };
    snprintf(out->reason, sizeof out->reason, "%s", end.reason);
}

static enum status put(const struct replay_options *o, const struct result_order *row,
                       const struct order_outcome *m)
{
    enum status st = o->writer ? result_put_order(o->writer, row) : ST_OK;
    for (size_t i = 0; st == ST_OK && o->writer && i < m->nparts; i++) {
        struct result_order_part part = part_of(o->plan, &m->part[i]);
        st = result_put_order_part(o->writer, &part);
    }
    if (o->on_order)
        o->on_order(o->context, row);
    return st;
}

enum status replay_order_run(const struct replay_order *order)
{
    const struct sequences *all = order->options->sequences;
    double end_s = clock_now_s() + order->budget_s;
    struct order_outcome *m = calloc(1, sizeof *m);
    enum status st = m ? ST_OK : ST_NOMEM;
    for (size_t i = 0; st == ST_OK && i < all->count; i++) {
        /* Starting takes as long for every one of them. */
        double budget_s = (end_s - clock_now_s()) / (double)(all->count - i);
        measure(order, all->row[i], budget_s > least_s ? budget_s : least_s, m);
        struct result_order row = row_of(all->row[i], m);
        st = put(order->options, &row, m);
    }
    free(m);
    return st;
}
