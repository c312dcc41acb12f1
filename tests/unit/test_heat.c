/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/evidence.h"
#include "analysis/heat.h"
#include "summary_fixture.h"

static struct policy policy;

static void setup(void)
{
    policy_default(&policy);
}

static struct heat measure(const struct fixture *f, double active_ns)
{
    struct heat h;
    cr_assert_eq(heat_measure(&h, &f->s, fixture_all(f), f->s.nsignatures, active_ns, &policy),
                 ST_OK);
    return h;
}

/* `share` of the wall time of every window, +- `swing` from window to window. */
static struct fixture *constant(size_t windows, double share, double swing)
{
    struct fixture *f = fixture_new(windows);
    struct tilewise_signature s = fixture_gemm(64, 64, 64);
    for (size_t w = 0; w < windows; w++) {
        double part = share + (w % 2 ? swing : -swing);
        fixture_calls(f, w, &s, 100, (uint64_t)(part * FIXTURE_WINDOW_NS / 100));
    }
    fixture_done(f);
    return f;
}

Test(heat, wall_share_by_hand, .init = setup)
{
    struct fixture *f = constant(20, 0.4, 0);
    struct heat h = measure(f, 0.4 * 20 * FIXTURE_WINDOW_NS);
    cr_assert_float_eq(h.wall_share, 0.4, 1e-9);
    cr_assert_float_eq(h.value, 0.4, 1e-9);
    cr_assert_float_eq(h.busy_share, 1, 1e-9);
    cr_assert_float_eq(h.lo, 0.4, 1e-3);
    cr_assert_float_eq(h.hi, 0.4, 1e-3);
    cr_assert_float_eq(h.ceiling, 1 / 0.6, 1e-6);
    cr_assert_eq(h.level, HEAT_HIGH);
}

Test(heat, the_union_counts_and_not_the_sum, .init = setup)
{
    /* Two threads at once: 0.8 of durations, 0.4 of wall time. */
    struct fixture *f = constant(20, 0.8, 0);
    struct heat h = measure(f, 0.4 * 20 * FIXTURE_WINDOW_NS);
    cr_assert_float_eq(h.value, 0.4, 1e-9);
    cr_assert_float_eq(h.hi, 0.4, 1e-3);
}

Test(heat, an_uncertain_share_is_not_high, .init = setup)
{
    struct heat h = measure(constant(12, 0.11, 0.1), 0.11 * 12 * FIXTURE_WINDOW_NS);
    cr_assert_lt(h.lo, 0.10);
    cr_assert_gt(h.hi, 0.11);
    cr_assert_eq(h.level, HEAT_LOW);
}

Test(heat, the_threshold_comes_from_the_policy, .init = setup)
{
    policy.heat.high = 0.5;
    cr_assert_eq(measure(constant(20, 0.4, 0), 0.4 * 20 * FIXTURE_WINDOW_NS).level, HEAT_LOW);
}

Test(heat, without_wall_time_nothing_is_known, .init = setup)
{
    struct fixture *f = constant(20, 0.4, 0);
    f->s.wall_ns = f->s.busy_ns = 0;
    struct heat h = measure(f, 1000);
    cr_assert(isnan(h.value));
    cr_assert(isnan(h.lo));
    cr_assert(isnan(h.ceiling));
    cr_assert_eq(h.level, HEAT_UNKNOWN);
    cr_assert_null(heat_level_name(h.level));
}

Test(heat, one_window_has_no_interval, .init = setup)
{
    struct heat h = measure(constant(1, 0.4, 0), 0.4 * FIXTURE_WINDOW_NS);
    cr_assert(isnan(h.lo));
    cr_assert_eq(h.level, HEAT_UNKNOWN);
}

Test(heat, shares_never_pass_one, .init = setup)
{
    struct heat h = measure(constant(20, 0.9, 0.1), 25.0 * FIXTURE_WINDOW_NS);
    cr_assert_eq(h.wall_share, 1);
    cr_assert_leq(h.hi, 1);
    cr_assert(isnan(h.ceiling));
}

