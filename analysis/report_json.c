/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "analysis/causal_attach.h"
#include "analysis/fidelity_json.h"
#include "analysis/json.h"
#include "analysis/phases_json.h"
#include "analysis/report.h"
#include "analysis/words.h"

enum { GRIDS = 16 }; /* of one kernel, at most */

static void grain(yajl_gen g, const char *name, const struct stability_grain *s)
{
    json_open_map(g, name);
    json_key_whole(g, "shapes", s->shapes);
    json_key_real(g, "effective_shapes", s->effective_shapes);
    json_key_whole(g, "k90", s->k90);
    json_key_real(g, "cov05", s->cov05);
    json_key_real(g, "cov05_lo", s->cov05_lo);
    json_key_real(g, "cov05_hi", s->cov05_hi);
    json_key_real(g, "unseen", s->unseen);
    json_key_real(g, "drift", s->drift.adjacent);
    json_key_real(g, "drift_null95", s->drift.null95);
    json_key_real(g, "drift_first_last", s->drift.first_last);
    json_key_real(g, "padding_waste", s->padding_waste);
    yajl_gen_map_close(g);
}

static void dimensions(yajl_gen g, const char *name, const bool *chosen)
{
    json_open_array(g, name);
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        if (chosen[d])
            json_key(g, shape_dimension_name(d));
    yajl_gen_array_close(g);
}

/* The numbers of the raw grain stand directly in the object: that is the contract. */
static void stability(yajl_gen g, const struct stability *s)
{
    json_open_map(g, "stability");
    json_key_text(g, "level", stability_level_name(s->level));
    json_key_real(g, "effective_shapes", s->raw.effective_shapes);
    json_key_whole(g, "k90", s->raw.k90);
    json_key_real(g, "cov05", s->raw.cov05);
    json_key_real(g, "unseen", s->raw.unseen);
    json_key_real(g, "drift", s->raw.drift.adjacent);
    dimensions(g, "moving", s->moving);
    json_open_map(g, "effective_values");
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        json_key_real(g, shape_dimension_name(d), s->effective[d]);
    yajl_gen_map_close(g);
    json_key_whole(g, "windows", s->windows);
    json_open_map(g, "grains");
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
    json_key_text(g, "op", tilewise_op_name(row->op));
    json_key_text(g, "dtype", tilewise_dtype_name(row->dtype));
    if (row->shape_class)
        json_key_text(g, "class", row->shape_class);
    json_key_whole(g, "calls", row->calls);
    json_key_whole(g, "time_ns", row->time_ns);
    json_key_real(g, "busy_share", row->heat.busy_share);
    json_key_real(g, "wall_share", row->heat.wall_share);
    json_open_map(g, "heat");
    json_key_real(g, "value", row->heat.value);
    json_key_real(g, "lo", row->heat.lo);
    json_key_real(g, "hi", row->heat.hi);
    json_key_text(g, "level", heat_level_name(row->heat.level));
    json_key_text(g, "method", heat_method_name(row->heat.method));
    yajl_gen_map_close(g);
    json_key_real(g, "ceiling", row->heat.ceiling);
    json_key_real(g, "headroom", row->replay.headroom);
    stability(g, &row->stability);
    if (!row->shape_class)
        regimes_json(g, &row->regimes);
    json_key_text(g, "verdict", decide_word(row->decision.verdict));
    json_key_text(g, "reason", row->decision.reason);
    json_open_map(g, "gain");
    json_key_real(g, "lo", row->replay.replayed_share > 0 ? row->replay.gain_lo : NAN);
    json_key_real(g, "hi", row->replay.replayed_share > 0 ? row->replay.gain_hi : NAN);
    yajl_gen_map_close(g);
    yajl_gen_map_close(g);
}

static void groups(yajl_gen g, const char *name, const struct analysis_group *rows, size_t count)
{
    json_open_array(g, name);
    for (size_t i = 0; i < count; i++)
        group(g, &rows[i]);
    yajl_gen_array_close(g);
}

