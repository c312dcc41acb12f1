/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/decide.h"
#include "analysis/gain.h"

static struct policy policy;
static struct heat heat;
static struct stability stability;
static struct decide_input in;

/* A hot, stable group of a good trace, replayed with everything that adopt wants. */
static void setup(void)
{
    policy_default(&policy);
    heat = (struct heat){ .value = 0.42, .lo = 0.38, .hi = 0.47, .level = HEAT_HIGH };
    stability = (struct stability){
        .level = STABILITY_STABLE,
        .windows = 20,
        .raw = { .k90 = 12, .cov05 = 0.97, .effective_shapes = 8 },
        .bucket = { .k90 = 9, .cov05 = 0.98 },
        .moving = { [SHAPE_M] = true },
    };
    in = (struct decide_input){
        .evidence = { .coverage_time = 1, .lost_share = 0, .windows = 20 },
        .heat = &heat,
        .stability = &stability,
        .replay = { .potential = NAN,
                    .headroom = NAN,
                    .worst_ratio = NAN,
                    .in_order_gain = NAN,
                    .deterministic = true },
    };
}

static void replayed(void)
{
    setup();
    in.replay = (struct decide_replay){
        .present = true,
        .replayed_share = 0.95,
        .potential = 0.2,
        .headroom = 0.5,
        .gain_lo = 0.05,
        .gain_hi = 0.09,
        .gain_recorded_lo = 0.06,
        .library_gain = 0,
        .passed = 12,
        .winning = 10,
        .worst_ratio = 1.0,
        .deterministic = true,
        .in_order_gain = 0.07,
    };
}

static struct decide_result expect(enum decide_verdict verdict, const char *in_reason)
{
    struct decide_result r = decide(&in, &policy);
    cr_assert_str_eq(decide_word(r.verdict), decide_word(verdict), "%s", r.reason);
    cr_assert_not_null(strstr(r.reason, in_reason), "no '%s' in: %s", in_reason, r.reason);
    cr_assert_eq(r.reason[strlen(r.reason) - 1], '.', "cut off: %s", r.reason);
    return r;
}

Test(decide, low_and_varying_is_stay, .init = setup)
{
    heat.level = HEAT_LOW;
    stability.level = STABILITY_VARYING;
    stability.raw.k90 = 80;
    expect(DECIDE_STAY, "80 shapes hold 90 % of the time");
}

Test(decide, low_and_stable_is_note, .init = setup)
{
    heat = (struct heat){ .value = 0.04, .lo = 0.03, .hi = 0.05, .level = HEAT_LOW };
    expect(DECIDE_NOTE, "Heat 0.040 (0.030 to 0.050) is not surely 0.10 or more");
}

Test(decide, low_and_bucketable_is_note, .init = setup)
{
    heat.level = HEAT_LOW;
    stability.level = STABILITY_BUCKETABLE;
    expect(DECIDE_NOTE, "once padded, 9 shapes");
}

Test(decide, high_and_varying_is_batch_first, .init = setup)
{
    stability.level = STABILITY_VARYING;
    stability.raw.k90 = 80;
    stability.moving[SHAPE_K] = true;
    struct decide_result r = expect(DECIDE_BATCH_FIRST, "moving: m, k");
    cr_assert_not_null(strstr(r.reason, "(too many shapes)"));
    cr_assert_not_null(strstr(r.reason, "would change this"));
}

Test(decide, the_failing_measure_is_named, .init = setup)
{
    stability.level = STABILITY_VARYING;
    stability.raw.cov05 = 0.4;
    expect(DECIDE_BATCH_FIRST, "the table of yesterday misses tomorrow");
    stability.raw.cov05 = 0.97;
    stability.raw.unseen = 0.3;
    expect(DECIDE_BATCH_FIRST, "new shapes keep coming");
    stability.raw.unseen = 0;
    expect(DECIDE_BATCH_FIRST, "the mix drifts");
}

