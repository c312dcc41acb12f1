/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <yajl/yajl_parse.h>

#include "analysis/escape.h"
#include "analysis/html_style.h"
#include "analysis/report.h"
#include "analysis/words.h"
#include "summary_fixture.h"

static struct policy policy;
static struct result_set results;
static struct fixture *trace;
static struct analysis *analysis;

/* A hot gemm of three shapes and a cold add, 20 windows. */
static void build_trace(void)
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

static void analyse(void)
{
    analysis_free(analysis);
    cr_assert_eq(analysis_build(&analysis, &trace->s, &results, &policy, NULL), ST_OK);
}

static void setup(void)
{
    build_trace();
    analyse();
}

/* Texts live as long as the test: kept in sight of leak checkers. */
static char *keep(char *text)
{
    static char *kept[4096];
    static size_t count;
    cr_assert_lt(count, 4096);
    return kept[count++] = text;
}

enum format { TEXT, JSON, CSV, MD, HTML, DISPATCH, FORMATS };

static char *print(enum format format)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
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
    return keep(text);
}

static bool has(const char *text, const char *part)
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

static void put_value(struct json *j, const char *value, size_t bytes)
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

static int on_null(void *c)
{
    put_value(c, "null", 4);
    return 1;
}

static int on_bool(void *c, int v)
{
    put_value(c, v ? "true" : "false", v ? 4 : 5);
    return 1;
}

static int on_number(void *c, const char *v, size_t bytes)
{
    put_value(c, v, bytes);
    return 1;
}

static int on_string(void *c, const unsigned char *v, size_t bytes)
{
    put_value(c, (const char *)v, bytes);
    return 1;
}

static int on_key(void *c, const unsigned char *v, size_t bytes)
{
    struct json *j = c;
    snprintf(j->level[j->depth - 1].key, sizeof j->level[0].key, "%.*s", (int)bytes,
             (const char *)v);
    return 1;
}

static int open_level(struct json *j, bool array)
{
    j->level[j->depth].array = array;
    j->level[j->depth++].index = 0;
    return 1;
}

static int on_map(void *c)
{
    return open_level(c, false);
}

static int on_array(void *c)
{
    return open_level(c, true);
}

static int on_close(void *c)
{
    struct json *j = c;
    j->depth--;
    if (j->depth)
        j->level[j->depth - 1].index++;
    return 1;
}

static char *parse(const char *text)
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
    char *lines = NULL;
    size_t bytes;
    struct json j = { .lines = open_memstream(&lines, &bytes) };
    yajl_handle h = yajl_alloc(&callbacks, NULL, &j);
    cr_assert_eq(yajl_parse(h, (const unsigned char *)text, strlen(text)), yajl_status_ok);
    cr_assert_eq(yajl_complete_parse(h), yajl_status_ok);
    yajl_free(h);
    fputs("\n", j.lines);
    fclose(j.lines);
    return keep(lines);
}

/* Value of a path, or NULL. */
static const char *value_of(const char *lines, const char *path)
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

static void expect(const char *lines, const char *path, const char *value)
{
    const char *found = value_of(lines, path);
    cr_assert_not_null(found, "no %s in\n%s", path, lines);
    cr_assert_str_eq(found, value, "%s is %s", path, found);
}

