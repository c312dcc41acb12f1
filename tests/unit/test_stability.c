/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/stability.h"
#include "summary_fixture.h"

static struct policy policy;

static void setup(void)
{
    policy_default(&policy);
}

static struct stability measure(const struct fixture *f)
{
    struct stability st;
    cr_assert_eq(stability_measure(&st, &f->s, fixture_all(f), f->s.nsignatures, &policy), ST_OK);
    return st;
}

Test(stability, calls_of_a_graph_have_no_host_time_but_that_of_the_gpu, .init = setup)
{
    struct fixture *f = fixture_new(4);
    struct tilewise_signature a = fixture_gemm(1, 1, 1), b = fixture_gemm(2, 1, 1);
    for (size_t w = 0; w < 4; w++) {
        fixture_calls(f, w, &a, 100, 0);
        fixture_calls(f, w, &b, 100, 0);
    }
    fixture_done(f);
    cr_assert(isnan(measure(f).raw.cov05));
    f->signatures[0].gpu_calls = f->signatures[1].gpu_calls = 1;
    f->signatures[0].gpu_measured_ns = 1000;
    f->signatures[1].gpu_measured_ns = 9000;
    struct stability st = measure(f);
    cr_assert_eq(st.level, STABILITY_STABLE);
    cr_assert_eq(st.raw.k90, 1);
    cr_assert_eq(st.raw.cov05, 1);
}

Test(stability, few_constant_shapes_are_stable, .init = setup)
{
    struct stability st = measure(fixture_uniform(20, 10));
    cr_assert_eq(st.level, STABILITY_STABLE);
    cr_assert_eq(st.raw.shapes, 10);
    cr_assert_eq(st.raw.k90, 9);
    cr_assert_float_eq(st.effective[SHAPE_M], 10, 1e-9);
    cr_assert_float_eq(st.effective[SHAPE_N], 1, 1e-9);
    cr_assert(st.moving[SHAPE_M]);
    cr_assert_not(st.moving[SHAPE_N]);
    cr_assert_not(st.moving[SHAPE_K]);
    cr_assert_not(st.moving[SHAPE_BATCH]);
}

/* Every dimension of `moves` has so many values, of equal time; the others one. */
static struct stability moving(const bool *moves, int values)
{
    struct fixture *f = fixture_new(12);
    for (size_t w = 0; w < 12; w++)
        for (int i = 0; i < values; i++) {
            struct tilewise_signature s = fixture_gemm(64, 64, 64);
            int64_t *const at[] = { &s.m, &s.n, &s.k, &s.batch };
            for (int d = 0; d < SHAPE_DIMENSIONS; d++)
                *at[d] = moves[d] ? 16 * (i + 1) : 64;
            fixture_calls(f, w, &s, 100, 50);
        }
    fixture_done(f);
    return measure(f);
}

Test(stability, the_dimension_that_moves_is_named, .init = setup)
{
    for (unsigned set = 0; set < 1u << SHAPE_DIMENSIONS; set++) {
        bool moves[SHAPE_DIMENSIONS];
        for (int d = 0; d < SHAPE_DIMENSIONS; d++)
            moves[d] = set >> d & 1;
        struct stability five = moving(moves, 5), four = moving(moves, 4);
        for (int d = 0; d < SHAPE_DIMENSIONS; d++) {
            cr_expect_eq(five.moving[d], moves[d], "set %u, dimension %d", set, d);
            cr_expect_float_eq(five.effective[d], moves[d] ? 5 : 1, 1e-9);
            cr_expect_not(four.moving[d], "four fixed widths do not move");
        }
    }
}

/* Lengths 1..`longest`, each often enough, in every window. */
static struct fixture *lengths(int longest)
{
    struct fixture *f = fixture_new(12);
    for (size_t w = 0; w < 12; w++)
        for (int m = 1; m <= longest; m++) {
            struct tilewise_signature s = fixture_gemm(m, 384, 384);
            fixture_calls(f, w, &s, 10, 50);
        }
    fixture_done(f);
    return f;
}