Test(decide, the_change_asked_for_is_one_that_is_missing, .init = setup)
{
    stability.level = STABILITY_VARYING;
    stability.raw.cov05 = 0.4;
    expect(DECIDE_BATCH_FIRST, "Padding or batching m to at most 32 shapes would change this");
    stability.moving[SHAPE_M] = false;
    expect(DECIDE_BATCH_FIRST, "A mix of shapes that stays the same (coverage of at least 0.90)");
    stability.raw.k90 = 80;
    expect(DECIDE_BATCH_FIRST, "Padding or batching to at most 32 shapes would change this");
}

Test(decide, launches_say_nothing_about_heat, .init = setup)
{
    heat_of_launches(&heat);
    cr_assert(isnan(heat.value));
    expect(DECIDE_WITHHELD, "record with --gpu-time=windows");
}

Test(decide, high_and_stable_is_spike, .init = setup)
{
    expect(DECIDE_SPIKE, "Replaying them through a kernel would change this");
}

Test(decide, high_and_bucketable_is_spike, .init = setup)
{
    stability.level = STABILITY_BUCKETABLE;
    expect(DECIDE_SPIKE, "the shapes are bucketable");
}

Test(decide, withheld_by_coverage, .init = setup)
{
    in.evidence.coverage_time = 0.79;
    expect(DECIDE_WITHHELD, "only 79.0 % of the time");
}

Test(decide, withheld_by_unknown_coverage, .init = setup)
{
    in.evidence.coverage_time = NAN;
    expect(DECIDE_WITHHELD, "holds no call whose time is known");
}

Test(decide, withheld_by_loss, .init = setup)
{
    in.evidence.lost_share = 0.011;
    expect(DECIDE_WITHHELD, "lost 1.10 % of the calls");
    in.evidence.lost_share = 0.01;
    expect(DECIDE_SPIKE, "");
}

Test(decide, withheld_by_few_windows, .init = setup)
{
    in.evidence.windows = 9;
    expect(DECIDE_WITHHELD, "9 windows of at least 100 calls, 10 are needed");
}

Test(decide, withheld_without_wall_time, .init = setup)
{
    heat.level = HEAT_UNKNOWN;
    expect(DECIDE_WITHHELD, "no wall time");
}

Test(decide, withheld_when_active_in_one_window, .init = setup)
{
    stability.level = STABILITY_UNKNOWN;
    stability.windows = 1;
    expect(DECIDE_WITHHELD, "active in 1 window only");
}

Test(decide, withheld_beats_a_good_replay, .init = replayed)
{
    in.evidence.coverage_time = 0.5;
    expect(DECIDE_WITHHELD, "50.0 %");
}

Test(decide, everything_together_is_adopt, .init = replayed)
{
    expect(DECIDE_ADOPT, "gains 5.00 to 9.00 % of the whole on 10 shapes");
}

Test(decide, without_in_order_replay_the_best_word_is_pilot, .init = replayed)
{
    in.replay.in_order_gain = NAN;
    expect(DECIDE_PILOT, "Missing for adopt: an in-order replay of the whole trace that agrees");
}

Test(decide, an_in_order_replay_that_disagrees_is_named, .init = replayed)
{
    in.replay.in_order_gain = 0.01;
    expect(DECIDE_PILOT, "distrust both numbers");
}

Test(decide, a_small_gain_is_pilot, .init = replayed)
{
    in.replay.gain_lo = 0.01;
    expect(DECIDE_PILOT, "Missing for adopt: a gain of at least 2.0 %");
}

Test(decide, a_kernel_that_loses_somewhere_is_pilot, .init = replayed)
{
    in.replay.worst_ratio = 0.8;
    in.replay.losing = 2;
    expect(DECIDE_PILOT, "worst ratio 0.80, 2 shapes slower");
}

