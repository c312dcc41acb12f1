/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_fixture.h"
#include "traces/frame.h"

Test(writer, events_come_back_in_whole_ticks_of_absolute_time)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    uint32_t id = fixture_define(w, 3);
    struct writer_event events[] = {
        { id, 149, 1050 }, { id, 149, 1250 }, { id, 0, 1500 }, { id, UINT32_MAX, 2000 }
    };
    struct trace_counters c = { .seen = 4, .recorded = 4, .cpu_ns = 77 };
    cr_assert_eq(writer_events(w, 5, 9, events, 4), ST_OK);
    cr_assert_eq(writer_flush(w, &c, 5000), ST_OK);
    cr_assert_eq(writer_close(w, &c, 6000), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK); /* the dictionary */
    cr_assert_eq(f.nevents, 0);
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    cr_assert_eq(f.nevents, 1);
    cr_assert_eq(f.events[0].thread, 5);
    cr_assert_eq(f.events[0].stream, 9);
    cr_assert_eq(f.events[0].count, 4);
    static const uint64_t starts[] = { 1000, 1200, 1500, 2000 };
    static const uint32_t durations[] = { 100, 100, 0, 4294967200u };
    cr_assert_arr_eq(f.events[0].start_ns, starts, sizeof starts);
    cr_assert_arr_eq(f.events[0].duration_ns, durations, sizeof durations);
    cr_assert_eq(f.counters.cpu_ns, 77);
    cr_assert_eq(f.end_ns, 5000);
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    cr_assert_eq(f.begin_ns, 5000);
    cr_assert_eq(reader_next(r, &f, NULL), ST_END);
    reader_close(r);
    free(b.at);
}

Test(writer, rounding_does_not_add_up)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    uint32_t id = fixture_define(w, 0);
    enum { N = 10000 };
    static struct writer_event events[N];
    uint64_t at = 0, state = 3, exact = 0, got = 0;
    for (unsigned i = 0; i < N; i++) {
        uint32_t ns = 50 + (uint32_t)(fixture_random(&state) % 300);
        events[i] = (struct writer_event){ id, ns, at };
        at += ns + fixture_random(&state) % 100;
        exact += ns;
    }
    struct trace_counters c = { 0 };
    cr_assert_eq(writer_events(w, 0, 0, events, N), ST_OK);
    cr_assert_eq(writer_close(w, &c, at), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    while (reader_next(r, &f, NULL) == ST_OK)
        for (size_t i = 0; i < f.nevents; i++)
            for (size_t k = 0; k < f.events[i].count; k++)
                got += f.events[i].duration_ns[k];
    cr_assert(got > exact - exact / 200 && got < exact + exact / 200, "%lu for %lu", got, exact);
    reader_close(r);
    free(b.at);
}

Test(writer, interning_gives_the_same_id_for_the_same_content)
{
    struct writer *w;
    fixture_begin(&w);
    uint32_t a, b, empty;
    cr_assert_eq(writer_string(w, "dgemm_", 6, &a), ST_OK);
    cr_assert_eq(writer_string(w, "dgemm_", 6, &b), ST_OK);
    cr_assert_eq(a, b);
    cr_assert_eq(writer_string(w, "", 0, &empty), ST_OK);
    cr_assert_eq(empty, 0);
    cr_assert_eq(writer_string(w, "dgemm_\0tail", 11, &b), ST_OK);
    cr_assert_eq(a, b, "a string ends at its NUL");
    cr_assert_eq(fixture_define(w, 4), 0);
    cr_assert_eq(fixture_define(w, 5), 1);
    cr_assert_eq(fixture_define(w, 4), 0);
    writer_abandon(w);
}

Test(writer, long_strings_are_cut)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    char *text = malloc(10001);
    memset(text, 'x', 10000);
    text[10000] = '\0';
    cr_assert_eq(writer_fact(w, "k", text), ST_OK);
    struct trace_counters c = { 0 };
    cr_assert_eq(writer_flush(w, &c, 1), ST_OK);
    writer_abandon(w);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    cr_assert_eq(f.nfacts, 1);
    cr_assert_eq(strlen(f.facts[0].value), TRACE_STRING_BYTES_MAX);
    reader_close(r);
    free(b.at);
    free(text);
}

