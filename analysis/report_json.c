/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "analysis/escape.h"
#include "analysis/evidence.h"
#include "analysis/fidelity_json.h"
#include "analysis/phases_json.h"
#include "analysis/report.h"
#include "analysis/words.h"

static void text(yajl_gen g, const char *value)
{
    char *clean = value ? escape_copy(value) : NULL;
    if (clean)
        yajl_gen_string(g, (const unsigned char *)clean, strlen(clean));
    else
        yajl_gen_null(g);
    free(clean);
}

/* Ten digits: no noise of the last bit in the file. */
static void real(yajl_gen g, double value)
{
    char number[40];
    if (!isfinite(value)) {
        yajl_gen_null(g);
        return;
    }
    int length = snprintf(number, sizeof number, "%.10g", value);
    yajl_gen_number(g, number, (size_t)length);
}

static void whole(yajl_gen g, uint64_t value)
{
    char number[24];
    int length = snprintf(number, sizeof number, "%" PRIu64, value);
    yajl_gen_number(g, number, (size_t)length);
}

static void key(yajl_gen g, const char *name)
{
    yajl_gen_string(g, (const unsigned char *)name, strlen(name));
}

static void key_text(yajl_gen g, const char *name, const char *value)
{
    key(g, name);
    text(g, value);
}

static void key_real(yajl_gen g, const char *name, double value)
{
    key(g, name);
    real(g, value);
}

static void key_whole(yajl_gen g, const char *name, uint64_t value)
{
    key(g, name);
    whole(g, value);
}

static void key_signed(yajl_gen g, const char *name, int64_t value)
{
    key(g, name);
    yajl_gen_integer(g, value);
}

static void key_flag(yajl_gen g, const char *name, bool value)
{
    key(g, name);
    yajl_gen_bool(g, value);
}

static void open_map(yajl_gen g, const char *name)
{
    key(g, name);
    yajl_gen_map_open(g);
}

static void open_array(yajl_gen g, const char *name)
{
    key(g, name);
    yajl_gen_array_open(g);
}

/* Null where nothing was measured. */
static void gpu(yajl_gen g, const struct summary_gpu *gpu)
{
    const struct gpu_totals *t = &gpu->totals;
    key(g, "gpu");
    if (t->windows == 0) {
        yajl_gen_null(g);
        return;
    }
    yajl_gen_map_open(g);
    key_whole(g, "launches", t->launches);
    key_whole(g, "records", t->records);
    key_whole(g, "dropped", t->dropped);
    key_whole(g, "untimed", t->untimed);
    key_whole(g, "windows", t->windows);
    key_real(g, "window_s", (double)t->window_ns * 1e-9);
    key_whole(g, "time_ns", gpu->kernel_ns);
    key_whole(g, "attributed_ns", gpu->attributed_ns);
    key_real(g, "attributed_share",
             gpu->kernel_ns ? (double)gpu->attributed_ns / (double)gpu->kernel_ns : NAN);
    open_map(g, "busy_share");
    key_real(g, "value", gpu->busy_share);
    key_real(g, "lo", gpu->busy_lo);
    key_real(g, "hi", gpu->busy_hi);
    yajl_gen_map_close(g);
    yajl_gen_map_close(g);
}

static void trace(yajl_gen g, const struct analysis *a)
{
    const struct summary *s = a->summary;
    open_map(g, "trace");
    key_whole(g, "seen", s->counters.seen);
    key_whole(g, "recorded", s->counters.recorded);
    key_whole(g, "failed", s->counters.failed);
    key_whole(g, "missing", evidence_missing(s));
    open_map(g, "dropped");
    for (unsigned cause = 0; cause < LOSS_MAX; cause++)
        if (loss_name(cause))
            key_whole(g, loss_name(cause), s->counters.dropped[cause]);
    yajl_gen_map_close(g);
    key_flag(g, "complete", s->complete);
    key_real(g, "wall_s", s->wall_ns ? (double)s->wall_ns * 1e-9 : NAN);
    key_real(g, "busy_s", s->busy_ns ? (double)s->busy_ns * 1e-9 : NAN);
    key_whole(g, "windows", s->nwindows);
    open_map(g, "coverage");
    key_real(g, "calls", a->coverage_calls);
    key_real(g, "time", a->evidence.coverage_time);
    yajl_gen_map_close(g);
    key_text(g, "device", analysis_device(a));
    key_whole(g, "processes", s->nshards);
    gpu(g, &s->gpu);
    yajl_gen_map_close(g);
}

