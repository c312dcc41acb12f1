/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "replayer/timing.h"

/* ---- statistics ---- */

Test(stats, median_of_odd_even_none)
{
    double odd[] = { 5, 1, 4 }, even[] = { 4, 1, 3, 2 };
    cr_assert_eq(stats_median(odd, 3), 4);
    cr_assert_eq(stats_median(even, 4), 2.5);
    cr_assert(isnan(stats_median(odd, 0)));
}

Test(stats, median_agrees_with_sorting_on_many_lists)
{
    uint64_t state = 3;
    for (int i = 0; i < 500; i++) {
        double values[101];
        size_t count = 1 + stats_random(&state) % 100, below = 0, above = 0;
        for (size_t j = 0; j < count; j++)
            values[j] = (double)(stats_random(&state) % 20);
        double median = stats_median(values, count);
        for (size_t j = 0; j < count; j++) {
            below += values[j] < median;
            above += values[j] > median;
        }
        cr_assert(below <= count / 2 && above <= count / 2);
    }
}

Test(stats, one_value_has_no_interval)
{
    double value = 3;
    struct stats_interval r = stats_bootstrap(&value, 1, 0.95, 1);
    cr_assert_eq(r.mid, 3);
    cr_assert(isinf(r.lo) && isinf(r.hi));
}

Test(stats, bootstrap_is_deterministic_and_depends_on_the_seed)
{
    double values[20];
    uint64_t state = 5;
    for (int i = 0; i < 20; i++)
        values[i] = (double)stats_random(&state) / 1e19;
    struct stats_interval a = stats_bootstrap(values, 20, 0.5, 1);
    struct stats_interval b = stats_bootstrap(values, 20, 0.5, 1);
    cr_assert_eq(a.lo, b.lo);
    cr_assert_eq(a.hi, b.hi);
    cr_assert(a.lo <= a.mid && a.mid <= a.hi);
}

/* A sum of twelve uniforms: mean 0, deviation 1, median 0. */
static double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(stats_random(state) >> 11) * 0x1p-53;
    return sum;
}

static double coverage(double level, size_t count)
{
    uint64_t state = 11;
    int hits = 0, runs = 400;
    for (int i = 0; i < runs; i++) {
        double values[64];
        for (size_t j = 0; j < count; j++)
            values[j] = normal(&state);
        struct stats_interval r = stats_bootstrap(values, count, level, (uint64_t)i);
        hits += r.lo <= 0 && 0 <= r.hi;
    }
    return (double)hits / runs;
}

Test(stats, interval_covers_the_true_median_as_often_as_it_says)
{
    double at95 = coverage(0.95, 40), at50 = coverage(0.5, 40);
    cr_assert(at95 > 0.92 && at95 <= 1, "%g", at95);
    cr_assert(at50 > 0.40 && at50 < 0.65, "%g", at50);
}

Test(stats, higher_level_is_wider)
{
    double values[30];
    uint64_t state = 2;
    for (int i = 0; i < 30; i++)
        values[i] = normal(&state);
    struct stats_interval a = stats_bootstrap(values, 30, 0.9, 1);
    struct stats_interval b = stats_bootstrap(values, 30, 0.999, 1);
    cr_assert(b.lo <= a.lo && a.hi <= b.hi && b.hi - b.lo > a.hi - a.lo);
}

Test(stats, outliers_do_not_move_the_median)
{
    double values[21];
    for (int i = 0; i < 21; i++)
        values[i] = i < 3 ? 1000 : 1;
    struct stats_interval r = stats_bootstrap(values, 21, 0.95, 1);
    cr_assert_eq(r.mid, 1);
    cr_assert_eq(r.hi, 1);
}

/* ---- rounds, with a simulated clock ---- */

struct machine {
    double price_ns[TIMING_ARMS_MAX], noise, drift, clock_ns;
    uint64_t state, bursts;
    unsigned order[4096];
    bool broken;
};

static double machine_burst(void *context, unsigned arm, uint64_t calls)
{
    struct machine *m = context;
    if (m->bursts < 4096)
        m->order[m->bursts] = arm;
    m->bursts++;
    if (m->broken)
        return NAN;
    double slow = 1 + m->drift * m->clock_ns * 1e-9 + m->noise * normal(&m->state);
    double ns = (double)calls * m->price_ns[arm] * slow;
    m->clock_ns += ns;
    return ns;
}

static double machine_now(void *context)
{
    return ((struct machine *)context)->clock_ns;
}

static struct timing_samples samples;

static enum status measure(struct machine *m, unsigned arms)
{
    struct timing_source source = { m, machine_burst, machine_now };
    struct timing_options options = {
        .arms = arms,
        .burst_ns = 200e3,
        .budget_ns = 1e9,
        .target = 0.003,
        .min_rounds = 8,
        .max_rounds = 200,
        .seed = 1,
    };
    return timing_measure(&source, &options, &samples);
}

Test(timing, finds_the_ratio)
{
    struct machine m = { .price_ns = { 1000, 800 }, .noise = 0.01 };
    cr_assert_eq(measure(&m, 2), ST_OK);
    struct stats_interval r = timing_ratio(&samples, 0, 1, 0.95, 1);
    cr_assert(fabs(r.mid - 1.25) < 0.01 && r.lo > 1.23 && r.hi < 1.27, "%g", r.mid);
    cr_assert(fabs(timing_median_ns(&samples, 1) - 800) < 8);
}

Test(timing, drift_of_the_machine_cancels)
{
    struct machine m = { .price_ns = { 1000, 1000 }, .drift = 5 }; /* 5 times slower in a second */
    cr_assert_eq(measure(&m, 2), ST_OK);
    struct stats_interval r = timing_ratio(&samples, 0, 1, 0.95, 1);
    cr_assert(fabs(r.mid - 1) < 1e-3, "%g", r.mid);
}

