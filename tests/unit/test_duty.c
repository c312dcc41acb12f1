/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller of the windows against a simulated clock, and hosts that are slower in a window by
 * as much as the controller is not told.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tracer/duty.c" /* the shim is no library to link: it would be preloaded here */

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

/* A host that makes steps: what one holds, and how it takes a window. */
struct load {
    double steps_per_s;     /* outside of windows */
    double launches, nodes; /* of one step */
    double slowdown;        /* in a window: of its time, this share is lost */
    double noise;           /* the rate varies by this share, every 10 ms */
    bool is_blind;          /* nothing tells of its progress */
    uint64_t begin_ns;      /* idle before */
    uint64_t handling_ns;   /* for each kernel, in the recorder */
};

struct outcome {
    double lost_share; /* of the time since the load began: what the windows really cost the host */
    double believed;   /* what the controller believes, handling included */
    double window_share;
    unsigned windows;
    double worst_share; /* the most that was spent from the begin of one window to that of another,
                         * by the controller's own estimate */
};

enum { WINDOWS = 100000 };

struct run {
    struct duty d;
    struct load load;
    struct duty_window w;
    uint64_t close_ns;
    double steps, lost_ns, in_windows_ns;
    uint64_t began[WINDOWS], spent[WINDOWS]; /* of each window: its begin, all costs before it */
    unsigned windows;
};

static double random_share(void)
{
    return (double)rand() / RAND_MAX * 2 - 1;
}

/* What happens in a time step. */
static void host(struct run *r, uint64_t now, double ns)
{
    static double wobble;
    if (now < r->load.begin_ns)
        return;
    if (now % (10 * MS) == 0)
        wobble = r->load.noise * random_share();
    double rate = r->load.steps_per_s * (1 + wobble);
    r->lost_ns += r->d.is_open ? ns * r->load.slowdown : 0;
    r->steps += ns * 1e-9 * rate * (r->d.is_open ? 1 - r->load.slowdown : 1);
}

static uint64_t progress(const struct run *r)
{
    return r->load.is_blind ? 0 : (uint64_t)r->steps;
}

static void begin(struct run *r, uint64_t now, double *steps, struct duty_stretch before)
{
    duty_open(&r->d, now);
    *steps = r->steps;
    r->w = (struct duty_window){ .inside.progress = progress(r), .outside = before };
    if (r->windows < WINDOWS) {
        r->began[r->windows] = now;
        r->spent[r->windows++] = r->d.spent_ns;
    }
}

static void end(struct run *r, uint64_t now, double kernels[2])
{
    r->w.inside = (struct duty_stretch){ now - r->d.begin_ns, progress(r) - r->w.inside.progress };
    r->w.launches = (uint64_t)kernels[0];
    r->w.nodes = (uint64_t)kernels[1];
    r->w.handling_ns = (uint64_t)(kernels[0] + kernels[1]) * r->load.handling_ns;
    r->in_windows_ns += (double)r->w.inside.ns;
    r->d.is_open = false; /* for host(): what follows is the stretch behind it */
    r->close_ns = now;
}

static void run(struct run *r, double seconds)
{
    double at_open = 0;
    uint64_t mark_ns = 0, mark = 0;
    bool near = false, behind = false;
    for (uint64_t now = 0; now < (uint64_t)(seconds * 1e9); now += MS) {
        double steps = r->steps - at_open;
        double kernels[2] = { steps * r->load.launches, steps * r->load.nodes };
        if (behind && now - r->close_ns >= r->d.options.stretch_ns) {
            r->w.outside.ns += now - r->close_ns;
            r->w.outside.progress += progress(r) - mark;
            duty_close(&r->d, now, &r->w);
            behind = near = false;
        } else if (!behind && duty_is_due(&r->d, now)) {
            begin(r, now, &at_open, (struct duty_stretch){ now - mark_ns, progress(r) - mark });
        } else if (!behind && duty_is_over(&r->d, now, (uint64_t)(kernels[0] + kernels[1]))) {
            end(r, now, kernels);
            mark = progress(r);
            behind = true;
        } else if (!near && !behind && duty_is_near(&r->d, now)) {
            mark = progress(r);
            mark_ns = now;
            near = true;
        }
        host(r, now, (double)MS);
    }
}

