/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gate.h"
#include "summary_fixture.h"

enum { SHAPES = 3 };

/* One recording and its replay. */
struct side {
    struct fixture *trace;
    struct result_run run;
    struct result_candidate candidates[SHAPES];
    struct result_case cases[SHAPES];
    struct result_set results;
    struct analysis *analysis;
};

static struct policy policy;
static struct side base, now;
static struct diff *diff;
static struct gate *gate;

static void set_ratio(struct result_candidate *c, double ratio)
{
    c->ratio_best = c->ratio_recorded = ratio;
    c->best_lo = c->recorded_lo = ratio - 0.01;
    c->best_hi = c->recorded_hi = ratio + 0.01;
    c->call = ratio > 1 ? RESULT_FASTER : RESULT_SLOWER;
}

static void fill(struct side *s)
{
    s->trace = fixture_new(20);
    for (size_t w = 0; w < 20; w++)
        for (int i = 0; i < SHAPES; i++) {
            struct tilewise_signature shape = fixture_gemm(16 * (i + 1), 384, 1536);
            fixture_calls(s->trace, w, &shape, 60, 1000);
        }
    fixture_done(s->trace);
    s->run = (struct result_run){ .device = "a processor", .baseline_core = "Zen" };
    for (int i = 0; i < SHAPES; i++) {
        s->candidates[i] = (struct result_candidate){
            .name = "mine", .reason = "", .status = RESULT_PASSED, .time_ns = 800
        };
        set_ratio(&s->candidates[i], 1.2);
        s->cases[i] = (struct result_case){ .signature = fixture_gemm(16 * (i + 1), 384, 1536),
                                            .entry = "cblas_sgemm",
                                            .reason = "",
                                            .status = RESULT_PASSED,
                                            .baseline_best = "",
                                            .baseline_recorded_ns = 1000,
                                            .baseline_best_ns = 1000,
                                            .ncandidates = 1,
                                            .candidates = &s->candidates[i] };
        s->cases[i].signature.entry = 0;
    }
    s->results =
        (struct result_set){ .nruns = 1, .runs = &s->run, .ncases = SHAPES, .cases = s->cases };
}

static void setup(void)
{
    policy_default(&policy);
    fill(&base);
    fill(&now);
}

static void teardown(void)
{
    gate_free(gate);
    diff_free(diff);
    analysis_free(base.analysis);
    analysis_free(now.analysis);
}

TestSuite(gate, .init = setup, .fini = teardown);

static void run(const char *kernels, bool any_hardware)
{
    struct side *const sides[] = { &base, &now };
    for (int i = 0; i < 2; i++)
        cr_assert_eq(analysis_build(&sides[i]->analysis, &sides[i]->trace->s, &sides[i]->results,
                                    &policy, NULL),
                     ST_OK);
    cr_assert_eq(diff_build(&diff, base.analysis, now.analysis, NULL), ST_OK);
    const struct gate_input in = { now.analysis, diff, &base.results, kernels, any_hardware };
    cr_assert_eq(gate_run(&gate, &in, NULL), ST_OK);
}

static bool has(enum gate_kind kind, bool fails, const char *where, const char *text)
{
    for (size_t i = 0; i < gate->count; i++) {
        const struct gate_finding *f = &gate->findings[i];
        if (f->kind == kind && f->fails == fails && strcmp(f->where, where) == 0 &&
            strstr(f->text, text))
            return true;
    }
    gate_text(gate, stderr);
    return false;
}

Test(gate, what_stayed_as_it_was_passes)
{
    run("", false);
    cr_assert_eq(gate->count, 0);
    cr_assert_eq(gate->failing, 0);
}

Test(gate, a_kernel_that_lost_more_than_is_allowed_fails)
{
    set_ratio(&now.candidates[1], 1.05); /* 1.06 < 1.19 * 0.95 */
    run("", false);
    cr_assert_eq(gate->failing, 1);
    cr_assert(has(GATE_REGRESSION, true, "gemm f32 32 x 384 x 1536 NN",
                  "1.050 (1.040 to 1.060) of the library's speed, was 1.200"));
}

Test(gate, a_loss_within_the_intervals_passes)
{
    set_ratio(&now.candidates[1], 1.13); /* 1.14 > 1.19 * 0.95 */
    run("", false);
    cr_assert_eq(gate->count, 0);
}

Test(gate, the_allowed_loss_is_the_policys)
{
    set_ratio(&now.candidates[1], 1.05);
    policy.gate.max_regression = 0.2;
    run("", false);
    cr_assert_eq(gate->count, 0);
}

Test(gate, a_chosen_kernel_that_is_gone_fails)
{
    now.candidates[0].status = RESULT_UNSUPPORTED;
    run("", false);
    cr_assert(has(GATE_REGRESSION, true, "gemm f32 16 x 384 x 1536 NN", "is now unsupported"));
}