Test(heat, a_causal_effect_takes_the_place_of_the_share, .init = setup)
{
    struct heat h = measure(constant(20, 0.5, 0), 0.5 * 20 * FIXTURE_WINDOW_NS);
    const struct causal_effect e = { CAUSAL_THREADS, 0.05, 0.04, 0.06, NAN, NAN };
    cr_assert_eq(h.level, HEAT_HIGH);
    cr_assert_str_eq(heat_method_name(h.method), "wall_share");
    heat_refine(&h, &e, &policy);
    cr_assert_str_eq(heat_method_name(h.method), "causal");
    cr_assert_eq(h.level, HEAT_LOW);
    cr_assert_eq(h.value, 0.05);
    cr_assert_eq(h.lo, 0.04);
    cr_assert_eq(h.hi, 0.06);
    cr_assert_float_eq(h.ceiling, 1 / 0.95, 1e-9);
    cr_assert_float_eq(h.wall_share, 0.5, 1e-9);
}

Test(heat, of_a_gpu_the_shares_are_its_own, .init = setup)
{
    struct heat h = measure(constant(20, 0.01, 0), 0.01 * 20 * FIXTURE_WINDOW_NS);
    const struct causal_effect e = { CAUSAL_STREAMS, 0.3, 0.25, 0.35, 0.8, 0.4 };
    heat_refine(&h, &e, &policy);
    cr_assert_eq(h.level, HEAT_HIGH);
    cr_assert(h.is_of_gpu);
    cr_assert_eq(h.busy_share, 0.8);
    cr_assert_eq(h.wall_share, 0.4);
}

Test(heat, without_an_effect_the_share_stays, .init = setup)
{
    struct heat h = measure(constant(20, 0.5, 0), 0.5 * 20 * FIXTURE_WINDOW_NS), before = h;
    const struct causal_effect none = { CAUSAL_NONE, NAN, NAN, NAN, NAN, NAN };
    const struct causal_effect thin = { CAUSAL_STREAMS, 0.3, NAN, NAN, 0.8, 0.4 };
    heat_refine(&h, &none, &policy);
    heat_refine(&h, &thin, &policy);
    cr_assert_eq(memcmp(&h, &before, sizeof h), 0);
}

Test(heat, bootstrap_covers_a_known_ratio)
{
    /* x / y = 0.3 on average with a known spread: the interval holds it and has the right width:
     * sd of the mean = 0.1 / sqrt(64) = 0.0125, so 95 % is +-0.0245. */
    double x[64], y[64], lo, hi;
    for (size_t i = 0; i < 64; i++) {
        x[i] = (i * 37 % 64) < 32 ? 0.2 : 0.4;
        y[i] = 1;
    }
    heat_bootstrap(x, y, 64, &lo, &hi);
    cr_assert_lt(lo, 0.3);
    cr_assert_gt(hi, 0.3);
    cr_assert_gt(hi - lo, 0.01);
    cr_assert_lt(hi - lo, 0.10);
    double again_lo, again_hi;
    heat_bootstrap(x, y, 64, &again_lo, &again_hi);
    cr_assert_eq(lo, again_lo);
    cr_assert_eq(hi, again_hi);
}

Test(heat, windows_in_a_wrong_order_do_no_harm, .init = setup)
{
    struct fixture *f = constant(20, 0.4, 0);
    f->windows[3].begin_unix_ns = 1;
    f->windows[4].begin_unix_ns = 0;
    struct heat h = measure(f, 0.4 * 20 * FIXTURE_WINDOW_NS);
    cr_assert_leq(h.lo, h.value);
    cr_assert_geq(h.hi, h.value);
    cr_assert_leq(h.hi, 1);
}

Test(evidence, a_whole_trace_covers_everything, .init = setup)
{
    struct fixture *f = constant(20, 0.4, 0);
    struct decide_evidence e = evidence_of(&f->s, &policy.evidence);
    cr_assert_eq(evidence_coverage_calls(&f->s), 1);
    cr_assert_eq(e.coverage_time, 1);
    cr_assert_eq(e.lost_share, 0);
    cr_assert_eq(e.windows, 20);
}

