/* SPDX-License-Identifier: Apache-2.0
 *
 * An analysis of a known trace, with replays of it, and its reports as text.
 */
#ifndef TILEWISE_TESTS_REPORT_FIXTURE_H
#define TILEWISE_TESTS_REPORT_FIXTURE_H

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <yajl/yajl_parse.h>

#include "analysis/report.h"
#include "summary_fixture.h"

static struct policy policy;
static struct result_set results;
static struct fixture *trace;
static struct analysis *analysis;

/* A hot gemm of three shapes and a cold add, 20 windows. */
static inline void build_trace(void)
{
    policy_default(&policy);
    results = (struct result_set){ 0 };
    trace = fixture_new(20);
    struct tilewise_signature add = fixture_gemm(384, 1, 1);
    add.op = TILEWISE_OP_ADD;
    for (size_t w = 0; w < 20; w++) {
        for (int i = 1; i <= 3; i++) {
            struct tilewise_signature s = fixture_gemm(16 * i, 384, 1536);
            fixture_calls(trace, w, &s, 50, 1000u * (unsigned)(4 - i));
        }
        fixture_calls(trace, w, &add, 50, 100);
    }
    fixture_done(trace);
}

static inline void analyse(void)
{
    analysis_free(analysis);
    cr_assert_eq(analysis_build(&analysis, &trace->s, &results, &policy, NULL), ST_OK);
}

static inline void setup(void)
{
    build_trace();
    analyse();
}

/* Texts live as long as the test: kept in sight of leak checkers. */
struct text {
    char *at;
    size_t bytes;
};

static inline struct text *new_text(void)
{
    static struct text kept[4096];
    static size_t count;
    cr_assert_lt(count, 4096);
    return &kept[count++];
}

enum format { TEXT, JSON, CSV, MD, HTML, DISPATCH, FORMATS };

static inline char *print(enum format format)
{
    struct text *text = new_text();
    FILE *out = open_memstream(&text->at, &text->bytes);
    if (format == JSON)
        cr_assert_eq(report_json(analysis, out), ST_OK);
    else {
        void (*const write[])(const struct analysis *, FILE *) = { [TEXT] = report_text,
                                                                   [CSV] = report_csv,
                                                                   [MD] = report_md,
                                                                   [HTML] = report_html,
                                                                   [DISPATCH] = report_dispatch };
        write[format](analysis, out);
    }
    fclose(out);
    return text->at;
}

static inline bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* JSON as lines "path=value", read by a parser that is not ours. */
struct json {
    FILE *lines;
    int depth;
    struct {
        bool array;
        int index;
        char key[40];
    } level[16];
};

static inline void put_value(struct json *j, const char *value, size_t bytes)
{
    for (int i = 0; i < j->depth; i++) {
        if (j->level[i].array)
            fprintf(j->lines, "%s%d", i ? "." : "", j->level[i].index);
        else
            fprintf(j->lines, "%s%s", i ? "." : "", j->level[i].key);
    }
    fprintf(j->lines, "=%.*s\n", (int)bytes, value);
    if (j->depth)
        j->level[j->depth - 1].index++;
}

static inline int on_null(void *c)
{
    put_value(c, "null", 4);
    return 1;
}

static inline int on_bool(void *c, int v)
{
    put_value(c, v ? "true" : "false", v ? 4 : 5);
    return 1;
}

static inline int on_number(void *c, const char *v, size_t bytes)
{
    put_value(c, v, bytes);
    return 1;
}

static inline int on_string(void *c, const unsigned char *v, size_t bytes)
{
    put_value(c, (const char *)v, bytes);
    return 1;
}

static inline int on_key(void *c, const unsigned char *v, size_t bytes)
{
    struct json *j = c;
    snprintf(j->level[j->depth - 1].key, sizeof j->level[0].key, "%.*s", (int)bytes,
             (const char *)v);
    return 1;
}

