/* SPDX-License-Identifier: Apache-2.0 */
#include "causal_fixture.h"

#include "analysis/causal_streams.h"

/* GPU windows of 10 ms, one each 100 ms. `busy_us`: of every kernel, 100 us from launch to launch.
 * On a second stream a collective of nobody's. */
static void write_windows(struct scene *s, unsigned windows, unsigned busy_us, unsigned swing_us)
{
    uint32_t nccl;
    cr_assert_eq(writer_string(s->w, "ncclDevKernel", 13, &nccl), ST_OK);
    const struct gpu_source mine = { .name = s->kernel, .signature = s->gemm, .is_first = true };
    const struct gpu_source other = { .name = nccl, .signature = GPU_NO_SIGNATURE };
    uint64_t state = 88172645463325252u;
    for (unsigned w = 0; w < windows; w++) {
        uint64_t begin = (uint64_t)w * 100000 * US, at = begin;
        struct gpu_interval v[200], c = { begin + 9000 * US, begin + 8990 * US, 400 * US, 0 };
        unsigned count = 0;
        for (uint64_t launch = begin; launch + 100 * US < begin + 8900 * US && count < 200;) {
            uint64_t start = (launch > at ? launch : at) + 5 * US;
            unsigned long_ns = (busy_us - swing_us) * US +
                               (unsigned)(fixture_random(&state) % (2 * swing_us * US + 1));
            v[count++] = (struct gpu_interval){ start, launch, long_ns, 0 };
            at = start + long_ns;
            launch += 100 * US;
        }
        cr_assert_eq(
            writer_gpu_window(s->w, &(struct gpu_window){ begin, begin + 10000 * US, 5000 * US,
                                                          count + 1, count + 1, 0 }),
            ST_OK);
        cr_assert_eq(writer_gpu_intervals(s->w, &(struct gpu_intervals){ .window_ns = begin,
                                                                         .stream = 1,
                                                                         .nsources = 1,
                                                                         .sources = &mine,
                                                                         .count = count,
                                                                         .interval = v }),
                     ST_OK);
        cr_assert_eq(writer_gpu_intervals(s->w, &(struct gpu_intervals){ .window_ns = begin,
                                                                         .stream = 2,
                                                                         .nsources = 1,
                                                                         .sources = &other,
                                                                         .count = 1,
                                                                         .interval = &c }),
                     ST_OK);
        struct writer_event call = { s->gemm, 5 * US, begin };
        cr_assert_eq(writer_events(s->w, 0, 1, &call, 1), ST_OK);
        s->counters.seen++;
        s->counters.recorded++;
        frame(s, begin + 50000 * US);
    }
    close_scene(s, (uint64_t)windows * 100000 * US);
}

Test(causal, a_host_bound_gpu_has_shares_and_no_heat)
{
    struct scene s = open_scene("bound.twt", 0);
    write_windows(&s, 20, 50, 5);
    const struct causal *c = measure_one(&s);
    const struct causal_effect *e = c->effects;
    cr_assert_eq(c->windows, 20);
    cr_assert_eq(e[0].source, CAUSAL_STREAMS);
    cr_assert_float_eq(e[0].wall_share, 0.44, 0.02);
    cr_assert_float_eq(e[0].busy_share, 0.92, 0.03);
    cr_assert_lt(e[0].hi, 0.02);
    cr_assert_float_eq(c->idle.communication, 0.04, 0.005);
    cr_assert_float_eq(c->idle.host + c->idle.kernel, 0.52, 0.02);
    cr_assert_eq(c->idle.copy, 0);
    cr_assert_eq(e[1].source, CAUSAL_NONE);
}

Test(causal, a_gpu_that_is_the_bottleneck_has_its_share)
{
    struct scene s = open_scene("busy.twt", 0);
    write_windows(&s, 20, 300, 100);
    const struct causal_effect *e = measure_one(&s)->effects;
    cr_assert_gt(e[0].wall_share, 0.9);
    cr_assert_float_eq(e[0].value, e[0].wall_share, 0.05);
    cr_assert_leq(e[0].lo, e[0].value);
    cr_assert_geq(e[0].hi, e[0].value);
}

/* Kernels of 50 us, one each 100 us, that nothing waits for. In the last windows all have the
 * launch time of the last one, as met on an H200, where CUPTI gave launches one number from some
 * time on; or none, as a recorder that finds this out writes. */
