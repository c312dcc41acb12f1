/* SPDX-License-Identifier: Apache-2.0 */
#include "report_fixture.h"

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