Test(decide, a_kernel_without_repeatable_bits_is_pilot, .init = replayed)
{
    in.replay.deterministic = false;
    expect(DECIDE_PILOT, "bitwise equal");
    policy.gain.deterministic = false;
    expect(DECIDE_ADOPT, "");
}

Test(decide, losing_to_the_best_call_is_retune, .init = replayed)
{
    in.replay.gain_lo = -0.001;
    in.replay.library_gain = 0.03;
    expect(DECIDE_RETUNE, "the best library call gains 3.00 %");
}

Test(decide, beating_only_the_recorded_call_is_retune, .init = replayed)
{
    in.replay.gain_lo = 0;
    in.replay.gain_recorded_lo = 0.04;
    expect(DECIDE_RETUNE, "a kernel at least 4.00 % over the recorded");
}

Test(decide, no_winner_is_keep_baseline, .init = replayed)
{
    in.replay.gain_lo = 0.001;
    in.replay.gain_recorded_lo = 0.001;
    in.replay.winning = 1;
    expect(DECIDE_KEEP_BASELINE, "1 of 12 verified shapes win");
}

Test(decide, a_noisy_replay_is_no_reason_to_keep, .init = replayed)
{
    in.replay.gain_lo = in.replay.gain_recorded_lo = 0;
    in.replay.winning = 0;
    in.replay.unclear = 3;
    in.replay.unclear_gain = 0.2;
    expect(DECIDE_SPIKE, "3 shapes are UNCLEAR and might gain up to 20.00 %");
}

Test(decide, no_verified_kernel_is_keep_baseline, .init = replayed)
{
    in.replay.gain_lo = in.replay.gain_recorded_lo = 0;
    in.replay.passed = in.replay.winning = 0;
    expect(DECIDE_KEEP_BASELINE, "no kernel passed verification");
}

Test(decide, no_headroom_is_keep_baseline, .init = replayed)
{
    in.replay.potential = 0.029;
    expect(DECIDE_KEEP_BASELINE, "would win 2.90 %");
    in.replay.potential = 0.031;
    expect(DECIDE_ADOPT, "");
}

Test(decide, unknown_headroom_does_not_stop, .init = replayed)
{
    in.replay.potential = NAN;
    expect(DECIDE_ADOPT, "");
}

Test(decide, a_capped_baseline_proves_nothing, .init = replayed)
{
    in.replay.capped = true;
    expect(DECIDE_SPIKE, "capped instructions");
}

Test(decide, a_missing_baseline_proves_nothing, .init = replayed)
{
    in.replay.replayed_share = 0;
    expect(DECIDE_SPIKE, "no baseline for these shapes");
}

Test(decide, half_a_replay_does_not_say_keep, .init = replayed)
{
    in.replay.replayed_share = 0.5;
    in.replay.gain_lo = 0;
    expect(DECIDE_SPIKE, "measured only 50 % of its time");
}

Test(decide, a_cold_group_is_not_refined, .init = replayed)
{
    heat.level = HEAT_LOW;
    expect(DECIDE_NOTE, "is not surely");
}

Test(decide, every_word_has_an_advice)
{
    for (unsigned v = 0; v < DECIDE_VERDICTS; v++) {
        cr_assert_gt(strlen(decide_word(v)), 3);
        cr_assert_gt(strlen(decide_advice(v)), 20);
    }
}

/* Headroom and gain. */

static struct result_candidate candidates[2];
static struct result_case cases[2];
static struct result_ceiling ceiling;
static struct result_run a_run;
static struct result_set set;
static struct gain_row rows[2];
static struct gain_input gain;

static struct result_candidate passed(double best, double lo, double hi)
{
    return (struct result_candidate){
        .name = "tile",
        .reason = "",
        .status = RESULT_PASSED,
        .call = RESULT_FASTER,
        .deterministic = true,
        .time_ns = 1000,
        .ratio_recorded = best,
        .recorded_lo = lo,
        .recorded_hi = hi,
        .ratio_best = best,
        .best_lo = lo,
        .best_hi = hi,
    };
}