Test(report_json, holds_every_key_of_the_contract, .init = setup)
{
    static const char *const keys[] = {
        "tilewise",
        "trace.seen",
        "trace.recorded",
        "trace.failed",
        "trace.dropped.disk_full",
        "trace.complete",
        "trace.wall_s",
        "trace.windows",
        "trace.coverage.calls",
        "trace.coverage.time",
        "trace.device",
        "trace.processes",
        "ops.0.op",
        "ops.0.dtype",
        "ops.0.calls",
        "ops.0.busy_share",
        "ops.0.wall_share",
        "ops.0.heat.value",
        "ops.0.heat.lo",
        "ops.0.heat.hi",
        "ops.0.heat.level",
        "ops.0.heat.method",
        "ops.0.ceiling",
        "ops.0.headroom",
        "ops.0.stability.level",
        "ops.0.stability.effective_shapes",
        "ops.0.stability.k90",
        "ops.0.stability.cov05",
        "ops.0.stability.unseen",
        "ops.0.stability.drift",
        "ops.0.verdict",
        "ops.0.reason",
        "ops.0.gain.lo",
        "ops.0.gain.hi",
        "classes.0.class",
        "classes.0.verdict",
        "shapes.0.op",
        "shapes.0.dtype",
        "shapes.0.m",
        "shapes.0.n",
        "shapes.0.k",
        "shapes.0.batch",
        "shapes.0.trans",
        "shapes.0.layout",
        "shapes.0.entry",
        "shapes.0.calls",
        "shapes.0.time_ns",
        "shapes.0.time_share",
        "shapes.0.baseline_ns.recorded",
        "shapes.0.baseline_ns.best",
        "fidelity.total",
        "fidelity.median_abs_error",
        "fidelity.same_kernel_share",
    };
    char *text = print(JSON), *lines = parse(text);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        cr_assert_not_null(value_of(lines, keys[i]), "no %s", keys[i]);
    cr_assert(has(text, "\"moving\": ["));
    cr_assert(has(text, "\"candidates\": ["));
}

Test(report_json, says_what_was_recorded, .init = setup)
{
    char *lines = parse(print(JSON));
    expect(lines, "trace.seen", "4000");
    expect(lines, "trace.coverage.calls", "1");
    expect(lines, "trace.coverage.time", "1");
    expect(lines, "trace.processes", "1");
    expect(lines, "ops.0.op", "gemm");
    expect(lines, "ops.0.calls", "3000");
    expect(lines, "ops.0.verdict", "spike");
    expect(lines, "ops.0.heat.level", "high");
    expect(lines, "ops.0.heat.method", "wall_share");
    expect(lines, "ops.0.wall_share", "0.3");
    expect(lines, "ops.1.op", "add");
    expect(lines, "ops.1.verdict", "note");
    expect(lines, "shapes.0.m", "16");
    expect(lines, "shapes.0.n", "384");
    expect(lines, "shapes.0.k", "1536");
    expect(lines, "shapes.0.trans", "NN");
    expect(lines, "shapes.0.layout", "row");
    expect(lines, "shapes.0.entry", "cblas_sgemm");
    expect(lines, "shapes.0.calls", "1000");
}

Test(report_json, unknown_is_null_and_never_zero, .init = setup)
{
    char *lines = parse(print(JSON));
    expect(lines, "ops.0.headroom", "null");
    expect(lines, "ops.0.gain.lo", "null");
    expect(lines, "shapes.0.baseline_ns.recorded", "null");
    expect(lines, "fidelity.total", "null");
    expect(lines, "trace.device", "null");
    expect(lines, "potential", "null");
}

Test(report_json, an_empty_trace_is_a_document_too)
{
    policy_default(&policy);
    trace = fixture_new(0);
    fixture_done(trace);
    analyse();
    char *lines = parse(print(JSON));
    expect(lines, "trace.seen", "0");
    expect(lines, "trace.coverage.calls", "null");
    expect(lines, "trace.wall_s", "null");
    cr_assert_not_null(value_of(lines, "withheld"));
    cr_assert_null(value_of(lines, "ops.0.op"));
}

/* Replay results for the three gemm shapes. */
static struct result_candidate candidates[3];
static struct result_case cases[3];
static struct result_run run;
static struct result_ceiling ceiling;

static void setup_replay(void)
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

Test(report_json, replay_fills_what_was_unknown, .init = setup_replay)
{
    analyse();
    char *lines = parse(print(JSON));
    expect(lines, "ops.0.verdict", "pilot");
    expect(lines, "shapes.0.baseline_ns.best", "2700");
    expect(lines, "shapes.0.candidates.0.name", "avx512");
    expect(lines, "shapes.0.candidates.0.status", "passed");
    expect(lines, "shapes.0.candidates.0.call", "FASTER");
    expect(lines, "shapes.0.candidates.0.ratio.recorded", "1.25");
    expect(lines, "shapes.0.candidates.0.ratio.best", "1.25");
    expect(lines, "shapes.0.candidates.0.ratio.lo", "1.2");
    expect(lines, "shapes.0.candidates.0.ratio.hi", "1.3");
    expect(lines, "fidelity.total", "0.9");
    expect(lines, "fidelity.same_kernel_share", "null");
    cr_assert_str_neq(value_of(lines, "ops.0.gain.lo"), "null");
    cr_assert_str_neq(value_of(lines, "ops.0.headroom"), "null");
}

