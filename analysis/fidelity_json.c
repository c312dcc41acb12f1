/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/fidelity_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/quantile.h"
#include "analysis/shape.h"
#include "analysis/words.h"

static void key(yajl_gen g, const char *name)
{
    yajl_gen_string(g, (const unsigned char *)name, strlen(name));
}

static void key_text(yajl_gen g, const char *name, const char *value)
{
    char *clean = value && value[0] ? escape_copy(value) : NULL;
    key(g, name);
    if (clean)
        key(g, clean);
    else
        yajl_gen_null(g);
    free(clean);
}

static void key_real(yajl_gen g, const char *name, double value)
{
    char number[40];
    key(g, name);
    if (!isfinite(value)) {
        yajl_gen_null(g);
        return;
    }
    int length = snprintf(number, sizeof number, "%.10g", value);
    yajl_gen_number(g, number, (size_t)length);
}

static void key_whole(yajl_gen g, const char *name, uint64_t value)
{
    key_real(g, name, (double)value);
}

/* -1: unknown. */
static void key_answer(yajl_gen g, const char *name, int value)
{
    key(g, name);
    if (value < 0)
        yajl_gen_null(g);
    else
        yajl_gen_bool(g, value);
}

static void open_map(yajl_gen g, const char *name)
{
    key(g, name);
    yajl_gen_map_open(g);
}

void fidelity_json_shape(yajl_gen g, const struct fidelity_row *row)
{
    open_map(g, "fidelity");
    key_real(g, "recorded_ns", row->recorded_ns);
    key_real(g, "replayed_ns", row->replayed_ns);
    key_real(g, "error", row->error);
    key_answer(g, "by_events", isfinite(row->replayed_ns) ? row->by_events : -1);
    key_answer(g, "same_kernels", row->same_kernels);
    yajl_gen_map_close(g);
}

static void part(yajl_gen g, const struct result_order_part *p)
{
    const struct tilewise_signature *s = &p->signature;
    yajl_gen_map_open(g);
    key_text(g, "op", tilewise_op_name(s->op));
    key_text(g, "dtype", tilewise_dtype_name(shape_dtype(s)));
    key_text(g, "shape", words_shape(s));
    key_text(g, "trans", words_trans(s));
    key_text(g, "entry", p->entry);
    key_whole(g, "calls", p->calls);
    key_real(g, "recorded_ns", p->recorded_ns);
    key_real(g, "replayed_ns", p->kernel_ns);
    key_real(g, "error", p->kernel_ns / p->recorded_ns - 1);
    key_answer(g, "chosen", p->chosen);
    yajl_gen_map_close(g);
}

static void order(yajl_gen g, const struct analysis *a, const struct result_order *row,
                  const struct fidelity_order *f)
{
    yajl_gen_map_open(g);
    key_text(g, "source", row->source);
    key_text(g, "status", result_status_name(row->status));
    key_text(g, "why", row->reason);
    key_answer(g, "graph", row->in_graph);
    key_whole(g, "calls", row->calls);
    key_whole(g, "fillers", row->fillers);
    key_whole(g, "repeats", row->repeats);
    key_real(g, "recorded_ns", row->recorded_ns);
    key_real(g, "filler_ns", row->filler_ns);
    key_real(g, "replayed_ns", row->kernel_ns);
    key_real(g, "total", f->total);
    key_real(g, "median_abs_error", f->median_abs_error);
    key_real(g, "baseline_ns", row->baseline_ns);
    key_real(g, "chosen_ns", row->chosen_ns);
    open_map(g, "ratio");
    key_real(g, "value", row->ratio);
    key_real(g, "lo", row->ratio_lo);
    key_real(g, "hi", row->ratio_hi);
    yajl_gen_map_close(g);
    key_real(g, "noise", row->noise);
    key(g, "shapes");
    yajl_gen_array_open(g);
    for (size_t i = f->first; i < f->first + f->count; i++)
        part(g, &a->results->parts[i]);
    yajl_gen_array_close(g);
    yajl_gen_map_close(g);
}

void fidelity_json(yajl_gen g, const struct analysis *a)
{
    open_map(g, "fidelity");
    key_real(g, "total", a->fidelity.total);
    key_real(g, "median_abs_error", a->fidelity.median_abs_error);
    key_real(g, "same_kernel_share", a->fidelity.same_kernel_share);
    key(g, "in_order");
    yajl_gen_array_open(g);
    for (size_t i = 0; i < a->results->norders; i++) {
        struct fidelity_order f = fidelity_order(a->results, i);
        order(g, a, &a->results->orders[i], &f);
    }
    yajl_gen_array_close(g);
    yajl_gen_map_close(g);
}