/* Two shapes, 60 and 40 % of a group with heat 0.5 and Cov05 0.9. */
static void two_shapes(void)
{
    policy_default(&policy);
    policy.gain.dispatch_s = 0;
    ceiling = (struct result_ceiling){
        .dtype = TILEWISE_F32, .rate_flops = 1e12, .bandwidth_bytes_per_s = 1e11, .floor_ns = 100
    };
    a_run = (struct result_run){ .noise_floor = 0.005 };
    for (int i = 0; i < 2; i++) {
        candidates[i] = passed(1.25, 1.2, 1.3);
        cases[i] = (struct result_case){
            .signature = { .op = TILEWISE_OP_GEMM,
                           .dtype_a = TILEWISE_F32,
                           .dtype_b = TILEWISE_F32,
                           .dtype_c = TILEWISE_F32,
                           .dtype_d = TILEWISE_F32,
                           .compute = TILEWISE_F32,
                           .m = 100,
                           .n = 100,
                           .k = 100,
                           .batch = 1 },
            .status = RESULT_PASSED,
            .baseline_recorded_ns = 5000,
            .baseline_best_ns = 5000,
            .ncandidates = 1,
            .candidates = &candidates[i],
        };
        rows[i] = (struct gain_row){ .time_ns = i ? 40 : 60, .calls = 10, .result = &cases[i] };
    }
    candidates[0].time_ns = candidates[1].time_ns = 4000;
    set = (struct result_set){ .nruns = 1,
                               .runs = &a_run,
                               .nceilings = 1,
                               .ceilings = &ceiling,
                               .ncases = 2,
                               .cases = cases };
    gain = (struct gain_input){ .rows = rows,
                                .count = 2,
                                .time_ns = 100,
                                .heat = 0.5,
                                .cov05 = 0.9,
                                .wall_ns = 200,
                                .results = &set };
}

static struct decide_replay measured(void)
{
    struct decide_replay r;
    gain_measure(&r, &gain, &policy);
    return r;
}

Test(headroom, speed_of_light_by_hand, .init = two_shapes)
{
    /* 2e6 flops / 1e12 = 2,000 ns; 3 x 40,000 bytes / 1e11 = 1,200 ns; floor 100 ns. */
    cr_assert_float_eq(headroom_sol_ns(&cases[0].signature, &ceiling), 2100, 1e-6);
    ceiling.bandwidth_bytes_per_s = 1e10;
    cr_assert_float_eq(headroom_sol_ns(&cases[0].signature, &ceiling), 12100, 1e-6);
}

Test(headroom, share_above_the_ceiling_by_hand, .init = two_shapes)
{
    cr_assert_float_eq(headroom_of(&cases[0], &ceiling, &policy.headroom), 1 - 2100.0 / 5000, 1e-9);
    cases[0].baseline_best_ns = 2050;
    cr_assert_eq(headroom_of(&cases[0], &ceiling, &policy.headroom), 0);
    cases[0].baseline_best_ns = 1000; /* the ceiling must be wrong */
    cr_assert(isnan(headroom_of(&cases[0], &ceiling, &policy.headroom)));
}

Test(headroom, unknown_without_ceiling_or_baseline, .init = two_shapes)
{
    cr_assert(isnan(headroom_of(&cases[0], NULL, &policy.headroom)));
    cases[0].baseline_best_ns = NAN;
    cr_assert(isnan(headroom_of(&cases[0], &ceiling, &policy.headroom)));
    ceiling.rate_flops = NAN;
    cr_assert(isnan(headroom_sol_ns(&cases[0].signature, &ceiling)));
    cr_assert_null(headroom_ceiling(&set, TILEWISE_F64));
}

