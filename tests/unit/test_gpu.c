/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "trace_fixture.h"
#include "traces/summary.h"

static struct gpu_kernel kernel_row(uint32_t name, uint32_t signature, uint64_t launches,
                                    uint64_t each_ns)
{
    return (struct gpu_kernel){ .name = name,
                                .signature = signature,
                                .launches = launches,
                                .calls = signature == GPU_NO_SIGNATURE ? 0 : launches,
                                .measured = launches,
                                .sum_ns = launches * each_ns,
                                .min_ns = each_ns,
                                .max_ns = each_ns };
}

static const struct gpu_grid no_grid;

struct scene {
    const char *path;
    struct writer *w;
    struct trace_counters counters;
    struct gpu_totals totals;
    uint64_t now_ns;
};

static struct scene scene_open(const char *name, unsigned shard)
{
    struct scene s = { .path = fixture_path(name) };
    int fd = open(s.path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(fd, 0);
    s.w = fixture_open(fd, shard);
    return s;
}

static uint32_t string(struct scene *s, const char *text)
{
    uint32_t id;
    cr_assert_eq(writer_string(s->w, text, strlen(text), &id), ST_OK);
    return id;
}

static void calls(struct scene *s, uint32_t signature, uint64_t count)
{
    struct writer_count row = { .calls = count, .histogram.count[0] = count };
    cr_assert_eq(writer_count(s->w, signature, &row), ST_OK);
    s->counters.seen += count;
    s->counters.recorded += count;
    s->counters.untimed += count;
}

static void window(struct scene *s, uint64_t length_ns, uint64_t busy_ns, uint64_t launches,
                   uint64_t dropped)
{
    struct gpu_window w = { s->now_ns, s->now_ns + length_ns, busy_ns,
                            launches,  launches - dropped,    dropped };
    cr_assert_eq(writer_gpu_window(s->w, &w), ST_OK);
    s->totals.launches += launches;
    s->totals.records += launches - dropped;
    s->totals.dropped += dropped;
    s->totals.windows++;
    s->totals.window_ns += length_ns;
    s->totals.busy_ns += busy_ns;
}

static void frame(struct scene *s)
{
    s->now_ns += 1000000;
    cr_assert_eq(writer_gpu_totals(s->w, &s->totals), ST_OK);
    cr_assert_eq(writer_flush(s->w, &s->counters, s->now_ns), ST_OK);
}

static void add(struct scene *s, struct gpu_kernel row)
{
    cr_assert_eq(writer_gpu_kernel(s->w, &row), ST_OK);
}

static struct summary *close_and_build(struct scene *s)
{
    struct summary *summary;
    struct fault fault = { 0 };
    cr_assert_eq(writer_close(s->w, &s->counters, s->now_ns), ST_OK);
    cr_assert_eq(summary_build(&summary, &s->path, 1, 0, &fault), ST_OK, "%s", fault.text);
    return summary;
}

Test(gpu, rows_come_back_as_they_were)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct scene s = { .w = fixture_open(dup(fd), 0) };
    uint32_t signature = fixture_define(s.w, 1), name = string(&s, "nvjet_tst");
    struct gpu_kernel row = { name, signature, 9, 4, 7, 1000, 100, 300, no_grid };
    add(&s, row);
    window(&s, 5000, 900, 9, 2);
    frame(&s);
    cr_assert_eq(writer_close(s.w, &s.counters, s.now_ns), ST_OK);
    struct bytes b = fixture_read(fd);
    struct reader *r;
    struct reader_frame f;
    cr_assert_eq(reader_open_bytes(&r, b.at, b.count, NULL), ST_OK);
    do
        cr_assert_eq(reader_next(r, &f, NULL), ST_OK);
    while (f.nkernels == 0); /* behind the dictionary */
    cr_assert_eq(f.nkernels, 1);
    cr_assert_eq(f.ngpu_windows, 1);
    cr_assert_str_eq(reader_string(r, f.kernels[0].name), "nvjet_tst");
    row.name = f.kernels[0].name;
    cr_assert_eq(f.kernels[0].signature, 0);
    cr_assert_eq(f.kernels[0].measured, 7);
    cr_assert_eq(f.kernels[0].min_ns, 100);
    cr_assert_eq(f.kernels[0].max_ns, 300);
    cr_assert_eq(f.kernels[0].grid.block[0], 0);
    cr_assert_eq(f.gpu_windows[0].busy_ns, 900);
    cr_assert_eq(f.gpu_windows[0].end_ns - f.gpu_windows[0].begin_ns, 5000);
    cr_assert_not_null(f.gpu_totals);
    cr_assert_arr_eq(f.gpu_totals, &s.totals, sizeof s.totals);
    reader_close(r);
    free(b.at);
}