/* From the begin of any window to that of any later one. */
static double worst_share(const struct run *r)
{
    double worst = 0;
    for (unsigned i = 0; i < r->windows; i++)
        for (unsigned j = i + 1; j < r->windows && j < i + 200; j++) {
            double share =
                (double)(r->spent[j] - r->spent[i]) / (double)(r->began[j] - r->began[i]);
            worst = share > worst ? share : worst;
        }
    return worst;
}

static struct outcome simulate_with(struct duty_options o, struct load load, double seconds)
{
    struct run *r = calloc(1, sizeof *r);
    srand(1);
    r->load = load;
    duty_start(&r->d, &o, 0);
    run(r, seconds);
    double loaded_ns = seconds * 1e9 - (double)load.begin_ns;
    struct outcome out = { .lost_share = r->lost_ns / loaded_ns,
                           .believed = duty_cost_share(&r->d, (uint64_t)(seconds * 1e9)),
                           .window_share = r->in_windows_ns / (seconds * 1e9),
                           .windows = r->windows,
                           .worst_share = worst_share(r) };
    free(r);
    return out;
}

static struct outcome simulate(struct load load, double seconds)
{
    return simulate_with(duty_defaults(), load, seconds);
}

/* 570 launches a second of a graph of 300 small kernels. */
static const struct load decode = {
    .steps_per_s = 570, .nodes = 300, .slowdown = 0.35, .handling_ns = 400
};

Test(duty, graphs_of_small_kernels_stay_within_the_budget)
{
    struct outcome got = simulate(decode, 300);
    cr_assert_leq(got.lost_share, 0.01, "%g", got.lost_share);
    cr_assert_geq(got.believed, 0.005); /* and uses what it may */
    cr_assert_leq(got.believed, 0.01);
    cr_assert_geq(got.windows, 150, "%u", got.windows);
}

Test(duty, a_burst_after_a_long_idle_time_stays_within_the_budget)
{
    struct load late = decode;
    late.begin_ns = 600 * SECOND;
    struct outcome got = simulate(late, 620);
    cr_assert_leq(got.lost_share, 0.01, "%g", got.lost_share);
    cr_assert_leq(got.worst_share, 0.0101, "%g", got.worst_share);
}

Test(duty, the_budget_holds_between_any_two_windows)
{
    struct load loads[] = { decode, decode, decode, { .steps_per_s = 50, .launches = 300 } };
    loads[1].noise = 0.3;
    loads[2].slowdown = 0.9;
    loads[3].slowdown = 0.2;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        struct outcome got = simulate(loads[i], 120);
        cr_assert_leq(got.worst_share, 0.0101, "load %zu: %g", i, got.worst_share);
        /* One window is too many when the run ends behind it. */
        cr_assert_leq(got.lost_share, 0.011, "load %zu: %g", i, got.lost_share);
    }
}

Test(duty, nodes_dearer_than_any_price_known_at_least_are_noticed)
{
    struct load dear = decode; /* 171,000 nodes a second at 4 us each: 68 % */
    dear.slowdown = 0.68;
    struct outcome got = simulate(dear, 300), cheap = simulate(decode, 300);
    cr_assert_leq(got.lost_share, 0.01, "%g", got.lost_share);
    cr_assert_lt(got.windows, cheap.windows);
}

Test(duty, a_noisy_rate_is_taken_for_the_worse)
{
    struct load noisy = decode;
    noisy.noise = 0.5;
    struct outcome got = simulate(noisy, 300);
    cr_assert_leq(got.lost_share, 0.01, "%g", got.lost_share);
    cr_assert_geq(got.windows, 50, "%u", got.windows);
}

Test(duty, without_progress_the_upper_price_is_paid)
{
    struct load blind = decode;
    blind.is_blind = true;
    struct outcome got = simulate(blind, 300), seen = simulate(decode, 300);
    cr_assert_leq(got.lost_share, 0.01, "%g", got.lost_share);
    cr_assert_geq(got.windows, 50);
    cr_assert_lt(got.windows, seen.windows);
}

