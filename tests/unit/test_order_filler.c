/* SPDX-License-Identifier: Apache-2.0
 *
 * Traffic that stands in for recorded work, on a device whose clock is simulated: 20 ns for a
 * touch, 1 ns for a byte read, 2 for one copied.
 */
#include <criterion/criterion.h>

#include "replay_fixture.h"
#include "replayer/order_filler.h"

static struct backend_touch last;

static int touch(struct backend_session *session, const struct backend_touch *t)
{
    session->clock_ns += 20 + (double)(t->bytes * (t->other ? 2 : 1) + t->hot_bytes);
    cr_assert_lt(t->at, t->region_bytes);
    cr_assert_eq(t->at % 256 + t->bytes % 256, 0);
    last = *t;
    return 0;
}

static struct backend device;
static struct order_fillers fillers;
static const struct order_filler_options usual = {
    .near_bytes = 8192, .cache_bytes = 1 << 20, .max_bytes = 1 << 26, .least_ns = 0
};

static void set_up(void)
{
    device = fixture_backend;
    device.touch = touch;
    cr_assert_eq(order_filler_open(&fillers, &device, &fixture_session, &usual), ST_OK);
}

static void tear_down(void)
{
    order_filler_close(&fillers);
}

TestSuite(order_filler, .init = set_up, .fini = tear_down);

static struct order_filler filler_of(double ns, bool reads)
{
    return order_filler_for(
        &fillers, &(struct sequence_step){ .item = SEQUENCE_FILLER, .ns = ns, .reads = reads });
}

static double time_of(const struct order_filler *f, void *hot, size_t hot_bytes)
{
    double start_ns = fixture_session.clock_ns;
    cr_assert_eq(order_filler_run(&fillers, f, hot, hot_bytes), 0);
    return fixture_session.clock_ns - start_ns;
}

Test(order_filler, takes_as_long_as_it_was_recorded)
{
    for (int reads = 0; reads < 2; reads++)
        for (double ns = 1000; ns < 5e6; ns *= 3) {
            struct order_filler f = filler_of(ns, reads);
            cr_expect_float_eq(time_of(&f, NULL, 0), ns, 800, "%g ns", ns);
        }
}

Test(order_filler, short_work_is_at_hand_and_long_work_streams)
{
    cr_assert_eq(filler_of(1e4, false).traffic, ORDER_NEAR_COPY);
    cr_assert_eq(filler_of(1e4, true).traffic, ORDER_NEAR_READ);
    cr_assert_eq(filler_of(1e6, false).traffic, ORDER_NEAR_COPY); /* less than the cache holds */
    cr_assert_eq(filler_of(1.1e6, false).traffic, ORDER_FAR_COPY);
    cr_assert_eq(filler_of(1.1e6, true).traffic, ORDER_FAR_READ);
}

Test(order_filler, attention_writes_nothing_and_elementwise_work_does)
{
    struct order_filler f = filler_of(2e6, true);
    time_of(&f, NULL, 0);
    cr_assert_null(last.other);
    f = filler_of(2e6, false);
    time_of(&f, NULL, 0);
    cr_assert_not_null(last.other);
    cr_assert_gt(last.region_bytes, usual.cache_bytes);
}

Test(order_filler, ends_with_what_the_next_call_reads)
{
    char activations[4096];
    struct order_filler f = filler_of(3e4, false);
    time_of(&f, activations, sizeof activations);
    cr_assert_eq(last.hot, activations);
    cr_assert_eq(last.hot_bytes, sizeof activations);
    cr_assert_leq(last.bytes, f.bytes - sizeof activations);
    f = filler_of(0, false); /* even the shortest work has written it */
    time_of(&f, activations, sizeof activations);
    cr_assert_eq(last.hot_bytes, sizeof activations);
    cr_assert_eq(last.bytes, 0);
    time_of(&f, activations, 1 << 20); /* but not much more than there is time for */
    cr_assert_leq(last.hot_bytes, usual.near_bytes);
}

Test(order_filler, vectors_are_aligned_wherever_activations_lie)
{
    _Alignas(256) char activations[4096];
    struct order_filler f = filler_of(3e4, false);
    for (size_t at = 0; at < 32; at++) {
        time_of(&f, activations + at, 100);
        cr_assert_eq((uintptr_t)last.hot % 16, 0);
        cr_assert_eq(last.hot_bytes % 16, 0);
        cr_assert_geq(last.hot_bytes, 64);
        cr_assert_geq((char *)last.hot, activations + at);
        cr_assert_leq((char *)last.hot + last.hot_bytes, activations + at + 100);
    }
    time_of(&f, activations + 1, 3);
    cr_assert_eq(last.hot_bytes, 0);
}

Test(order_filler, the_shortest_recorded_work_does_nothing)
{
    struct order_filler_options options = usual;
    options.least_ns = 12;
    order_filler_close(&fillers);
    cr_assert_eq(order_filler_open(&fillers, &device, &fixture_session, &options), ST_OK);
    cr_assert_leq(filler_of(12, false).bytes, 256);
    cr_assert_float_eq((double)filler_of(12 + 2 * 4096, false).bytes, 4096, 512);
}

Test(order_filler, streams_do_not_find_their_own_beginning)
{
    struct order_filler f = filler_of(2e6, true);
    time_of(&f, NULL, 0);
    size_t first = last.at;
    time_of(&f, NULL, 0);
    cr_assert_neq(last.at, first);
    order_filler_rewind(&fillers);
    time_of(&f, NULL, 0);
    cr_assert_eq(last.at, first);
}
