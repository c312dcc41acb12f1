/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_fixture.h"
#include "traces/merge.h"
#include "traces/timeline.h"

struct scene {
    struct writer *w;
    int fd;
    struct trace_counters counters;
    uint64_t now_ns;
    uint32_t gemm, attention, signature;
};

static struct scene scene_open(unsigned shard)
{
    struct scene s = { .fd = memfd_create("trace", MFD_CLOEXEC), .now_ns = 1000 };
    s.w = fixture_open(dup(s.fd), shard);
    cr_assert_eq(writer_string(s.w, "gemm", 4, &s.gemm), ST_OK);
    cr_assert_eq(writer_string(s.w, "attention", 9, &s.attention), ST_OK);
    s.signature = fixture_define(s.w, 1);
    return s;
}

static struct bytes scene_close(struct scene *s)
{
    cr_assert_eq(writer_close(s->w, &s->counters, s->now_ns), ST_OK);
    struct bytes b = fixture_read(s->fd);
    close(s->fd);
    return b;
}

static void window(struct scene *s, uint64_t begin_ns, uint64_t records)
{
    struct gpu_window w = { begin_ns, begin_ns + 1000000, 1000, records, records, 0 };
    cr_assert_eq(writer_gpu_window(s->w, &w), ST_OK);
}

/* `count` kernels, 1000 ns each with gaps of 500 ns, from `at_ns` on. */
static enum status work(struct scene *s, uint64_t window_ns, uint32_t stream, uint64_t at_ns,
                        unsigned count)
{
    const struct gpu_source sources[] = {
        { .name = s->gemm, .signature = s->signature, .is_first = true },
        { .name = s->attention, .signature = GPU_NO_SIGNATURE },
    };
    struct gpu_interval *v = calloc(count + 1, sizeof *v);
    for (unsigned i = 0; i < count; i++)
        v[i] = (struct gpu_interval){ at_ns + 1504 * (uint64_t)i, at_ns, 992, i % 2 };
    enum status st = writer_gpu_intervals(s->w, &(struct gpu_intervals){ .window_ns = window_ns,
                                                                         .stream = stream,
                                                                         .nsources = 2,
                                                                         .sources = sources,
                                                                         .count = count,
                                                                         .interval = v });
    free(v);
    return st;
}

static void frame(struct scene *s)
{
    s->now_ns += 1000;
    cr_assert_eq(writer_flush(s->w, &s->counters, s->now_ns), ST_OK);
}

/* "shard:begin+length missing [stream:count first-last, ...]; ..." */
static const char *text_of(struct bytes b)
{
    static char text[4096];
    struct timeline *t;
    struct timeline_window w;
    size_t at = 0;
    text[0] = 0;
    cr_assert_eq(timeline_open_bytes(&t, b.at, b.count, NULL), ST_OK);
    enum status st;
    while ((st = timeline_next(t, &w, NULL)) == ST_OK) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%u:%llu", w.shard,
                               (unsigned long long)w.window.begin_ns);
        for (size_t i = 0; i < w.nstreams; i++) {
            const struct timeline_stream *one = &w.streams[i];
            for (size_t k = 1; k < one->count; k++)
                cr_assert_geq(one->interval[k].start_ns, one->interval[k - 1].start_ns);
            at += (size_t)snprintf(text + at, sizeof text - at, " %u*%zu", one->stream, one->count);
        }
        if (w.missing)
            at += (size_t)snprintf(text + at, sizeof text - at, " -%llu",
                                   (unsigned long long)w.missing);
        at += (size_t)snprintf(text + at, sizeof text - at, ";");
    }
    cr_assert_eq(st, ST_END);
    cr_assert_eq(timeline_next(t, &w, NULL), ST_END);
    timeline_close(t);
    return text;
}