Test(report_dispatch, pilot_sends_the_winning_shapes, .init = setup_replay)
{
    candidates[1].best_lo = 0.99; /* not above noise: stays */
    analyse();
    char *text = print(DISPATCH), *stays = strstr(text, "\nstays:\n");
    cr_assert_not_null(stays);
    cr_assert(has(text, "verdict: pilot"));
    cr_assert(has(text, "kernel: \"avx512\"\n    ratio: { best: 1.2500, lo: 1.2000, hi: 1.3000 }"));
    cr_assert(strstr(text, "    m: 16\n") < stays && strstr(text, "    m: 48\n") < stays);
    cr_assert(strstr(text, "    m: 32\n") > stays);
    cr_assert(has(stays, "why: \"no verified kernel wins beyond noise\""));
    cr_assert(has(stays, "why: \"not replayed\""), "the add");
}

Test(report_dispatch, without_a_verdict_for_it_everything_stays, .init = setup_replay)
{
    policy.gain.adopt = policy.gain.pilot = 0.99; /* no gain reaches it */
    analyse();
    char *text = print(DISPATCH);
    cr_assert(has(text, "\nkernels:\n  []\n"));
    cr_assert(has(text, "why: \"the verdict of its operation\""));
}

Test(analysis, results_of_another_entry_point_do_not_match, .init = setup_replay)
{
    cases[0].entry = "sgemm_";
    analyse();
    cr_assert_null(analysis->shapes[0].result);
    cr_assert_not_null(analysis->shapes[1].result);
    cr_assert(has(analysis->notes[0], "1 replayed case is not in these traces"));
}

Test(analysis, alignment_shares_a_row_and_strides_do_not, .init = build_trace)
{
    struct tilewise_signature s = fixture_gemm(16, 384, 1536);
    s.align_c = 3;
    fixture_calls(trace, 3, &s, 7, 100);
    s.lda = 2000;
    fixture_calls(trace, 4, &s, 8, 100);
    s.trans_a = TILEWISE_T;
    fixture_calls(trace, 5, &s, 9, 100);
    fixture_done(trace);
    analyse();
    /* three gemm, the wide and the transposed one, add */
    cr_assert_eq(analysis->nshapes, 6);
    cr_assert_eq(analysis->shapes[0].calls, 1007);
    cr_assert_eq(analysis->shapes[0].signatures, 2);
    expect(parse(print(JSON)), "shapes.0.signatures", "2");
}

Test(analysis, of_two_measurements_the_last_counts, .init = setup_replay)
{
    cases[1] = cases[0];
    cases[1].baseline_best_ns = 1234;
    analyse();
    cr_assert_eq(analysis->shapes[0].result->baseline_best_ns, 1234);
}

Test(analysis, a_result_above_the_ceiling_is_an_error_in_the_notes, .init = setup_replay)
{
    ceiling.rate_flops = 1e12;
    analyse();
    cr_assert_gt(analysis->nnotes, 0);
    cr_assert(has(analysis->notes[0], "error: 3 baseline and 3 candidate results are above the "
                                      "measured ceiling (first: f32 gemm 16x384x1536"),
              "%s", analysis->notes[0]);
    cr_assert_eq(analysis->nnotes, 1);
    cr_assert_neq(analysis->ops[0].decision.verdict, DECIDE_PILOT);
}

