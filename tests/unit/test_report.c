/* SPDX-License-Identifier: Apache-2.0 */
#include "report_fixture.h"

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
    cr_assert(has(print(MD), "**Every verdict is withheld:**"));
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
    cr_assert(has(print(MD), "| collective bf16 "));
    cr_assert(has(print(HTML), "collective bf16"));
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