Test(timeline, windows_hold_streams_and_these_their_intervals)
{
    struct scene s = scene_open(0);
    window(&s, 32000, 5);
    cr_assert_eq(work(&s, 32000, 1, 64000, 3), ST_OK);
    cr_assert_eq(work(&s, 32000, 2, 64320, 2), ST_OK);
    window(&s, 3200000, 0);
    window(&s, 6400000, 1);
    cr_assert_eq(work(&s, 6400000, 1, 6400000, 1), ST_OK);
    frame(&s);
    struct bytes b = scene_close(&s);
    cr_assert_str_eq(text_of(b), "0:32000 1*3 2*2;0:3200000;0:6400000 1*1;");
    struct timeline *t;
    struct timeline_window w;
    cr_assert_eq(timeline_open_bytes(&t, b.at, b.count, NULL), ST_OK);
    cr_assert_eq(timeline_next(t, &w, NULL), ST_OK);
    cr_assert_eq(w.window.end_ns, 1032000);
    const struct timeline_interval *v = &w.streams[0].interval[2];
    cr_assert_eq(v->start_ns, 64000 + 2 * 1504);
    cr_assert_eq(v->end_ns - v->start_ns, 992);
    cr_assert_eq(v->launch_ns, 64000);
    cr_assert_str_eq(reader_string(timeline_reader(t), v->name), "gemm");
    cr_assert_eq(v->signature, 0);
    cr_assert(v->is_first && !v->in_graph && v->work == GPU_KERNEL);
    v--;
    cr_assert_str_eq(reader_string(timeline_reader(t), v->name), "attention");
    cr_assert_eq(v->signature, GPU_NO_SIGNATURE);
    timeline_close(t);
    free(b.at);
}

/* Up to the middle of the gaps; the outer ones as far as on their other side. */
Test(timeline, a_window_stands_for_the_time_around_it)
{
    struct scene s = scene_open(0);
    const uint64_t begins_ns[] = { 1000000, 4000000, 11000000 };
    for (int i = 0; i < 3; i++) {
        window(&s, begins_ns[i], 0);
        frame(&s);
    }
    struct bytes b = scene_close(&s);
    struct timeline *t;
    struct timeline_window w;
    cr_assert_eq(timeline_open_bytes(&t, b.at, b.count, NULL), ST_OK);
    const uint64_t expected_ns[] = { 3000000, 1000000 + 1000000 + 3000000, 7000000 };
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(timeline_next(t, &w, NULL), ST_OK);
        cr_assert_eq(w.stands_for_ns, expected_ns[i]);
    }
    timeline_close(t);
    free(b.at);
}

Test(timeline, a_window_goes_on_in_the_next_frames)
{
    struct scene s = scene_open(0);
    window(&s, 320, 9);
    window(&s, 32000, 9);
    cr_assert_eq(work(&s, 320, 1, 640, 1), ST_OK);
    cr_assert_eq(work(&s, 32000, 2, 64000, 3), ST_OK);
    frame(&s);
    cr_assert_eq(work(&s, 32000, 1, 64000, 4), ST_OK);
    frame(&s);
    cr_assert_eq(work(&s, 32000, 2, 96000, 2), ST_OK);
    window(&s, 3200000, 1);
    cr_assert_eq(work(&s, 3200000, 1, 3200000, 1), ST_OK);
    frame(&s);
    struct bytes b = scene_close(&s);
    cr_assert_str_eq(text_of(b), "0:320 1*1;0:32000 1*4 2*5;0:3200000 1*1;");
    free(b.at);
}

Test(timeline, what_is_missing_is_said)
{
    struct scene s = scene_open(0);
    window(&s, 320, 100);
    cr_assert_eq(work(&s, 320, 1, 640, 60), ST_OK);
    struct gpu_intervals none = { .window_ns = 320, .missing = 40 };
    cr_assert_eq(writer_gpu_intervals(s.w, &none), ST_OK);
    cr_assert_eq(work(&s, 77, 1, 640, 60), ST_OK); /* its row was lost */
    frame(&s);
    struct bytes b = scene_close(&s);
    cr_assert_str_eq(text_of(b), "0:320 1*60 -40;");
    free(b.at);
}

Test(timeline, a_file_without_windows_has_none)
{
    struct scene s = scene_open(0);
    frame(&s);
    struct bytes b = scene_close(&s);
    cr_assert_str_eq(text_of(b), "");
    free(b.at);
}

Test(timeline, one_window_is_bounded)
{
    enum { PART = TRACE_FRAME_INTERVALS_MAX / 4 };
    struct scene s = scene_open(0);
    window(&s, 320, 1000000);
    for (unsigned i = 0; i < TIMELINE_WINDOW_MAX / PART + 1; i++) {
        cr_assert_eq(work(&s, 320, 1, 640 + 1504 * (uint64_t)i * PART, PART), ST_OK);
        frame(&s);
    }
    struct bytes b = scene_close(&s);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "0:320 1*%d -%d;", TIMELINE_WINDOW_MAX, PART);
    cr_assert_str_eq(text_of(b), wanted);
    free(b.at);
}

