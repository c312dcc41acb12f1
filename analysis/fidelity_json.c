/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/fidelity_json.h"

#include <math.h>

#include "analysis/json.h"
#include "analysis/shape.h"
#include "analysis/words.h"

static const char *some(const char *text)
{
    return text && text[0] ? text : NULL;
}

/* -1: unknown. */
static void key_answer(yajl_gen g, const char *name, int value)
{
    json_key(g, name);
    if (value < 0)
        yajl_gen_null(g);
    else
        yajl_gen_bool(g, value);
}

void fidelity_json_shape(yajl_gen g, const struct fidelity_row *row)
{
    json_open_map(g, "fidelity");
    json_key_real(g, "recorded_ns", row->recorded_ns);
    json_key_real(g, "replayed_ns", row->replayed_ns);
    json_key_real(g, "error", row->error);
    key_answer(g, "by_events", isfinite(row->replayed_ns) ? row->by_events : -1);
    key_answer(g, "same_kernels", row->same_kernels);
    yajl_gen_map_close(g);
}

static void part(yajl_gen g, const struct result_order_part *p)
{
    const struct tilewise_signature *s = &p->signature;
    yajl_gen_map_open(g);
    json_key_text(g, "op", tilewise_op_name(s->op));
    json_key_text(g, "dtype", tilewise_dtype_name(shape_dtype(s)));
    json_key_text(g, "shape", words_shape(s));
    json_key_text(g, "trans", words_trans(s));
    json_key_text(g, "entry", some(p->entry));
    json_key_whole(g, "calls", p->calls);
    json_key_real(g, "recorded_ns", p->recorded_ns);
    json_key_real(g, "replayed_ns", p->kernel_ns);
    json_key_real(g, "error", p->kernel_ns / p->recorded_ns - 1);
    key_answer(g, "chosen", p->chosen);
    yajl_gen_map_close(g);
}

static void order(yajl_gen g, const struct analysis *a, const struct result_order *row,
                  const struct fidelity_order *f)
{
    yajl_gen_map_open(g);
    json_key_text(g, "source", some(row->source));
    json_key_text(g, "status", result_status_name(row->status));
    json_key_text(g, "why", some(row->reason));
    key_answer(g, "graph", row->in_graph);
    json_key_whole(g, "calls", row->calls);
    json_key_whole(g, "fillers", row->fillers);
    json_key_whole(g, "repeats", row->repeats);
    json_key_real(g, "time_share", row->time_share);
    json_key_real(g, "recorded_ns", row->recorded_ns);
    json_key_real(g, "filler_ns", row->filler_ns);
    json_key_real(g, "replayed_ns", row->kernel_ns);
    json_key_real(g, "total", f->total);
    json_key_real(g, "median_abs_error", f->median_abs_error);
    json_key_real(g, "baseline_ns", row->baseline_ns);
    json_key_real(g, "chosen_ns", row->chosen_ns);
    json_open_map(g, "ratio");
    json_key_real(g, "value", row->ratio);
    json_key_real(g, "lo", row->ratio_lo);
    json_key_real(g, "hi", row->ratio_hi);
    yajl_gen_map_close(g);
    json_key_real(g, "noise", row->noise);
    json_open_array(g, "shapes");
    for (size_t i = f->first; i < f->first + f->count; i++)
        part(g, &a->results->parts[i]);
    yajl_gen_array_close(g);
    yajl_gen_map_close(g);
}

/* Everything that was replayed in order, against what the single shapes promised. */
static void whole(yajl_gen g, const struct agreement *o)
{
    json_open_map(g, "whole");
    json_key_real(g, "covered", o->covered);
    json_key_real(g, "gain", o->gain);
    json_key_real(g, "lo", o->lo);
    json_key_real(g, "hi", o->hi);
    json_key_real(g, "promised_lo", o->promised_lo);
    json_key_real(g, "promised_hi", o->promised_hi);
    yajl_gen_map_close(g);
}

void fidelity_json(yajl_gen g, const struct analysis *a)
{
    json_open_map(g, "fidelity");
    json_key_real(g, "total", a->fidelity.total);
    json_key_real(g, "median_abs_error", a->fidelity.median_abs_error);
    json_key_real(g, "same_kernel_share", a->fidelity.same_kernel_share);
    json_open_array(g, "in_order");
    for (size_t i = 0; i < a->results->norders; i++) {
        struct fidelity_order f = fidelity_order(a->results, i);
        order(g, a, &a->results->orders[i], &f);
    }
    yajl_gen_array_close(g);
    whole(g, &a->in_order);
    yajl_gen_map_close(g);
}
