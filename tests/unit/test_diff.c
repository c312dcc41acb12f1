/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/diff.h"
#include "summary_fixture.h"

static struct policy policy;
static const struct result_set none;

/* Shapes 16, 32, ... with calls[i] calls of ns_each[i] in every window. */
static struct fixture *steady(size_t windows, size_t shapes, const uint64_t *calls,
                              const uint64_t *ns_each)
{
    struct fixture *f = fixture_new(windows);
    for (size_t w = 0; w < windows; w++)
        for (size_t i = 0; i < shapes; i++) {
            struct tilewise_signature s = fixture_gemm(16 * (int64_t)(i + 1), 64, 64);
            if (calls[i])
                fixture_calls(f, w, &s, calls[i], ns_each[i]);
        }
    fixture_done(f);
    return f;
}

static struct analysis *analyse(struct fixture *f)
{
    static struct analysis *kept[64];
    static size_t count;
    struct analysis *a;
    policy_default(&policy);
    cr_assert_eq(analysis_build(&a, &f->s, &none, &policy, NULL), ST_OK);
    return kept[count++] = a;
}

static struct diff *compare(struct fixture *before, struct fixture *after)
{
    struct diff *d;
    cr_assert_eq(diff_build(&d, analyse(before), analyse(after), NULL), ST_OK);
    return d;
}

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-9;
}

Test(diff, the_same_mix_is_no_drift)
{
    const uint64_t calls[] = { 100, 300 }, ns[] = { 1000, 1000 };
    struct diff *d = compare(steady(20, 2, calls, ns), steady(20, 2, calls, ns));
    cr_assert_eq(d->nops, 1);
    cr_assert(is_near(d->ops[0].drift.divergence, 0));
    cr_assert(is_near(d->ops[0].pace.ratio, 1));
    cr_assert_eq(d->ops[0].new_shapes + d->ops[0].vanished_shapes, 0);
    cr_assert_eq(diff_findings(d), 0);
    diff_free(d);
}

Test(diff, divergence_of_a_half_to_one_is_known)
{
    /* (1/2, 1/2) to (1, 0): 0.311278... */
    const uint64_t half[] = { 200, 200 }, all[] = { 400, 0 }, ns[] = { 1000, 1000 };
    struct diff *d = compare(steady(20, 2, half, ns), steady(20, 2, all, ns));
    cr_assert(fabs(d->ops[0].drift.divergence - 0.3112781244591328) <= 1e-9);
    cr_assert(d->ops[0].drift.null95 < d->ops[0].drift.divergence);
    cr_assert(d->ops[0].drift.p <= 0.05);
    cr_assert(d->ops[0].drifted);
    cr_assert_eq(d->ops[0].vanished_shapes, 1);
    cr_assert(is_near(d->ops[0].vanished_share, 0.5));
    cr_assert(is_near(d->ops[0].new_share, 0));
    diff_free(d);
}

Test(diff, mixes_without_a_common_shape_are_one_bit_apart)
{
    const uint64_t one[] = { 400, 0 }, other[] = { 0, 400 }, ns[] = { 1000, 1000 };
    struct diff *d = compare(steady(20, 2, one, ns), steady(20, 2, other, ns));
    cr_assert(is_near(d->ops[0].drift.divergence, 1));
    cr_assert(is_near(d->ops[0].new_share, 1));
    cr_assert(is_near(d->ops[0].vanished_share, 1));
    cr_assert(isnan(d->ops[0].pace.ratio));
    diff_free(d);
}

Test(diff, the_permutation_null_is_that_of_all_splits)
{
    /* Eight windows a side, four blocks of two, of one shape before and of another after. A random
     * split has k of the four first blocks from before: 0 bits for k = 2 (36 of 70), 1 - H(1/4) for
     * 1 and 3 (32), 1 for 0 and 4 (2), so the 95th percentile is the one in the middle. */
    const uint64_t one[] = { 400, 0 }, other[] = { 0, 400 }, ns[] = { 1000, 1000 };
    struct diff *d = compare(steady(8, 2, one, ns), steady(8, 2, other, ns));
    cr_assert(is_near(d->ops[0].drift.null95, 1 - (0.25 * 2 + 0.75 * log2(4 / 3.0))));
    cr_assert(fabs(d->ops[0].drift.p - 2 / 70.0) <= 0.015);
    diff_free(d);
}

/* Phases come in blocks of windows: both recordings have both, in different order. */
Test(diff, phases_of_a_load_are_within_the_null)
{
    const uint64_t ns = 1000;
    struct fixture *f[2];
    for (size_t side = 0; side < 2; side++) {
        f[side] = fixture_new(24);
        for (size_t w = 0; w < 24; w++) {
            struct tilewise_signature s =
                fixture_gemm((w / 3 + side * 2) % 8 < 4 + side ? 16 : 32, 64, 64);
            fixture_calls(f[side], w, &s, 200, ns);
        }
        fixture_done(f[side]);
    }
    struct diff *d = compare(f[0], f[1]);
    cr_assert(d->ops[0].drift.divergence > 0);
    cr_assert(d->ops[0].drift.divergence <= d->ops[0].drift.null95);
    cr_assert_not(d->ops[0].drifted);
    diff_free(d);
}