Test(writer, refuses_what_it_does_not_know)
{
    struct writer *w;
    fixture_begin(&w);
    struct writer_event e = { 7, 1, 1 };
    struct writer_count n = { .calls = 1 };
    struct tilewise_signature s = fixture_signature(0);
    uint32_t id;
    s.entry = 1000;
    cr_assert_eq(writer_signature(w, &s, &id), ST_INVALID);
    cr_assert_eq(writer_events(w, 0, 0, &e, 1), ST_INVALID);
    cr_assert_eq(writer_count(w, 7, &n), ST_INVALID);
    cr_assert_eq(writer_blob(w, 5, "x", 1), ST_INVALID);
    fixture_define(w, 0);
    e.signature = 0;
    cr_assert_eq(writer_events(w, TRACE_THREADS_MAX, 0, &e, 1), ST_INVALID);
    e.start_ns = UINT64_MAX;
    cr_assert_eq(writer_events(w, 0, 0, &e, 1), ST_INVALID);
    cr_assert_eq(writer_pending_bytes(w), 0);
    writer_abandon(w);
}

Test(writer, counts_come_back_exactly)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    struct writer_count n = {
        .calls = 1000000007, .sum_ns = 1234567890123456789, .min_ns = 17, .max_ns = UINT64_MAX
    };
    n.histogram.count[0] = 5;
    n.histogram.count[159] = UINT64_MAX;
    cr_assert_eq(writer_count(w, fixture_define(w, 2), &n), ST_OK);
    struct trace_counters c = { 0 };
    cr_assert_eq(writer_close(w, &c, 1), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    size_t rows = 0;
    while (reader_next(r, &f, NULL) == ST_OK)
        for (size_t i = 0; i < f.ncounts; i++, rows++) {
            cr_assert_eq(f.counts[i].calls, n.calls);
            cr_assert_eq(f.counts[i].sum_ns, n.sum_ns);
            cr_assert_eq(f.counts[i].min_ns, n.min_ns);
            cr_assert_eq(f.counts[i].max_ns, n.max_ns);
            cr_assert_arr_eq(f.counts[i].histogram, &n.histogram, sizeof n.histogram);
        }
    cr_assert_eq(rows, 1);
    reader_close(r);
    free(b.at);
}

Test(writer, every_field_of_a_signature_survives)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    struct tilewise_signature s[200];
    uint64_t state = 4;
    uint32_t id;
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned k = 0; k < sizeof s[i] / 8; k++) {
            uint64_t word = fixture_random(&state);
            memcpy((char *)&s[i] + 8 * k, &word, 8);
        }
        s[i].entry = 0;
        cr_assert_eq(writer_signature(w, &s[i], &id), ST_OK);
        cr_assert_eq(id, i);
    }
    struct trace_counters c = { 0 };
    cr_assert_eq(writer_close(w, &c, 1), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    while (reader_next(r, &f, NULL) == ST_OK)
        continue;
    size_t count;
    const struct tilewise_signature *got = reader_signatures(r, &count);
    cr_assert_eq(count, 200);
    cr_assert_arr_eq(got, s, sizeof s);
    reader_close(r);
    free(b.at);
}

Test(writer, heartbeats_carry_definitions_and_counters)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    for (unsigned i = 0; i < 1000; i++)
        fixture_define(w, i);
    struct trace_counters c = { .seen = 9, .dropped = { [LOSS_NO_MEMORY] = 9 } };
    cr_assert_eq(writer_flush(w, &c, 100), ST_OK);
    cr_assert_lt(writer_file_bytes(w), 8 * 1000, "a thousand signatures take a few bytes each");
    cr_assert_eq(writer_close(w, &c, 200), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    while (reader_next(r, &f, NULL) == ST_OK)
        continue;
    size_t count;
    const struct tilewise_signature *got = reader_signatures(r, &count);
    cr_assert_eq(count, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        struct tilewise_signature want = fixture_signature(i);
        want.entry = got[i].entry;
        cr_assert(signature_equal(&got[i], &want), "signature %u", i);
    }
    const struct reader_shard *shard = reader_shards(r, &count);
    cr_assert_eq(shard->counters.dropped[LOSS_NO_MEMORY], 9);
    cr_assert_eq(shard->end_ns, 200);
    reader_close(r);
    free(b.at);
}