Test(analysis, little_potential_keeps_the_library, .init = setup_replay)
{
    /* At the ceiling already: 2 m n k / t for the largest shape. */
    ceiling.rate_flops = 2.0 * 16 * 384 * 1536 / 2690e-9;
    for (int i = 0; i < 3; i++) {
        candidates[i].time_ns = 1e6;
        cases[i].baseline_best_ns = signature_flops(&cases[i].signature) / ceiling.rate_flops * 1e9;
        cases[i].baseline_best_ns += 51;
    }
    analyse();
    cr_assert_lt(analysis->potential, 0.03);
    cr_assert_lt(analysis->potential_unknown, 0.03);
    cr_assert_eq(analysis->ops[0].decision.verdict, DECIDE_KEEP_BASELINE);
}

Test(analysis, classes_add_up_to_their_op, .init = setup)
{
    uint64_t calls = 0, time_ns = 0;
    double heat = 0;
    for (size_t i = 0; i < analysis->nclasses; i++)
        if (analysis->classes[i].op == TILEWISE_OP_GEMM) {
            calls += analysis->classes[i].calls;
            time_ns += analysis->classes[i].time_ns;
            heat += analysis->classes[i].heat.value;
        }
    cr_assert_eq(calls, analysis->ops[0].calls);
    cr_assert_eq(time_ns, analysis->ops[0].time_ns);
    cr_assert_float_eq(heat, analysis->ops[0].heat.value, 1e-9);
    cr_assert_eq(analysis->nclasses, 3); /* skinny (16), small (32, 48), add vector */
}

Test(report_text, coverage_comes_first, .init = setup)
{
    char *text = print(TEXT);
    cr_assert_eq(strncmp(text, "coverage: 100.0 % of 4,000 calls, 100.0 % of the time;", 54), 0,
                 "%.120s", text);
    cr_assert(has(text, "gemm f32: spike\n  why:  Heat 0.300"));
    cr_assert(has(text, "small"));
    cr_assert(has(text, "skinny"));
}

Test(report_text, loss_is_named_by_cause, .init = setup)
{
    trace->s.counters.seen += 10;
    trace->s.counters.dropped[LOSS_THREAD_CAP] = 10;
    analyse();
    cr_assert(has(print(TEXT), "dropped: 10 calls, thread_cap"));
}

static void add_fact(const char *key, const char *value)
{
    trace->facts[trace->s.nfacts++] = (struct reader_fact){ .key = key, .value = value };
}

Test(report, what_the_recorder_could_not_see_stands_at_the_top, .init = build_trace)
{
    add_fact("bypassed_by", "libonnx.so");
    add_fact("cupti", "busy (another tool)");
    add_fact("note", "CUDA graphs of unknown content were launched: not counted");
    add_fact("static_library", "main <b> (calls in it are not seen)");
    analyse();
    char *text = print(TEXT), *lines = parse(print(JSON));
    cr_assert_eq(analysis->nnotes, 4);
    cr_assert(has(text, "\nnote: libonnx.so goes past the recorder"));
    cr_assert_lt(strstr(text, "\nnote: GPU time was not measured all the time: busy"),
                 strstr(text, "heat x stability"));
    cr_assert(has(print(MD), "> Note: "));
    cr_assert(has(print(HTML), "cuBLAS is linked statically into main &lt;b&gt;"));
    expect(lines, "trace.notes.2", "CUDA graphs of unknown content were launched: not counted");
    cr_assert_not_null(value_of(lines, "notes.0"));
}

Test(report, what_was_seen_is_worth_no_warning, .init = build_trace)
{
    add_fact("cupti", "full");
    add_fact("cupti", "windows");
    add_fact("library", "libcublas.so.13");
    analyse();
    cr_assert_eq(analysis->nnotes, 0);
    cr_assert_null(value_of(parse(print(JSON)), "trace.notes.0"));
}

Test(report, many_warnings_leave_room_for_other_notes, .init = build_trace)
{
    static struct reader_fact many[100];
    for (int i = 0; i < 100; i++)
        many[i] = (struct reader_fact){ .key = "bypassed_by", .value = "lib.so" };
    trace->s.facts = many;
    trace->s.nfacts = 100;
    trace->s.complete = false;
    analyse();
    char *text = print(TEXT);
    cr_assert(has(text, "note: 84 more warnings of the recorder"));
    cr_assert(has(text, "note: the recording did not end cleanly"));
}