Test(gpu, a_trace_without_a_gpu_has_nothing_measured)
{
    struct scene s = scene_open("none.twt", 0);
    calls(&s, fixture_define(s.w, 1), 3);
    cr_assert_eq(writer_flush(s.w, &s.counters, 1000), ST_OK);
    struct summary *got = close_and_build(&s);
    cr_assert_eq(got->nkernels, 0);
    cr_assert_eq(got->gpu.totals.windows, 0);
    cr_assert(isnan(summary_gpu_time_ns(&got->signatures[0])));
    cr_assert(isnan(got->gpu.busy_share));
    summary_free(got);
}

Test(gpu, all_kernels_of_a_call_are_its_time)
{
    struct scene s = scene_open("two.twt", 0);
    uint32_t signature = fixture_define(s.w, 1);
    calls(&s, signature, 100);
    struct gpu_kernel reduce = kernel_row(string(&s, "splitKreduce"), signature, 10, 2);
    reduce.calls = 0; /* the second kernel of its call */
    add(&s, kernel_row(string(&s, "main"), signature, 10, 30));
    add(&s, reduce);
    window(&s, 5000, 320, 20, 0);
    frame(&s);
    struct summary *got = close_and_build(&s);
    cr_assert_eq(got->signatures[0].gpu_calls, 10);
    cr_assert_float_eq(summary_gpu_time_ns(&got->signatures[0]), 100 * 32.0, 1e-6);
    summary_free(got);
}

Test(gpu, kernels_without_a_call_are_known_by_name)
{
    struct scene s = scene_open("flash.twt", 0);
    uint32_t signature = fixture_define(s.w, 1);
    calls(&s, signature, 5);
    add(&s, kernel_row(string(&s, "gemm"), signature, 5, 100));
    add(&s, kernel_row(string(&s, "flash_attention"), GPU_NO_SIGNATURE, 3, 500));
    window(&s, 5000, 2000, 8, 0);
    frame(&s);
    struct summary *got = close_and_build(&s);
    cr_assert_eq(got->nkernels, 2);
    cr_assert_str_eq(got->strings[got->kernels[0].name], "flash_attention");
    cr_assert_eq(got->kernels[0].signature, GPU_NO_SIGNATURE);
    cr_assert_eq(got->gpu.kernel_ns, 2000);
    cr_assert_eq(got->gpu.attributed_ns, 500);
    summary_free(got);
}

Test(gpu, frames_and_shards_add_up_in_any_order)
{
    const char *paths[2], *turned[2];
    for (unsigned i = 0; i < 2; i++) {
        struct scene s = scene_open(i ? "b.twt" : "a.twt", i);
        string(&s, i ? "z" : "y"); /* other ids in each */
        uint32_t signature = fixture_define(s.w, 1), name = string(&s, "gemm");
        calls(&s, signature, 40);
        for (unsigned f = 0; f < 3; f++) {
            add(&s, kernel_row(name, signature, 4, 100 + i));
            window(&s, 1000, 400, 5, 1);
            frame(&s);
        }
        cr_assert_eq(writer_close(s.w, &s.counters, s.now_ns), ST_OK);
        paths[i] = turned[1 - i] = s.path;
    }
    struct summary *one, *two;
    cr_assert_eq(summary_build(&one, paths, 2, 0, NULL), ST_OK);
    cr_assert_eq(summary_build(&two, turned, 2, 0, NULL), ST_OK);
    cr_assert_eq(one->nkernels, 1);
    cr_assert_eq(one->kernels[0].launches, 24);
    cr_assert_eq(one->kernels[0].min_ns, 100);
    cr_assert_eq(one->kernels[0].max_ns, 101);
    cr_assert_eq(one->gpu.totals.launches, 30);
    cr_assert_eq(one->gpu.totals.records + one->gpu.totals.dropped, one->gpu.totals.launches);
    cr_assert_eq(one->gpu.totals.windows, 6);
    cr_assert_arr_eq(one->kernels, two->kernels, sizeof *one->kernels);
    cr_assert_arr_eq(&one->gpu, &two->gpu, sizeof one->gpu);
    summary_free(one);
    summary_free(two);
}

