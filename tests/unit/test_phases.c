/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/analysis.h"
#include "analysis/phases.h"
#include "analysis/report.h"
#include "trace_fixture.h"
#include "traces/phasecode.h"
#include "traces/summary.h"

enum { DECODE, PREFILL, NAMES };

struct scene {
    const char *path;
    struct writer *w;
    struct trace_counters counters;
    uint32_t name[NAMES], signature[3];
    uint64_t now_ns;
};

static struct scene scene_open(const char *name, unsigned shard)
{
    static const char *const names[NAMES] = { "decode", "prefill" };
    struct scene s = { .path = fixture_path(name) };
    int fd = open(s.path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(fd, 0);
    s.w = fixture_open(fd, shard);
    for (unsigned i = 0; i < NAMES; i++)
        cr_assert_eq(writer_string(s.w, names[i], strlen(names[i]), &s.name[i]), ST_OK);
    for (unsigned i = 0; i < 3; i++)
        s.signature[i] = fixture_define(s.w, i);
    return s;
}

static void count(struct scene *s, unsigned signature, uint64_t calls, uint64_t each_ns)
{
    struct writer_count row = { calls, calls * each_ns, each_ns, each_ns, { { 0 } } };
    row.histogram.count[histogram_bucket(each_ns)] = calls;
    cr_assert_eq(writer_count(s->w, s->signature[signature], &row), ST_OK);
    s->counters.seen += calls;
    s->counters.recorded += calls;
    s->counters.untimed += calls;
}

static void put(struct scene *s, const struct phase_rows *rows)
{
    struct buffer b = { 0 };
    cr_assert(buffer_reserve(&b, 4096));
    phasecode_put(&b, rows);
    cr_assert_eq(writer_blob(s->w, SECTION_PHASES, b.bytes, b.size), ST_OK);
    buffer_free(&b);
}

/* One frame: signature 0 in prefill and decode, 1 in decode, 2 in none. */
static void frame(struct scene *s)
{
    uint64_t at = s->now_ns;
    count(s, 0, 30, 100);
    count(s, 1, 50, 200);
    count(s, 2, 7, 300);
    const struct phase_total totals[] = { { s->name[DECODE], 10, 9, 5000 },
                                          { s->name[PREFILL], 1, 0, 0 } };
    const struct phase_calls calls[] = {
        { s->name[PREFILL], s->signature[0], 10, 1000, 90, 110 },
        { s->name[DECODE], s->signature[0], 20, 2000, 80, 120 },
        { s->name[DECODE], s->signature[1], 50, 10000, 200, 200 },
    };
    const struct phase_mark marks[] = { { s->name[DECODE], at + 500 }, { s->name[DECODE], at } };
    put(s, &(struct phase_rows){ 2, 3, 2, totals, calls, marks, 4 });
    s->now_ns += 1000000;
    cr_assert_eq(writer_flush(s->w, &s->counters, s->now_ns), ST_OK);
}

static void close_scene(struct scene *s)
{
    cr_assert_eq(writer_close(s->w, &s->counters, s->now_ns), ST_OK);
}

static struct summary *build(const char *const *paths, size_t n, const char *phase)
{
    struct summary *got;
    struct fault fault = { 0 };
    cr_assert_eq(summary_build_phase(&got, paths, n, phase, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(got->is_of_phase, phase != NULL);
    return got;
}

static const struct summary_phase *find(const struct summary *s, const char *name)
{
    for (uint32_t i = 0; i < s->phases.nphases; i++)
        if (strcmp(phases_name(s, i), name) == 0)
            return &s->phases.phases[i];
    return NULL;
}

Test(phases, add_up_over_frames_and_shards)
{
    struct scene a = scene_open("a.twt", 0), b = scene_open("b.twt", 1);
    for (int i = 0; i < 3; i++)
        frame(&a);
    frame(&b);
    close_scene(&a);
    close_scene(&b);
    for (int turn = 0; turn < 2; turn++) {
        const char *paths[] = { turn ? b.path : a.path, turn ? a.path : b.path };
        struct summary *s = build(paths, 2, NULL);
        const struct summary_phase *decode = find(s, "decode"), *prefill = find(s, "prefill");
        cr_assert_eq(s->phases.nphases, 2);
        cr_assert_eq(decode, &s->phases.phases[0]);
        cr_assert(decode->entries == 40 && decode->ended == 36 && decode->time_ns == 20000);
        cr_assert(decode->calls == 280 && decode->call_ns == 48000);
        cr_assert(prefill->entries == 4 && prefill->ended == 0 && prefill->calls == 40);
        cr_assert(isnan(phases_time_ns(prefill)));
        cr_assert_eq(phases_outside(s), 28);
        cr_assert_eq(s->phases.lost, 16);
        cr_assert_eq(s->phases.ncells, 3);
        cr_assert_eq(s->phases.nmarks, 1);
        cr_assert_eq(s->phases.marks[0].count, 8);
        cr_assert_eq(s->phases.marks[0].first_unix_ns, fixture_shard(0).start_unix_ns);
        summary_free(s);
    }
}

/* A summary of one phase is that of a trace with nothing else in it. */
Test(phases, one_by_itself)
{
    struct scene a = scene_open("one.twt", 0);
    for (int i = 0; i < 20; i++)
        frame(&a);
    close_scene(&a);
    struct summary *s = build(&a.path, 1, "decode");
    cr_assert_eq(s->calls, 20 * 70);
    cr_assert_eq(s->time_ns, 20 * 12000);
    cr_assert(s->signatures[0].calls == 1000 && s->signatures[1].calls == 400 &&
              s->signatures[2].calls == 0);
    cr_assert(s->signatures[1].min_ns == 80 && s->signatures[1].max_ns == 120);
    uint64_t in_windows = 0;
    for (size_t i = 0; i < s->nwindows; i++)
        in_windows += s->windows[i].calls;
    cr_assert(s->nwindows >= 10);
    cr_assert_eq(in_windows, s->calls);
    cr_assert_eq(s->phases.nphases, 2);
    summary_free(s);
    s = build(&a.path, 1, "no such phase");
    cr_assert_eq(s->calls, 0);
    summary_free(s);
}

static char *report(void (*write)(const struct analysis *, FILE *), const struct analysis *a)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (write)
        write(a, out);
    else
        cr_assert_eq(report_json(a, out), ST_OK);
    fclose(out);
    return text;
}

static void expect_text(const struct analysis *a, void (*write)(const struct analysis *, FILE *),
                        const char *want)
{
    char *text = report(write, a);
    cr_expect(strstr(text, want), "%s is not in\n%s", want, text);
    free(text);
}

Test(phases, every_report_has_them)
{
    struct scene a = scene_open("report.twt", 0);
    struct result_set none = { 0 };
    struct policy policy;
    struct analysis *got;
    struct fault fault = { 0 };
    frame(&a);
    close_scene(&a);
    struct summary *s = build(&a.path, 1, NULL);
    policy_default(&policy);
    cr_assert_eq(analysis_build(&got, s, &none, &policy, &fault), ST_OK);
    uint64_t in_shapes = 0;
    for (size_t i = 0; i < got->nshapes; i++)
        for (size_t j = 0; j < got->shapes[i].nphases; j++)
            in_shapes += got->shapes[i].phases[j].calls;
    cr_assert_eq(in_shapes, 80);
    expect_text(got, report_text, "phases (entries");
    expect_text(got, report_md, "| decode | 10 | 5.00 us | 70 | 12.0 us |");
    expect_text(got, report_md, "| prefill | 1 | - | 10 |");
    expect_text(got, report_html, "<h2 id=\"phases\">Phases</h2>");
    expect_text(got, NULL, "\"calls_time_ns\": 12000");
    expect_text(got, NULL, "\"phases_lost\": 4");
    analysis_free(got);
    summary_free(s);
}

/* A section of hostile bytes: refused, or rows within the limits. */
Test(phases, hostile_sections)
{
    struct phase_total total;
    struct phase_calls calls;
    struct phase_mark mark = { 0 };
    uint8_t bytes[64];
    uint64_t seed = 99;
    for (int round = 0; round < 100000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)fixture_random(&seed);
        struct cursor in = { bytes, bytes + fixture_random(&seed) % sizeof bytes, false };
        if (phasecode_get_total(&in, &total))
            cr_assert(total.name < TRACE_STRINGS_MAX && total.sum_ns <= TRACE_TIME_MAX_NS);
        if (phasecode_get_calls(&in, &calls))
            cr_assert(calls.calls && calls.min_ns <= calls.max_ns);
        if (!phasecode_get_mark(&in, &mark))
            mark = (struct phase_mark){ 0 };
        cr_assert_leq(mark.at_ns, TRACE_TIME_MAX_NS);
    }
}

/* What is no PHASES section at all makes its frame damaged, and nothing else. */
Test(phases, a_malformed_section_is_damage)
{
    struct scene a = scene_open("bad.twt", 0);
    frame(&a);
    cr_assert_eq(writer_blob(a.w, SECTION_PHASES, "\xff\xff\xff", 3), ST_OK);
    count(&a, 0, 1, 100);
    cr_assert_eq(writer_flush(a.w, &a.counters, 2000000), ST_OK);
    frame(&a);
    close_scene(&a);
    struct summary *s = build(&a.path, 1, NULL);
    cr_assert_eq(s->ndamage, 1);
    cr_assert_eq(find(s, "decode")->entries, 20);
    summary_free(s);
}