Test(stability, many_lengths_are_stable_once_padded, .init = setup)
{
    struct stability st = measure(lengths(128));
    cr_assert_eq(st.level, STABILITY_BUCKETABLE);
    cr_assert_eq(st.raw.shapes, 128);
    cr_assert_gt(st.raw.k90, 32);
    cr_assert_eq(st.bucket.shapes, 19); /* 1, 2, 4, 8, 16, ..., 128 */
    cr_assert(st.rounded[SHAPE_M]);
    cr_assert_not(st.rounded[SHAPE_K]);
    cr_assert_eq(st.tile.shapes, 2); /* ceil(m / 64) */
}

Test(stability, padding_waste_by_hand, .init = setup)
{
    /* Half of the calls have m = 3, padded to 4, the others m = 4: 7 of 8 rows are useful. */
    struct fixture *f = fixture_new(12);
    struct tilewise_signature three = fixture_gemm(3, 64, 32), four = fixture_gemm(4, 64, 32);
    for (size_t w = 0; w < 12; w++) {
        fixture_calls(f, w, &three, 10, 50);
        fixture_calls(f, w, &four, 10, 50);
    }
    fixture_done(f);
    struct stability st = measure(f);
    cr_assert_float_eq(st.bucket.padding_waste, 1.0 / 8, 1e-12);
    cr_assert_float_eq(st.tile.padding_waste, 1 - 3.5 / 64, 1e-12);
    cr_assert_eq(st.raw.padding_waste, 0);
}

Test(stability, more_lengths_than_buckets_vary, .init = setup)
{
    struct stability st = measure(lengths(600));
    cr_assert_eq(st.level, STABILITY_VARYING);
    cr_assert_gt(st.bucket.k90, 32);
}

Test(stability, drift_beyond_its_null_is_not_stable, .init = setup)
{
    struct fixture *f = fixture_new(20);
    for (size_t w = 0; w < 20; w++)
        for (int i = 0; i < 2; i++) {
            struct tilewise_signature s = fixture_gemm(8 * (i + 1), 384, 384);
            fixture_calls(f, w, &s, (w + (size_t)i) % 2 ? 950 : 50, 50);
        }
    fixture_done(f);
    struct stability st = measure(f);
    cr_assert_gt(st.raw.drift.adjacent, 0.5);
    cr_assert_gt(st.raw.drift.adjacent, st.raw.drift.null95);
    cr_assert_eq(st.level, STABILITY_VARYING);
}

Test(stability, one_active_window_says_nothing, .init = setup)
{
    struct fixture *f = fixture_new(20);
    struct tilewise_signature s = fixture_gemm(8, 8, 8);
    fixture_calls(f, 3, &s, 5000, 10);
    fixture_done(f);
    cr_assert_eq(measure(f).level, STABILITY_UNKNOWN);
    cr_assert_null(stability_level_name(STABILITY_UNKNOWN));
}

Test(stability, thresholds_come_from_the_policy, .init = setup)
{
    policy.stability.k90 = 5;
    cr_assert_neq(measure(fixture_uniform(20, 10)).level, STABILITY_STABLE);
    policy.stability.k90 = 200;
    cr_assert_eq(measure(lengths(128)).level, STABILITY_STABLE);
}

Test(stability, an_unknown_measure_does_not_pass, .init = setup)
{
    struct stability_grain g = {
        .k90 = 1, .cov05 = 1, .unseen = 0, .drift = { .adjacent = 0, .null95 = NAN }
    };
    cr_assert(stability_holds(&g, &policy.stability));
    g.cov05 = NAN;
    cr_assert_not(stability_holds(&g, &policy.stability));
    g.cov05 = 1;
    g.drift.adjacent = NAN;
    cr_assert_not(stability_holds(&g, &policy.stability));
}
