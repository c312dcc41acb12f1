/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller of the windows against a simulated clock.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "tracer/duty.c" /* the shim is no library to link: it would be preloaded here */

#define SECOND UINT64_C(1000000000)

struct load {
    double launches_per_s, nodes_per_s;
    uint64_t handling_ns_per_kernel;
};

struct outcome {
    double cost_share, window_share;
    unsigned windows;
    uint64_t longest_gap_ns;
};

/* `seconds` of a process under `load`, looked at every 10 ms. */
static struct outcome simulate(struct duty_options o, struct load load, double seconds)
{
    struct duty d;
    struct outcome out = { 0 };
    uint64_t end = (uint64_t)(seconds * 1e9), begin = 0, last = 0;
    double cost = 0;
    duty_start(&d, &o, 0);
    for (uint64_t now = 0; now < end; now += 10000000) {
        double length = (double)(now - begin) * 1e-9;
        uint64_t launches = (uint64_t)(length * load.launches_per_s);
        uint64_t nodes = (uint64_t)(length * load.nodes_per_s);
        if (duty_is_due(&d, now)) {
            duty_open(&d, now);
            out.longest_gap_ns = now - last > out.longest_gap_ns ? now - last : out.longest_gap_ns;
            begin = now;
        } else if (duty_is_over(&d, now, launches + nodes)) {
            uint64_t handling = (launches + nodes) * load.handling_ns_per_kernel;
            duty_close(&d, now, &(struct duty_cost){ handling, launches, nodes });
            cost += (double)(handling + launches * o.launch_ns + nodes * o.node_ns);
            out.window_share += (double)(now - begin);
            out.windows++;
            last = now;
        }
    }
    out.cost_share = cost / (double)end;
    out.window_share /= (double)end;
    return out;
}

Test(duty, a_launch_bound_process_stays_within_the_budget)
{
    /* 80,000 launches a second at 3 us each: always on would cost 24 % and more. */
    struct load load = { 80000, 0, 500 };
    struct outcome got = simulate(duty_defaults(), load, 300);
    cr_assert_leq(got.cost_share, 0.01);
    cr_assert_geq(got.cost_share, 0.005); /* and uses what it may */
    cr_assert_geq(got.windows, 50);
}

Test(duty, graphs_stay_within_the_budget)
{
    struct load load = { 0, 200000, 500 };
    struct outcome got = simulate(duty_defaults(), load, 300);
    cr_assert_leq(got.cost_share, 0.01);
    cr_assert_geq(got.windows, 50);
}

Test(duty, a_process_with_few_launches_is_looked_at_a_third_of_the_time_at_most)
{
    struct outcome got = simulate(duty_defaults(), (struct load){ 10, 0, 500 }, 60);
    cr_assert_leq(got.window_share, 0.36);
    cr_assert_geq(got.window_share, 0.2);
    cr_assert_lt(got.longest_gap_ns, SECOND);
}

Test(duty, a_window_ends_early_under_a_flood)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    duty_start(&d, &o, 0);
    duty_open(&d, SECOND);
    cr_assert_not(duty_is_over(&d, SECOND + 1, o.launches_max - 1));
    cr_assert(duty_is_over(&d, SECOND + 1, o.launches_max));
}

Test(duty, no_window_opens_before_its_time)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    duty_start(&d, &o, 5 * SECOND);
    cr_assert_not(duty_is_due(&d, 5 * SECOND));
    cr_assert_eq(duty_wait_ns(&d, 5 * SECOND), o.first_ns);
    cr_assert(duty_is_due(&d, 5 * SECOND + o.first_ns));
    cr_assert_eq(duty_wait_ns(&d, 6 * SECOND), 0);
}

Test(duty, an_expensive_window_is_followed_by_a_long_rest)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    duty_start(&d, &o, 0);
    duty_open(&d, SECOND);
    duty_close(&d, SECOND + o.window_ns, &(struct duty_cost){ .handling_ns = SECOND });
    cr_assert_geq(duty_wait_ns(&d, 2 * SECOND), 198 * SECOND);
    cr_assert_not(duty_is_due(&d, 199 * SECOND));
}

Test(duty, gaps_are_not_all_alike)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    uint64_t now = SECOND, gap[8];
    duty_start(&d, &o, 0);
    for (int i = 0; i < 8; i++) {
        duty_open(&d, now);
        now += o.window_ns;
        duty_close(&d, now, &(struct duty_cost){ .handling_ns = 0 });
        gap[i] = duty_wait_ns(&d, now);
        now += gap[i];
    }
    for (int i = 1; i < 8; i++)
        cr_assert_neq(gap[i], gap[i - 1]);
}

Test(duty, a_larger_budget_means_more_windows)
{
    struct duty_options o = duty_defaults();
    struct load load = { 80000, 0, 500 };
    unsigned few = simulate(o, load, 100).windows;
    o.budget_share = 0.05;
    cr_assert_geq(simulate(o, load, 100).windows, 3 * few);
}