Test(report_text, withheld_stands_at_the_top, .init = build_trace)
{
    policy.evidence.windows = 21;
    analyse();
    cr_assert(has(print(TEXT), "WITHHELD: the trace holds 20 windows"));
    cr_assert(has(print(HTML), "Every verdict is withheld"));
    cr_assert(has(print(MD), "**Withheld:**"));
}

Test(report_csv, one_row_per_shape, .init = setup)
{
    char *text = print(CSV);
    int lines = 0, commas = 0;
    for (char *p = text; *p; p++) {
        lines += *p == '\n';
        commas += *p == ',';
    }
    cr_assert_eq(lines, 5);
    cr_assert_eq(commas, 5 * 23);
    cr_assert(has(text, "gemm,f32,16,384,1536,1,NN,row,cblas_sgemm,skinny,1000,3000000,"));
}

/* A collective has no C: its type is that of what it writes. */
static void setup_collective(void)
{
    struct tilewise_signature s = { .op = TILEWISE_OP_COLLECTIVE,
                                    .dtype_a = TILEWISE_BF16,
                                    .dtype_d = TILEWISE_BF16,
                                    .entry = 1,
                                    .m = 4096,
                                    .n = 2,
                                    .k = 1,
                                    .batch = 1 };
    build_trace();
    trace = fixture_new(20);
    for (size_t w = 0; w < 20; w++)
        fixture_calls(trace, w, &s, 50, 1000);
    s.dtype_a = s.dtype_d = TILEWISE_I64;
    for (size_t w = 0; w < 20; w++)
        fixture_calls(trace, w, &s, 50, 500);
    fixture_done(trace);
    analyse();
}

Test(report, a_collective_has_the_type_of_what_it_writes, .init = setup_collective)
{
    cr_assert_eq(analysis->nops, 2);
    cr_assert_eq(analysis->ops[0].dtype, TILEWISE_BF16);
    const char *lines = parse(print(JSON));
    expect(lines, "shapes.0.dtype", "bf16");
    expect(lines, "shapes.0.k", "1");
    expect(lines, "shapes.1.dtype", "i64");
    cr_assert(has(print(CSV), "collective,bf16,4096,2,1,1,"));
    cr_assert(has(print(TEXT), "collective bf16"));
    cr_assert(has(print(MD), "| collective bf16 |"));
    cr_assert(has(print(HTML), "collective bf16"));
}

/* Hostile names in every place that a trace or a result can fill. */
static const char *const attacks[] = {
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</style><svg onload=alert(1)>",
    "</title><iframe src=javascript:alert(1)>",
    "\x1b[31mred\x1b[0m \r\n\t\x07",
    "\xff\xfe\xc0\xaf\xed\xa0\x80 broken \xe2\x28\xa1",
    "\xe2\x80\xae rtl \xe2\x80\xa8 line \xc2\x9b csi",
    "=HYPERLINK(\"http://x\")",
    "-->]]><!--",
    "a|b](javascript:alert(1))`",
    "%s%n%x",
};

static void attack(const char *name)
{
    setup_replay();
    trace->strings[1] = name;
    for (int i = 0; i < 3; i++) {
        cases[i].entry = (char *)name;
        candidates[i].name = candidates[i].reason = (char *)name;
    }
    run.device = run.protocol = run.baseline_library = run.baseline_core = (char *)name;
    trace->shard.path = name;
    trace->facts[0] = (struct reader_fact){ name, name };
    trace->s.nfacts = 1;
    static struct reader_damage damage;
    snprintf(damage.what, sizeof damage.what, "%.*s", (int)sizeof damage.what - 1, name);
    trace->s.damage = &damage;
    trace->s.ndamage = 1;
    trace->s.complete = false;
    analyse();
}

/* Length of the UTF-8 character at p, 0 if it is none or a control character. */
static size_t clean_length(const char *p)
{
    size_t length;
    unsigned c = escape_decode((const unsigned char *)p, strlen(p), &length);
    bool replacement = strncmp(p, "\xef\xbf\xbd", 3) == 0;
    return c == 0xfffd && !replacement && !strchr("\n\r", *p) ? 0 : length;
}

