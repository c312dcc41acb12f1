/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_fixture.h"
#include "traces/intervals.h"
#include "traces/summary.h"

/* One event in microseconds, for hand-made traces. */
struct call {
    unsigned thread, signature, start_us, us;
};

struct scene {
    int fd;
    const char *path;
    struct writer *w;
    struct trace_counters counters;
};

static struct scene scene_open(const char *name, unsigned shard)
{
    struct scene s = { .path = fixture_path(name) };
    s.fd = open(s.path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(s.fd, 0);
    s.w = fixture_open(s.fd, shard);
    return s;
}

static void scene_calls(struct scene *s, const struct call *calls, size_t count, unsigned now_us)
{
    for (size_t i = 0; i < count; i++) {
        struct writer_event e = { fixture_define(s->w, calls[i].signature), calls[i].us * 1000,
                                  calls[i].start_us * UINT64_C(1000) };
        cr_assert_eq(writer_events(s->w, calls[i].thread, 0, &e, 1), ST_OK);
    }
    s->counters.seen += count;
    s->counters.recorded += count;
    cr_assert_eq(writer_flush(s->w, &s->counters, now_us * UINT64_C(1000)), ST_OK);
}

static void scene_close(struct scene *s, unsigned now_us)
{
    cr_assert_eq(writer_close(s->w, &s->counters, now_us * UINT64_C(1000)), ST_OK);
}

static struct summary *build(const char *const *paths, size_t count, size_t windows)
{
    struct summary *s;
    struct fault fault = { 0 };
    cr_assert_eq(summary_build(&s, paths, count, windows, &fault), ST_OK, "%s", fault.text);
    return s;
}

static const char *write_random(const char *name, unsigned shard, unsigned frames)
{
    const char *path = fixture_path(name);
    struct bytes b = fixture_trace((struct fixture_options){ .frames = frames,
                                                             .events_per_frame = 900,
                                                             .signatures = 40,
                                                             .threads = 3,
                                                             .shard = shard,
                                                             .seed = shard });
    fixture_write(path, b);
    free(b.at);
    return path;
}

Test(summary, totals_of_one_signature)
{
    struct scene s = scene_open("a", 0);
    scene_calls(&s, (struct call[]){ { 0, 1, 10, 5 }, { 0, 1, 20, 7 }, { 0, 2, 30, 100 } }, 3, 200);
    scene_close(&s, 300);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->nsignatures, 2);
    cr_assert_eq(sum->signatures[0].time_ns, 100000, "largest time first");
    cr_assert_eq(sum->signatures[1].calls, 2);
    cr_assert_eq(sum->signatures[1].time_ns, 12000);
    cr_assert_eq(sum->signatures[1].min_ns, 5000);
    cr_assert_eq(sum->signatures[1].max_ns, 7000);
    cr_assert_eq(sum->signatures[1].histogram.count[histogram_bucket(5000)], 1);
    cr_assert_str_eq(sum->strings[sum->signatures[0].signature.entry], "cblas_sgemm");
    cr_assert_eq(sum->calls, 3);
    cr_assert_eq(sum->time_ns, 112000);
    cr_assert_eq(sum->wall_ns, 300000);
    cr_assert(sum->complete);
    summary_free(sum);
}

Test(summary, busy_is_the_union_over_threads)
{
    struct scene s = scene_open("a", 0);
    scene_calls(
        &s, (struct call[]){ { 0, 1, 10, 10 }, { 1, 1, 15, 10 }, { 2, 2, 40, 5 }, { 1, 2, 42, 1 } },
        4, 100);
    scene_close(&s, 100);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->busy_ns, 20000, "10..25 and 40..45");
    cr_assert_eq(sum->nops, 1);
    cr_assert_eq(sum->ops[0].active_ns, 20000);
    cr_assert_eq(sum->ops[0].time_ns, 26000);
    summary_free(sum);
}

Test(summary, a_call_that_ends_a_frame_late_is_not_counted_twice)
{
    struct scene s = scene_open("a", 0);
    scene_calls(&s, (struct call[]){ { 0, 1, 10, 10 }, { 0, 1, 50, 10 } }, 2, 100);
    scene_calls(&s, (struct call[]){ { 1, 1, 15, 140 }, { 0, 1, 110, 10 } }, 2, 200);
    scene_close(&s, 200);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->busy_ns, 145000, "10..155");
    summary_free(sum);
}