static void grain(yajl_gen g, const char *name, const struct stability_grain *s)
{
    open_map(g, name);
    key_whole(g, "shapes", s->shapes);
    key_real(g, "effective_shapes", s->effective_shapes);
    key_whole(g, "k90", s->k90);
    key_real(g, "cov05", s->cov05);
    key_real(g, "unseen", s->unseen);
    key_real(g, "drift", s->drift.adjacent);
    key_real(g, "drift_null95", s->drift.null95);
    key_real(g, "drift_first_last", s->drift.first_last);
    key_real(g, "padding_waste", s->padding_waste);
    yajl_gen_map_close(g);
}

static void dimensions(yajl_gen g, const char *name, const bool *chosen)
{
    open_array(g, name);
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        if (chosen[d])
            key(g, shape_dimension_name(d));
    yajl_gen_array_close(g);
}

/* The numbers of the raw grain stand directly in the object: that is the contract. */
static void stability(yajl_gen g, const struct stability *s)
{
    open_map(g, "stability");
    key_text(g, "level", stability_level_name(s->level));
    key_real(g, "effective_shapes", s->raw.effective_shapes);
    key_whole(g, "k90", s->raw.k90);
    key_real(g, "cov05", s->raw.cov05);
    key_real(g, "unseen", s->raw.unseen);
    key_real(g, "drift", s->raw.drift.adjacent);
    dimensions(g, "moving", s->moving);
    open_map(g, "effective_values");
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        key_real(g, shape_dimension_name(d), s->effective[d]);
    yajl_gen_map_close(g);
    key_whole(g, "windows", s->windows);
    open_map(g, "grains");
    grain(g, "raw", &s->raw);
    grain(g, "bucket", &s->bucket);
    grain(g, "tile", &s->tile);
    yajl_gen_map_close(g);
    dimensions(g, "bucket_rounds", s->rounded);
    yajl_gen_map_close(g);
}

static void group(yajl_gen g, const struct analysis_group *row)
{
    yajl_gen_map_open(g);
    key_text(g, "op", tilewise_op_name(row->op));
    key_text(g, "dtype", tilewise_dtype_name(row->dtype));
    if (row->shape_class)
        key_text(g, "class", row->shape_class);
    key_whole(g, "calls", row->calls);
    key_whole(g, "time_ns", row->time_ns);
    key_real(g, "busy_share", row->heat.busy_share);
    key_real(g, "wall_share", row->heat.wall_share);
    open_map(g, "heat");
    key_real(g, "value", row->heat.value);
    key_real(g, "lo", row->heat.lo);
    key_real(g, "hi", row->heat.hi);
    key_text(g, "level", heat_level_name(row->heat.level));
    key_text(g, "method", "wall_share");
    yajl_gen_map_close(g);
    key_real(g, "ceiling", row->heat.ceiling);
    key_real(g, "headroom", row->replay.headroom);
    stability(g, &row->stability);
    key_text(g, "verdict", decide_word(row->decision.verdict));
    key_text(g, "reason", row->decision.reason);
    open_map(g, "gain");
    key_real(g, "lo", row->replay.replayed_share > 0 ? row->replay.gain_lo : NAN);
    key_real(g, "hi", row->replay.replayed_share > 0 ? row->replay.gain_hi : NAN);
    yajl_gen_map_close(g);
    yajl_gen_map_close(g);
}

static void groups(yajl_gen g, const char *name, const struct analysis_group *rows, size_t count)
{
    open_array(g, name);
    for (size_t i = 0; i < count; i++)
        group(g, &rows[i]);
    yajl_gen_array_close(g);
}

static void candidate(yajl_gen g, const struct result_candidate *c)
{
    yajl_gen_map_open(g);
    key_text(g, "name", c->name);
    key_text(g, "status", result_status_name(c->status));
    key_text(g, "why", c->reason && c->reason[0] ? c->reason : NULL);
    key_real(g, "time_ns", c->time_ns);
    open_map(g, "ratio");
    key_real(g, "recorded", c->ratio_recorded);
    key_real(g, "best", c->ratio_best);
    key_real(g, "lo", c->best_lo);
    key_real(g, "hi", c->best_hi);
    yajl_gen_map_close(g);
    key_text(g, "call", c->call == RESULT_CALL_NONE ? NULL : result_call_name(c->call));
    key_flag(g, "deterministic", c->deterministic);
    key_real(g, "worst_error", c->worst_error);
    yajl_gen_map_close(g);
}

static const char *scalar_name(unsigned scalar)
{
    static const char *const names[] = { "0", "1", "other", "device", "unread" };
    return scalar < sizeof names / sizeof *names ? names[scalar] : NULL;
}

