/* SPDX-License-Identifier: Apache-2.0
 *
 * Periods, and the stretches found in traces.
 */
#include "order_fixture.h"
#include "replayer/sequence_cut.h"

/* ---- periods ---- */

static struct sequence_period period_of(const char *text)
{
    struct sequence_step steps[256];
    struct sequence_period p;
    size_t count = strlen(text);
    for (size_t i = 0; i < count; i++)
        steps[i].symbol = (uint64_t)text[i];
    if (!sequence_find_period(steps, count, &p))
        cr_assert_eq(p.period, 0);
    return p;
}

Test(sequence, the_smallest_period_that_covers_most)
{
    cr_assert_eq(period_of("abcabcabcabc").period, 3);
    cr_assert_eq(period_of("abcabcabcabc").repeats, 4);
    cr_assert_eq(period_of("xyzababababab").start, 3);
    cr_assert_eq(period_of("xyzababababab").period, 2);
    /* layers within a step are no step */
    cr_assert_eq(period_of("llllelllfllllelllfllllelllf").period, 9);
    cr_assert_eq(period_of("abcdefg").period, 0);
    cr_assert_eq(period_of("").period, 0);
    cr_assert_eq(period_of("abab").period, 0); /* not often enough */
}

/* ---- stretches of traces ---- */

TestSuite(sequence, .init = set_up, .fini = tear_down);

static int64_t rows_of(size_t step)
{
    int64_t item = sequence->steps[step].item;
    return item == SEQUENCE_FILLER ? 0 : plan->items[item].signature.m;
}

Test(sequence, a_step_of_a_graph_is_found_in_windows)
{
    write_windows(20);
    find();
    cr_assert_not_null(sequence);
    cr_assert_eq(sequence->count, 3);
    cr_assert_eq(sequence->fillers, 1);
    cr_assert_eq(sequence->repeats, 20);
    cr_assert(sequence->in_graph && sequence->is_kernel_time);
    cr_assert_eq(rows_of(0), 8);
    cr_assert_eq(rows_of(1), 0);
    cr_assert_eq(rows_of(2), 16);
    cr_assert_float_eq(sequence->steps[2].ns, 1696, 1e-6); /* both kernels */
    cr_assert_float_eq(sequence->filler_ns, 6400, 1e-6);
    cr_assert_float_eq(sequence->least_filler_ns, 6400, 1e-6);
    cr_assert(sequence->steps[1].reads); /* by its name */
    cr_assert_str_eq(sequence->source, "stream 1 of process 1000");
}

Test(sequence, one_stretch_is_counted_through_the_windows)
{
    struct writer *w = start();
    write_window(w, repeated("sal", 20));
    write_window(w, repeated("als", 10)); /* entered elsewhere */
    end(w, 60);
    find();
    cr_assert_eq(sequences.count, 1);
    cr_assert_eq(sequence->count, 3);
    cr_assert_eq(sequence->repeats, 30);
    cr_assert_float_eq(sequence->filler_ns, 6400, 1e-6);
    cr_assert_float_eq(sequence->time_share, 1, 1e-9);
}

static double bytes_of_keys(double count)
{
    return 8 * 2 * 64 * (1 + 2 * count); /* queries, keys, values */
}

Test(sequence, an_attention_says_what_it_reads)
{
    struct writer *w = start();
    hook_attention(w, 100);
    write_window(w, repeated("shl", 10));
    hook_attention(w, 400); /* the same kernel in a longer context */
    write_window(w, repeated("shl", 20));
    end(w, 60);
    find();
    cr_assert_eq(sequences.count, 1);
    cr_assert_eq(sequence->steps[1].item, SEQUENCE_FILLER);
    cr_assert(sequence->steps[1].reads);
    cr_assert_float_eq(sequence->steps[1].operand_bytes, bytes_of_keys(300), 1e-6);
    cr_assert_float_eq(sequence->steps[0].operand_bytes, 0, 1e-6);
    cr_assert_float_eq(sequence->steps[2].operand_bytes, 0, 1e-6);
}

Test(sequence, the_bytes_of_work_without_a_call_are_unknown)
{
    write_windows(20);
    find();
    cr_assert(sequence->steps[1].reads);
    cr_assert_float_eq(sequence->steps[1].operand_bytes, 0, 1e-6);
}

/* One window: a phase, and another behind it. */
static void write_phases(const char *first, unsigned first_times, const char *second,
                         unsigned second_times)
{
    struct writer *w = start();
    char both[400];
    snprintf(both, sizeof both, "%s", repeated(first, first_times));
    strcat(both, repeated(second, second_times));
    write_window(w, both);
    end(w, 80);
}

Test(sequence, phases_are_stretches_of_their_own)
{
    write_phases("llls", 10, "sal", 20);
    find();
    cr_assert_eq(sequences.count, 2);
    cr_assert_eq(sequences.row[0]->count, 3); /* the larger one first */
    cr_assert_eq(sequences.row[0]->repeats, 20);
    cr_assert_eq(sequences.row[1]->count, 4);
    cr_assert_float_eq(sequences.row[0]->time_share + sequences.row[1]->time_share, 1, 0.02);
    cr_assert_gt(sequences.row[0]->time_share, 0.7);
}

Test(sequence, what_stands_for_most_is_enough)
{
    write_phases("sal", 30, "lls", 3);
    find();
    cr_assert_eq(sequences.count, 1);
    cr_assert_gt(sequence->time_share, 0.8);
}

Test(sequence, calls_stand_in_where_no_stream_was_seen)
{
    write_events(20);
    find();
    cr_assert_not_null(sequence);
    cr_assert_eq(sequence->count, 2);
    cr_assert_not(sequence->in_graph || sequence->is_kernel_time);
    cr_assert_float_eq(sequence->call_ns, 3000, 300); /* whole ticks */
}

Test(sequence, a_trace_of_counts_has_no_order)
{
    end(start(), 10);
    find();
    cr_assert_null(sequence);
}