Test(summary, ops_are_apart_by_type)
{
    struct scene s = scene_open("a", 0);
    struct tilewise_signature f64 = fixture_signature(3);
    f64.dtype_c = TILEWISE_F64;
    uint32_t id;
    cr_assert_eq(writer_signature(s.w, &f64, &id), ST_OK);
    struct writer_event e = { id, 3000, 12000 };
    cr_assert_eq(writer_events(s.w, 4, 0, &e, 1), ST_OK);
    scene_calls(&s, (struct call[]){ { 0, 1, 10, 10 } }, 1, 100);
    scene_close(&s, 100);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->nops, 2);
    cr_assert_eq(sum->ops[0].dtype, TILEWISE_F32);
    cr_assert_eq(sum->ops[0].active_ns, 10000);
    cr_assert_eq(sum->ops[1].dtype, TILEWISE_F64);
    cr_assert_eq(sum->ops[1].active_ns, 3000);
    cr_assert_eq(sum->busy_ns, 10000);
    summary_free(sum);
}

Test(summary, windows_hold_equal_numbers_of_calls_and_add_up)
{
    const char *path = write_random("a", 0, 40); /* 36,000 calls */
    struct summary *s = build(&path, 1, 0);
    cr_assert_eq(s->nwindows, 36);
    uint64_t calls = 0, time_ns = 0;
    for (size_t w = 0; w < s->nwindows; w++) {
        cr_assert(s->windows[w].calls > 900 && s->windows[w].calls < 1100, "window %zu: %lu", w,
                  s->windows[w].calls);
        uint64_t cell_calls = 0, cell_ns = 0;
        for (size_t i = 0; i < s->windows[w].ncells; i++) {
            const struct summary_cell *c = &s->windows[w].cells[i];
            cr_assert(i == 0 || c->signature > c[-1].signature, "cells are in order");
            cr_assert_lt(c->signature, s->nsignatures);
            cell_calls += c->calls;
            cell_ns += c->time_ns;
        }
        cr_assert_eq(cell_calls, s->windows[w].calls);
        cr_assert_eq(cell_ns, s->windows[w].time_ns);
        calls += cell_calls;
        time_ns += cell_ns;
    }
    cr_assert_eq(calls, s->calls);
    cr_assert_eq(time_ns, s->time_ns);
    summary_free(s);
}

Test(summary, few_calls_still_give_ten_windows)
{
    struct scene s = scene_open("a", 0);
    for (unsigned i = 0; i < 100; i++)
        scene_calls(&s, &(struct call){ 0, i % 3, 10 + 10 * i, 5 }, 1, 20 + 10 * i);
    scene_close(&s, 2000);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->nwindows, 10);
    for (size_t w = 0; w < 10; w++)
        cr_assert_eq(sum->windows[w].calls, 10);
    cr_assert_eq(sum->windows[0].begin_unix_ns, fixture_shard(0).start_unix_ns + 10000);
    cr_assert_eq(sum->windows[9].end_unix_ns,
                 fixture_shard(0).start_unix_ns + 10000 * (99 + 1) + 5000);
    summary_free(sum);
}

Test(summary, the_caller_may_ask_for_windows)
{
    const char *path = write_random("a", 0, 10);
    struct summary *s = build(&path, 1, 25);
    cr_assert_eq(s->nwindows, 25);
    summary_free(s);
}

Test(summary, windows_are_ordered_by_time_over_shards)
{
    const char *paths[] = { write_random("b", 1, 10), write_random("a", 0, 10) };
    struct summary *s = build(paths, 2, 0);
    for (size_t w = 1; w < s->nwindows; w++)
        cr_assert_geq(s->windows[w].begin_unix_ns, s->windows[w - 1].begin_unix_ns);
    summary_free(s);
}

static void assert_same(const struct summary *a, const struct summary *b)
{
    cr_assert_eq(a->nshards, b->nshards);
    cr_assert_eq(a->nsignatures, b->nsignatures);
    cr_assert_eq(a->nwindows, b->nwindows);
    cr_assert_eq(a->nops, b->nops);
    cr_assert_eq(a->nfacts, b->nfacts);
    cr_assert_eq(a->busy_ns, b->busy_ns);
    cr_assert_eq(a->wall_ns, b->wall_ns);
    cr_assert_arr_eq(a->signatures, b->signatures, a->nsignatures * sizeof *a->signatures);
    cr_assert_arr_eq(a->ops, b->ops, a->nops * sizeof *a->ops);
    for (size_t w = 0; w < a->nwindows; w++) {
        const struct summary_window *x = &a->windows[w], *y = &b->windows[w];
        cr_assert_eq(x->begin_unix_ns, y->begin_unix_ns);
        cr_assert_eq(x->end_unix_ns, y->end_unix_ns);
        cr_assert_eq(x->ncells, y->ncells);
        for (size_t i = 0; i < x->ncells; i++) {
            cr_assert_eq(x->cells[i].signature, y->cells[i].signature);
            cr_assert_eq(x->cells[i].calls, y->cells[i].calls);
            cr_assert_eq(x->cells[i].time_ns, y->cells[i].time_ns);
        }
    }
    cr_assert_arr_eq(&a->counters, &b->counters, sizeof a->counters);
}

