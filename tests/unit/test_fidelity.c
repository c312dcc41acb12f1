/* SPDX-License-Identifier: Apache-2.0
 *
 * Fidelity from synthetic summaries and results.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "analysis/fidelity.h"

enum { SHAPES = 3 };

static struct summary_signature signatures[SHAPES];
static struct summary_kernel kernels[4];
static const char *strings[] = { "", "nvjet", "splitK", "cutlass" };
static struct summary s;
static struct result_run run;
static struct result_set results;
static struct result_case cases[SHAPES];
static const struct result_case *result_of[SHAPES];

/* Three shapes of 10, 20 and 30 calls; recorded 1000 ns of kernels for each call. */
static void set_up(void)
{
    for (int i = 0; i < SHAPES; i++) {
        signatures[i] = (struct summary_signature){ .calls = 10u * (unsigned)(i + 1) };
        signatures[i].time_ns = signatures[i].calls * 5000; /* on the host */
        cases[i] = (struct result_case){
            .baseline_recorded_ns = 1100, .kernel_ns = 1000, .kernels = "", .recorded_ns = 1000
        };
        result_of[i] = &cases[i];
    }
    s = (struct summary){ .nsignatures = SHAPES, .signatures = signatures, .strings = strings };
    s.kernels = kernels;
    run = (struct result_run){ .backend = "cuda",
                               .device = "NVIDIA H200, 132 SMs",
                               .trace_device = "NVIDIA H200" };
    results = (struct result_set){ .nruns = 1, .runs = &run, .ncases = SHAPES, .cases = cases };
}

static struct fidelity measure(void)
{
    struct fidelity f;
    cr_assert_eq(fidelity_measure(&s, &results, result_of, &f), ST_OK);
    return f;
}

Test(fidelity, compares_kernel_time_with_kernel_time, .init = set_up)
{
    cases[0].kernel_ns = 1060;
    cases[2].kernel_ns = 980;
    struct fidelity f = measure();
    cr_assert_eq(f.signatures, 3);
    cr_assert_float_eq(f.total, (10 * 1060.0 + 20 * 1000.0 + 30 * 980.0) / 60000, 1e-12);
    cr_assert_float_eq(f.median_abs_error, 0.02, 1e-12);
    cr_assert_eq(f.by_events, 0);
    cr_assert(isnan(f.same_kernel_share));
}

Test(fidelity, events_stand_in_and_are_labelled, .init = set_up)
{
    cases[1].kernel_ns = NAN;
    struct fidelity f = measure();
    cr_assert_eq(f.by_events, 1);
    struct fidelity_row row = fidelity_row(&s, &results, 1, &cases[1]);
    cr_assert(row.by_events);
    cr_assert_float_eq(row.error, 0.1, 1e-12);
}

Test(fidelity, time_on_the_host_is_no_gpu_time, .init = set_up)
{
    for (int i = 0; i < SHAPES; i++)
        cases[i].recorded_ns = NAN;
    struct fidelity f = measure();
    cr_assert_eq(f.signatures, 0);
    cr_assert(isnan(f.total) && isnan(f.median_abs_error));
    run.backend = "cpu"; /* there it is what was measured */
    for (int i = 0; i < SHAPES; i++)
        cases[i].kernel_ns = NAN;
    f = measure();
    cr_assert_float_eq(f.total, 1100.0 / 5000, 1e-12);
    cr_assert_eq(f.by_events, 0);
}

Test(fidelity, is_not_claimed_for_another_card, .init = set_up)
{
    run.device = "NVIDIA H200 NVL, 132 SMs";
    struct fidelity f = measure();
    cr_assert_str_eq(f.other_card, "NVIDIA H200");
    cr_assert(isnan(f.total) && f.signatures == 0);
    run.trace_device = ""; /* nobody knows */
    f = measure();
    cr_assert_null(f.other_card);
    cr_assert_eq(f.signatures, 3);
}

Test(fidelity, kernels_are_the_same_by_name, .init = set_up)
{
    kernels[0] = (struct summary_kernel){ .name = 1, .signature = 0 };
    kernels[1] = (struct summary_kernel){ .name = 2, .signature = 0 };
    kernels[2] = (struct summary_kernel){ .name = 1, .signature = 0 }; /* another grid */
    kernels[3] = (struct summary_kernel){ .name = 1, .signature = 1 };
    s.nkernels = 4;
    cases[0].kernels = "splitK\nnvjet";
    cases[1].kernels = "nvjet\nsplitK"; /* one more than recorded */
    cases[2].kernels = "nvjet";         /* nothing recorded */
    struct fidelity f = measure();
    cr_assert_float_eq(f.same_kernel_share, 10.0 / 30, 1e-12);
    cr_assert_eq(fidelity_row(&s, &results, 0, &cases[0]).same_kernels, 1);
    cr_assert_eq(fidelity_row(&s, &results, 1, &cases[1]).same_kernels, 0);
    cr_assert_eq(fidelity_row(&s, &results, 2, &cases[2]).same_kernels, -1);
    cases[0].kernels = "splitK\nnvjet2";
    cr_assert_eq(fidelity_row(&s, &results, 0, &cases[0]).same_kernels, 0);
}
