/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "analysis/gain.h"

static struct policy policy;
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

Test(gain, what_the_order_is_to_show_is_over_the_recorded_call, .init = two_shapes)
{
    candidates[0].recorded_lo = 1.5;
    candidates[0].recorded_hi = 2;
    candidates[1].best_lo = 1; /* not in the table */
    policy.gain.dispatch_s = 1e-9;
    struct decide_replay r = measured();
    cr_assert_float_eq(r.order_lo, 0.3 * 0.9 * (1 - 1 / 1.5), 1e-12);
    cr_assert_float_eq(r.order_hi, 0.3 * 0.5, 1e-12);
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