Test(hostile, every_report_is_clean_text)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        attack(attacks[i]);
        for (enum format f = 0; f < FORMATS; f++)
            for (const char *p = print(f); *p;) {
                size_t length = clean_length(p);
                cr_assert_gt(length, 0, "attack %zu, format %d: byte %02x", i, f, *p & 0xff);
                p += length;
            }
    }
}

Test(hostile, the_page_keeps_its_tags_whatever_the_names)
{
    setup_replay();
    trace->s.complete = false;
    trace->facts[0] = (struct reader_fact){ "key", "value" };
    trace->s.nfacts = 1;
    static struct reader_damage damage = { .what = "x" };
    trace->s.damage = &damage;
    trace->s.ndamage = 1;
    analyse();
    size_t tags = 0, quotes = 0;
    for (const char *p = print(HTML); *p; p++) {
        tags += *p == '<' || *p == '>';
        quotes += *p == '"' || *p == '\'' || *p == '`';
    }
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        attack(attacks[i]);
        char *page = print(HTML);
        size_t tags_now = 0, quotes_now = 0;
        for (const char *p = page; *p; p++) {
            tags_now += *p == '<' || *p == '>';
            quotes_now += *p == '"' || *p == '\'' || *p == '`';
        }
        cr_assert_eq(tags_now, tags, "attack %zu", i);
        cr_assert_eq(quotes_now, quotes, "attack %zu", i);
    }
}

Test(hostile, json_survives_and_keeps_the_structure)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        attack(attacks[i]);
        char *text = print(JSON);
        cr_assert_not(has(text, "</script"));
        cr_assert_not_null(value_of(parse(text), "fidelity.total"));
    }
}

Test(hostile, a_spreadsheet_runs_nothing)
{
    attack("=cmd|' /C calc'!A0");
    char *text = print(CSV);
    cr_assert_not(has(text, ",="));
    cr_assert(has(text, ",\"'=cmd|' /C calc'!A0\","));
    const char *const starts[] = { "+1", "-1", "@SUM(A1)" };
    for (size_t i = 0; i < 3; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, ",\"'%s\",", starts[i]);
        attack(starts[i]);
        cr_assert(has(print(CSV), wanted), "%s", starts[i]);
    }
}

Test(hostile, a_long_name_is_cut)
{
    static char name[100000];
    memset(name, 'x', sizeof name - 1);
    attack(name);
    cr_assert_lt(strlen(print(HTML)), 400000);
}

Test(hostile, absurd_dimensions_are_printed_and_harmless)
{
    build_trace();
    struct tilewise_signature s = fixture_gemm(INT64_MAX, INT64_MIN, -1);
    s.batch = INT64_MAX;
    fixture_calls(trace, 0, &s, 10, 10);
    for (int i = 0; i < 40; i++) {
        s = fixture_gemm(INT64_MAX - i * (INT64_MAX / 41), 1, 1);
        fixture_calls(trace, 1, &s, 10, 10);
    }
    analyse();
    for (enum format f = 0; f < FORMATS; f++)
        cr_assert(has(print(f), "9223372036854775807") || f == TEXT || f == MD);
}

