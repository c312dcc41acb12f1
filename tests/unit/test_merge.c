/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>

#include "trace_fixture.h"
#include "traces/merge.h"
#include "traces/summary.h"

static struct bytes shard_bytes(unsigned shard)
{
    return fixture_trace((struct fixture_options){ .frames = 8,
                                                   .events_per_frame = 300,
                                                   .signatures = 30,
                                                   .threads = 2,
                                                   .shard = shard,
                                                   .seed = shard });
}

static const char *write_shard(unsigned shard)
{
    char name[16];
    snprintf(name, sizeof name, "s%u.twt", shard);
    const char *path = fixture_path(name);
    struct bytes b = shard_bytes(shard);
    fixture_write(path, b);
    free(b.at);
    return path;
}

static const char *merge(const char *name, const char *const *inputs, size_t count,
                         struct merge_report *report)
{
    const char *out = fixture_path(name);
    struct fault fault = { 0 };
    cr_assert_eq(merge_files(out, inputs, count, report, &fault), ST_OK, "%s", fault.text);
    return out;
}

static struct bytes read_path(const char *path)
{
    int fd = open(path, O_RDONLY);
    cr_assert_geq(fd, 0);
    struct bytes b = fixture_read(fd);
    close(fd);
    return b;
}

static void assert_same_bytes(const char *a, const char *b)
{
    struct bytes x = read_path(a), y = read_path(b);
    cr_assert_eq(x.count, y.count);
    cr_assert_arr_eq(x.at, y.at, x.count);
    free(x.at);
    free(y.at);
}

Test(merge, any_order_gives_the_same_bytes)
{
    const char *a = write_shard(0), *b = write_shard(1), *c = write_shard(2);
    const char *x = merge("x", (const char *[]){ a, b, c }, 3, NULL);
    const char *y = merge("y", (const char *[]){ c, a, b }, 3, NULL);
    const char *z = merge("z", (const char *[]){ b, c, a }, 3, NULL);
    assert_same_bytes(x, y);
    assert_same_bytes(x, z);
}

Test(merge, any_grouping_gives_the_same_bytes)
{
    const char *a = write_shard(0), *b = write_shard(1), *c = write_shard(2), *d = write_shard(3);
    const char *flat = merge("flat", (const char *[]){ a, b, c, d }, 4, NULL);
    const char *ab = merge("ab", (const char *[]){ b, a }, 2, NULL);
    const char *cd = merge("cd", (const char *[]){ d, c }, 2, NULL);
    const char *tree = merge("tree", (const char *[]){ cd, ab }, 2, NULL);
    const char *left = merge(
        "left", (const char *[]){ merge("abc", (const char *[]){ ab, c }, 2, NULL), d }, 2, NULL);
    assert_same_bytes(flat, tree);
    assert_same_bytes(flat, left);
}

Test(merge, is_idempotent)
{
    const char *a = write_shard(0), *b = write_shard(1);
    struct merge_report report;
    const char *ab = merge("ab", (const char *[]){ a, b }, 2, &report);
    cr_assert_eq(report.shards, 2);
    cr_assert_eq(report.duplicates, 0);
    const char *again = merge("again", (const char *[]){ ab, a, ab, b }, 4, &report);
    assert_same_bytes(ab, again);
    cr_assert_eq(report.shards, 2);
    cr_assert_eq(report.duplicates, 4);
    cr_assert_eq(report.damaged, 0);
}

Test(merge, keeps_every_frame_as_it_was)
{
    const char *a = write_shard(0);
    struct bytes one = read_path(a), merged = read_path(merge("m", &a, 1, NULL));
    cr_assert_eq(merged.count, one.count);
    cr_assert_arr_eq(merged.at + 96, one.at + 96, one.count - 96);
    free(one.at);
    free(merged.at);
}

Test(merge, summary_of_the_merge_is_the_summary_of_the_parts)
{
    const char *parts[] = { write_shard(2), write_shard(0), write_shard(1) };
    const char *whole = merge("m", parts, 3, NULL);
    struct summary *x, *y;
    cr_assert_eq(summary_build(&x, parts, 3, 0, NULL), ST_OK);
    cr_assert_eq(summary_build(&y, &whole, 1, 0, NULL), ST_OK);
    cr_assert_eq(x->nsignatures, y->nsignatures);
    cr_assert_arr_eq(x->signatures, y->signatures, x->nsignatures * sizeof *x->signatures);
    cr_assert_eq(x->busy_ns, y->busy_ns);
    cr_assert_eq(x->nshards, y->nshards);
    cr_assert(y->complete);
    summary_free(x);
    summary_free(y);
}

