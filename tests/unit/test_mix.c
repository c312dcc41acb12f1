/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/mix.h"
#include "analysis/quantile.h"
#include "summary_fixture.h"

/* The mix of all signatures of a fixture, every signature its own shape. */
static struct mix mix_of(const struct fixture *f)
{
    struct mix mix;
    size_t n = f->s.nsignatures;
    cr_assert_eq(mix_build(&mix, &f->s, fixture_all(f), n, fixture_all(f), n), ST_OK);
    return mix;
}

Test(mix, n_equal_shapes_are_n_effective_shapes)
{
    struct mix mix = mix_of(fixture_uniform(4, 7));
    cr_assert_float_eq(mix_effective(&mix), 7, 1e-9);
    cr_assert_eq(mix.nwindows, 4);
    cr_assert_eq(mix.calls, 2800);
    mix_free(&mix);
}

Test(mix, where_a_gpu_was_measured_its_time_counts)
{
    /* 7 shapes of equal time on the host; measured: the first 30 ns a call, the second 10; the mean
     * of the measured calls is 20, and the others get it. */
    struct fixture *f = fixture_uniform(4, 7);
    f->signatures[0].gpu_calls = f->signatures[1].gpu_calls = 10;
    f->signatures[0].gpu_measured_ns = 300;
    f->signatures[1].gpu_measured_ns = 100;
    struct mix mix = mix_of(f);
    cr_assert_float_eq(mix.key_time_ns[0], 400 * 30, 1e-6);
    cr_assert_float_eq(mix.key_time_ns[1], 400 * 10, 1e-6);
    cr_assert_float_eq(mix.key_time_ns[6], 400 * 20, 1e-6);
    cr_assert_float_eq(mix.cells[0].time_ns, 100 * 30, 1e-6);
    cr_assert_eq(mix_k90(&mix), 6);
    mix_free(&mix);
}

Test(mix, effective_shapes_by_hand)
{
    /* q = 3/4, 1/4: exp(-(3/4 ln 3/4 + 1/4 ln 1/4)) = 4 / 3^(3/4) = 1.754765 */
    struct fixture *f = fixture_new(1);
    struct tilewise_signature a = fixture_gemm(1, 1, 1), b = fixture_gemm(2, 1, 1);
    fixture_calls(f, 0, &a, 1, 300);
    fixture_calls(f, 0, &b, 100, 1);
    fixture_done(f);
    struct mix mix = mix_of(f);
    cr_assert_float_eq(mix_effective(&mix), 1.7547653, 1e-6);
    mix_free(&mix);
}

Test(mix, halves_of_halves_are_four_effective_shapes)
{
    /* 1/2, 1/4, ..., the last two equal: H = 2 - 2^(2 - n) bits. 15/16 are held by four shapes. */
    struct fixture *f = fixture_new(1);
    for (int i = 1; i <= 12; i++) {
        struct tilewise_signature s = fixture_gemm(i, 1, 1);
        fixture_calls(f, 0, &s, 1, 1u << (i < 12 ? 12 - i : 1));
    }
    fixture_done(f);
    struct mix mix = mix_of(f);
    cr_assert_float_eq(mix_effective(&mix), exp2(2 - exp2(-10)), 1e-9);
    cr_assert_eq(mix_k90(&mix), 4);
    mix_free(&mix);
}

Test(mix, k90_counts_the_fewest_shapes)
{
    /* 50, 30, 10, 10 %: the first three hold exactly 90 %. */
    struct fixture *f = fixture_new(1);
    const uint64_t ns[] = { 10, 50, 10, 30 };
    for (int i = 0; i < 4; i++) {
        struct tilewise_signature s = fixture_gemm(i + 1, 1, 1);
        fixture_calls(f, 0, &s, 1, ns[i]);
    }
    fixture_done(f);
    struct mix mix = mix_of(f);
    cr_assert_eq(mix_k90(&mix), 3);
    mix_free(&mix);
}

Test(mix, coverage_of_a_constant_mix_is_the_table_share)
{
    struct mix mix = mix_of(fixture_uniform(12, 20));
    /* 95 % of 20 equal shapes are 19 of them. */
    cr_assert_float_eq(mix_coverage(&mix, 0.95).p05, 0.95, 1e-9);
    cr_assert_float_eq(mix_coverage(&mix, 1.0).p05, 1.0, 1e-9);
    mix_free(&mix);
}