Test(summary, does_not_depend_on_the_order_of_files)
{
    const char *a = write_random("a", 0, 12), *b = write_random("b", 1, 7),
               *c = write_random("c", 2, 3);
    struct summary *x = build((const char *[]){ a, b, c }, 3, 0);
    struct summary *y = build((const char *[]){ c, a, b }, 3, 0);
    assert_same(x, y);
    summary_free(x);
    summary_free(y);
}

Test(summary, a_shard_given_twice_counts_once)
{
    const char *a = write_random("a", 0, 5), *b = write_random("b", 1, 5);
    struct summary *once = build((const char *[]){ a, b }, 2, 0);
    struct summary *twice = build((const char *[]){ a, b, a }, 3, 0);
    assert_same(once, twice);
    summary_free(once);
    summary_free(twice);
}

Test(summary, of_two_copies_the_longer_one_is_read)
{
    const char *full = write_random("a", 0, 5), *cut = fixture_path("cut");
    int fd = open(full, O_RDONLY);
    struct bytes b = fixture_read(fd);
    close(fd);
    fixture_write(cut, (struct bytes){ b.at, b.count / 2 });
    struct summary *want = build(&full, 1, 0);
    struct summary *got = build((const char *[]){ cut, full }, 2, 0);
    assert_same(want, got);
    cr_assert(got->complete);
    summary_free(want);
    summary_free(got);
    free(b.at);
}

Test(summary, the_same_signature_through_two_entries_is_two_rows)
{
    struct scene s = scene_open("a", 0);
    struct tilewise_signature other = fixture_signature(1);
    uint32_t id;
    cr_assert_eq(writer_string(s.w, "sgemm_", 6, &other.entry), ST_OK);
    cr_assert_eq(writer_signature(s.w, &other, &id), ST_OK);
    struct writer_event e = { id, 3000, 0 };
    cr_assert_eq(writer_events(s.w, 0, 0, &e, 1), ST_OK);
    scene_calls(&s, (struct call[]){ { 0, 1, 10, 10 } }, 1, 100);
    scene_close(&s, 100);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->nsignatures, 2);
    cr_assert_str_eq(sum->strings[sum->signatures[1].signature.entry], "sgemm_");
    summary_free(sum);
}

Test(summary, the_same_content_in_two_shards_is_one_row)
{
    const char *paths[] = { write_random("a", 0, 3), write_random("b", 1, 3) };
    struct summary *s = build(paths, 2, 0);
    cr_assert_eq(s->nsignatures, 40);
    cr_assert_eq(s->nshards, 2);
    cr_assert_eq(s->calls, 2 * 3 * 900);
    cr_assert_eq(s->counters.recorded, 2 * 3 * 900);
    cr_assert_eq(s->nfacts, 1);
    cr_assert_str_eq(s->facts[0].key, "library");
    cr_assert_str_eq(s->facts[0].value, "libopenblas.so.0");
    summary_free(s);
}

Test(summary, counts_without_events_enter_totals_windows_and_union)
{
    struct scene s = scene_open("a", 0);
    struct writer_count count = { .calls = 1000, .sum_ns = 2000000, .min_ns = 500, .max_ns = 9000 };
    count.histogram.count[histogram_bucket(2000)] = 1000;
    cr_assert_eq(writer_count(s.w, fixture_define(s.w, 5), &count), ST_OK);
    s.counters.seen = s.counters.recorded = s.counters.untimed = 1000;
    cr_assert_eq(writer_flush(s.w, &s.counters, 5000000), ST_OK);
    scene_close(&s, 5000);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->calls, 1000);
    cr_assert_eq(sum->signatures[0].min_ns, 500);
    cr_assert_eq(sum->signatures[0].max_ns, 9000);
    cr_assert_eq(sum->nwindows, 10);
    cr_assert_eq(sum->windows[3].calls, 100);
    cr_assert_eq(sum->windows[3].time_ns, 200000);
    cr_assert_eq(sum->ops[0].active_ns, 2000000, "nothing is known about overlap");
    summary_free(sum);
}

Test(summary, an_unclean_end_is_not_complete)
{
    const char *path = fixture_path("a");
    struct bytes b = fixture_trace((struct fixture_options){
        .frames = 3, .events_per_frame = 100, .signatures = 4, .no_footer = true });
    fixture_write(path, b);
    struct summary *s = build(&path, 1, 0);
    cr_assert_not(s->complete);
    cr_assert_eq(s->ndamage, 0);
    cr_assert_eq(s->calls, 300);
    summary_free(s);
    free(b.at);
}