static void candidate(yajl_gen g, const struct result_candidate *c)
{
    yajl_gen_map_open(g);
    json_key_text(g, "name", c->name);
    json_key_text(g, "status", result_status_name(c->status));
    json_key_text(g, "why", c->reason && c->reason[0] ? c->reason : NULL);
    json_key_real(g, "time_ns", c->time_ns);
    json_open_map(g, "ratio");
    json_key_real(g, "recorded", c->ratio_recorded);
    json_key_real(g, "best", c->ratio_best);
    json_key_real(g, "lo", c->best_lo);
    json_key_real(g, "hi", c->best_hi);
    yajl_gen_map_close(g);
    json_key_text(g, "call", c->call == RESULT_CALL_NONE ? NULL : result_call_name(c->call));
    json_key_flag(g, "deterministic", c->deterministic);
    json_key_real(g, "worst_error", c->worst_error);
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
    json_problem(g, s);
    json_key_text(g, "dtype_a", tilewise_dtype_name(s->dtype_a));
    json_key_text(g, "dtype_b", tilewise_dtype_name(s->dtype_b));
    json_key_text(g, "dtype_d", tilewise_dtype_name(s->dtype_d));
    json_key_text(g, "compute", tilewise_dtype_name(s->compute));
    json_key_text(g, "scale", tilewise_dtype_name(s->scale));
    json_key_text(g, "batch_kind", batch_name(s->batch_kind));
    json_key_whole(g, "epilogue", epilogue_of(s));
    json_key_signed(g, "ldd", s->ldd);
    json_key_signed(g, "stride_a", s->stride_a);
    json_key_signed(g, "stride_b", s->stride_b);
    json_key_signed(g, "stride_c", s->stride_c);
    json_key_signed(g, "stride_d", s->stride_d);
    json_key_text(g, "layout", s->layout == TILEWISE_ROW_MAJOR ? "row" : "col");
    json_key_text(g, "alpha", scalar_name(s->alpha));
    json_key_text(g, "beta", scalar_name(s->beta));
    json_open_array(g, "ld");
    yajl_gen_integer(g, s->lda);
    yajl_gen_integer(g, s->ldb);
    yajl_gen_integer(g, s->ldc);
    yajl_gen_array_close(g);
    json_open_array(g, "align_bytes");
    json_whole(g, (uint64_t)1 << (s->align_a & 63));
    json_whole(g, (uint64_t)1 << (s->align_b & 63));
    json_whole(g, (uint64_t)1 << (s->align_c & 63));
    yajl_gen_array_close(g);
    json_key_flag(g, "replayable", !(s->flags & TILEWISE_NOT_REPLAYABLE));
}

/* Null where replay asked for none. */
static void second_baseline(yajl_gen g, const struct result_case *r)
{
    if (r == NULL || r->second == NULL || r->second[0] == '\0') {
        json_key_text(g, "second_baseline", NULL);
        return;
    }
    json_open_map(g, "second_baseline");
    json_key_text(g, "name", r->second);
    json_key_text(g, "reason", r->second_reason[0] ? r->second_reason : NULL);
    json_key_real(g, "ns", r->second_ns);
    json_key_real(g, "ratio", r->second_ratio);
    json_key_real(g, "ratio_lo", r->second_lo);
    json_key_real(g, "ratio_hi", r->second_hi);
    yajl_gen_map_close(g);
}

static void shape(yajl_gen g, const struct analysis_shape *row)
{
    const struct result_case *r = row->result;
    yajl_gen_map_open(g);
    shape_problem(g, row->signature);
    json_key_text(g, "entry", row->entry[0] ? row->entry : NULL);
    json_key_text(g, "class", shape_class_name(row->signature));
    json_key_whole(g, "signatures", row->signatures);
    json_key_whole(g, "calls", row->calls);
    json_key_whole(g, "time_ns", row->time_ns);
    json_key_real(g, "time_share", row->time_share);
    json_key_real(g, "gpu_time_ns", row->gpu_time_ns);
    json_key_whole(g, "min_ns", row->min_ns);
    json_key_real(g, "median_ns", histogram_quantile_ns(&row->histogram, 0.5));
    json_key_whole(g, "max_ns", row->max_ns);
    json_open_map(g, "baseline_ns");
    json_key_real(g, "recorded", r ? r->baseline_recorded_ns : NAN);
    json_key_real(g, "best", r ? r->baseline_best_ns : NAN);
    yajl_gen_map_close(g);
    json_key_text(g, "baseline_best",
                  r && r->baseline_best && r->baseline_best[0] ? r->baseline_best : NULL);
    json_key_text(g, "baseline_status", r ? result_status_name(r->status) : NULL);
    json_key_real(g, "headroom", row->headroom);
    json_key_real(g, "baseline_noise", r ? r->noise : NAN);
    second_baseline(g, r);
    fidelity_json_shape(g, &row->fidelity);
    json_open_array(g, "candidates");
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

static const struct summary_grid *first_grid(const struct summary *s, uint32_t name)
{
    size_t low = 0, high = s->ngrids;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->grids[middle].name < name)
            low = middle + 1;
        else
            high = middle;
    }
    return s->grids + low;
}