Test(mix, coverage_is_zero_when_every_window_is_new)
{
    struct fixture *f = fixture_new(10);
    for (size_t w = 0; w < 10; w++) {
        struct tilewise_signature s = fixture_gemm((int64_t)w + 1, 1, 1);
        fixture_calls(f, w, &s, 100, 10);
    }
    fixture_done(f);
    struct mix mix = mix_of(f);
    cr_assert_eq(mix_coverage(&mix, 0.95).p05, 0);
    mix_free(&mix);
}

Test(mix, coverage_is_a_walk_forward_percentile)
{
    /* Shape a alone; in the last of 21 windows b takes half: shares 1 x 19, 0.5 x 1.
     * 5th percentile of 20 sorted values: at 0.95 between 0.5 and 1 = 0.975. */
    struct fixture *f = fixture_new(21);
    struct tilewise_signature a = fixture_gemm(1, 1, 1), b = fixture_gemm(2, 1, 1);
    for (size_t w = 0; w < 21; w++)
        fixture_calls(f, w, &a, 100, 10);
    fixture_calls(f, 20, &b, 100, 10);
    fixture_done(f);
    struct mix mix = mix_of(f);
    struct mix_coverage coverage = mix_coverage(&mix, 0.95);
    cr_assert_float_eq(coverage.p05, 0.975, 1e-9);
    /* P(Bin(20, 0.05) = 0) = 0.36: no lower bound but the least; P(<= 3) = 0.984: the fourth. */
    cr_assert_eq(coverage.lo, 0.5);
    cr_assert_eq(coverage.hi, 1);
    mix_free(&mix);
}

Test(mix, coverage_of_one_window_is_unknown)
{
    struct mix mix = mix_of(fixture_uniform(1, 3));
    cr_assert(isnan(mix_coverage(&mix, 0.95).p05));
    cr_assert(isnan(mix_drift(&mix, (struct prng){ 1 }).adjacent));
    mix_free(&mix);
}

Test(mix, unseen_is_the_share_of_singletons)
{
    struct fixture *f = fixture_new(1);
    for (int i = 0; i < 3; i++) {
        struct tilewise_signature s = fixture_gemm(i + 1, 1, 1);
        fixture_calls(f, 0, &s, 1, 10);
    }
    struct tilewise_signature often = fixture_gemm(9, 1, 1);
    fixture_calls(f, 0, &often, 97, 10);
    fixture_done(f);
    struct mix mix = mix_of(f);
    cr_assert_float_eq(mix_unseen(&mix), 0.03, 1e-12);
    mix_free(&mix);
}

Test(mix, drift_between_disjoint_windows_is_one_bit)
{
    struct fixture *f = fixture_new(2);
    struct tilewise_signature a = fixture_gemm(1, 1, 1), b = fixture_gemm(2, 1, 1);
    fixture_calls(f, 0, &a, 1000, 10);
    fixture_calls(f, 1, &b, 1000, 10);
    fixture_done(f);
    struct mix mix = mix_of(f);
    struct mix_drift drift = mix_drift(&mix, (struct prng){ 1 });
    cr_assert_float_eq(drift.adjacent, 1, 1e-9);
    cr_assert_float_eq(drift.first_last, 1, 1e-9);
    cr_assert_lt(drift.null95, 0.02);
    mix_free(&mix);
}

Test(mix, drift_by_hand)
{
    /* p = (1, 0), q = (1/2, 1/2): m = (3/4, 1/4).
     * JSD = 1/2 log2(4/3) + 1/2 (1/2 log2(2/3) + 1/2 log2 2) = 0.311278 */
    struct fixture *f = fixture_new(2);
    struct tilewise_signature a = fixture_gemm(1, 1, 1), b = fixture_gemm(2, 1, 1);
    fixture_calls(f, 0, &a, 1000, 10);
    fixture_calls(f, 1, &a, 500, 10);
    fixture_calls(f, 1, &b, 500, 10);
    fixture_done(f);
    struct mix mix = mix_of(f);
    cr_assert_float_eq(mix_drift(&mix, (struct prng){ 1 }).adjacent, 0.3112781, 1e-6);
    mix_free(&mix);
}