Test(gate, what_was_chosen_and_not_replayed_is_unclear)
{
    set_ratio(&base.candidates[2], 0.9); /* not chosen */
    now.results.ncases = 1;
    run("", false);
    cr_expect(
        has(GATE_UNCLEAR, false, "replay",
            "1 of 2 shapes that the base sends to a kernel were not replayed (first: gemm f32 "
            "32 x 384 x 1536 NN)"));
    cr_expect_eq(gate->failing, 0);
}

Test(gate, without_a_replay_nothing_was_replayed)
{
    now.results = (struct result_set){ 0 };
    policy.gate.unclear = true;
    run("", false);
    cr_expect(has(GATE_UNCLEAR, true, "replay", "3 of 3 shapes"));
}

Test(gate, a_kernel_the_base_did_not_choose_may_lose)
{
    set_ratio(&base.candidates[1], 0.9);
    set_ratio(&now.candidates[1], 0.5);
    run("", false);
    cr_assert_eq(gate->count, 0);
}

Test(gate, a_named_kernel_may_not_lose_to_the_library)
{
    set_ratio(&base.candidates[1], 0.9);
    set_ratio(&now.candidates[1], 0.9);
    run("other,mine", false);
    cr_assert_eq(gate->failing, 1);
    cr_assert(has(GATE_REGRESSION, true, "gemm f32 32 x 384 x 1536 NN", "at least 0.950"));
}

Test(gate, a_wrong_kernel_fails_unless_the_policy_says_otherwise)
{
    now.candidates[2].status = RESULT_FAILED;
    now.candidates[2].worst_error = 7;
    policy.gate.verification = false;
    run("", false);
    cr_assert_eq(gate->failing, 0);
    cr_assert(has(GATE_VERIFICATION, false, "gemm f32 48 x 384 x 1536 NN", "7.000 of the bound"));
}

Test(gate, unclear_is_a_note_and_fails_when_asked)
{
    now.candidates[0].call = RESULT_UNCLEAR;
    run("", false);
    cr_assert_eq(gate->failing, 0);
    cr_assert(has(GATE_UNCLEAR, false, "gemm f32 16 x 384 x 1536 NN", "too noisy"));
    gate_free(gate);
    policy.gate.unclear = true;
    const struct gate_input in = { now.analysis, diff, &base.results, "", false };
    cr_assert_eq(gate_run(&gate, &in, NULL), ST_OK);
    cr_assert_eq(gate->failing, 1);
}

Test(gate, other_hardware_is_not_compared_unless_told)
{
    now.run.device = "another processor";
    set_ratio(&now.candidates[1], 0.8);
    run("", false);
    cr_assert_eq(gate->failing, 0);
    cr_assert(has(GATE_UNCLEAR, false, "replay", "other hardware"));
    gate_free(gate);
    const struct gate_input in = { now.analysis, diff, &base.results, "", true };
    cr_assert_eq(gate_run(&gate, &in, NULL), ST_OK);
    cr_assert_eq(gate->failing, 1);
}

static void change_the_mix(void)
{
    now.trace = fixture_new(20);
    for (size_t w = 0; w < 20; w++) {
        struct tilewise_signature shape = fixture_gemm(160, 384, 1536);
        fixture_calls(now.trace, w, &shape, 180, 1000);
    }
    fixture_done(now.trace);
}

Test(gate, drift_fails)
{
    change_the_mix();
    run("", false);
    cr_assert_eq(gate->failing, 1);
    cr_assert(has(GATE_DRIFT, true, "gemm f32", "the mix of shapes is 1.000 from the base"));
}

Test(gate, drift_on_thin_evidence_is_a_note)
{
    change_the_mix();
    policy.evidence.windows = 1000;
    run("", false);
    cr_assert_eq(gate->failing, 0);
    cr_assert(has(GATE_WITHHELD, false, "gemm f32", "too thin to call it drift"));
}

/* Every call takes 1.3 times as long. */
static void slow_down(void)
{
    now.trace = fixture_new(20);
    for (size_t w = 0; w < 20; w++)
        for (int i = 0; i < SHAPES; i++) {
            struct tilewise_signature shape = fixture_gemm(16 * (i + 1), 384, 1536);
            fixture_calls(now.trace, w, &shape, 60, 1300);
        }
    fixture_done(now.trace);
}

Test(gate, a_slower_pace_is_a_note)
{
    slow_down();
    run("", false);
    cr_assert_eq(gate->failing, 0);
    cr_assert(has(GATE_PACE, false, "gemm f32", "takes 1.300 (1.300 to 1.300) times"));
}

Test(gate, a_slower_pace_fails_when_asked)
{
    policy.gate.pace = true;
    slow_down();
    run("", false);
    cr_assert_eq(gate->failing, 1);
    cr_assert(has(GATE_PACE, true, "gemm f32", "at most 1.050 is allowed"));
}

Test(gate, coverage_fails_when_a_least_is_given)
{
    policy.gate.min_coverage = 1;
    now.trace->s.counters.seen += 100;
    run("", false);
    cr_assert(has(GATE_COVERAGE, true, "trace", "100.0 % is asked for"));
}
