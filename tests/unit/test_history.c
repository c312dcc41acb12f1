/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/history.h"
#include "summary_fixture.h"

enum { ENTRIES = 3, SHAPES = 2 };

static struct policy policy;
static struct result_run runs[ENTRIES];
static struct result_candidate candidates[ENTRIES][SHAPES];
static struct result_case cases[ENTRIES][SHAPES];
static struct result_verdict verdicts[ENTRIES];
static struct result_set sets[ENTRIES];
static struct history_entry entries[ENTRIES];
static struct history *history;

/* Three replays of two shapes, handed over out of order; the kernel gets better with time. */
static void setup(void)
{
    static char *const dates[ENTRIES] = { "2026-03-01T00:00:00Z", "2026-01-01T00:00:00Z",
                                          "2026-02-01T00:00:00Z" };
    static const double ratios[ENTRIES] = { 1.5, 0.8, 1.25 };
    policy_default(&policy);
    for (int e = 0; e < ENTRIES; e++) {
        runs[e] = (struct result_run){ .tilewise_version = "0",
                                       .date_utc = dates[e],
                                       .command = "",
                                       .host = "h",
                                       .backend = "cpu",
                                       .device = "a processor",
                                       .baseline_library = "BLAS",
                                       .baseline_core = "Zen",
                                       .protocol = "" };
        for (int i = 0; i < SHAPES; i++) {
            candidates[e][i] = (struct result_candidate){ .name = "mine",
                                                          .reason = "",
                                                          .status = RESULT_PASSED,
                                                          .call = RESULT_FASTER,
                                                          .ratio_best = ratios[e],
                                                          .best_lo = ratios[e] - 0.1,
                                                          .best_hi = ratios[e] + 0.1 };
            cases[e][i] = (struct result_case){ .signature = fixture_gemm(16 * (i + 1), 64, 64),
                                                .entry = "cblas_sgemm",
                                                .calls = 10,
                                                .time_ns = 1000u * (unsigned)(i + 1),
                                                .baseline_best = "",
                                                .reason = "",
                                                .baseline_best_ns = 100,
                                                .baseline_recorded_ns = 110,
                                                .ncandidates = 1,
                                                .candidates = &candidates[e][i] };
            cases[e][i].signature.entry = 0;
        }
        verdicts[e] = (struct result_verdict){ TILEWISE_OP_GEMM,
                                               TILEWISE_F32,
                                               e == 1 ? "spike" : "pilot",
                                               "stable",
                                               "because",
                                               0.4,
                                               0.3,
                                               0.5,
                                               NAN,
                                               NAN };
        sets[e] = (struct result_set){ .nruns = 1,
                                       .runs = &runs[e],
                                       .ncases = SHAPES,
                                       .cases = cases[e],
                                       .nverdicts = 1,
                                       .verdicts = &verdicts[e] };
        entries[e] = (struct history_entry){ "x.twr", &sets[e] };
    }
}

static void teardown(void)
{
    history_free(history);
}

TestSuite(history, .init = setup, .fini = teardown);

static void build(void)
{
    cr_assert_eq(history_build(&history, entries, ENTRIES, NULL), ST_OK);
}

static char *print(enum status (*write)(FILE *out))
{
    static char *kept[16]; /* in sight of leak checkers */
    static size_t count;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(write(out), ST_OK);
    fclose(out);
    return kept[count++] = text;
}

static enum status write_text(FILE *out)
{
    history_text(history, &policy, 1, out);
    return ST_OK;
}

static enum status write_md(FILE *out)
{
    history_md(history, &policy, 5, out);
    return ST_OK;
}

static enum status write_json(FILE *out)
{
    return history_json(history, &policy, out);
}

Test(history, entries_and_points_are_in_order_of_time)
{
    build();
    cr_assert_str_eq(history_run(&history->entries[0])->date_utc, "2026-01-01T00:00:00Z");
    cr_assert_str_eq(history_run(&history->entries[2])->date_utc, "2026-03-01T00:00:00Z");
    cr_assert_eq(history->nshapes, SHAPES);
    cr_assert_eq(history->shapes[0].row->signature.m, 32, "the larger one first");
    cr_assert_eq(history->shapes[0].npoints, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++)
        cr_assert_eq(history->shapes[0].points[i].entry, i);
    cr_assert_null(history_stranger(history));
}

