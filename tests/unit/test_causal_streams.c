/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "analysis/causal_streams.h"

enum { GROUPS = 3, WORKS = 4096, US = 1000 };

static struct causal_work works[WORKS];
static size_t count;
static struct causal_streams *streams;
static struct causal_span span;
static struct causal_share shares[GROUPS];

static void setup(void)
{
    count = 0;
    cr_assert_eq(causal_streams_open(&streams, GROUPS), ST_OK);
}

static void done(void)
{
    causal_streams_close(streams);
}

/* Times in microseconds. Returns the end. */
static double put(uint32_t stream, uint32_t group, double launch, double start, double duration)
{
    cr_assert_lt(count, WORKS);
    works[count++] =
        (struct causal_work){ .start_ns = (uint64_t)(start * US),
                              .end_ns = (uint64_t)((start + duration) * US),
                              .launch_ns = launch < 0 ? CAUSAL_NO_TIME : (uint64_t)(launch * US),
                              .stream = stream,
                              .group = { group, CAUSAL_NO_GROUP } };
    return start + duration;
}

static int by_start(const void *left, const void *right)
{
    const struct causal_work *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void play(double end)
{
    qsort(works, count, sizeof *works, by_start);
    const struct causal_window w = { 0, (uint64_t)(end * US), count, works };
    cr_assert_eq(causal_streams_replay(streams, &w, &span, shares), ST_OK);
}

static double heat(uint32_t group)
{
    return shares[group].saved_ns / span.span_ns;
}

static double share(uint32_t group)
{
    return shares[group].active_ns / span.span_ns;
}

/* Launch far ahead, then wait for the result: what a decode loop does. The GPU takes its time. */
Test(causal_streams, serial_with_a_sync_per_step_has_the_wall_share, .init = setup, .fini = done)
{
    double now = 0;
    for (int step = 0; step < 50; step++) {
        double end = now + 5;
        for (int i = 0; i < 10; i++)
            end = put(1, i % 2, now + 2 * i, end, i % 2 ? 10 : 40);
        now = end + 10; /* the host has the result and begins the next step */
    }
    play(now);
    cr_assert_float_eq(span.span_ns, now * US, 2);
    cr_assert_float_eq(share(0), 200 / 265.0, 1e-3);
    cr_assert_float_eq(heat(0), share(0), 0.02);
    cr_assert_float_eq(heat(1), share(1), 0.01);
}

Test(causal_streams, a_host_bound_run_has_no_heat, .init = setup, .fini = done)
{
    for (int i = 0; i < 500; i++)
        put(1, 0, 100 * i, 100 * i + 5, 50);
    play(50000);
    cr_assert_float_eq(share(0), 0.5, 1e-3);
    cr_assert_float_eq(heat(0), 0, 0.01);
    cr_assert_float_eq(span.host_ns / span.span_ns, 0.5, 0.01);
    cr_assert_float_eq(span.wait_ns, 0, 1);
}

/* The pace of the host varies, the kernels do not wait for each other. */
Test(causal_streams, an_uneven_host_is_no_waiting_host, .init = setup, .fini = done)
{
    double now = 0;
    for (int i = 0; i < 500; i++) {
        put(1, 0, now, now + 5, 30 + i * 7 % 20);
        now += 80 + i * 37 % 41;
    }
    play(now);
    cr_assert_lt(heat(0), 0.02);
    cr_assert_gt(share(0), 0.35);
}

Test(causal_streams, lockstep_is_told_by_how_the_pauses_vary, .init = setup, .fini = done)
{
    double now = 0;
    for (int i = 0; i < 500; i++)
        now = put(1, 0, now, now + 5, 20 + i * 37 % 60) + 10 + i % 3;
    play(now);
    cr_assert_gt(share(0), 0.7);
    cr_assert_float_eq(heat(0), share(0), 0.02);
}

/* A host at its own pace that launches two at a time: the second launch waits for nothing, as
 * nothing has ended since the first. So the two gaps, which differ a lot, are no sign of a wait. */
Test(causal_streams, launches_in_pairs_are_no_lockstep, .init = setup, .fini = done)
{
    for (int i = 0; i < 200; i++) {
        double now = 300 * i, end = put(1, 0, now, now + 30, 56);
        put(1, 1, now + 10 + i % 3, end + 1, 1);
    }
    play(200 * 300);
    cr_assert_float_eq(share(0), 56 / 300.0, 1e-3);
    cr_assert_lt(heat(0), 0.005);
}

/* Every step takes the same time, so only the copy back tells that the host waits for it. */
Test(causal_streams, a_copy_back_holds_the_host, .init = setup, .fini = done)
{
    double now = 0;
    for (int step = 0; step < 50; step++) {
        double graph = put(1, 0, now, now + 10, 300);
        double copy = put(1, 1, now, graph + 2, 5);
        works[count - 1].kind = CAUSAL_COPY;
        works[count - 1].is_readback = true;
        now = copy + 30;
    }
    play(now);
    cr_assert_float_eq(heat(0), 300 / 347.0, 0.02);
    for (size_t i = 0; i < count; i++)
        works[i].is_readback = false;
    play(now);
    cr_assert_float_eq(heat(0), 0, 0.02);
}

/* As it was met on an H200: a graph of two branches, its result copied back to the stream of the
 * first when the second was done (of copies no launch is recorded), then a few launches at the
 * host's own pace, which make the usual gap as long as a wait. */
Test(causal_streams, a_copy_back_without_a_launch_holds_the_host, .init = setup, .fini = done)
{
    double now = 0;
    for (int step = 0; step < 50; step++) {
        double end = put(1, 2, now, now + 10, 60) + 30, launch = now;
        for (int i = 0; i < 30; i++)
            end = put(2, 0, launch, end, 15);
        now = put(1, CAUSAL_NO_GROUP, -1, end + 3 + step % 3 * 5, 2) + 45;
        works[count - 1].kind = CAUSAL_COPY;
        works[count - 1].is_readback = true;
        for (int i = 0; i < 4; i++, now += 300)
            put(1, 1, now, now + 10, 56);
    }
    play(now);
    cr_assert_float_eq(share(0), 450 / 1805.0, 1e-3);
    cr_assert_float_eq(heat(0), share(0), 0.01);
    cr_assert_lt(heat(1), 0.01);
    cr_assert_lt(heat(2), 0.01);
}

/* As it was met on an H200: two branches of a graph that wait for nothing; the second reached the
 * GPU when the first had begun, here at `late[step % 8]`. The host reads back. */
static void play_branches(const double *late)
{
    double now = 0;
    for (int step = 0; step < 64; step++) {
        double launch = now, end = now + 10;
        for (int i = 0; i < 24; i++)
            end = put(1, i % 3 == 2 ? CAUSAL_NO_GROUP : 2, launch, end, i % 3 ? 1.5 : 6) + 1.5;
        end = launch + late[step % 8];
        for (int i = 0; i < 30; i++)
            end = put(2, 0, launch, end, 15) + 1.5;
        now = put(1, CAUSAL_NO_GROUP, -1, end + 5, 2) + 45;
        works[count - 1].kind = CAUSAL_COPY;
        works[count - 1].is_readback = true;
    }
    play(now);
}

Test(causal_streams, a_branch_that_begins_late_is_no_fork, .init = setup, .fini = done)
{
    /* Behind another node of the first branch each time. */
    play_branches((const double[]){ 60, 84, 90, 117, 119, 122, 107, 96 });
    cr_assert_float_eq(heat(0), share(0), 0.01);
    cr_assert_gt(share(2), 0.05);
    cr_assert_lt(heat(2), 0.005);
}

Test(causal_streams, a_branch_that_begins_behind_the_other_is_no_fork, .init = setup, .fini = done)
{
    /* Always behind the last node, at 116.5, but for no fixed time. */
    play_branches((const double[]){ 117, 123, 119, 118, 122, 120, 117, 121 });
    cr_assert_float_eq(heat(0), share(0), 0.01);
    cr_assert_lt(heat(2), 0.005);
}

/* The first node is launched with more or less delay and the second branch waits for it. */
Test(causal_streams, a_branch_that_waits_for_a_node_is_a_fork, .init = setup, .fini = done)
{
    double now = 0;
    for (int step = 0; step < 64; step++) {
        double fork = put(1, 0, now, now + 10 + step * 37 % 16, 100);
        put(1, 1, now, fork + 1, 50);
        double end = fork + 5 + step % 2;
        for (int i = 0; i < 10; i++)
            end = put(2, 2, now, end, 20) + 1;
        now = end + 30;
    }
    play(now);
    cr_assert_float_eq(heat(0), share(0), 0.01);
    cr_assert_float_eq(heat(1), 0, 0.005);
    cr_assert_float_eq(heat(2), share(2), 0.01);
}

Test(causal_streams, a_gpu_that_is_behind_counts_from_its_first_work, .init = setup, .fini = done)
{
    /* All is launched within 5 ms, before any of it is over; the GPU is behind by 6 ms. */
    double at = 6000;
    for (int i = 0; i < 500; i++)
        at = put(1, i % 2, 10 * i, at, i % 2 ? 30 : 60);
    play(5000);
    cr_assert_float_eq(heat(0), 2 / 3.0, 0.02);
    cr_assert_float_eq(heat(1), 1 / 3.0, 0.02);
    cr_assert_float_eq(span.host_ns, 0, 1);
}

Test(causal_streams, what_hides_on_another_stream_has_none, .init = setup, .fini = done)
{
    double now = 0;
    for (int step = 0; step < 50; step++) {
        put(2, 1, now + 1, now + 6, 150);
        double end = now + 5;
        for (int i = 0; i < 10; i++)
            end = put(1, 0, now + 2 + i, end, 30);
        now = end + 10;
    }
    play(now);
    cr_assert_gt(share(1), 0.4);
    cr_assert_lt(heat(1), 0.01);
    cr_assert_float_eq(heat(0), share(0), 0.03);
}

/* Each step ends when both streams do: the longer one at 0.8 saves 10 us, then the other holds it.
 */
Test(causal_streams, only_so_much_as_the_other_stream_leaves, .init = setup, .fini = done)
{
    double now = 0;
    for (int step = 0; step < 50; step++) {
        double one = now + 10, other = now + 11;
        for (int i = 0; i < 5; i++) {
            one = put(1, 0, now + 2 * i, one, 20);
            other = put(2, 1, now + 2 * i + 1, other, i < 4 ? 18 : 17);
        }
        now = one + 40;
    }
    play(now);
    cr_assert_float_eq(share(0), 100 / 150.0, 1e-3);
    cr_assert_float_eq(heat(0), 10 / 0.2 / 150, 0.005);
    cr_assert_float_eq(heat(1), 0, 0.005);
}

/* Stream 2 waits for an event of stream 1, and the next step of 1 for one of 2. */
Test(causal_streams, dependent_streams_are_one_chain, .init = setup, .fini = done)
{
    double at = 6000;
    for (int step = 0; step < 100; step++) {
        at = put(1, 0, 20 * step, at, 60) + 2;
        at = put(2, 1, 20 * step + 5, at, 30) + 2;
    }
    play(3000);
    cr_assert_float_eq(heat(0), 60 / 94.0, 0.02);
    cr_assert_float_eq(heat(1), 30 / 94.0, 0.02);
}

Test(causal_streams, nodes_of_a_graph_keep_their_order, .init = setup, .fini = done)
{
    /* One launch, a fork into two streams, a join; the host waits for each graph. */
    double now = 0;
    for (int step = 0; step < 50; step++) {
        double fork = put(1, 0, now, now + 10, 100);
        double left = put(1, 1, now, fork + 2, 200 + step * 37 % 40);
        put(2, 2, now, fork + 6, 50);
        double join = put(1, 0, now, left + 2, 100);
        now = join + 20;
    }
    play(now);
    cr_assert_float_eq(heat(0), share(0), 0.02);
    cr_assert_float_eq(heat(1), share(1), 0.02);
    cr_assert_float_eq(heat(2), 0, 0.01);
}

Test(causal_streams, idle_time_has_a_cause, .init = setup, .fini = done)
{
    put(1, 0, 0, 10, 90);   /* 0-10: host (latency 10) */
    put(1, 0, 50, 120, 80); /* 100-120: launched before, so a gap of scheduling */
    put(1, 0, 290, 300, 100);
    works[count - 1].kind = CAUSAL_COMMUNICATION; /* 200-300: the host was late */
    put(2, 0, 290, 350, 100);                     /* 350-450: computes, from 350 on */
    put(1, CAUSAL_NO_GROUP, 440, 460, 40);
    works[count - 1].kind = CAUSAL_COPY;
    play(600);
    cr_assert_float_eq(span.span_ns, 600 * US, 1);
    cr_assert_float_eq(span.communication_ns, 50 * US, 1);
    cr_assert_float_eq(span.copy_ns, 40 * US, 1);
    cr_assert_float_eq(span.wait_ns, (20 + 10) * US, 1);
    cr_assert_float_eq(span.host_ns, (10 + 100 + 100) * US, 1);
    cr_assert_float_eq(span.busy_ns + span.wait_ns + span.host_ns, 600 * US, 1);
}

Test(causal_streams, an_empty_window_is_idle, .init = setup, .fini = done)
{
    play(100);
    cr_assert_float_eq(span.span_ns, 100 * US, 1);
    cr_assert_float_eq(span.host_ns, 100 * US, 1);
    cr_assert_eq(shares[0].saved_ns, 0);
}

Test(causal_streams, without_launch_times_the_order_of_streams_counts, .init = setup, .fini = done)
{
    double at = 0;
    for (int i = 0; i < 100; i++)
        at = put(1, i % 2, -1, at, i % 2 ? 10 : 30);
    play(at);
    cr_assert_float_eq(heat(0), 0.75, 0.02);
}

/* Whatever the record is, at full length every start is the recorded one, so E lies in 0 to W. */
Test(causal_streams, any_record_is_replayed_as_it_was, .init = setup, .fini = done)
{
    uint64_t state = 1;
    for (int round = 0; round < 200; round++) {
        count = 0;
        double last = put(1, 0, 0, 5, 1);
        for (int i = 0; i < 100; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            double start = 6 + (double)(state >> 40 & 0xfff),
                   duration = (double)(state >> 20 & 0x7f);
            double launch = state & 1 ? start - (double)(state >> 8 & 0x1ff) : -1;
            double end = put((uint32_t)(state >> 56) % 4, (uint32_t)(state >> 52) % 3,
                             launch < 0 ? -1 : launch, start, duration);
            last = end > last ? end : last;
        }
        play(4300);
        cr_assert_float_eq(span.span_ns, (last > 4300 ? last : 4300) * US, 1e-3 * US);
        for (uint32_t g = 0; g < GROUPS; g++) {
            double sum = 0;
            for (size_t i = 0; i < count; i++)
                sum += works[i].group[0] == g ? (double)(works[i].end_ns - works[i].start_ns) : 0;
            cr_assert_geq(shares[g].saved_ns, -1e-3);
            cr_assert_leq(shares[g].saved_ns, sum + 1e-3);
        }
    }
}

Test(causal_streams, hostile_times_do_no_harm, .init = setup, .fini = done)
{
    static const uint64_t odd[] = { 0, 1, UINT64_MAX - 1, UINT64_MAX / 2, 1u << 31 };
    for (size_t i = 0; i < 125; i++)
        works[count++] = (struct causal_work){ .start_ns = odd[i % 5],
                                               .end_ns = odd[i / 5 % 5],
                                               .launch_ns = odd[i / 25],
                                               .stream = (uint32_t)i,
                                               .group = { (uint32_t)i, CAUSAL_NO_GROUP } };
    play(1);
    for (size_t i = 0; i < WORKS; i++) /* more streams than are told apart, all at one time */
        works[i] = (struct causal_work){ 5000, 5000, 5000, (uint32_t)i, { 0, 1 }, 0, true };
    count = WORKS;
    play(10);
    cr_assert_eq(shares[0].active_ns, 0);
}