Test(report_html, needs_no_network_and_runs_no_script, .init = setup)
{
    char *page = print(HTML);
    cr_assert(
        has(page, "Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"));
    const char *const bad[] = { "<script", "http:",   "https:", "url(", "@import", " style=\"",
                                "onload",  "onclick", "<link",  "<img", "<iframe", "javascript:" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(has(page, bad[i]), "%s", bad[i]);
}

Test(report_html, the_style_has_the_digest_that_the_policy_names)
{
    char path[] = "/tmp/tilewise-style-XXXXXX", command[64], hex[65] = "";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs(html_style, file);
    fclose(file);
    snprintf(command, sizeof command, "sha256sum < %s", path);
    FILE *sum = popen(command, "r");
    cr_assert_eq(fread(hex, 1, 64, sum), 64);
    pclose(sum);
    remove(path);
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char base64[45];
    for (int i = 0; i < 43; i++) { /* six bits each, from 256 and two zero bits */
        unsigned bits = 0;
        for (int b = 6 * i; b < 6 * i + 6; b++) {
            char digit = b / 4 < 64 ? hex[b / 4] : '0';
            unsigned nibble = isdigit((unsigned char)digit) ? (unsigned)(digit - '0')
                                                            : (unsigned)(digit - 'a' + 10);
            bits = bits << 1 | (nibble >> (3 - b % 4) & 1);
        }
        base64[i] = letters[bits];
    }
    strcpy(base64 + 43, "=");
    cr_assert_str_eq(html_style_sha256, base64);
}

Test(report_html, opens_with_coverage_and_holds_every_part, .init = setup_replay)
{
    analyse();
    char *page = print(HTML);
    const char *const parts[] = {
        "Coverage and loss",      "<svg class=\"matrix\"", "id=\"op-1\"",
        "id=\"class-1\"",         "id=\"verdicts\"",       "<svg class=\"histogram\"",
        "<svg class=\"windows\"", "<svg class=\"ratios\"", "Replay and fidelity",
        "How this was measured"
    };
    const char *at = page;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        cr_assert_not_null(found, "%s missing or out of order", parts[i]);
        at = found;
    }
}

Test(report_html, work_of_unknown_heat_has_no_place_in_the_picture)
{
    build_trace();
    trace->strings[1] = "cublasSgemm_v2"; /* launches, without GPU time */
    analyse();
    char *page = print(HTML), *text = print(TEXT);
    cr_assert(!has(page, "class=\"marker"));
    cr_assert(has(text, "2 of 2 operations ran on a GPU"));
    cr_assert(has(text, "withheld") && !has(text, "-~") && !has(text, "nan"));
}

Test(report_html, shapes_go_by_the_time_of_kernels_where_it_is_known)
{
    build_trace();
    trace->strings[1] = "cublasSgemm_v2";
    for (size_t i = 0; i < trace->s.nsignatures; i++) {
        struct summary_signature *row = &trace->signatures[i];
        row->gpu_calls = row->signature.op == TILEWISE_OP_GEMM ? 10 : 0;
        row->gpu_measured_ns = row->gpu_calls * (uint64_t)row->signature.m;
        trace->s.gpu.attributed_ns += row->gpu_measured_ns;
    }
    analyse();
    cr_assert_eq(analysis->shapes[0].signature->m, 48); /* the quickest to launch */
    cr_assert_float_eq(analysis->shapes[0].time_share, 0.5, 1e-9);
    cr_assert(isnan(analysis->shapes[3].time_share)); /* was not measured */
    char *strips = strstr(print(HTML), "<svg class=\"windows\"");
    cr_assert(strncmp(strstr(strips, "\"end\">"), "\"end\">48 x 384", 14) == 0);
}

Test(report_html, a_thousand_shapes_stay_below_a_megabyte)
{
    setup_replay();
    for (int i = 0; i < 1000; i++) {
        struct tilewise_signature s = fixture_gemm(i + 1, 4096, 14336);
        for (size_t w = 0; w < 20; w++)
            fixture_calls(trace, w, &s, 10, 1000);
    }
    fixture_done(trace);
    analyse();
    size_t bytes = strlen(print(HTML));
    cr_assert_gt(bytes, 100000);
    cr_assert_lt(bytes, 1000000);
}

Test(report_html, the_rest_of_very_many_shapes_is_named, .init = setup)
{
    for (int i = 0; i < 1100; i++) {
        struct tilewise_signature s = fixture_gemm(i + 100, 7, 7);
        fixture_calls(trace, 0, &s, 1, 10);
    }
    fixture_done(trace);
    analyse();
    cr_assert(has(print(HTML), "104 further shapes are left out"));
}

Test(report, the_same_analysis_gives_the_same_bytes)
{
    char *first[FORMATS];
    for (int round = 0; round < 3; round++) {
        setup_replay();
        analyse();
        for (enum format f = 0; f < FORMATS; f++) {
            char *text = print(f);
            if (round)
                cr_assert_str_eq(text, first[f], "format %d", f);
            else
                first[f] = text;
        }
    }
}

