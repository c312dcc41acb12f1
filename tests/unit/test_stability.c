/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/quantile.h"
#include "analysis/stability.h"
#include "summary_fixture.h"

static struct policy policy;

static void setup(void)
{
    policy_default(&policy);
}

/* The mix of all signatures of a fixture, every signature its own shape. */
static struct mix mix_of(const struct fixture *f)
{
    struct mix mix;
    size_t n = f->s.nsignatures;
    cr_assert_eq(mix_build(&mix, &f->s, fixture_all(f), n, fixture_all(f), n), ST_OK);
    return mix;
}

static struct stability measure(const struct fixture *f)
{
    struct stability st;
    cr_assert_eq(stability_measure(&st, &f->s, fixture_all(f), f->s.nsignatures, &policy), ST_OK);
    return st;
}

/* The same `shapes` shapes in each of `windows` windows, equal time. */
static struct fixture *uniform(size_t windows, int shapes)
{
    struct fixture *f = fixture_new(windows);
    for (size_t w = 0; w < windows; w++)
        for (int i = 0; i < shapes; i++) {
            struct tilewise_signature s = fixture_gemm(8 * (i + 1), 384, 384);
            fixture_calls(f, w, &s, 100, 50);
        }
    fixture_done(f);
    return f;
}

Test(mix, n_equal_shapes_are_n_effective_shapes)
{
    struct mix mix = mix_of(uniform(4, 7));
    cr_assert_float_eq(mix_effective(&mix), 7, 1e-9);
    cr_assert_eq(mix.nwindows, 4);
    cr_assert_eq(mix.calls, 2800);
    mix_free(&mix);
}

Test(mix, where_a_gpu_was_measured_its_time_counts)
{
    /* 7 shapes of equal time on the host; measured: the first 30 ns a call, the second 10; the mean
     * of the measured calls is 20, and the others get it. */
    struct fixture *f = uniform(4, 7);
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

Test(mix, calls_of_a_graph_have_no_host_time_but_that_of_the_gpu, .init = setup)
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
    struct mix mix = mix_of(uniform(12, 20));
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
    struct mix mix = mix_of(uniform(1, 3));
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
    struct mix mix = mix_of(uniform(12, 30));
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

Test(shape, buckets_are_those_of_serving_engines)
{
    const int64_t sizes[][2] = { { 1, 1 },       { 2, 2 },
                                 { 3, 4 },       { 4, 4 },
                                 { 5, 8 },       { 8, 8 },
                                 { 9, 16 },      { 17, 24 },
                                 { 24, 24 },     { 25, 32 },
                                 { 1000, 1000 }, { 1001, 1008 },
                                 { 0, 0 },       { INT64_MAX, INT64_MAX } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        cr_assert_eq(shape_bucket(sizes[i][0]), sizes[i][1], "of %ld", (long)sizes[i][0]);
}

Test(shape, alignment_leading_dimensions_and_graphs_make_no_new_shape)
{
    struct fixture *f = fixture_new(1);
    const struct shape_rule raw = { .grain = SHAPE_RAW };
    struct tilewise_signature s = fixture_gemm(64, 32, 16);
    fixture_calls(f, 0, &s, 1, 1);
    s.align_a = 4;
    fixture_calls(f, 0, &s, 1, 1);
    s.lda = 99;
    fixture_calls(f, 0, &s, 1, 1);
    s.flags = TILEWISE_IN_GRAPH;
    fixture_calls(f, 0, &s, 1, 1);
    s.trans_b = TILEWISE_T;
    fixture_calls(f, 0, &s, 1, 1);
    uint32_t key[5];
    cr_assert_eq(shape_number(&f->s, fixture_all(f), 5, &raw, key), 2);
    for (int i = 1; i < 4; i++)
        cr_assert_eq(key[0], key[i]);
    cr_assert_neq(key[0], key[4]);
    const struct shape_rule as_called = { .grain = SHAPE_RAW, .as_called = true };
    cr_assert_eq(shape_number(&f->s, fixture_all(f), 5, &as_called, key),
                 4); /* all but alignment */
}

Test(shape, classes_by_size_and_depth)
{
    const struct {
        int64_t m, n, k;
        const char *name;
    } rows[] = {
        { 1, 384, 384, "vector" },        { 384, 1, 384, "vector" },
        { 2, 384, 384, "skinny" },        { 16, 384, 384, "skinny" },
        { 17, 384, 384, "small" },        { 127, 1536, 384, "small" },
        { 128, 384, 1536, "mid" },        { 511, 512, 512, "mid" },
        { 512, 512, 512, "large" },       { 100, 100, 64, "small short-k" },
        { 20, 20, 4096, "small deep-k" }, { 4096, 4096, 64, "large short-k" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tilewise_signature s = fixture_gemm(rows[i].m, rows[i].n, rows[i].k);
        cr_assert_str_eq(shape_class_name(&s), rows[i].name);
    }
    struct tilewise_signature s = fixture_gemm(100, 100, 100);
    s.batch = 12;
    cr_assert_str_eq(shape_class_name(&s), "batched small");
    s.op = TILEWISE_OP_ADD;
    cr_assert_str_eq(shape_class_name(&s), "matrix");
    s.n = 1;
    cr_assert_str_eq(shape_class_name(&s), "vector");
}

Test(stability, few_constant_shapes_are_stable, .init = setup)
{
    struct stability st = measure(uniform(20, 10));
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
    cr_assert_neq(measure(uniform(20, 10)).level, STABILITY_STABLE);
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