Test(duty, where_nothing_is_lost_the_lower_price_is_paid)
{
    struct load busy = decode; /* the GPU is the slower one */
    busy.slowdown = 0;
    struct outcome got = simulate(busy, 300), slowed = simulate(decode, 300);
    cr_assert_gt(got.windows, slowed.windows);
    cr_assert_leq(got.worst_share, 0.0101);
}

Test(duty, a_process_with_few_launches_is_looked_at_a_third_of_the_time_at_most)
{
    struct outcome got = simulate((struct load){ .steps_per_s = 10, .launches = 1 }, 60);
    cr_assert_leq(got.window_share, 0.34, "%g", got.window_share);
    cr_assert_geq(got.window_share, 0.15, "%g", got.window_share);
}

Test(duty, a_process_that_does_nothing_is_looked_at_no_more_often)
{
    struct outcome got = simulate((struct load){ 0 }, 60);
    cr_assert_leq(got.window_share, 0.34);
    cr_assert_eq(got.believed, 0);
}

Test(duty, a_window_ends_early_under_a_flood)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    duty_start(&d, &o, 0);
    duty_open(&d, SECOND);
    cr_assert_not(duty_is_over(&d, SECOND + 1, o.kernels_max - 1));
    cr_assert(duty_is_over(&d, SECOND + 1, o.kernels_max));
    cr_assert(duty_is_over(&d, SECOND + o.window_ns, 0));
}

Test(duty, no_window_opens_before_its_time)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    duty_start(&d, &o, 5 * SECOND);
    cr_assert_not(duty_is_near(&d, 5 * SECOND));
    cr_assert_not(duty_is_due(&d, 5 * SECOND + o.first_ns - 1));
    cr_assert(duty_is_near(&d, 5 * SECOND + o.first_ns - o.stretch_ns));
    cr_assert(duty_is_due(&d, 5 * SECOND + o.first_ns));
}

Test(duty, an_expensive_window_is_followed_by_a_long_rest)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    duty_start(&d, &o, 0);
    duty_open(&d, 1000 * SECOND); /* long idle: no credit */
    duty_close(&d, 1001 * SECOND, &(struct duty_window){ .handling_ns = SECOND });
    cr_assert_not(duty_is_due(&d, 1101 * SECOND - 1));
    cr_assert(duty_is_due(&d, 1127 * SECOND));
}

Test(duty, until_it_is_known_all_of_a_window_counts_as_lost)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    const struct duty_window w = { .nodes = 100000,
                                   .inside = { 20 * MS, 90 },
                                   .outside = { 100 * MS, 500 } };
    duty_start(&d, &o, 0);
    for (uint64_t i = 1; i <= 3; i++) {
        cr_assert_float_eq(duty_slowdown(&d), 1, 1e-9);
        duty_open(&d, 100 * i * SECOND);
        duty_close(&d, 100 * i * SECOND + 20 * MS, &w);
        cr_assert_eq(d.spent_ns, i * 20 * MS);
    }
    duty_close(&d, 400 * SECOND, &w);
    cr_assert_float_eq(duty_slowdown(&d), 0.1, 1e-6); /* 90 where 100 were expected */
}

Test(duty, opening_and_closing_count)
{
    struct duty d;
    struct duty_options o = duty_defaults();
    duty_start(&d, &o, 0);
    duty_open(&d, SECOND);
    duty_close(&d, SECOND, &(struct duty_window){ .switch_ns = 5 * MS, .inside.ns = 50 * MS });
    cr_assert_eq(d.spent_ns, 5 * MS);
    cr_assert_not(duty_is_due(&d, SECOND + 499 * MS));
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
        duty_close(&d, now, &(struct duty_window){ 0 });
        gap[i] = d.next_ns - now;
        now += gap[i];
    }
    for (int i = 1; i < 8; i++)
        cr_assert_neq(gap[i], gap[i - 1]);
}

Test(duty, a_larger_budget_means_more_windows)
{
    struct duty_options o = duty_defaults();
    unsigned few = simulate_with(o, decode, 100).windows;
    o.budget_share = 0.05;
    cr_assert_geq(simulate_with(o, decode, 100).windows, 2 * few);
}

Test(duty, roots)
{
    for (double x = 1e-6; x < 1e24; x *= 7)
        cr_assert_float_eq(root(x) / sqrt(x), 1, 1e-9);
    cr_assert_eq(root(0) < 1e-9, 1);
}
