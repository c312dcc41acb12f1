/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/evidence.h"
#include "analysis/shape.h"
#include "analysis/warnings.h"
#include "analysis/words.h"

yajl_gen json_begin(void)
{
    yajl_gen g = yajl_gen_alloc(NULL);
    if (!g)
        return NULL;
    yajl_gen_config(g, yajl_gen_beautify, 1);
    yajl_gen_map_open(g);
    json_key_text(g, "tilewise", TILEWISE_VERSION);
    return g;
}

enum status json_end(yajl_gen g, FILE *out)
{
    const unsigned char *bytes;
    size_t count;
    yajl_gen_map_close(g);
    bool fine = yajl_gen_get_buf(g, &bytes, &count) == yajl_gen_status_ok;
    if (fine)
        fwrite(bytes, 1, count, out);
    yajl_gen_free(g);
    return fine ? ST_OK : ST_NOMEM;
}

void json_text(yajl_gen g, const char *value)
{
    char *clean = value ? escape_copy(value) : NULL;
    if (clean)
        yajl_gen_string(g, (const unsigned char *)clean, strlen(clean));
    else
        yajl_gen_null(g);
    free(clean);
}

/* Ten digits: no noise of the last bit in the file. */
void json_real(yajl_gen g, double value)
{
    char number[40];
    if (!isfinite(value)) {
        yajl_gen_null(g);
        return;
    }
    int length = snprintf(number, sizeof number, "%.10g", value);
    yajl_gen_number(g, number, (size_t)length);
}

void json_whole(yajl_gen g, uint64_t value)
{
    char number[24];
    int length = snprintf(number, sizeof number, "%" PRIu64, value);
    yajl_gen_number(g, number, (size_t)length);
}

void json_key(yajl_gen g, const char *name)
{
    yajl_gen_string(g, (const unsigned char *)name, strlen(name));
}

void json_key_text(yajl_gen g, const char *name, const char *value)
{
    json_key(g, name);
    json_text(g, value);
}

void json_key_real(yajl_gen g, const char *name, double value)
{
    json_key(g, name);
    json_real(g, value);
}

void json_key_whole(yajl_gen g, const char *name, uint64_t value)
{
    json_key(g, name);
    json_whole(g, value);
}

void json_key_signed(yajl_gen g, const char *name, int64_t value)
{
    json_key(g, name);
    yajl_gen_integer(g, value);
}

void json_key_flag(yajl_gen g, const char *name, bool value)
{
    json_key(g, name);
    yajl_gen_bool(g, value);
}

void json_open_map(yajl_gen g, const char *name)
{
    json_key(g, name);
    yajl_gen_map_open(g);
}

void json_open_array(yajl_gen g, const char *name)
{
    json_key(g, name);
    yajl_gen_array_open(g);
}

void json_problem(yajl_gen g, const struct tilewise_signature *s)
{
    json_key_text(g, "op", tilewise_op_name(s->op));
    json_key_text(g, "dtype", tilewise_dtype_name(shape_dtype(s)));
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        json_key_signed(g, shape_dimension_name(d), shape_dimension(s, d));
    json_key_text(g, "trans", words_trans(s));
}

/* Null in traces of before, which have none. */
static void put_timeline(yajl_gen g, const struct summary_gpu *gpu)
{
    json_key(g, "timeline");
    if (gpu->intervals == 0 && gpu->missing == 0) {
        yajl_gen_null(g);
        return;
    }
    yajl_gen_map_open(g);
    json_key_whole(g, "kernels", gpu->intervals);
    json_key_whole(g, "missing", gpu->missing);
    json_key_whole(g, "streams", gpu->streams);
    json_key_whole(g, "copies", gpu->copies);
    json_key_whole(g, "fills", gpu->fills);
    json_key_whole(g, "copy_ns", gpu->copy_ns);
    yajl_gen_map_close(g);
}

/* Null where nothing was measured. */
static void put_gpu(yajl_gen g, const struct summary_gpu *gpu)
{
    const struct gpu_totals *t = &gpu->totals;
    json_key(g, "gpu");
    if (t->windows == 0) {
        yajl_gen_null(g);
        return;
    }
    yajl_gen_map_open(g);
    json_key_whole(g, "launches", t->launches);
    json_key_whole(g, "records", t->records);
    json_key_whole(g, "dropped", t->dropped);
    json_key_whole(g, "untimed", t->untimed);
    json_key_whole(g, "windows", t->windows);
    json_key_real(g, "window_s", (double)t->window_ns * 1e-9);
    json_key_whole(g, "time_ns", gpu->kernel_ns);
    json_key_whole(g, "attributed_ns", gpu->attributed_ns);
    json_key_real(g, "attributed_share",
                  gpu->kernel_ns ? (double)gpu->attributed_ns / (double)gpu->kernel_ns : NAN);
    put_timeline(g, gpu);
    json_open_map(g, "busy_share");
    json_key_real(g, "value", gpu->busy_share);
    json_key_real(g, "lo", gpu->busy_lo);
    json_key_real(g, "hi", gpu->busy_hi);
    yajl_gen_map_close(g);
    yajl_gen_map_close(g);
}

void json_dropped(yajl_gen g, const struct trace_counters *c)
{
    json_open_map(g, "dropped");
    for (unsigned cause = 0; cause < LOSS_MAX; cause++)
        if (loss_name(cause))
            json_key_whole(g, loss_name(cause), c->dropped[cause]);
    yajl_gen_map_close(g);
}

/* What coverage does not tell. */
static void put_notes(yajl_gen g, const struct summary *s)
{
    char text[WARNINGS_BYTES];
    json_open_array(g, "notes");
    for (size_t i = 0; i < s->nfacts; i++)
        if (warnings_of(&s->facts[i], text))
            json_text(g, text);
    yajl_gen_array_close(g);
}

void json_trace(yajl_gen g, const struct summary *s, double coverage_time, const char *device)
{
    json_open_map(g, "trace");
    json_key_whole(g, "seen", s->counters.seen);
    json_key_whole(g, "recorded", s->counters.recorded);
    json_key_whole(g, "failed", s->counters.failed);
    json_key_whole(g, "missing", evidence_missing(s));
    json_dropped(g, &s->counters);
    json_key_flag(g, "complete", s->complete);
    json_key_real(g, "wall_s", s->wall_ns ? (double)s->wall_ns * 1e-9 : NAN);
    json_key_real(g, "busy_s", s->busy_ns ? (double)s->busy_ns * 1e-9 : NAN);
    json_key_whole(g, "windows", s->nwindows);
    json_open_map(g, "coverage");
    json_key_real(g, "calls", evidence_coverage_calls(s));
    json_key_real(g, "time", coverage_time);
    yajl_gen_map_close(g);
    put_notes(g, s);
    json_key_text(g, "device", device);
    json_key_whole(g, "processes", s->nshards);
    json_key_whole(g, "signatures", s->nsignatures);
    put_gpu(g, &s->gpu);
    yajl_gen_map_close(g);
}
