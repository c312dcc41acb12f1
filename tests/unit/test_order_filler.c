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
    cr_assert_gt(t->region_bytes, 256);
    cr_assert_eq(t->region_bytes % 256, 0);
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

/* What stands in for each step of a stretch. */
enum { STEPS_MAX = 8 };
static struct order_filler chosen[STEPS_MAX];

static void choose(struct sequence_step *steps, size_t count)
{
    cr_assert_leq(count, STEPS_MAX);
    order_fillers_for(&fillers, &(struct sequence){ .count = count, .steps = steps }, chosen);
}

static struct sequence_step filler(double ns, bool reads, double operand_bytes)
{
    return (struct sequence_step){
        .item = SEQUENCE_FILLER, .ns = ns, .reads = reads, .operand_bytes = operand_bytes
    };
}

static struct order_filler filler_of(double ns, bool reads)
{
    struct sequence_step one = filler(ns, reads, 0);
    choose(&one, 1);
    return chosen[0];
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

/* ---- operands of an attention ---- */

static const double operand_bytes = 600 << 10; /* of a cache of 1024 KB */

Test(order_filler, known_operands_that_fit_the_cache_are_read_again_and_again)
{
    struct sequence_step attention = filler(2e6, true, operand_bytes);
    choose(&attention, 1);
    cr_assert_eq(chosen[0].traffic, ORDER_OPERAND_READ);
    cr_assert_float_eq(time_of(&chosen[0], NULL, 0), 2e6, 1000);
    cr_assert_null(last.other);
    cr_assert_eq(last.region_bytes, (size_t)operand_bytes);
    cr_assert_gt(last.bytes, last.region_bytes);
    const void *region = last.region;
    time_of(&chosen[0], NULL, 0); /* the next layer's: the same place */
    cr_assert_eq(last.region, region);
    cr_assert_eq(last.at, 0);
}

Test(order_filler, short_attention_has_its_operands_too)
{
    struct sequence_step attention = filler(1e4, true, 4096);
    choose(&attention, 1);
    cr_assert_eq(chosen[0].traffic, ORDER_OPERAND_READ);
    time_of(&chosen[0], NULL, 0);
    cr_assert_eq(last.region_bytes, 4096);
}

Test(order_filler, operands_larger_than_the_cache_stream)
{
    struct sequence_step steps[] = { filler(2e6, false, 0), filler(2e6, true, 1.01 * (1 << 20)) };
    choose(steps, 2);
    cr_assert_eq(chosen[0].traffic, ORDER_FAR_COPY);
    cr_assert_eq(chosen[1].traffic, ORDER_FAR_READ);
    struct order_filler unknown = filler_of(2e6, true);
    cr_assert_eq(chosen[1].bytes, unknown.bytes);
}

static const struct sequence_step call = { .item = 0, .ns = 1e4 };

/* Keys, values, a mask, and something before the last call. */
Test(order_filler, long_copies_have_written_the_operands)
{
    struct sequence_step steps[] = { filler(3e6, false, 0),   call,
                                     filler(3e6, false, 0),   filler(1e3, false, 0),
                                     filler(1.5e6, false, 0), filler(2e6, true, operand_bytes) };
    choose(steps, 6);
    cr_assert_eq(chosen[0].traffic, ORDER_FAR_COPY);
    cr_assert_eq(chosen[2].traffic, ORDER_OPERAND_WRITE);
    cr_assert_eq(chosen[3].traffic, ORDER_NEAR_COPY);
    cr_assert_eq(chosen[4].traffic, ORDER_OPERAND_WRITE);
    cr_assert_float_eq(time_of(&chosen[2], NULL, 0), 3e6, 1000);
    cr_assert_eq(last.region, last.other); /* it is what was written, not where it came from */
    const unsigned char *keys = last.region, *behind = keys + last.region_bytes;
    cr_assert_eq(last.region_bytes, (size_t)operand_bytes / 3 * 2);
    cr_assert_float_eq(time_of(&chosen[4], NULL, 0), 1.5e6, 1000);
    cr_assert_eq(last.region, behind); /* in one piece, */
    behind += last.region_bytes;
    time_of(&chosen[5], NULL, 0);
    cr_assert_eq(last.region, keys); /* which is all that is read */
    cr_assert_eq(last.region_bytes, (size_t)(behind - keys));
}

Test(order_filler, a_stretch_may_begin_between_the_copies_and_the_attention)
{
    struct sequence_step steps[] = { filler(2e6, true, operand_bytes), call, filler(2e6, false, 0),
                                     filler(2e6, false, 0) };
    choose(steps, 4);
    cr_assert_eq(chosen[2].traffic, ORDER_OPERAND_WRITE);
    cr_assert_eq(chosen[3].traffic, ORDER_OPERAND_WRITE);
    cr_assert_lt(chosen[2].at, chosen[3].at);
}

Test(order_filler, copies_belong_to_the_attention_behind_them)
{
    struct sequence_step steps[] = { filler(2e6, false, 0), filler(2e6, true, operand_bytes),
                                     filler(2e6, false, 0), filler(2e6, true, operand_bytes) };
    choose(steps, 4);
    for (int i = 0; i < 4; i += 2) {
        cr_assert_eq(chosen[i].traffic, ORDER_OPERAND_WRITE);
        cr_assert_eq(chosen[i].at, 0);
        cr_assert_eq(chosen[i].region_bytes, (size_t)operand_bytes);
    }
}

Test(order_filler, copies_stream_where_there_is_little_to_write)
{
    struct sequence_step steps[] = { filler(2e6, false, 0), filler(2e6, false, 0),
                                     filler(1e4, true, 600) };
    choose(steps, 3);
    cr_assert_eq(chosen[0].traffic, ORDER_FAR_COPY);
    cr_assert_eq(chosen[1].traffic, ORDER_FAR_COPY);
    cr_assert_eq(chosen[2].traffic, ORDER_OPERAND_READ);
}

Test(order_filler, operands_leave_the_streams_where_they_are)
{
    struct sequence_step steps[] = { filler(2e6, true, operand_bytes), filler(2e6, true, 0) };
    choose(steps, 2);
    time_of(&chosen[1], NULL, 0);
    size_t at = last.at + last.bytes;
    time_of(&chosen[0], NULL, 0);
    time_of(&chosen[1], NULL, 0);
    cr_assert_eq(last.at, at % last.region_bytes);
}
