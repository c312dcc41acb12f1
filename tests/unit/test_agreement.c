/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/agreement.h"

static struct result_order rows[3];
static struct result_set set;
static struct agreement_promise promise;

static struct result_order stretch(char *source, double share, double ratio)
{
    return (struct result_order){ .source = source,
                                  .reason = "",
                                  .status = RESULT_PASSED,
                                  .calls = 10,
                                  .time_share = share,
                                  .ratio = ratio,
                                  .ratio_lo = ratio / 1.01,
                                  .ratio_hi = ratio * 1.01 };
}

/* One operation that is busy for 80 % of the busy time, and whose heat is half of that. */
static void setup(void)
{
    rows[0] = stretch("stream 7", 0.6, 1.25);
    rows[1] = stretch("stream 9", 0.3, NAN);
    promise = (struct agreement_promise){ .lo = 0.05, .hi = 0.09, .heat = 0.4, .busy_share = 0.8 };
    set = (struct result_set){ .norders = 2, .orders = rows };
}

static struct agreement measured(void)
{
    struct agreement a;
    agreement_measure(&a, &set, &promise, 1);
    return a;
}

Test(agreement, by_hand, .init = setup)
{
    /* Of busy time (0.6 x 0.2 + 0.3 x 0) / 0.9 is saved, and of the whole 0.4 / 0.8 as much. */
    struct agreement a = measured();
    cr_assert_float_eq(a.covered, 0.9, 1e-12);
    cr_assert_float_eq(a.gain, 0.6 * 0.2 / 0.9 / 2, 1e-12);
    cr_assert_float_eq(a.lo, 0.6 * (1 - 1.01 / 1.25) / 0.9 / 2, 1e-12);
    cr_assert_float_eq(a.hi, 0.6 * (1 - 1 / (1.25 * 1.01)) / 0.9 / 2, 1e-12);
    cr_assert_eq(a.promised_lo, 0.05);
    cr_assert_eq(a.promised_hi, 0.09);
}

Test(agreement, operations_count_by_what_they_promise, .init = setup)
{
    /* 0.09 of the whole are 0.18 of busy time, 0.03 are 0.03: 0.12 are 0.21. */
    const struct agreement_promise two[] = { promise, { 0.02, 0.03, 0.1, 0.1 }, { 0, 0, 0, NAN } };
    struct agreement a;
    agreement_measure(&a, &set, two, 3);
    cr_assert_float_eq(a.gain, 0.6 * 0.2 / 0.9 * 0.12 / 0.21, 1e-12);
    cr_assert_float_eq(a.promised_lo, 0.07, 1e-12);
    cr_assert_float_eq(a.promised_hi, 0.12, 1e-12);
}

Test(agreement, of_two_measurements_of_a_stretch_the_last_counts, .init = setup)
{
    rows[2] = stretch("stream 7", 0.6, 1);
    set.norders = 3;
    cr_assert_float_eq(measured().covered, 0.9, 1e-12);
    cr_assert_float_eq(measured().gain, 0, 1e-12);
    rows[2].status = RESULT_TIMEOUT;
    cr_assert_float_eq(measured().gain, 0.6 * 0.2 / 0.9 / 2, 1e-12);
}

Test(agreement, what_was_not_measured_is_not_known, .init = setup)
{
    rows[0].time_share = NAN;
    rows[1].status = RESULT_SKIPPED;
    cr_assert_eq(measured().covered, 0);
    cr_assert(isnan(measured().gain));
    set.norders = 0;
    cr_assert(isnan(measured().gain));
}

Test(agreement, without_a_promise_there_is_nothing_to_agree_with, .init = setup)
{
    promise.hi = 0;
    cr_assert(isnan(measured().gain));
    promise = (struct agreement_promise){ 0.05, 0.09, NAN, 0.8 };
    cr_assert(isnan(measured().gain));
}
