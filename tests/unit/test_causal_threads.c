/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "analysis/causal_threads.h"

/* Groups 0 to 2 are operations, group 3 is the class of all their calls. */
enum { GROUPS = 4, CLASS = 3 };

static struct causal_threads *threads;
static uint64_t wall_ns;

static void begin(uint64_t wall)
{
    wall_ns = wall;
    cr_assert_eq(causal_threads_open(&threads, GROUPS, wall), ST_OK);
    causal_threads_begin_process(threads);
}

static void call(uint32_t thread, uint32_t group, uint64_t start_ns, uint64_t duration_ns)
{
    const struct causal_call c = { .thread = thread,
                                   .group = { group, CLASS },
                                   .is_communication = group == 2,
                                   .start_ns = start_ns,
                                   .duration_ns = duration_ns };
    cr_assert_eq(causal_threads_add(threads, &c), ST_OK);
}

static void end(void)
{
    causal_threads_end_process(threads, wall_ns);
}

/* E of a group. */
static double heat(uint32_t group)
{
    double sum = 0;
    for (int i = 0; i < CAUSAL_THREADS_BLOCKS; i++)
        sum += causal_threads_saved_ns(threads, group)[i];
    return sum / (double)wall_ns;
}

static void done(void)
{
    causal_threads_close(threads);
}

Test(causal_threads, a_serial_run_has_the_wall_share, .fini = done)
{
    begin(1000000);
    for (uint64_t i = 0; i < 100; i++) {
        call(0, 0, 10000 * i, 4000);
        call(0, 1, 10000 * i + 5000, 1000);
    }
    end();
    cr_assert_float_eq(heat(0), 0.4, 1e-9);
    cr_assert_float_eq(heat(1), 0.1, 1e-9);
    cr_assert_float_eq(heat(CLASS), 0.5, 1e-9);
    cr_assert_eq(causal_threads_totals(threads).busy_ns, 500000);
}

Test(causal_threads, what_hides_behind_a_longer_thread_has_none, .fini = done)
{
    begin(1000000);
    for (uint64_t i = 0; i < 100; i++) {
        call(0, 0, 10000 * i, 8000);
        call(1, 1, 10000 * i + 100, 6000);
    }
    end();
    cr_assert_float_eq(heat(0), 0.8, 1e-9);
    cr_assert_float_eq(heat(1), 0, 1e-9);
    cr_assert_float_eq(heat(CLASS), 0.8, 1e-9);
}

Test(causal_threads, only_so_much_as_the_other_thread_leaves, .fini = done)
{
    /* Group 0 at 0.8 of its time ends 1,600 ns earlier, the other thread only 1,000 ns earlier. */
    begin(1000000);
    for (uint64_t i = 0; i < 100; i++) {
        call(0, 0, 10000 * i, 8000);
        call(1, 1, 10000 * i, 7000);
    }
    end();
    cr_assert_float_eq(heat(0), 0.5, 1e-9);
    cr_assert_float_eq(heat(1), 0, 1e-9);
}

Test(causal_threads, one_operation_on_all_threads_counts_once, .fini = done)
{
    begin(1000000);
    for (uint64_t i = 0; i < 100; i++)
        for (uint32_t thread = 0; thread < 8; thread++)
            call(thread, 0, 10000 * i, 5000);
    end();
    cr_assert_float_eq(heat(0), 0.5, 1e-9);
}

Test(causal_threads, a_chain_within_a_thread_moves_up, .fini = done)
{
    /* Thread 1 bridges the gap of thread 0, so all of it is one busy period. */
    begin(1000000);
    for (uint64_t i = 0; i < 100; i++) {
        call(0, 0, 10000 * i, 2000);
        call(1, 1, 10000 * i + 1000, 4000);
        call(0, 2, 10000 * i + 4000, 5000);
    }
    end();
    cr_assert_float_eq(heat(0), 0.2, 1e-9);
    cr_assert_float_eq(heat(1), 0, 1e-9);
    cr_assert_float_eq(heat(2), 0.5, 1e-9);
}