Test(headroom, faster_than_the_machine_is_an_error, .init = two_shapes)
{
    const struct tilewise_signature *s = &cases[0].signature;
    cr_assert(headroom_above_ceiling(s, &ceiling, 1800, &policy.headroom));
    cr_assert_not(headroom_above_ceiling(s, &ceiling, 1950, &policy.headroom));
    cr_assert_not(headroom_above_ceiling(s, &ceiling, NAN, &policy.headroom));
}

Test(gain, sum_by_hand, .init = two_shapes)
{
    /* 0.5 x 0.9 x (1 - 1/1.2) and 0.5 x (1 - 1/1.3) */
    struct decide_replay r = measured();
    cr_assert_float_eq(r.gain_lo, 0.5 * 0.9 * (1 - 1 / 1.2), 1e-12);
    cr_assert_float_eq(r.gain_hi, 0.5 * (1 - 1 / 1.3), 1e-12);
    cr_assert_eq(r.winning, 2);
    cr_assert_float_eq(r.replayed_share, 1, 1e-12);
    cr_assert_float_eq(r.headroom, 1 - 2100.0 / 5000, 1e-9);
}

Test(gain, a_shape_within_noise_wins_nothing, .init = two_shapes)
{
    candidates[0].best_lo = 1.009;
    struct decide_replay r = measured();
    cr_assert_eq(r.winning, 1);
    cr_assert_float_eq(r.gain_lo, 0.2 * 0.9 * (1 - 1 / 1.2), 1e-12);
    a_run.noise_floor = 0.5; /* e^0.5 = 1.65 */
    cr_assert_eq(measured().winning, 0);
}

Test(gain, what_did_not_pass_wins_nothing, .init = two_shapes)
{
    candidates[0].status = RESULT_FAILED;
    candidates[1].call = RESULT_CALL_NONE;
    struct decide_replay r = measured();
    cr_assert_eq(r.winning, 0);
    cr_assert_eq(r.gain_lo, 0);
    cr_assert_eq(r.passed, 1);
}

Test(gain, what_beats_the_machine_wins_nothing, .init = two_shapes)
{
    candidates[0].time_ns = candidates[1].time_ns = 100;
    cr_assert_eq(measured().winning, 0);
}

Test(gain, an_unclear_shape_might_gain, .init = two_shapes)
{
    candidates[0] = passed(1.1, 0.7, 2);
    candidates[0].time_ns = 4000;
    candidates[0].call = RESULT_UNCLEAR;
    struct decide_replay r = measured();
    cr_assert_eq(r.unclear, 1);
    cr_assert_float_eq(r.unclear_gain, 0.3 * 0.5, 1e-12);
    candidates[0].call = RESULT_SAME;
    cr_assert_eq(measured().unclear, 0);
}

Test(gain, choosing_a_kernel_costs, .init = two_shapes)
{
    policy.gain.dispatch_s = 1e-9; /* 20 calls x 1 ns of 200 ns */
    cr_assert_float_eq(measured().gain_lo, 0.5 * 0.9 * (1 - 1 / 1.2) - 0.1, 1e-12);
}

Test(gain, losses_of_the_table_s_kernels_are_counted, .init = two_shapes)
{
    candidates[1] = passed(0.7, 0.68, 0.72);
    candidates[1].time_ns = 4000;
    struct decide_replay r = measured();
    cr_assert_eq(r.winning, 1);
    cr_assert_eq(r.losing, 1);
    cr_assert_float_eq(r.worst_ratio, 0.7, 1e-12);
}

Test(gain, another_kernel_s_loss_is_not_the_table_s, .init = two_shapes)
{
    candidates[1] = passed(0.7, 0.68, 0.72);
    candidates[1].name = "other";
    struct decide_replay r = measured();
    cr_assert_eq(r.losing, 0);
    cr_assert_float_eq(r.worst_ratio, 1.25, 1e-12);
}

Test(gain, the_library_s_own_reserve_is_measured, .init = two_shapes)
{
    cases[0].baseline_recorded_ns = 10000;
    cr_assert_float_eq(measured().library_gain, 0.3 * 0.5, 1e-12);
}

