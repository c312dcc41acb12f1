/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "traces/histogram.h"

Test(histogram, every_duration_lies_within_its_bucket)
{
    for (uint64_t ns = 2; ns < (UINT64_C(1) << 40); ns += 1 + ns / 97) {
        unsigned b = histogram_bucket(ns);
        double upper = histogram_upper_ns(b), lower = b ? histogram_upper_ns(b - 1) : 0;
        cr_assert((double)ns <= upper * (1 + 1e-15), "%lu above bucket %u", ns, b);
        cr_assert((double)ns > lower, "%lu below bucket %u", ns, b);
    }
}

Test(histogram, powers_of_two_close_their_octave)
{
    for (unsigned e = 1; e < 40; e++) {
        cr_assert_eq(histogram_bucket(UINT64_C(1) << e), 4 * e - 1);
        cr_assert_eq(histogram_bucket((UINT64_C(1) << e) + 1), e == 1 ? 6 : e == 2 ? 9 : 4 * e);
    }
}

Test(histogram, ends)
{
    cr_assert_eq(histogram_bucket(0), 0);
    cr_assert_eq(histogram_bucket(1), 0);
    cr_assert_eq(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
    cr_assert_eq(histogram_bucket(UINT64_C(1) << 40), HISTOGRAM_BUCKETS - 1);
    cr_assert_float_eq(histogram_upper_ns(3), 2.0, 1e-12);
    cr_assert_float_eq(histogram_upper_ns(159), 1099511627776.0, 1);
}

Test(histogram, quantile_is_within_nine_percent)
{
    struct histogram h = { 0 };
    for (uint64_t ns = 1000; ns < 101000; ns++)
        h.count[histogram_bucket(ns)]++;
    for (double q = 0.05; q < 1; q += 0.05) {
        double truth = 1000 + q * 100000;
        cr_assert(fabs(histogram_quantile_ns(&h, q) / truth - 1) <= 0.10, "q %g", q);
    }
}

Test(histogram, quantile_of_nothing_is_zero)
{
    struct histogram h = { 0 };
    cr_assert_float_eq(histogram_quantile_ns(&h, 0.5), 0, 1e-300);
}

Test(histogram, quantile_zero_and_one_are_the_ends)
{
    struct histogram h = { .count = { [10] = 1, [20] = 5 } };
    cr_assert_lt(histogram_quantile_ns(&h, 0), histogram_upper_ns(10));
    cr_assert_gt(histogram_quantile_ns(&h, 1), histogram_upper_ns(19));
}

Test(histogram, adding_is_exact)
{
    struct histogram a = { .count = { [3] = 5 } }, b = { .count = { [3] = 7, [159] = 1 } };
    histogram_add(&a, &b);
    cr_assert_eq(a.count[3], 12);
    cr_assert_eq(a.count[159], 1);
}