Test(causal_threads, blocks_cut_a_busy_period_and_its_calls, .fini = done)
{
    /* One call all along, on one thread; on the other, another for half of it. */
    begin(6400);
    call(0, 0, 0, 6400);
    call(1, 1, 0, 3200);
    end();
    cr_assert_float_eq(heat(1), 0, 1e-9);
    /* In the first half the other thread ends with every block. */
    cr_assert_float_eq(heat(0), 0.5, 0.02);
    const double *saved = causal_threads_saved_ns(threads, 0);
    cr_assert_float_eq(saved[10], 0, 1e-9);
    cr_assert_float_eq(saved[50], 100, 2);
    cr_assert_eq(causal_threads_totals(threads).busy_ns, 6400);
}

Test(causal_threads, blocks_say_when_something_ran, .fini = done)
{
    begin(6400); /* 100 a block */
    call(0, 0, 50, 100);
    call(1, 1, 100, 100);
    call(0, 2, 250, 6150);
    end();
    const double *called = causal_threads_called_ns(threads, 0);
    cr_assert_float_eq(called[0], 50, 1);
    cr_assert_float_eq(called[1], 50, 1);
    cr_assert_float_eq(causal_threads_block(threads, 0).busy_ns, 50, 1);
    cr_assert_float_eq(causal_threads_block(threads, 1).busy_ns, 100, 1);
    cr_assert_eq(causal_threads_block(threads, 1).communication_ns, 0);
    cr_assert_float_eq(causal_threads_block(threads, 63).communication_ns, 100, 1);
    double busy_ns = 0;
    for (size_t i = 0; i < CAUSAL_THREADS_BLOCKS; i++)
        busy_ns += causal_threads_block(threads, i).busy_ns;
    cr_assert_eq(busy_ns, causal_threads_totals(threads).busy_ns);
}

Test(causal_threads, processes_follow_one_another, .fini = done)
{
    begin(2000);
    call(0, 0, 0, 500);
    causal_threads_end_process(threads, 1000);
    causal_threads_begin_process(threads);
    call(0, 0, 0, 100);
    call(0, 1, 200, 300);
    causal_threads_end_process(threads, 1000);
    cr_assert_float_eq(heat(0), 0.3, 1e-9);
    cr_assert_float_eq(heat(1), 0.15, 1e-9);
    cr_assert_eq(causal_threads_totals(threads).late_ns, 0);
}

Test(causal_threads, a_call_that_comes_too_late_is_told, .fini = done)
{
    begin(1000);
    call(0, 0, 100, 100);
    call(0, 0, 400, 100);
    call(1, 1, 0, 600); /* ended last, so it was written last */
    end();
    cr_assert_eq(causal_threads_totals(threads).late_ns, 200);
    cr_assert_leq(causal_threads_totals(threads).busy_ns, 600);
}

Test(causal_threads, communication_alone_is_idle_time_of_the_rest, .fini = done)
{
    begin(1000);
    call(0, 0, 0, 300);
    call(1, 2, 200, 400); /* 300 of them alone */
    call(0, 1, 800, 100);
    end();
    struct causal_threads_totals totals = causal_threads_totals(threads);
    cr_assert_eq(totals.busy_ns, 700);
    cr_assert_eq(totals.communication_ns, 300);
}

Test(causal_threads, too_many_at_once_is_told_and_bounded, .fini = done)
{
    begin(1000);
    for (uint32_t thread = 0; thread < 5000; thread++)
        call(thread, 0, 0, 900);
    end();
    cr_assert(causal_threads_totals(threads).too_many_threads);
}

Test(causal_threads, hostile_times_do_no_harm, .fini = done)
{
    begin(1000);
    call(0, 0, UINT64_MAX - 10, 5);
    call(0, 0, 0, UINT64_MAX);
    call(1, 1, UINT64_MAX / 2, UINT64_MAX / 2);
    call(0, 0, 10, 0);
    end();
}