static const char *batch_name(unsigned kind)
{
    static const char *const names[] = { "none", "strided", "pointers", "grouped" };
    return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

/* The library's number: what a signature holds as 0 is its default, 1; the type of the bias above
 * it is not part of it. */
static unsigned epilogue_of(const struct tilewise_signature *s)
{
    unsigned bits = s->epilogue & 0x7ff;
    return bits ? bits : 1;
}

static void shape_problem(yajl_gen g, const struct tilewise_signature *s)
{
    key_text(g, "op", tilewise_op_name(s->op));
    key_text(g, "dtype", tilewise_dtype_name(shape_dtype(s)));
    key_signed(g, "m", s->m);
    key_signed(g, "n", s->n);
    key_signed(g, "k", s->k);
    key_signed(g, "batch", s->batch);
    key_text(g, "trans", words_trans(s));
    key_text(g, "dtype_a", tilewise_dtype_name(s->dtype_a));
    key_text(g, "dtype_b", tilewise_dtype_name(s->dtype_b));
    key_text(g, "dtype_d", tilewise_dtype_name(s->dtype_d));
    key_text(g, "compute", tilewise_dtype_name(s->compute));
    key_text(g, "scale", tilewise_dtype_name(s->scale));
    key_text(g, "batch_kind", batch_name(s->batch_kind));
    key_whole(g, "epilogue", epilogue_of(s));
    key_signed(g, "ldd", s->ldd);
    key_signed(g, "stride_a", s->stride_a);
    key_signed(g, "stride_b", s->stride_b);
    key_signed(g, "stride_c", s->stride_c);
    key_signed(g, "stride_d", s->stride_d);
    key_text(g, "layout", s->layout == TILEWISE_ROW_MAJOR ? "row" : "col");
    key_text(g, "alpha", scalar_name(s->alpha));
    key_text(g, "beta", scalar_name(s->beta));
    open_array(g, "ld");
    yajl_gen_integer(g, s->lda);
    yajl_gen_integer(g, s->ldb);
    yajl_gen_integer(g, s->ldc);
    yajl_gen_array_close(g);
    open_array(g, "align_bytes");
    whole(g, (uint64_t)1 << (s->align_a & 63));
    whole(g, (uint64_t)1 << (s->align_b & 63));
    whole(g, (uint64_t)1 << (s->align_c & 63));
    yajl_gen_array_close(g);
    key_flag(g, "replayable", !(s->flags & TILEWISE_NOT_REPLAYABLE));
}

static void shape(yajl_gen g, const struct analysis_shape *row)
{
    const struct result_case *r = row->result;
    yajl_gen_map_open(g);
    shape_problem(g, row->signature);
    key_text(g, "entry", row->entry[0] ? row->entry : NULL);
    key_text(g, "class", shape_class_name(row->signature));
    key_whole(g, "signatures", row->signatures);
    key_whole(g, "calls", row->calls);
    key_whole(g, "time_ns", row->time_ns);
    key_real(g, "time_share", row->time_share);
    key_real(g, "gpu_time_ns", row->gpu_time_ns);
    key_whole(g, "min_ns", row->min_ns);
    key_real(g, "median_ns", histogram_quantile_ns(&row->histogram, 0.5));
    key_whole(g, "max_ns", row->max_ns);
    open_map(g, "baseline_ns");
    key_real(g, "recorded", r ? r->baseline_recorded_ns : NAN);
    key_real(g, "best", r ? r->baseline_best_ns : NAN);
    yajl_gen_map_close(g);
    key_text(g, "baseline_best",
             r && r->baseline_best && r->baseline_best[0] ? r->baseline_best : NULL);
    key_text(g, "baseline_status", r ? result_status_name(r->status) : NULL);
    key_real(g, "headroom", row->headroom);
    key_real(g, "baseline_noise", r ? r->noise : NAN);
    fidelity_json_shape(g, &row->fidelity);
    open_array(g, "candidates");
    for (size_t i = 0; r && i < r->ncandidates; i++)
        candidate(g, &r->candidates[i]);
    yajl_gen_array_close(g);
    phases_json_shape(g, row);
    yajl_gen_map_close(g);
}

/* Kernels by name; the summary has a row per name and signature. */
struct named_kernel {
    uint32_t name;
    uint64_t launches, time_ns, attributed_ns;
};

static int by_name(const void *left, const void *right)
{
    const struct named_kernel *a = left, *b = right;
    return (a->name > b->name) - (a->name < b->name);
}

static int by_time(const void *left, const void *right)
{
    const struct named_kernel *a = left, *b = right;
    return a->time_ns != b->time_ns ? (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns)
                                    : by_name(left, right);
}

/* Sorted by time, one row per name. Returns how many. */
static size_t name_kernels(const struct summary *s, struct named_kernel *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < s->nkernels; i++) {
        const struct summary_kernel *k = &s->kernels[i];
        rows[i] = (struct named_kernel){ k->name, k->launches, k->time_ns,
                                         k->signature == GPU_NO_SIGNATURE ? 0 : k->time_ns };
    }
    if (s->nkernels)
        qsort(rows, s->nkernels, sizeof *rows, by_name);
    for (size_t i = 0; i < s->nkernels; i++) {
        if (count == 0 || rows[count - 1].name != rows[i].name) {
            rows[count++] = rows[i];
            continue;
        }
        rows[count - 1].launches += rows[i].launches;
        rows[count - 1].time_ns += rows[i].time_ns;
        rows[count - 1].attributed_ns += rows[i].attributed_ns;
    }
    if (count)
        qsort(rows, count, sizeof *rows, by_time);
    return count;
}

