/* SPDX-License-Identifier: Apache-2.0
 *
 * What being attached to CUPTI would cost, predicted from loads with known rates.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "tracer/attach.c" /* the shim is no library to link: it would be preloaded here */

/* As a load of `calls` and `nodes` a second is seen for `seconds`, looked at every 100 ms. */
static void watch(struct attach *a, uint64_t *now_ns, uint64_t calls, uint64_t nodes,
                  double seconds)
{
    struct attach_work work = a->seen;
    for (int i = 0; i < (int)(seconds * 10); i++) {
        *now_ns += ATTACH_LOOK_MS * MS;
        work.calls += calls / 10;
        work.nodes += nodes / 10;
        attach_look(a, *now_ns, work);
    }
}

static struct attach started(uint64_t *now_ns)
{
    struct attach a;
    *now_ns = 5 * MS;
    attach_start(&a, *now_ns, (struct attach_work){ 0 });
    return a;
}

Test(attach, nothing_is_known_of_a_quiet_process)
{
    uint64_t now_ns;
    struct attach a = started(&now_ns);
    watch(&a, &now_ns, 0, 0, 60);
    cr_assert(!attach_is_known(&a));
}

Test(attach, nothing_is_known_before_a_whole_term)
{
    uint64_t now_ns;
    struct attach a = started(&now_ns);
    watch(&a, &now_ns, 1000, 0, 2.5);
    cr_assert(!attach_is_known(&a));
    watch(&a, &now_ns, 1000, 0, 1);
    cr_assert(attach_is_known(&a));
}

Test(attach, a_loop_of_calls_costs_its_launches)
{
    uint64_t now_ns;
    struct attach a = started(&now_ns);
    watch(&a, &now_ns, 1000, 0, 4);
    cr_assert_float_eq(attach_share(&a), 1000.0 * KERNELS * LAUNCH_NS / 1e9, 1e-9);
}

Test(attach, the_decoder_of_the_measurement_is_over_a_budget_of_one_per_cent)
{
    uint64_t now_ns;
    struct attach graph = started(&now_ns);
    watch(&graph, &now_ns, 0, 415 * 500, 4);
    cr_assert(attach_share(&graph) > 0.05 && attach_share(&graph) < 0.08);
    struct attach eager = started(&now_ns);
    watch(&eager, &now_ns, 67 * 160, 0, 4);
    cr_assert(attach_share(&eager) > 0.10 && attach_share(&eager) < 0.20);
}

Test(attach, the_busiest_moment_counts_when_a_quiet_time_follows)
{
    uint64_t now_ns;
    struct attach a = started(&now_ns);
    watch(&a, &now_ns, 0, 100000, 3.1);
    watch(&a, &now_ns, 0, 1000, 3);
    cr_assert_float_eq(attach_share(&a), 0.03, 1e-6);
    watch(&a, &now_ns, 0, 0, 60);
    cr_assert_float_eq(attach_share(&a), 0.03, 1e-6, "idling is no news");
}

Test(attach, a_lighter_load_is_believed_after_two_terms)
{
    uint64_t now_ns;
    struct attach a = started(&now_ns);
    watch(&a, &now_ns, 0, 100000, 3.1);
    watch(&a, &now_ns, 0, 1000, 9);
    cr_assert_float_eq(attach_share(&a), 0.0003, 1e-6);
}

/* The counts of calls and of those in graphs are read one after the other: a graph that is launched
 * in between makes their difference step back. */
Test(attach, a_count_that_steps_back_is_no_load)
{
    uint64_t now_ns;
    struct attach a = started(&now_ns);
    watch(&a, &now_ns, 1000, 1000, 4);
    double share = attach_share(&a);
    struct attach_work work = a.seen;
    work.calls -= 65;
    now_ns += ATTACH_LOOK_MS * MS;
    attach_look(&a, now_ns, work);
    cr_assert_float_eq(attach_share(&a), share, 1e-9);
}
