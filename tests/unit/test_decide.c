/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>
#include <strings.h>

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
        .replay = { .potential = NAN, .headroom = NAN, .worst_ratio = NAN, .deterministic = true },
        .in_order = { .gain = NAN },
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
    };
    in.in_order = (struct agreement){ .covered = 0.9,
                                      .gain = 0.07,
                                      .lo = 0.068,
                                      .hi = 0.072,
                                      .promised_lo = 0.05,
                                      .promised_hi = 0.09 };
}

static struct decide_result expect(enum decide_verdict verdict, const char *in_reason)
{
    struct decide_result r = decide(&in, &policy);
    cr_assert_str_eq(decide_word(r.verdict), decide_word(verdict), "%s", r.reason);
    cr_assert_not_null(strstr(r.reason, in_reason), "no '%s' in: %s", in_reason, r.reason);
    cr_assert_eq(r.reason[strlen(r.reason) - 1], '.', "cut off: %s", r.reason);
    cr_assert_neq(strncasecmp(r.reason, decide_word(r.verdict), strlen(decide_word(r.verdict))), 0,
                  "the verdict stands before it already: %s", r.reason);
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
    expect(DECIDE_WITHHELD, "Only 79.0 % of the time");
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
    expect(DECIDE_WITHHELD, "Active in 1 window only");
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
    in.in_order.gain = NAN;
    expect(DECIDE_PILOT, "Missing for adopt: a replay of the trace in its order");
}

Test(decide, a_part_of_the_trace_in_order_is_not_the_whole, .init = replayed)
{
    in.in_order.covered = 0.79;
    expect(DECIDE_PILOT, "in order that stands for 80 % of the recorded time (this one for 79 %)");
    in.in_order.covered = 0.80;
    expect(DECIDE_ADOPT, "agrees (7.00 %, for 80 % of its time)");
}

Test(decide, an_in_order_replay_that_disagrees_is_named, .init = replayed)
{
    in.in_order.gain = 0.049;
    expect(DECIDE_PILOT, "gained 4.90 % where its shapes promised at least 5.00 %");
    in.in_order.gain = 0.2;
    in.in_order.lo = 0.091;
    expect(DECIDE_PILOT, "gained at least 9.10 % where its shapes promised 9.00 % at most");
    in.in_order.lo = 0.089;
    expect(DECIDE_ADOPT, "");
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