Test(summary, damage_is_listed_and_its_bytes_belong_to_the_shard)
{
    const char *path = fixture_path("a");
    struct bytes b = fixture_trace(
        (struct fixture_options){ .frames = 6, .events_per_frame = 100, .signatures = 4 });
    b.at[b.count / 2] ^= 4;
    fixture_write(path, b);
    struct summary *s = build(&path, 1, 0);
    cr_assert_not(s->complete);
    cr_assert_eq(s->ndamage, 1);
    cr_assert_gt(s->shards[0].damaged_bytes, 300);
    cr_assert_eq(s->calls, 500);
    cr_assert_eq(s->counters.recorded, 600, "what is missing is known by subtraction");
    summary_free(s);
    free(b.at);
}

Test(summary, a_file_with_only_a_header_is_a_shard_without_calls)
{
    struct scene s = scene_open("a", 0);
    writer_abandon(s.w);
    struct summary *sum = build(&s.path, 1, 0);
    cr_assert_eq(sum->nshards, 1);
    cr_assert_eq(sum->calls, 0);
    cr_assert_eq(sum->nwindows, 0);
    cr_assert_not(sum->complete);
    summary_free(sum);
}

Test(summary, refuses_results_and_missing_files)
{
    const char *missing = "/nonexistent/t.twt";
    struct summary *s;
    struct fault fault;
    cr_assert_eq(summary_build(&s, &missing, 1, 0, &fault), ST_IO);
    cr_assert(strstr(fault.text, missing));
    cr_assert_null(s);
    const char *path = fixture_path("a");
    struct writer *w;
    struct writer_options options = { .kind = TRACE_KIND_RESULT, .shard = fixture_shard(0) };
    cr_assert_eq(writer_open(&w, open(path, O_RDWR | O_CREAT, 0600), &options), ST_OK);
    writer_abandon(w);
    cr_assert_eq(summary_build(&s, &path, 1, 0, &fault), ST_INVALID);
    cr_assert(strstr(fault.text, path));
}

Test(summary, refuses_more_signatures_than_it_can_hold)
{
    struct scene s = scene_open("a", 0);
    for (unsigned i = 0; i < 65537; i++)
        fixture_define(s.w, i);
    scene_calls(&s, (struct call[]){ { 0, 1, 10, 10 } }, 1, 100);
    scene_close(&s, 100);
    struct summary *sum;
    struct fault fault;
    cr_assert_eq(summary_build(&sum, &s.path, 1, 0, &fault), ST_LIMIT);
    cr_assert(strstr(fault.text, "65536"));
}

Test(summary, many_shards_stay_within_memory_by_coarser_bins)
{
    static char names[60][8];
    const char *paths[60], *reversed[60];
    static char kept[60][128];
    for (unsigned i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "s%u", i);
        snprintf(kept[i], sizeof kept[i], "%s", write_random(names[i], i, 20));
        paths[i] = reversed[59 - i] = kept[i];
    }
    struct summary *x = build(paths, 60, 0), *y = build(reversed, 60, 0);
    cr_assert_eq(x->calls, 60 * 20 * 900);
    assert_same(x, y);
    summary_free(x);
    summary_free(y);
}

Test(intervals, random_sets_agree_with_a_bitmap)
{
    uint64_t state = 12345;
    for (unsigned round = 0; round < 300; round++) {
        struct intervals u = { 0 };
        bool covered[4096] = { false };
        uint64_t at = 0;
        for (unsigned i = 0; i < 60; i++) {
            at += fixture_random(&state) % 50;
            uint64_t back = fixture_random(&state) % 200;
            uint64_t start = at > back ? at - back : 0, end = start + fixture_random(&state) % 40;
            cr_assert(intervals_add(&u, start, end));
            for (uint64_t t = start; t < end; t++)
                covered[t] = true;
        }
        uint64_t want = 0;
        for (unsigned t = 0; t < 4096; t++)
            want += covered[t];
        cr_assert_eq(intervals_length(&u), want, "round %u", round);
        intervals_forget(&u, at / 2);
        cr_assert_eq(intervals_length(&u), want, "forgetting keeps the length");
        intervals_free(&u);
    }
}

Test(intervals, what_comes_after_forgetting_counts_from_there)
{
    struct intervals u = { 0 };
    intervals_add(&u, 10, 20);
    intervals_add(&u, 30, 40);
    intervals_forget(&u, 25);
    intervals_add(&u, 5, 35);
    cr_assert_eq(intervals_length(&u), 30, "10..40; 5..10 is lost");
    intervals_free(&u);
}