Test(gpu, busy_share_has_an_interval_over_windows)
{
    struct scene s = scene_open("busy.twt", 0);
    for (unsigned i = 0; i < 100; i++) {
        window(&s, 1000, i % 2 ? 400 : 600, 0, 0);
        frame(&s);
    }
    struct summary *got = close_and_build(&s);
    cr_assert_float_eq(got->gpu.busy_share, 0.5, 1e-12);
    /* standard error: 0.1 / sqrt(99) */
    cr_assert_float_eq(got->gpu.busy_hi - got->gpu.busy_share, 1.96 * 0.1 / sqrt(99), 1e-4);
    cr_assert_float_eq(got->gpu.busy_share - got->gpu.busy_lo, 1.96 * 0.1 / sqrt(99), 1e-4);
    summary_free(got);
}

/* Idle for 20 ms, five windows of 1 ms a 4 ms; then busy at 80 % for 80 ms, five of 0.5 ms a 16 ms.
 */
Test(gpu, a_window_stands_for_the_time_around_it)
{
    struct scene s = scene_open("weights.twt", 0);
    for (unsigned i = 0; i < 10; i++) {
        struct gpu_window w = { 1500000 + i * 4000000ull, 2500000 + i * 4000000ull, 0, 0, 0, 0 };
        if (i >= 5) {
            w.begin_ns = 20000000 + (i - 5) * 16000000ull + 7750000;
            w.end_ns = w.begin_ns + 500000;
            w.busy_ns = 400000;
        }
        cr_assert_eq(writer_gpu_window(s.w, &w), ST_OK);
        s.totals.windows++;
        s.now_ns = w.end_ns;
        frame(&s);
    }
    struct summary *got = close_and_build(&s);
    cr_assert_float_eq(got->gpu.busy_share, 0.8 * 80 / 100, 0.04);
    summary_free(got);
}

Test(gpu, one_window_has_no_interval)
{
    struct scene s = scene_open("one.twt", 0);
    window(&s, 1000, 300, 0, 0);
    frame(&s);
    struct summary *got = close_and_build(&s);
    cr_assert_float_eq(got->gpu.busy_share, 0.3, 1e-12);
    cr_assert(isnan(got->gpu.busy_lo) && isnan(got->gpu.busy_hi));
    summary_free(got);
}

Test(gpu, contradictions_are_refused)
{
    struct scene s = scene_open("bad.twt", 0);
    uint32_t signature = fixture_define(s.w, 1), name = string(&s, "gemm");
    struct gpu_kernel more_calls = { name, signature, 5, 6, 5, 50, 10, 10, no_grid };
    struct gpu_kernel more_measured = { name, signature, 5, 0, 6, 50, 10, 10, no_grid };
    struct gpu_kernel no_name = { 1000, signature, 5, 0, 5, 50, 10, 10, no_grid };
    struct gpu_kernel no_signature = { name, 77, 5, 0, 5, 50, 10, 10, no_grid };
    cr_assert_eq(writer_gpu_kernel(s.w, &more_calls), ST_INVALID);
    cr_assert_eq(writer_gpu_kernel(s.w, &more_measured), ST_INVALID);
    cr_assert_eq(writer_gpu_kernel(s.w, &no_name), ST_INVALID);
    cr_assert_eq(writer_gpu_kernel(s.w, &no_signature), ST_INVALID);
    struct gpu_window lost = { 0, 10, 5, 10, 8, 1 }, backwards = { 10, 0, 5, 0, 0, 0 };
    cr_assert_eq(writer_gpu_window(s.w, &lost), ST_INVALID);
    cr_assert_eq(writer_gpu_window(s.w, &backwards), ST_INVALID);
    struct gpu_totals totals = { .launches = 3, .records = 1, .dropped = 1 };
    cr_assert_eq(writer_gpu_totals(s.w, &totals), ST_INVALID);
    writer_abandon(s.w);
}

Test(gpu, a_frame_that_is_full_says_so)
{
    struct scene s = scene_open("full.twt", 0);
    uint32_t name = string(&s, "gemm");
    struct gpu_kernel row = kernel_row(name, GPU_NO_SIGNATURE, 1, 10);
    for (unsigned i = 0; i < TRACE_FRAME_KERNELS_MAX; i++)
        cr_assert_eq(writer_gpu_kernel(s.w, &row), ST_OK);
    cr_assert_eq(writer_gpu_kernel(s.w, &row), ST_LIMIT);
    frame(&s);
    cr_assert_eq(writer_gpu_kernel(s.w, &row), ST_OK);
    struct summary *got = close_and_build(&s);
    cr_assert_eq(got->kernels[0].launches, TRACE_FRAME_KERNELS_MAX + 1);
    summary_free(got);
}