Test(timing, rounds_go_forwards_then_backwards)
{
    struct machine m = { .price_ns = { 3e5, 3e5, 3e5 } }; /* one call fills a burst */
    const unsigned want[] = { 0, 1, 2, 2, 1, 0 };
    cr_assert_eq(measure(&m, 3), ST_OK);
    for (int i = 0; i < 12; i++)
        cr_assert_eq(m.order[3 + i], want[i % 6], "burst %d", i);
}

Test(timing, bursts_grow_to_the_wanted_length)
{
    struct machine m = { .price_ns = { 50, 4e6 } };
    cr_assert_eq(measure(&m, 2), ST_OK);
    cr_assert_geq(samples.calls[0], 4000);
    cr_assert_leq(samples.calls[0], 8000);
    cr_assert_eq(samples.calls[1], 1);
}

Test(timing, stops_early_when_quiet)
{
    struct machine m = { .price_ns = { 1000, 900 }, .noise = 0.0001 };
    cr_assert_eq(measure(&m, 2), ST_OK);
    cr_assert_eq(samples.rounds, 8);
}

Test(timing, goes_on_when_noisy_up_to_the_limits)
{
    struct machine m = { .price_ns = { 1000, 900 }, .noise = 0.1 };
    cr_assert_eq(measure(&m, 2), ST_OK);
    cr_assert_eq(samples.rounds, 200);
}

Test(timing, budget_ends_it_but_not_before_the_least_rounds)
{
    struct machine m = { .price_ns = { 5e8, 5e8 }, .noise = 0.1 };
    cr_assert_eq(measure(&m, 2), ST_OK);
    cr_assert_eq(samples.rounds, 8);
}

Test(timing, failing_burst_is_an_error)
{
    struct machine m = { .price_ns = { 1, 1 }, .broken = true };
    cr_assert_eq(measure(&m, 2), ST_DEVICE);
}

Test(timing, too_many_arms_are_refused)
{
    struct machine m = { .price_ns = { 1 } };
    cr_assert_eq(measure(&m, TIMING_ARMS_MAX + 1), ST_INVALID);
}

Test(timing, noise_floor_of_equal_arms)
{
    struct machine quiet = { .price_ns = { 1000, 1000 }, .noise = 0.001 };
    struct machine loud = { .price_ns = { 1000, 1000 }, .noise = 0.1 };
    cr_assert_eq(measure(&quiet, 2), ST_OK);
    double low = timing_noise(&samples, 0, 1);
    cr_assert_eq(measure(&loud, 2), ST_OK);
    double high = timing_noise(&samples, 0, 1);
    cr_assert(low < 0.005 && high > 0.005 && high > 3 * low, "%g %g", low, high);
}

/* ---- decisions ---- */

static enum result_call decide(double lo, double hi, double noise)
{
    return timing_decide((struct stats_interval){ lo, (lo + hi) / 2, hi }, noise);
}

Test(decision, faster_only_beyond_one_percent)
{
    cr_assert_eq(decide(1.02, 1.05, 0), RESULT_FASTER);
    cr_assert_eq(decide(1.009, 1.05, 0), RESULT_UNCLEAR);
}

Test(decision, faster_only_beyond_the_noise)
{
    cr_assert_eq(decide(1.04, 1.06, 0.05), RESULT_UNCLEAR);
    cr_assert_eq(decide(1.06, 1.07, 0.05), RESULT_FASTER);
}

Test(decision, slower_mirrors_faster)
{
    cr_assert_eq(decide(0.9, 0.97, 0), RESULT_SLOWER);
    cr_assert_eq(decide(0.9, 0.995, 0), RESULT_UNCLEAR);
    cr_assert_eq(decide(0.9, 0.97, 0.05), RESULT_UNCLEAR);
}

Test(decision, same_needs_the_whole_interval_within_one_percent)
{
    cr_assert_eq(decide(0.995, 1.005, 0), RESULT_SAME);
    cr_assert_eq(decide(0.98, 1.005, 0), RESULT_UNCLEAR);
    cr_assert_eq(decide(0.995, 1.02, 0), RESULT_UNCLEAR);
}

Test(decision, wide_interval_is_unclear_even_if_the_middle_is_high)
{
    cr_assert_eq(decide(0.8, 1.6, 0), RESULT_UNCLEAR);
    cr_assert_eq(decide(-INFINITY, INFINITY, 0), RESULT_UNCLEAR);
}

Test(decision, nan_is_never_a_claim)
{
    cr_assert_eq(decide(NAN, NAN, 0), RESULT_UNCLEAR);
    cr_assert_eq(decide(1.2, 1.3, NAN), RESULT_UNCLEAR);
}

Test(decision, many_shapes_need_wider_intervals)
{
    cr_assert_float_eq(timing_level(1), 0.95, 1e-12);
    cr_assert_float_eq(timing_level(50), 0.999, 1e-12);
    cr_assert_float_eq(timing_level(0), 0.95, 1e-12);
}

/* No difference, 40 shapes: hardly ever a claim. */
Test(decision, equal_kernels_are_not_called_faster)
{
    int claims = 0;
    for (int i = 0; i < 40; i++) {
        struct machine m = { .price_ns = { 1000, 1000 }, .noise = 0.03, .state = (uint64_t)i };
        cr_assert_eq(measure(&m, 2), ST_OK);
        enum result_call call = timing_decide(timing_ratio(&samples, 0, 1, timing_level(40), 1), 0);
        claims += call == RESULT_FASTER || call == RESULT_SLOWER;
    }
    cr_assert_eq(claims, 0);
}
