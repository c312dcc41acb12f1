/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "cli/command.h"
#include "trace_fixture.h"

enum { KERNELS = 5, WINDOW_NS = 1000000 };

static const struct command *validate;

static void setup(void)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
    validate = command_find("validate");
    cr_assert_not_null(validate);
}

TestSuite(validate, .init = setup);

static void write_kernels(struct writer *w, uint32_t name, unsigned launches)
{
    const struct gpu_window window = { 1000, 1000 + WINDOW_NS, 1000, launches, launches, 0 };
    const struct gpu_kernel kernel = { .name = name,
                                       .signature = GPU_NO_SIGNATURE,
                                       .launches = launches,
                                       .measured = launches,
                                       .sum_ns = 100 * launches,
                                       .min_ns = 100,
                                       .max_ns = 100 };
    const struct gpu_totals totals = {
        .launches = launches, .records = launches, .windows = 1, .window_ns = WINDOW_NS
    };
    cr_assert_eq(writer_gpu_window(w, &window), ST_OK);
    cr_assert_eq(writer_gpu_kernel(w, &kernel), ST_OK);
    cr_assert_eq(writer_gpu_totals(w, &totals), ST_OK);
}

static void write_timeline(struct writer *w, uint32_t name, unsigned count, unsigned missing)
{
    const struct gpu_source source = { .name = name, .signature = GPU_NO_SIGNATURE };
    struct gpu_interval v[2 * KERNELS];
    for (unsigned i = 0; i < count; i++)
        v[i] = (struct gpu_interval){ 2048 + 256 * (uint64_t)i, GPU_NO_TIME, 96, 0 };
    const struct gpu_intervals g = { .window_ns = 1000,
                                     .missing = missing,
                                     .nsources = 1,
                                     .count = count,
                                     .sources = &source,
                                     .interval = v };
    cr_assert_eq(writer_gpu_intervals(w, &g), ST_OK);
}

/* What validate says of KERNELS kernels and a timeline of `count`. */
static int verdict(unsigned count, unsigned missing)
{
    char path[] = "/tmp/validate.XXXXXX";
    int fd = mkstemp(path);
    uint32_t name;
    struct writer *w = fixture_open(fd, 1);
    struct trace_counters none = { 0 };
    cr_assert_eq(writer_string(w, "gemm", 4, &name), ST_OK);
    write_kernels(w, name, KERNELS);
    if (count + missing)
        write_timeline(w, name, count, missing);
    cr_assert_eq(writer_close(w, &none, 5 * WINDOW_NS), ST_OK);
    char *argv[] = { (char[]){ "validate" }, path, NULL };
    int code = validate->run(2, argv);
    unlink(path);
    return code;
}

Test(validate, a_timeline_of_all_kernels_is_whole)
{
    cr_assert_eq(verdict(KERNELS, 0), EXIT_FINE);
}

Test(validate, kernels_said_to_be_missing_are_accounted_for)
{
    cr_assert_eq(verdict(KERNELS - 2, 2), EXIT_FINE);
}

Test(validate, a_trace_of_before_has_no_timeline)
{
    cr_assert_eq(verdict(0, 0), EXIT_FINE);
}

Test(validate, a_timeline_without_some_kernel_does_not_add_up)
{
    cr_assert_eq(verdict(KERNELS - 1, 0), EXIT_FINDING);
}

Test(validate, a_timeline_with_a_kernel_too_many_does_not_add_up)
{
    cr_assert_eq(verdict(KERNELS + 1, 0), EXIT_FINDING);
    cr_assert_eq(verdict(KERNELS, 1), EXIT_FINDING);
}