Test(mix, drift_is_the_median_of_neighbours)
{
    /* One change in the middle of 8 windows: six of seven neighbours are equal. */
    struct fixture *f = fixture_new(8);
    struct tilewise_signature a = fixture_gemm(1, 1, 1), b = fixture_gemm(2, 1, 1);
    for (size_t w = 0; w < 8; w++)
        fixture_calls(f, w, w < 4 ? &a : &b, 1000, 10);
    fixture_done(f);
    struct mix mix = mix_of(f);
    struct mix_drift drift = mix_drift(&mix, (struct prng){ 1 });
    cr_assert_float_eq(drift.adjacent, 0, 1e-12);
    cr_assert_float_eq(drift.first_last, 1, 1e-12);
    mix_free(&mix);
}

Test(mix, drift_ignores_noise_of_durations)
{
    struct fixture *f = fixture_new(10);
    struct tilewise_signature a = fixture_gemm(1, 1, 1), b = fixture_gemm(2, 1, 1);
    for (size_t w = 0; w < 10; w++) {
        fixture_calls(f, w, &a, 500, 10 + 7 * (w % 2));
        fixture_calls(f, w, &b, 500, 17 - 7 * (w % 2));
    }
    fixture_done(f);
    struct mix mix = mix_of(f);
    cr_assert_float_eq(mix_drift(&mix, (struct prng){ 1 }).adjacent, 0, 1e-12);
    mix_free(&mix);
}

Test(mix, sampling_noise_stays_within_the_null)
{
    /* 200 shapes, windows of 400 calls drawn from one mix: far above 0, and no drift. */
    struct fixture *f = fixture_new(16);
    struct prng prng = { 42 };
    for (size_t w = 0; w < 16; w++) {
        uint64_t drawn[200] = { 0 };
        for (int i = 0; i < 400; i++)
            drawn[prng_below(&prng, 200)]++;
        for (int i = 0; i < 200; i++)
            if (drawn[i]) {
                struct tilewise_signature s = fixture_gemm(i + 1, 1, 1);
                fixture_calls(f, w, &s, drawn[i], 10);
            }
    }
    fixture_done(f);
    struct mix mix = mix_of(f);
    struct mix_drift drift = mix_drift(&mix, (struct prng){ 1 });
    cr_assert_gt(drift.adjacent, 0.1);
    cr_assert_leq(drift.adjacent, drift.null95);
    cr_assert_gt(drift.null95, 0.8 * drift.adjacent);
    mix_free(&mix);
}

Test(mix, the_null_of_two_windows_is_chi_square)
{
    /* Two equal shapes, n calls a window: the divergence is chi-square with one degree of freedom
     * over 4 n ln 2, and its 95th percentile 3.841 of that. */
    struct fixture *f = fixture_new(2);
    for (size_t w = 0; w < 2; w++)
        for (int i = 0; i < 2; i++) {
            struct tilewise_signature s = fixture_gemm(i + 1, 1, 1);
            fixture_calls(f, w, &s, 500, 10);
        }
    fixture_done(f);
    struct mix mix = mix_of(f);
    double want = 3.841 / (4 * 1000 * log(2));
    cr_assert_float_eq(mix_drift(&mix, (struct prng){ 1 }).null95, want, 0.3 * want);
    mix_free(&mix);
}

Test(mix, the_same_seed_gives_the_same_null)
{
    struct mix mix = mix_of(fixture_uniform(12, 30));
    struct mix_drift a = mix_drift(&mix, (struct prng){ 5 }),
                     b = mix_drift(&mix, (struct prng){ 5 });
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
    mix_free(&mix);
}

Test(prng, poisson_has_its_mean_and_variance)
{
    const double means[] = { 0.5, 5, 29, 31, 1000 };
    struct prng prng = { 7 };
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        double sum = 0, squares = 0;
        for (int n = 0; n < 20000; n++) {
            double v = prng_poisson(&prng, means[i]);
            sum += v;
            squares += v * v;
        }
        double mean = sum / 20000, variance = squares / 20000 - mean * mean;
        cr_assert_float_eq(mean, means[i], 0.05 * means[i]);
        cr_assert_float_eq(variance, means[i], 0.08 * means[i]);
    }
}

Test(quantile, interpolates_between_order_statistics)
{
    double v[] = { 4, 1, 3, 2, 5 };
    cr_assert_float_eq(quantile_of(v, 5, 0.5), 3, 1e-12);
    cr_assert_float_eq(quantile_of(v, 5, 0.05), 1.2, 1e-12);
    cr_assert_float_eq(quantile_of(v, 5, 1), 5, 1e-12);
    cr_assert(isnan(quantile_of(v, 0, 0.5)));
}