Test(history, the_last_measurement_of_a_shape_in_a_replay_counts)
{
    cases[0][1].signature = cases[0][0].signature;
    cases[0][1].baseline_best_ns = 77;
    build();
    for (size_t i = 0; i < history->nshapes; i++)
        if (history->shapes[i].row->signature.m == 16) {
            cr_assert_eq(history->shapes[i].npoints, ENTRIES);
            cr_assert_float_eq(history->shapes[i].points[2].row->baseline_best_ns, 77, 0);
        }
}

Test(history, the_cost_of_a_table_is_known)
{
    build();
    /* 2 shapes x 10 calls x 100 ns; at 1.5 times the library's speed */
    struct history_cost cost =
        history_cost(&history->entries[2], TILEWISE_OP_GEMM, TILEWISE_F32, &policy);
    cr_assert_float_eq(cost.library_ns, 2000, 1e-9);
    cr_assert_float_eq(cost.table_ns, 2000 / 1.5, 1e-9);
    /* a kernel that loses is not in the table */
    cost = history_cost(&history->entries[0], TILEWISE_OP_GEMM, TILEWISE_F32, &policy);
    cr_assert_float_eq(cost.table_ns, 2000, 1e-9);
    cost = history_cost(&history->entries[0], TILEWISE_OP_ADD, TILEWISE_F32, &policy);
    cr_assert(isnan(cost.library_ns));
}

Test(history, other_hardware_is_told_apart)
{
    runs[1].baseline_core = "Haswell";
    build();
    cr_assert_not_null(history_stranger(history));
    cr_assert_not_null(strstr(print(write_text), "other hardware: compare with care"));
}

Test(history, a_changed_verdict_is_marked_once)
{
    build();
    const char *text = print(write_text), *changed = strstr(text, "CHANGED");
    cr_assert_not_null(changed);
    cr_assert_null(strstr(changed + 1, "CHANGED"));
    cr_assert_not_null(strstr(text, "1 more shapes"));
}

Test(history, hostile_names_are_harmless)
{
    runs[0].device = runs[0].baseline_library = "x\033[31m|\n<b>\xff";
    runs[1].device = runs[2].device = runs[0].device;
    candidates[0][0].name = verdicts[0].verdict = verdicts[0].reason = "\033]0;|\"\n";
    build();
    enum status (*const writers[])(FILE *) = { write_text, write_md, write_json };
    for (size_t i = 0; i < 3; i++)
        cr_assert_null(strchr(print(writers[i]), '\033'));
}

Test(history, a_kept_replay_holds_every_row)
{
    char folder[] = "/tmp/tilewise-history-XXXXXX", path[64];
    struct result_order order = { .source = "a.twt", .reason = "", .kernel_ns = 7, .nparts = 1 };
    struct result_order_part part = { .entry = "cblas_sgemm", .kernel_ns = 7 };
    struct result_set read = { 0 };
    struct result_writer *w;
    setup();
    sets[0].norders = sets[0].nparts = 1;
    sets[0].orders = &order;
    sets[0].parts = &part;
    struct analysis a = { .results = &sets[0] };
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.twr", folder);
    cr_assert_eq(result_create(&w, path, NULL), ST_OK);
    cr_assert_eq(history_write(w, &a), ST_OK);
    cr_assert_eq(result_close(w), ST_OK);
    cr_assert_eq(result_read(&read, path, NULL), ST_OK);
    unlink(path);
    rmdir(folder);
    cr_assert_eq(read.nruns, 1);
    cr_assert_eq(read.ncases, SHAPES);
    cr_assert_eq(read.norders, 1);
    cr_assert_eq(read.nparts, 1);
    cr_assert_str_eq(read.orders[0].source, "a.twt");
    cr_assert_eq(read.parts[0].kernel_ns, 7);
    result_free(&read);
}