static inline int open_level(struct json *j, bool array)
{
    j->level[j->depth].array = array;
    j->level[j->depth++].index = 0;
    return 1;
}

static inline int on_map(void *c)
{
    return open_level(c, false);
}

static inline int on_array(void *c)
{
    return open_level(c, true);
}

static inline int on_close(void *c)
{
    struct json *j = c;
    j->depth--;
    if (j->depth)
        j->level[j->depth - 1].index++;
    return 1;
}

static inline char *parse(const char *text)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_bool,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_map,
        .yajl_map_key = on_key,
        .yajl_end_map = on_close,
        .yajl_start_array = on_array,
        .yajl_end_array = on_close,
    };
    struct text *lines = new_text();
    struct json j = { .lines = open_memstream(&lines->at, &lines->bytes) };
    yajl_handle h = yajl_alloc(&callbacks, NULL, &j);
    cr_assert_eq(yajl_parse(h, (const unsigned char *)text, strlen(text)), yajl_status_ok);
    cr_assert_eq(yajl_complete_parse(h), yajl_status_ok);
    yajl_free(h);
    fputs("\n", j.lines);
    fclose(j.lines);
    return lines->at;
}

/* Value of a path, or NULL. */
static inline const char *value_of(const char *lines, const char *path)
{
    static char value[512];
    char wanted[128];
    snprintf(wanted, sizeof wanted, "\n%s=", path);
    const char *at = strstr(lines, wanted);
    if (strncmp(lines, wanted + 1, strlen(wanted) - 1) == 0)
        at = lines - 1;
    if (!at)
        return NULL;
    at += strlen(wanted);
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\n"), at);
    return value;
}

static inline void expect(const char *lines, const char *path, const char *value)
{
    const char *found = value_of(lines, path);
    cr_assert_not_null(found, "no %s in\n%s", path, lines);
    cr_assert_str_eq(found, value, "%s is %s", path, found);
}

/* Replay results for the three gemm shapes. */
static struct result_candidate candidates[3];
static struct result_case cases[3];
static struct result_run run;
static struct result_ceiling ceiling;

static inline void setup_replay(void)
{
    build_trace();
    run = (struct result_run){ .backend = "cpu",
                               .device = "test processor",
                               .baseline_library = "OpenBLAS",
                               .baseline_core = "SkylakeX",
                               .protocol = "ABBA",
                               .tilewise_version = "",
                               .date_utc = "",
                               .command = "",
                               .host = "",
                               .noise_floor = 0.004,
                               .planned_time_share = 0.95,
                               .threads = 2 };
    ceiling = (struct result_ceiling){
        .dtype = TILEWISE_F32, .rate_flops = 1e15, .bandwidth_bytes_per_s = 1e13, .floor_ns = 50
    };
    for (int i = 0; i < 3; i++) {
        candidates[i] = (struct result_candidate){
            .name = "avx512",
            .reason = "",
            .status = RESULT_PASSED,
            .call = RESULT_FASTER,
            .deterministic = true,
            .time_ns = 800,
            .ratio_recorded = 1.25,
            .recorded_lo = 1.2,
            .recorded_hi = 1.3,
            .ratio_best = 1.25,
            .best_lo = 1.2,
            .best_hi = 1.3,
        };
        cases[i] = (struct result_case){ .signature = fixture_gemm(16 * (i + 1), 384, 1536),
                                         .entry = "cblas_sgemm",
                                         .status = RESULT_PASSED,
                                         .reason = "",
                                         .baseline_best = "sgemm",
                                         .baseline_recorded_ns = 900.0 * (3 - i),
                                         .baseline_best_ns = 900.0 * (3 - i),
                                         .ncandidates = 1,
                                         .candidates = &candidates[i] };
        cases[i].signature.entry = 0;
    }
    results = (struct result_set){
        .nruns = 1, .runs = &run, .nceilings = 1, .ceilings = &ceiling, .ncases = 3, .cases = cases
    };
}

#endif