Test(merge, two_damaged_copies_complete_each_other)
{
    const char *a = write_shard(0);
    struct bytes b = read_path(a);
    const char *left = fixture_path("left"), *right = fixture_path("right");
    b.at[b.count / 4] ^= 1;
    fixture_write(left, b);
    b.at[b.count / 4] ^= 1;
    fixture_write(right, (struct bytes){ b.at, b.count / 2 });
    struct merge_report report;
    const char *both = merge("both", (const char *[]){ left, right }, 2, &report);
    assert_same_bytes(both, merge("want", &a, 1, NULL));
    cr_assert_eq(report.damaged, 2, "the flipped frame and the torn one");
    cr_assert_eq(report.duplicates, 1);
    free(b.at);
}

Test(merge, copies_that_differ_do_not_depend_on_the_order)
{
    const char *a = write_shard(0), *other = fixture_path("other");
    struct bytes b = fixture_trace((struct fixture_options){
        .frames = 8, .events_per_frame = 300, .signatures = 30, .shard = 0, .seed = 99 });
    fixture_write(other, b); /* the same shard id, other content */
    const char *x = merge("x", (const char *[]){ a, other }, 2, NULL);
    const char *y = merge("y", (const char *[]){ other, a }, 2, NULL);
    assert_same_bytes(x, y);
    free(b.at);
}

Test(merge, output_may_be_an_input)
{
    const char *a = write_shard(0), *b = write_shard(1);
    const char *want = merge("want", (const char *[]){ a, b }, 2, NULL);
    const char *acc = merge("acc", &a, 1, NULL);
    assert_same_bytes(merge("acc", (const char *[]){ acc, b }, 2, NULL), want);
}

Test(merge, output_is_private)
{
    const char *a = write_shard(0), *out = merge("m", &a, 1, NULL);
    struct stat info;
    cr_assert_eq(stat(out, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
}

Test(merge, a_failure_leaves_what_was_there)
{
    const char *a = write_shard(0), *out = fixture_path("m");
    fixture_write(out, (struct bytes){ (uint8_t *)"precious", 8 });
    struct fault fault;
    cr_assert_eq(merge_files(out, (const char *[]){ a, "/nonexistent.twt" }, 2, NULL, &fault),
                 ST_IO);
    cr_assert(strstr(fault.text, "/nonexistent.twt"));
    struct bytes b = read_path(out);
    cr_assert_eq(b.count, 8);
    char pattern[200];
    snprintf(pattern, sizeof pattern, "%s.*", out);
    glob_t found;
    cr_assert_eq(glob(pattern, 0, NULL, &found), GLOB_NOMATCH, "no temporary file stays");
    free(b.at);
}

Test(merge, a_full_disk_is_an_error_and_leaves_no_file)
{
    const char *a = write_shard(0);
    struct fault fault;
    cr_assert_eq(merge_files("/proc/self/m.twt", &a, 1, NULL, &fault), ST_IO);
    cr_assert(strstr(fault.text, "/proc/self/m.twt"));
}

Test(merge, refuses_results)
{
    const char *path = fixture_path("r.twr");
    struct writer *w;
    struct writer_options options = { .kind = TRACE_KIND_RESULT, .shard = fixture_shard(0) };
    cr_assert_eq(writer_open(&w, open(path, O_RDWR | O_CREAT, 0600), &options), ST_OK);
    writer_abandon(w);
    struct fault fault;
    cr_assert_eq(merge_files(fixture_path("m"), &path, 1, NULL, &fault), ST_INVALID);
    cr_assert(strstr(fault.text, path));
}

Test(merge, of_nothing_is_an_empty_trace)
{
    const char *out = merge("m", NULL, 0, NULL);
    struct reader *r;
    cr_assert_eq(reader_open(&r, out, NULL), ST_OK);
    cr_assert_eq(reader_kind(r), TRACE_KIND_MERGED);
    struct reader_frame f;
    cr_assert_eq(reader_next(r, &f, NULL), ST_END);
    reader_close(r);
}