Test(writer, a_dictionary_of_many_frames)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    char name[64];
    uint32_t id;
    for (unsigned i = 0; i < 100000; i++) {
        struct tilewise_signature s = fixture_signature(i);
        int n = snprintf(name, sizeof name, "kernel_of_a_long_name_number_%u", i);
        cr_assert_eq(writer_string(w, name, (size_t)n, &s.entry), ST_OK);
        cr_assert_eq(writer_signature(w, &s, &id), ST_OK);
    }
    struct writer_event e = { 99999, 100, 0 };
    cr_assert_eq(writer_events(w, 0, 0, &e, 1), ST_OK);
    struct trace_counters c = { 0 };
    cr_assert_eq(writer_close(w, &c, 200), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    size_t frames = 0, events = 0, count;
    for (; reader_next(r, &f, NULL) == ST_OK; frames++)
        for (size_t i = 0; i < f.nevents; i++) {
            events += f.events[i].count;
            uint32_t entry = reader_signatures(r, &count)[f.events[i].signature[0]].entry;
            cr_assert_str_eq(reader_string(r, entry), "kernel_of_a_long_name_number_99999");
        }
    cr_assert_gt(frames, 5);
    cr_assert_eq(events, 1);
    reader_close(r);
    free(b.at);
}

Test(writer, dictionaries_cost_a_few_percent)
{
    struct bytes b = fixture_trace(
        (struct fixture_options){ .frames = 120, .events_per_frame = 2000, .signatures = 800 });
    size_t keys = 0, key_bytes = 0;
    for (size_t at = 96; at < b.count;) {
        struct frame_header h;
        cr_assert_eq(frame_decode(&h, b.at + at, b.count - at), FRAME_GOOD);
        size_t bytes = h.header_bytes + (size_t)h.stored_bytes;
        if (h.flags & FRAME_KEY)
            keys++, key_bytes += bytes;
        at += bytes;
    }
    cr_assert_geq(keys, 3);
    cr_assert_lt(key_bytes, b.count / 20);
    free(b.at);
}

Test(writer, a_full_frame_is_refused_whole_and_taken_after_a_flush)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    uint32_t id = fixture_define(w, 0);
    enum { N = 50000 };
    static struct writer_event events[N];
    for (unsigned i = 0; i < N; i++)
        events[i] = (struct writer_event){ id, 3000000, i * UINT64_C(4000000) };
    struct trace_counters c = { 0 };
    size_t taken = 0, flushes = 0;
    while (taken < 20) {
        size_t before = writer_pending_bytes(w);
        enum status st = writer_events(w, (unsigned)taken, 0, events, N);
        if (st == ST_LIMIT) {
            cr_assert_eq(writer_pending_bytes(w), before);
            cr_assert_leq(before, TRACE_FRAME_RAW_MAX);
            cr_assert_eq(writer_flush(w, &c, 1), ST_OK);
            flushes++;
            continue;
        }
        cr_assert_eq(st, ST_OK);
        taken++;
    }
    cr_assert_gt(flushes, 2);
    cr_assert_eq(writer_close(w, &c, 2), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    uint64_t got = 0;
    while (reader_next(r, &f, NULL) == ST_OK)
        for (size_t i = 0; i < f.nevents; i++)
            got += f.events[i].count;
    cr_assert_eq(got, 20 * N);
    reader_close(r);
    free(b.at);
}

Test(writer, overlapping_calls_of_one_thread_survive)
{
    struct writer *w;
    int fd = fixture_begin(&w);
    uint32_t id = fixture_define(w, 0);
    struct writer_event events[] = { { id, 10000, 1000 }, { id, 100, 2000 }, { id, 100, 2000 } };
    struct trace_counters c = { 0 };
    cr_assert_eq(writer_events(w, 0, 0, events, 3), ST_OK);
    cr_assert_eq(writer_close(w, &c, 2), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    static const uint64_t starts[] = { 1000, 2000, 2000 };
    cr_assert_arr_eq(f.events[0].start_ns, starts, sizeof starts);
    reader_close(r);
    free(b.at);
}

Test(writer, untimed_events_keep_their_order)
{
    int fd = memfd_create("t", MFD_CLOEXEC);
    struct writer *w;
    struct writer_options o = { .kind = TRACE_KIND_RECORDED,
                                .shard = fixture_shard(0),
                                .untimed = true };
    cr_assert_eq(writer_open(&w, dup(fd), &o), ST_OK);
    struct writer_event events[300];
    for (unsigned i = 0; i < 300; i++)
        events[i] = (struct writer_event){ fixture_define(w, i * 7 % 300), 100, 100 * i };
    struct trace_counters c = { 0 };
    cr_assert_eq(writer_events(w, 0, 0, events, 300), ST_OK);
    cr_assert_eq(writer_close(w, &c, 2), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    for (unsigned i = 0; i < 300; i++)
        cr_assert_eq(f.events[0].signature[i], events[i].signature);
    reader_close(r);
    free(b.at);
}