static void write_windows_of_one_launch(struct scene *s, unsigned good, unsigned bad, bool is_known)
{
    const struct gpu_source mine = { .name = s->kernel, .signature = s->gemm, .is_first = true };
    for (unsigned w = 0; w < good + bad; w++) {
        uint64_t begin = (uint64_t)w * 100000 * US;
        struct gpu_interval v[100];
        for (uint64_t i = 0; i < 100; i++) {
            uint64_t launch_ns = begin + 100 * US * (w < good ? i : 99);
            if (w >= good && !is_known)
                launch_ns = GPU_NO_TIME;
            v[i] = (struct gpu_interval){ begin + (100 * i + 5) * US, launch_ns, 50 * US, 0 };
        }
        const struct gpu_window window = { begin, begin + 10000 * US, 5000 * US, 100, 100, 0 };
        cr_assert_eq(writer_gpu_window(s->w, &window), ST_OK);
        const struct gpu_intervals intervals = { .window_ns = begin,
                                                 .stream = 1,
                                                 .nsources = 1,
                                                 .sources = &mine,
                                                 .count = 100,
                                                 .interval = v };
        cr_assert_eq(writer_gpu_intervals(s->w, &intervals), ST_OK);
        frame(s, begin + 50000 * US);
    }
    close_scene(s, (uint64_t)(good + bad) * 100000 * US);
}

Test(causal, a_window_whose_launches_come_after_their_work_says_nothing)
{
    struct scene s = open_scene("one_launch.twt", 0);
    write_windows_of_one_launch(&s, 10, 10, true);
    const struct causal *c = measure_one(&s);
    cr_assert_eq(c->windows, 10);
    cr_assert_float_eq(c->effects[0].wall_share, 0.5, 0.01);
    cr_assert_lt(c->effects[0].hi, 0.01);
    struct scene all = open_scene("all_one_launch.twt", 1);
    write_windows_of_one_launch(&all, 0, 20, true);
    cr_assert_eq(measure_one(&all)->effects[0].source, CAUSAL_NONE);
}

Test(causal, a_window_whose_launches_are_unknown_says_nothing)
{
    struct scene s = open_scene("no_launch.twt", 0);
    write_windows_of_one_launch(&s, 10, 10, false);
    const struct causal *c = measure_one(&s);
    cr_assert_eq(c->windows, 10);
    cr_assert_lt(c->effects[0].hi, 0.01);
}

/* Every other window is idle; of the busy ones the recorder kept the first 40 of 100 kernels. */
Test(causal, a_window_that_was_cut_stands_for_all_of_its_time)
{
    struct scene s = open_scene("cut.twt", 0);
    const struct gpu_source mine = { .name = s.kernel, .signature = s.gemm, .is_first = true };
    for (unsigned w = 0; w < 20; w++) {
        uint64_t begin = (uint64_t)w * 100000 * US, count = w % 2 ? 0 : 100;
        struct gpu_interval v[40];
        for (uint64_t i = 0; i < 40; i++)
            v[i] = (struct gpu_interval){ begin + 100 * US * i, begin, 80 * US, 0 };
        const struct gpu_window window = { begin, begin + 10000 * US, 5000, count, count, 0 };
        cr_assert_eq(writer_gpu_window(s.w, &window), ST_OK);
        const struct gpu_intervals intervals = { .window_ns = begin,
                                                 .missing = 60,
                                                 .stream = 1,
                                                 .nsources = 1,
                                                 .sources = &mine,
                                                 .count = 40,
                                                 .interval = v };
        if (count)
            cr_assert_eq(writer_gpu_intervals(s.w, &intervals), ST_OK);
        frame(&s, begin + 50000 * US);
    }
    close_scene(&s, 20u * 100000 * US);
    const struct causal *c = measure_one(&s);
    cr_assert_eq(c->windows, 20);
    cr_assert_float_eq(c->effects[0].wall_share, 0.4, 0.005);
    cr_assert_float_eq(c->effects[0].value, 0.4, 0.01);
    cr_assert_float_eq(c->idle.host, 0.5, 0.005);
    cr_assert_float_eq(c->idle.kernel, 0.1, 0.005);
}

/* What a budget does: while the GPU is busy, windows are short and far apart. Half of the time
 * idle, then half of it busy at 80 %, one kernel after the other. */