static void put_three(yajl_gen g, const char *name, const uint32_t *three)
{
    json_open_array(g, name);
    for (unsigned i = 0; i < 3; i++)
        json_whole(g, three[i]);
    yajl_gen_array_close(g);
}

/* How it was launched, by time; not everything where shapes make many. */
static void put_grids(yajl_gen g, const struct summary *s, uint32_t name)
{
    const struct summary_grid *end = s->grids + s->ngrids, *row = first_grid(s, name);
    json_open_array(g, "grids");
    for (unsigned i = 0; i < GRIDS && row < end && row->name == name; i++, row++) {
        yajl_gen_map_open(g);
        put_three(g, "grid", row->grid.grid);
        put_three(g, "block", row->grid.block);
        json_key_whole(g, "shared_bytes", row->grid.shared_bytes);
        json_key_flag(g, "attributed", row->signature != GPU_NO_SIGNATURE);
        json_key_whole(g, "launches", row->launches);
        json_key_whole(g, "time_ns", row->time_ns);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}

static enum status kernels(yajl_gen g, const struct summary *s)
{
    struct named_kernel *rows = calloc(s->nkernels + 1, sizeof *rows);
    if (!rows)
        return ST_NOMEM;
    size_t count = name_kernels(s, rows);
    json_open_array(g, "kernels");
    for (size_t i = 0; i < count; i++) {
        yajl_gen_map_open(g);
        json_key_text(g, "name", s->strings[rows[i].name]);
        json_key_whole(g, "launches", rows[i].launches);
        json_key_whole(g, "time_ns", rows[i].time_ns);
        json_key_whole(g, "attributed_ns", rows[i].attributed_ns);
        json_key_real(g, "time_share",
                      s->gpu.kernel_ns ? (double)rows[i].time_ns / (double)s->gpu.kernel_ns : NAN);
        put_grids(g, s, rows[i].name);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
    free(rows);
    return ST_OK;
}

static void replay_runs(yajl_gen g, const struct result_set *set)
{
    json_open_array(g, "replays");
    for (size_t i = 0; i < set->nruns; i++) {
        const struct result_run *r = &set->runs[i];
        yajl_gen_map_open(g);
        json_key_text(g, "backend", r->backend);
        json_key_text(g, "device", r->device);
        json_key_text(g, "trace_device",
                      r->trace_device && r->trace_device[0] ? r->trace_device : NULL);
        json_key_text(g, "baseline_library", r->baseline_library);
        json_key_text(g, "baseline_core", r->baseline_core);
        json_key_flag(g, "baseline_capped", r->baseline_capped);
        json_key_text(g, "protocol", r->protocol);
        json_key_whole(g, "threads", r->threads);
        json_key_real(g, "planned_time_share", r->planned_time_share);
        json_key_real(g, "noise_floor", r->noise_floor);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}

/* The thresholds in force, as the policy file would say them. */
static void policy(yajl_gen g, const struct policy *p)
{
#define VALUE_REAL(g, key, v)    json_key_real(g, key, v)
#define VALUE_SECONDS(g, key, v) json_key_real(g, key, v)
#define VALUE_COUNT(g, key, v)   json_key_whole(g, key, v)
#define VALUE_FLAG(g, key, v)    json_key_flag(g, key, v)
#define X(map, key, member, type, c_type, value, min, max)                                         \
    VALUE_##type(g, #map "." key, p->map.member);
    json_open_map(g, "policy");
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
    json_key_text(g, "tilewise", TILEWISE_VERSION);
    json_trace(g, a->summary, a->evidence.coverage_time, analysis_device(a));
    json_key_text(g, "withheld", a->withheld[0] ? a->withheld : NULL);
    causal_json_idle(g, a);
    groups(g, "ops", a->ops, a->nops);
    groups(g, "classes", a->classes, a->nclasses);
    json_open_array(g, "shapes");
    for (size_t i = 0; i < a->nshapes; i++)
        shape(g, &a->shapes[i]);
    yajl_gen_array_close(g);
    enum status st = kernels(g, a->summary);
    phases_json(g, a->summary);
    fidelity_json(g, a);
    json_key_real(g, "potential", a->potential);
    replay_runs(g, a->results);
    json_open_array(g, "notes");
    for (size_t i = 0; i < a->nnotes; i++)
        json_text(g, a->notes[i]);
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