Test(evidence, what_cannot_be_replayed_is_not_covered, .init = setup)
{
    struct fixture *f = constant(20, 0.3, 0);
    struct tilewise_signature odd = fixture_gemm(1, 1, 1);
    odd.flags = TILEWISE_NOT_REPLAYABLE;
    fixture_calls(f, 0, &odd, 1, f->s.time_ns / 3);
    fixture_done(f);
    cr_assert_float_eq(evidence_of(&f->s, &policy.evidence).coverage_time, 0.75, 1e-6);
}

Test(evidence, dropped_calls_count_at_the_mean_duration, .init = setup)
{
    struct fixture *f = constant(20, 0.4, 0); /* 2,000 calls */
    f->s.counters.seen += 500;
    f->s.counters.dropped[LOSS_DISK_FULL] = 500;
    struct decide_evidence e = evidence_of(&f->s, &policy.evidence);
    cr_assert_float_eq(evidence_coverage_calls(&f->s), 0.8, 1e-9);
    cr_assert_float_eq(e.coverage_time, 0.8, 1e-9);
    cr_assert_float_eq(e.lost_share, 0.2, 1e-9);
}

Test(evidence, calls_of_a_damaged_frame_are_lost, .init = setup)
{
    struct fixture *f = constant(20, 0.4, 0);
    f->s.counters.seen = f->s.counters.recorded = 2500;
    cr_assert_eq(evidence_missing(&f->s), 500);
    cr_assert_float_eq(evidence_coverage_calls(&f->s), 0.8, 1e-9);
    cr_assert_float_eq(evidence_of(&f->s, &policy.evidence).lost_share, 0.2, 1e-9);
}

Test(evidence, an_empty_trace_knows_nothing, .init = setup)
{
    struct fixture *f = fixture_new(0);
    fixture_done(f);
    struct decide_evidence e = evidence_of(&f->s, &policy.evidence);
    cr_assert(isnan(evidence_coverage_calls(&f->s)));
    cr_assert(isnan(e.coverage_time));
    cr_assert_eq(e.windows, 0);
}

Test(evidence, where_kernels_were_timed_their_time_counts, .init = setup)
{
    struct fixture *f = fixture_new(1);
    struct tilewise_signature kernel = fixture_gemm(64, 64, 64), unmeasured = fixture_gemm(8, 8, 8);
    struct tilewise_signature on_host = fixture_gemm(32, 32, 32), odd = fixture_gemm(1, 1, 1);
    f->strings[2] = "cublasSgemm_v2";
    f->s.nstrings = 3;
    kernel.entry = unmeasured.entry = odd.entry = 2;
    odd.flags = TILEWISE_NOT_REPLAYABLE;
    fixture_calls(f, 0, &kernel, 10, 1000);
    fixture_calls(f, 0, &odd, 10, 9000); /* slow to launch, quick on the GPU */
    fixture_calls(f, 0, &unmeasured, 10, 7000);
    fixture_calls(f, 0, &on_host, 10, 2000);
    fixture_done(f);
    f->signatures[0].gpu_calls = 5;
    f->signatures[0].gpu_measured_ns = 35000;
    f->signatures[1].gpu_calls = 10;
    f->signatures[1].gpu_measured_ns = 10000;
    f->s.gpu.attributed_ns = 45000;
    cr_assert_float_eq(evidence_time_ns(&f->s, &f->signatures[0]), 70000, 1e-9);
    cr_assert(isnan(evidence_time_ns(&f->s, &f->signatures[2])));
    cr_assert_float_eq(evidence_time_ns(&f->s, &f->signatures[3]), 20000, 1e-9);
    cr_assert_float_eq(evidence_of(&f->s, &policy.evidence).coverage_time, 0.9, 1e-9);
}

Test(evidence, thin_windows_do_not_count, .init = setup)
{
    struct fixture *f = constant(20, 0.4, 0);
    f->windows[0].calls = 99;
    cr_assert_eq(evidence_of(&f->s, &policy.evidence).windows, 19);
}