Test(diff, slower_calls_are_a_pace_and_no_drift)
{
    const uint64_t calls[] = { 100, 300 }, ns[] = { 1000, 1000 }, slow[] = { 1300, 1300 };
    struct diff *d = compare(steady(20, 2, calls, ns), steady(20, 2, calls, slow));
    cr_assert(is_near(d->ops[0].drift.divergence, 0));
    cr_assert_not(d->ops[0].drifted);
    cr_assert(is_near(d->ops[0].pace.ratio, 1.3));
    cr_assert(is_near(d->ops[0].pace.lo, 1.3) && is_near(d->ops[0].pace.hi, 1.3));
    diff_free(d);
}

/* Kernels of a GPU take twice as long: no interval, for nothing is known of single ones. */
Test(diff, the_pace_of_a_gpu_is_that_of_its_kernels)
{
    const uint64_t calls[] = { 100, 300 }, ns[] = { 1000, 1000 };
    struct fixture *f[2] = { steady(20, 2, calls, ns), steady(20, 2, calls, ns) };
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < 2; i++) {
            f[side]->signatures[i].gpu_calls = 10;
            f[side]->signatures[i].gpu_measured_ns = 5000 * (side + 1);
        }
    struct diff *d = compare(f[0], f[1]);
    cr_assert(is_near(d->ops[0].pace.ratio, 2));
    cr_assert(isnan(d->ops[0].pace.lo) && isnan(d->ops[0].pace.hi));
    diff_free(d);
    f[1]->signatures[0].gpu_calls = f[1]->signatures[1].gpu_calls = 0;
    d = compare(f[0], f[1]);
    cr_assert(isnan(d->ops[0].pace.ratio), "host and GPU do not compare");
    cr_assert(is_near(d->ops[0].drift.divergence, 0), "the mix of calls is the same");
    diff_free(d);
}

Test(diff, few_windows_have_no_null)
{
    const uint64_t half[] = { 200, 200 }, all[] = { 400, 0 }, ns[] = { 1000, 1000 };
    struct diff *d = compare(steady(2, 2, half, ns), steady(2, 2, all, ns));
    cr_assert(isnan(d->ops[0].drift.null95));
    cr_assert(d->ops[0].drifted, "the threshold alone decides");
    diff_free(d);
}

/* Lengths vary, padding makes them one: the decision was made on padded shapes. */
Test(diff, a_bucketable_decision_is_held_at_its_grain)
{
    struct fixture *f[2];
    for (size_t side = 0; side < 2; side++) {
        f[side] = fixture_new(20);
        for (size_t w = 0; w < 20; w++)
            for (size_t i = 0; i < 60; i++) {
                struct tilewise_signature s =
                    fixture_gemm(512 + 2 * (int64_t)i + (int64_t)side, 64, 64);
                fixture_calls(f[side], w, &s, 10, 1000);
            }
        fixture_done(f[side]);
    }
    struct analysis *a = analyse(f[0]);
    if (a->ops[0].stability.level != STABILITY_BUCKETABLE) /* the fixture must be what it says */
        cr_assert_fail("level %d", a->ops[0].stability.level);
    struct diff *d = compare(f[0], f[1]);
    cr_assert_eq(d->ops[0].grain, SHAPE_BUCKET);
    cr_assert(d->ops[0].drift.divergence < 0.05);
    diff_free(d);
}

Test(diff, a_verdict_that_flips_is_a_finding)
{
    /* One window lasts 1 ms: 800 calls of 1 us are hot, 8 are not. */
    const uint64_t hot[] = { 400, 400 }, cold[] = { 4, 4 }, ns[] = { 1000, 1000 };
    struct fixture *before = steady(20, 2, hot, ns), *after = steady(20, 2, cold, ns);
    policy_default(&policy);
    struct tilewise_signature add = fixture_gemm(384, 1, 1);
    add.op = TILEWISE_OP_ADD;
    for (size_t w = 0; w < 20; w++) /* enough calls for evidence */
        fixture_calls(after, w, &add, 200, 100);
    fixture_done(after);
    struct diff *d = compare(before, after);
    cr_assert_str_eq(diff_verdict(&d->ops[0], DIFF_BEFORE), "spike");
    cr_assert_str_eq(diff_verdict(&d->ops[0], DIFF_AFTER), "note");
    cr_assert(d->ops[0].verdict_changed);
    cr_assert_not(d->ops[0].drifted);
    /* add came, and is cold: nothing to act on */
    cr_assert_str_eq(diff_verdict(&d->ops[1], DIFF_BEFORE), "absent");
    cr_assert_not(d->ops[1].verdict_changed);
    cr_assert_eq(diff_findings(d), 1);
    diff_free(d);
}