Test(timeline, the_writer_refuses_what_is_not_defined_and_what_does_not_fit)
{
    struct scene s = scene_open(0);
    s.signature = 5;
    cr_assert_eq(work(&s, 320, 1, 640, 1), ST_INVALID);
    s.signature = 0;
    s.gemm = 99;
    cr_assert_eq(work(&s, 320, 1, 640, 1), ST_INVALID);
    s.gemm = 1;
    cr_assert_eq(work(&s, 320, 1, 640, TRACE_FRAME_INTERVALS_MAX + 1), ST_INVALID);
    cr_assert_eq(work(&s, 320, 1, 640, TRACE_FRAME_INTERVALS_MAX), ST_OK);
    cr_assert_eq(work(&s, 320, 1, 640, 1), ST_LIMIT);
    frame(&s);
    cr_assert_eq(work(&s, 320, 1, 640, 1), ST_OK);
    writer_abandon(s.w);
}

static const char *write_scene(const char *name, unsigned shard)
{
    struct scene s = scene_open(shard);
    for (unsigned i = 0; i < 3; i++) {
        window(&s, 32000 + i, 4);
        cr_assert_eq(work(&s, 32000 + i, 1 + shard, 64000, 4), ST_OK);
        frame(&s);
    }
    struct bytes b = scene_close(&s);
    const char *path = fixture_path(name);
    fixture_write(path, b);
    free(b.at);
    return path;
}

static struct bytes file_bytes(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct bytes b = fixture_read(fd);
    close(fd);
    return b;
}

Test(timeline, merged_files_keep_every_window_in_any_order)
{
    const char *a = write_scene("a.twt", 0), *b = write_scene("b.twt", 1);
    const char *ab = fixture_path("ab.twt"), *ba = fixture_path("ba.twt");
    cr_assert_eq(merge_files(ab, (const char *[]){ a, b }, 2, NULL, NULL), ST_OK);
    cr_assert_eq(merge_files(ba, (const char *[]){ b, a, ab }, 3, NULL, NULL), ST_OK);
    struct bytes one = file_bytes(ab), two = file_bytes(ba);
    cr_assert_eq(one.count, two.count);
    cr_assert_arr_eq(one.at, two.at, one.count);
    cr_assert_str_eq(text_of(one), "0:32000 1*4;0:32001 1*4;0:32002 1*4;"
                                   "1:32000 2*4;1:32001 2*4;1:32002 2*4;");
    free(one.at);
    free(two.at);
}

/* Every prefix gives a beginning of the whole. */
Test(timeline, prefixes_are_readable)
{
    struct bytes b = file_bytes(write_scene("a.twt", 0));
    char whole[4096];
    strcpy(whole, text_of(b));
    for (size_t cut = 96; cut < b.count; cut += 7) {
        uint8_t *exact = malloc(cut);
        memcpy(exact, b.at, cut);
        const char *part = text_of((struct bytes){ exact, cut });
        cr_assert_eq(strncmp(whole, part, strlen(part)), 0, "%zu: %s", cut, part);
        free(exact);
    }
    free(b.at);
}

/* What a watcher saw, and where it stops (0: nowhere). */
struct watcher {
    unsigned frames, stop_at;
};

static enum status see(void *context, const struct reader *r, const struct reader_frame *f)
{
    struct watcher *watcher = context;
    size_t shards;
    reader_shards(r, &shards);
    cr_assert_lt(f->shard, shards);
    return ++watcher->frames == watcher->stop_at ? ST_NOMEM : ST_OK;
}

static enum status watch(struct bytes b, struct watcher *watcher, unsigned *windows)
{
    struct timeline *t;
    struct timeline_window w;
    enum status st;
    cr_assert_eq(timeline_open_bytes(&t, b.at, b.count, NULL), ST_OK);
    timeline_watch(t, see, watcher);
    for (*windows = 0; (st = timeline_next(t, &w, NULL)) == ST_OK;)
        ++*windows;
    timeline_close(t);
    return st;
}

Test(timeline, a_watcher_sees_every_frame_once_and_may_end_it)
{
    struct scene s = scene_open(0);
    frame(&s); /* without a window */
    window(&s, 32000, 1);
    cr_assert_eq(work(&s, 32000, 1, 32000, 1), ST_OK);
    frame(&s);
    frame(&s);
    struct bytes b = scene_close(&s);
    struct watcher all = { 0 }, some = { .stop_at = 2 };
    unsigned windows;
    cr_assert_eq(watch(b, &all, &windows), ST_END);
    cr_assert_eq(windows, 1);
    cr_assert_geq(all.frames, 3);
    cr_assert_eq(watch(b, &some, &windows), ST_NOMEM);
    cr_assert_eq(windows, 0);
    cr_assert_eq(some.frames, 2);
    free(b.at);
}