Test(gain, shapes_without_results_count_as_not_replayed, .init = two_shapes)
{
    rows[1].result = NULL;
    struct decide_replay r = measured();
    cr_assert_float_eq(r.replayed_share, 0.6, 1e-12);
    rows[0].result = NULL;
    cr_assert_not(measured().present);
}

Test(gain, a_capped_run_is_noticed, .init = two_shapes)
{
    cr_assert_not(measured().capped);
    a_run.baseline_capped = true;
    cr_assert(measured().capped);
}

Test(gain, one_nondeterministic_winner_is_enough, .init = two_shapes)
{
    cr_assert(measured().deterministic);
    candidates[1].deterministic = false;
    cr_assert_not(measured().deterministic);
}

/* Policy. */

static enum status read_policy(const char *text, struct fault *fault)
{
    struct policy_fields fields;
    policy_default(&policy);
    return schema_read_text(policy_bind(&policy, &fields), "p.yaml", text, strlen(text), fault);
}

Test(policy, defaults_are_those_of_the_design)
{
    policy_default(&policy);
    cr_assert_eq(policy.heat.high, 0.10);
    cr_assert_eq(policy.stability.k90, 32);
    cr_assert_eq(policy.stability.cov05, 0.90);
    cr_assert_eq(policy.evidence.coverage_time, 0.80);
    cr_assert_eq(policy.gain.adopt, 0.02);
    cr_assert_eq(policy.gain.pilot, 0.005);
    cr_assert_eq(policy.headroom.stop, 0.03);
}

Test(policy, a_file_changes_what_it_names)
{
    struct fault fault;
    cr_assert_eq(read_policy("heat:\n  high: 0.2\ngain: {deterministic: no}\n"
                             "evidence: {calls-per-window: 2k}\n",
                             &fault),
                 ST_OK, "%s", fault.text);
    cr_assert_eq(policy.heat.high, 0.2);
    cr_assert_not(policy.gain.deterministic);
    cr_assert_eq(policy.evidence.calls_per_window, 2000);
    cr_assert_eq(policy.stability.k90, 32);
}

Test(policy, the_documented_file_is_the_default)
{
    struct policy defaults;
    struct fault fault;
    policy_default(&defaults);
    cr_assert_eq(
        read_policy("heat:      { high: 0.10 }\n"
                    "stability: { k90: 32, cov05: 0.90, unseen: 0.02, drift: 0.05, table: 0.95, "
                    "moving: 4 }\n"
                    "tile:      { m: 64, n: 64, k: 32 }\n"
                    "evidence:  { coverage-time: 0.80, lost: 0.01, windows: 10, "
                    "calls-per-window: 100, replayed: 0.80 }\n"
                    "headroom:  { stop: 0.03, slack: 0.05 }\n"
                    "gain:      { adopt: 0.02, pilot: 0.005, worst-ratio: 0.99, noise: 0.01, "
                    "dispatch: 50ns, deterministic: yes }\n",
                    &fault),
        ST_OK, "%s", fault.text);
    cr_assert_float_eq(policy.gain.dispatch_s, defaults.gain.dispatch_s, 1e-20);
    policy.gain.dispatch_s = defaults.gain.dispatch_s;
    cr_assert_eq(memcmp(&policy, &defaults, sizeof policy), 0);
}

Test(policy, a_typing_error_is_found)
{
    struct fault fault;
    cr_assert_eq(read_policy("stability:\n  k09: 3\n", &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:2:3: unknown key 'k09' (did you mean 'k90'?)");
    cr_assert_eq(read_policy("gian: {}\n", &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:1:1: unknown key 'gian' (did you mean 'gain'?)");
    cr_assert_eq(read_policy("heat:\n  high: 10\n", &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:2:9: high expects a number from 0 to 1, not '10'");
}