static struct gpu_kernel with_grid(struct gpu_kernel row, uint32_t x)
{
    row.grid = (struct gpu_grid){ { x, 2, 1 }, { 128, 1, 1 }, 4096 };
    return row;
}

Test(gpu, grids_tell_kernels_of_one_name_apart)
{
    struct scene s = scene_open("grids.twt", 0);
    uint32_t name = string(&s, "flash_attention"), other = string(&s, "softmax");
    add(&s, with_grid(kernel_row(name, GPU_NO_SIGNATURE, 2, 10), 16));
    add(&s, with_grid(kernel_row(name, GPU_NO_SIGNATURE, 3, 500), 32));
    add(&s, kernel_row(other, GPU_NO_SIGNATURE, 1, 7)); /* not known how */
    frame(&s);
    add(&s, with_grid(kernel_row(name, GPU_NO_SIGNATURE, 4, 10), 16));
    frame(&s);
    struct summary *got = close_and_build(&s);
    cr_assert_eq(got->nkernels, 2);
    cr_assert_eq(got->kernels[0].launches, 9);
    cr_assert_eq(got->ngrids, 2);
    cr_assert_eq(got->grids[0].name, got->kernels[0].name);
    cr_assert_eq(got->grids[0].grid.grid[0], 32);
    cr_assert_eq(got->grids[0].grid.shared_bytes, 4096);
    cr_assert_eq(got->grids[0].time_ns, 1500);
    cr_assert_eq(got->grids[1].grid.grid[0], 16);
    cr_assert_eq(got->grids[1].grid.block[0], 128);
    cr_assert_eq(got->grids[1].launches, 6);
    cr_assert_eq(got->grids[1].time_ns, 60);
    summary_free(got);
}

static void spread_grids(struct scene *s, unsigned count)
{
    uint32_t name = string(s, "flash_attention");
    for (unsigned i = 0; i < count; i++) {
        struct gpu_kernel row = with_grid(kernel_row(name, GPU_NO_SIGNATURE, 1, 1), i + 1);
        if (writer_gpu_kernel(s->w, &row) != ST_LIMIT)
            continue;
        frame(s);
        i--;
    }
    frame(s);
}

Test(gpu, more_grids_than_fit_are_none_and_the_kernel_stays)
{
    struct scene s = scene_open("many.twt", 0);
    spread_grids(&s, SUMMARY_GRIDS_MAX + 1);
    struct summary *got = close_and_build(&s);
    cr_assert_eq(got->ngrids, 0);
    cr_assert_eq(got->kernels[0].launches, SUMMARY_GRIDS_MAX + 1);
    summary_free(got);
}

Test(gpu, the_timeline_is_counted)
{
    struct scene s = scene_open("timeline.twt", 0);
    const struct gpu_source sources[] = {
        { .signature = GPU_NO_SIGNATURE },
        { .signature = GPU_NO_SIGNATURE, .work = GPU_COPY },
        { .signature = GPU_NO_SIGNATURE, .work = GPU_FILL },
    };
    const struct gpu_interval v[] = {
        { 32, 0, 64, 0 }, { 64, 0, 64, 0 }, { 640, 0, 320, 1 }, { 960, GPU_NO_TIME, 32, 2 }
    };
    struct gpu_intervals g = {
        .missing = 5, .stream = 3, .nsources = 3, .count = 4, .sources = sources, .interval = v
    };
    window(&s, 5000, 96, 7, 0);
    cr_assert_eq(writer_gpu_intervals(s.w, &g), ST_OK);
    frame(&s);
    struct summary *got = close_and_build(&s);
    cr_assert_eq(got->gpu.intervals, 2);
    cr_assert_eq(got->gpu.missing, 5);
    cr_assert_eq(got->gpu.streams, 3);
    cr_assert_eq(got->gpu.copies, 1);
    cr_assert_eq(got->gpu.fills, 1);
    cr_assert_eq(got->gpu.copy_ns, 352);
    cr_assert_eq(got->gpu.totals.windows, 1);
    summary_free(got);
}