Test(words, numbers_as_people_read_them)
{
    cr_assert_str_eq(words_count(0), "0");
    cr_assert_str_eq(words_count(999), "999");
    cr_assert_str_eq(words_count(1234567), "1,234,567");
    cr_assert_str_eq(words_share(0.1234), "12.3 %");
    cr_assert_str_eq(words_share(NAN), "-");
    cr_assert_str_eq(words_ns(999), "999 ns");
    cr_assert_str_eq(words_ns(1500), "1.50 us");
    cr_assert_str_eq(words_ns(2.5e10), "25.0 s");
    cr_assert_str_eq(words_real(NAN, 2), "-");
}

Test(words, the_row_major_view_swaps_column_major_calls)
{
    struct tilewise_signature s = fixture_gemm(64, 32, 128);
    cr_assert_str_eq(words_row_view(&s), "[64,128] x [128,32]");
    s.layout = TILEWISE_COL_MAJOR;
    cr_assert_str_eq(words_row_view(&s), "[32,128] x [128,64]");
}

Test(escape, invalid_utf8_becomes_a_replacement)
{
    char *copy = escape_copy("a\xff"
                             "b\xc3\xa9\xe2\x82"
                             "c\x1b[0m");
    cr_assert_str_eq(copy, "a\xef\xbf\xbd"
                           "b\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"
                           "c\xef\xbf\xbd[0m");
    free(copy);
}

/* Requests of every length beside a batch of five sizes. */
static void setup_regimes(void)
{
    policy_default(&policy);
    results = (struct result_set){ 0 };
    trace = fixture_new(20);
    for (size_t w = 0; w < 20; w++) {
        for (int64_t m = 1; m <= 5; m++) {
            struct tilewise_signature s = fixture_gemm(m, 384, 1536);
            fixture_calls(trace, w, &s, 100, 1000);
        }
        for (int64_t i = 0; i < 50; i++) {
            struct tilewise_signature s = fixture_gemm(512 + (int64_t)w * 50 + i, 384, 1536);
            fixture_calls(trace, w, &s, 1, 10000);
        }
    }
    fixture_done(trace);
    analyse();
}

Test(report, regimes_stand_beside_the_whole, .init = setup_regimes)
{
    const char *json = print(JSON);
    cr_assert(has(json, "\"regimes\": ["));
    cr_assert(has(json, "\"name\": \"m 1 to 5\""));
    cr_assert(has(json, "\"by\": \"shape\""));
    cr_assert(has(print(TEXT), "regimes: "));
    cr_assert(has(print(MD), "Regimes: "));
    cr_assert(has(print(HTML), "Regimes: "));
    cr_assert(has(analysis->ops[0].decision.reason, "By regime: "), "%s",
              analysis->ops[0].decision.reason);
}

Test(report, a_share_in_the_place_of_heat_is_marked, .init = setup)
{
    cr_assert(has(print(TEXT), "~"));
    cr_assert(has(print(JSON), "\"method\": \"wall_share\""));
    cr_assert(has(print(JSON), "\"of\": null"));
    analysis->ops[0].heat.method = HEAT_CAUSAL;
    cr_assert(has(print(JSON), "\"method\": \"causal\""));
}

Test(report, a_timeline_that_cannot_be_read_is_told, .init = build_trace)
{
    trace->s.events = 1;
    analyse();
    cr_assert_eq(analysis->nnotes, 1);
    cr_assert(has(analysis->notes[0], "the timeline could not be read: fixture.twt"));
    cr_assert_eq(analysis->ops[0].heat.method, HEAT_WALL_SHARE);
}

Test(report, idle_time_is_told_with_its_causes, .init = setup)
{
    struct causal causal = { .idle = { CAUSAL_STREAMS, 0.5, 0.1, 0.2, 0.05 } };
    cr_assert_null(analysis->causal);
    analysis->causal = &causal;
    cr_assert(has(print(TEXT), "waited for the host for 50.0 %"));
    cr_assert(has(print(MD), "nothing but communication ran for 20.0 %"));
    cr_assert(has(print(HTML), "nothing but copies for 5.0 %"));
    cr_assert(has(print(JSON), "\"of\": \"gpu\""));
    analysis->causal = NULL;
}