static enum status kernels(yajl_gen g, const struct summary *s)
{
    struct named_kernel *rows = calloc(s->nkernels + 1, sizeof *rows);
    if (!rows)
        return ST_NOMEM;
    size_t count = name_kernels(s, rows);
    open_array(g, "kernels");
    for (size_t i = 0; i < count; i++) {
        yajl_gen_map_open(g);
        key_text(g, "name", s->strings[rows[i].name]);
        key_whole(g, "launches", rows[i].launches);
        key_whole(g, "time_ns", rows[i].time_ns);
        key_whole(g, "attributed_ns", rows[i].attributed_ns);
        key_real(g, "time_share",
                 s->gpu.kernel_ns ? (double)rows[i].time_ns / (double)s->gpu.kernel_ns : NAN);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
    free(rows);
    return ST_OK;
}

static void replay_runs(yajl_gen g, const struct result_set *set)
{
    open_array(g, "replays");
    for (size_t i = 0; i < set->nruns; i++) {
        const struct result_run *r = &set->runs[i];
        yajl_gen_map_open(g);
        key_text(g, "backend", r->backend);
        key_text(g, "device", r->device);
        key_text(g, "trace_device", r->trace_device && r->trace_device[0] ? r->trace_device : NULL);
        key_text(g, "baseline_library", r->baseline_library);
        key_text(g, "baseline_core", r->baseline_core);
        key_flag(g, "baseline_capped", r->baseline_capped);
        key_text(g, "protocol", r->protocol);
        key_whole(g, "threads", r->threads);
        key_real(g, "planned_time_share", r->planned_time_share);
        key_real(g, "noise_floor", r->noise_floor);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}

/* The thresholds in force, as the policy file would say them. */
static void policy(yajl_gen g, const struct policy *p)
{
#define VALUE_REAL(g, key, v)    key_real(g, key, v)
#define VALUE_SECONDS(g, key, v) key_real(g, key, v)
#define VALUE_COUNT(g, key, v)   key_whole(g, key, v)
#define VALUE_FLAG(g, key, v)    key_flag(g, key, v)
#define X(map, key, member, type, c_type, value, min, max)                                         \
    VALUE_##type(g, #map "." key, p->map.member);
    open_map(g, "policy");
    POLICY_LIST(X)
    yajl_gen_map_close(g);
#undef X
#undef VALUE_REAL
#undef VALUE_SECONDS
#undef VALUE_COUNT
#undef VALUE_FLAG
}

static enum status document(yajl_gen g, const struct analysis *a)
{
    yajl_gen_map_open(g);
    key_text(g, "tilewise", TILEWISE_VERSION);
    trace(g, a);
    key_text(g, "withheld", a->withheld[0] ? a->withheld : NULL);
    groups(g, "ops", a->ops, a->nops);
    groups(g, "classes", a->classes, a->nclasses);
    open_array(g, "shapes");
    for (size_t i = 0; i < a->nshapes; i++)
        shape(g, &a->shapes[i]);
    yajl_gen_array_close(g);
    enum status st = kernels(g, a->summary);
    phases_json(g, a->summary);
    fidelity_json(g, a);
    key_real(g, "potential", a->potential);
    replay_runs(g, a->results);
    open_array(g, "notes");
    for (size_t i = 0; i < a->nnotes; i++)
        text(g, a->notes[i]);
    yajl_gen_array_close(g);
    policy(g, a->policy);
    yajl_gen_map_close(g);
    return st;
}

enum status report_json(const struct analysis *a, FILE *out)
{
    yajl_gen g = yajl_gen_alloc(NULL);
    if (!g)
        return ST_NOMEM;
    yajl_gen_config(g, yajl_gen_beautify, 1);
    yajl_gen_config(g, yajl_gen_indent_string, "  ");
    yajl_gen_config(g, yajl_gen_escape_solidus, 1);
    const unsigned char *bytes;
    size_t count;
    enum status st = document(g, a);
    if (st == ST_OK && yajl_gen_get_buf(g, &bytes, &count) != yajl_gen_status_ok)
        st = ST_NOMEM;
    if (st == ST_OK)
        fwrite(bytes, 1, count, out);
    yajl_gen_free(g);
    return st;
}