Test(causal, a_window_stands_for_the_time_around_it)
{
    struct scene s = open_scene("budget.twt", 0);
    const struct gpu_source mine = { .name = s.kernel, .signature = s.gemm, .is_first = true };
    uint64_t half = 800000 * US;
    for (unsigned w = 0; w < 20 + 5; w++) {
        bool busy = w >= 20;
        uint64_t begin = busy ? half + (w - 20) * half / 5 : w * half / 20;
        uint64_t end = begin + (busy ? 4000 * US : 20000 * US);
        struct gpu_interval v[40];
        for (uint64_t i = 0; i < 40; i++)
            v[i] = (struct gpu_interval){ begin + 100 * US * i, begin, 80 * US, 0 };
        const struct gpu_window window = { begin, end, 0, busy ? 40 : 0, busy ? 40 : 0, 0 };
        cr_assert_eq(writer_gpu_window(s.w, &window), ST_OK);
        const struct gpu_intervals intervals = { .window_ns = begin,
                                                 .stream = 1,
                                                 .nsources = 1,
                                                 .sources = &mine,
                                                 .count = 40,
                                                 .interval = v };
        if (busy)
            cr_assert_eq(writer_gpu_intervals(s.w, &intervals), ST_OK);
        frame(&s, end);
    }
    close_scene(&s, 2 * half);
    const struct causal *c = measure_one(&s);
    cr_assert_eq(c->windows, 25);
    cr_assert_float_eq(c->effects[0].wall_share, 0.4, 0.05);
    cr_assert_float_eq(c->effects[0].value, 0.4, 0.05);
}

/* Two streams take turns, 1 ms each: there is always one at work. */
Test(causal, work_of_several_streams_is_put_in_order)
{
    struct scene s = open_scene("turns.twt", 0);
    const struct gpu_source mine = { .name = s.kernel, .signature = s.gemm, .is_first = true };
    for (unsigned w = 0; w < 20; w++) {
        uint64_t begin = (uint64_t)w * 10000 * US;
        const struct gpu_window window = { begin, begin + 10000 * US, 10000 * US, 10, 10, 0 };
        cr_assert_eq(writer_gpu_window(s.w, &window), ST_OK);
        for (unsigned stream = 0; stream < 2; stream++) {
            struct gpu_interval v[5];
            for (unsigned i = 0; i < 5; i++)
                v[i] = (struct gpu_interval){ begin + (2 * i + stream) * 1000 * US, begin,
                                              1000 * US, 0 };
            const struct gpu_intervals intervals = { .window_ns = begin,
                                                     .stream = stream + 1,
                                                     .nsources = 1,
                                                     .sources = &mine,
                                                     .count = 5,
                                                     .interval = v };
            cr_assert_eq(writer_gpu_intervals(s.w, &intervals), ST_OK);
        }
        frame(&s, begin + 10000 * US);
    }
    close_scene(&s, 20 * 10000 * US);
    const struct causal *c = measure_one(&s);
    cr_assert_eq(c->windows, 20);
    cr_assert_float_eq(c->effects[0].wall_share, 1, 0.001);
    cr_assert_float_eq(c->idle.host + c->idle.kernel, 0, 0.001);
}

Test(causal, a_few_windows_are_not_enough)
{
    struct scene s = open_scene("few.twt", 0);
    write_windows(&s, 4, 50, 5);
    cr_assert_eq(measure_one(&s)->effects[0].source, CAUSAL_NONE);
}

Test(causal, many_windows_are_united)
{
    struct scene s = open_scene("many.twt", 0);
    write_windows(&s, 1300, 300, 100);
    const struct causal *c = measure_one(&s);
    cr_assert_eq(c->windows, 1300);
    cr_assert_gt(c->effects[0].value, 0.85);
    cr_assert_gt(c->effects[0].lo, 0.85);
}

Test(causal, slices_hold_windows_where_these_are_many)
{
    struct scene few = open_scene("s20.twt", 0), many = open_scene("s1300.twt", 1);
    write_windows(&few, 20, 50, 5);
    write_windows(&many, 1300, 300, 100);
    const struct causal *c = measure_one(&few);
    expect_whole(c);
    cr_assert_eq(c->nslices, 20);
    double span_ns = 20 * 1e8; /* each window stands for 100 ms */
    cr_assert_float_eq(active_ns(c, 0, 0, 20) / span_ns, c->effects[0].wall_share, 0.01);
    expect_whole(c = measure_one(&many));
    cr_assert_gt(c->nslices, 32);
}
