/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "analysis/escape.h"
#include "analysis/report.h"
#include "analysis/words.h"

/* Unknown is an empty cell. */
static void real(FILE *out, double v)
{
    if (isfinite(v))
        fprintf(out, ",%.10g", v);
    else
        fputs(",", out);
}

static void text(FILE *out, const char *value)
{
    fputs(",", out);
    escape_csv(out, value);
}

static void row(const struct analysis_shape *shape, FILE *out)
{
    const struct tilewise_signature *s = shape->signature;
    const struct result_case *r = shape->result;
    const struct result_candidate *c = words_candidate(shape);
    fprintf(out, "%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s",
            tilewise_op_name(s->op), tilewise_dtype_name(shape_dtype(s)), s->m, s->n, s->k,
            s->batch, words_trans(s), s->layout == TILEWISE_ROW_MAJOR ? "row" : "col");
    text(out, shape->entry);
    text(out, shape_class_name(s));
    fprintf(out, ",%" PRIu64 ",%" PRIu64, shape->calls, shape->time_ns);
    real(out, shape->time_share);
    real(out, r ? r->baseline_recorded_ns : NAN);
    real(out, r ? r->baseline_best_ns : NAN);
    real(out, shape->headroom);
    text(out, c ? c->name : "");
    text(out, c ? result_status_name(c->status) : "");
    real(out, c ? c->ratio_recorded : NAN);
    real(out, c ? c->ratio_best : NAN);
    real(out, c ? c->best_lo : NAN);
    real(out, c ? c->best_hi : NAN);
    text(out, c && c->call != RESULT_CALL_NONE ? result_call_name(c->call) : "");
    real(out, shape->fidelity.error);
    fputs("\r\n", out);
}

void report_csv(const struct analysis *a, FILE *out)
{
    fputs("op,dtype,m,n,k,batch,trans,layout,entry,class,calls,time_ns,time_share,"
          "baseline_recorded_ns,baseline_best_ns,headroom,candidate,status,ratio_recorded,"
          "ratio_best,ratio_lo,ratio_hi,call,fidelity_error\r\n",
          out);
    for (size_t i = 0; i < a->nshapes; i++)
        row(&a->shapes[i], out);
}
