/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "trace_fixture.h"
#include "traces/resultrow.h"

static struct result_run sample_run(void)
{
    return (struct result_run){ .tilewise_version = "0.1.0",
                                .date_utc = "2026-01-02T03:04:05Z",
                                .command = "replay t",
                                .host = "h",
                                .backend = "cpu",
                                .device = "a processor",
                                .baseline_library = "OpenBLAS",
                                .baseline_core = "Haswell",
                                .protocol = "ABBA",
                                .baseline_capped = true,
                                .threads = 2,
                                .trace_shards = 3,
                                .planned_cases = 40,
                                .unplanned_cases = 5,
                                .planned_time_share = 0.951,
                                .noise_floor = 0.012 };
}

static struct result_case sample_case(struct result_candidate *candidates, size_t count)
{
    return (struct result_case){ .signature = fixture_signature(7),
                                 .entry = "cblas_sgemm",
                                 .calls = 1000,
                                 .time_ns = 123456789,
                                 .time_share = 0.25,
                                 .status = RESULT_PASSED,
                                 .reason = "",
                                 .baseline_recorded_ns = 1234.5,
                                 .baseline_best_ns = NAN,
                                 .baseline_best = "sgemm",
                                 .ncandidates = count,
                                 .candidates = candidates };
}

static const char *write_sample(const char *name)
{
    const char *path = fixture_path(name);
    struct result_writer *w;
    struct fault fault;
    cr_assert_eq(result_create(&w, path, &fault), ST_OK, "%s", fault.text);
    struct result_run run = sample_run();
    cr_assert_eq(result_put_run(w, &run), ST_OK);
    struct result_ceiling ceiling = { TILEWISE_F32, 1e11, 2e10, 80 };
    cr_assert_eq(result_put_ceiling(w, &ceiling), ST_OK);
    struct result_candidate candidates[] = {
        { .name = "gemm_f32_avx2",
          .reason = "",
          .status = RESULT_PASSED,
          .call = RESULT_FASTER,
          .deterministic = true,
          .rounds = 31,
          .time_ns = 900,
          .ratio_recorded = 1.4,
          .recorded_lo = 1.3,
          .recorded_hi = 1.5,
          .ratio_best = 1.2,
          .best_lo = 1.1,
          .best_hi = 1.3,
          .worst_error = 0.2 },
        { .name = "null", .reason = "wrong result", .status = RESULT_FAILED, .time_ns = NAN },
    };
    struct result_case row = sample_case(candidates, 2);
    row.signature.entry = 3;
    cr_assert_eq(result_put_case(w, &row), ST_OK);
    struct result_verdict verdict = {
        TILEWISE_OP_GEMM, TILEWISE_F32, "pilot", "stable", "because", 0.4, 0.3, 0.5, 0.01, NAN
    };
    cr_assert_eq(result_put_verdict(w, &verdict), ST_OK);
    cr_assert_eq(result_close(w), ST_OK);
    return path;
}

Test(result, round_trip)
{
    const char *path = write_sample("a.twr");
    struct result_set set = { 0 };
    struct fault fault;
    cr_assert_eq(result_read(&set, path, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(set.nruns, 1);
    cr_assert_eq(set.nceilings, 1);
    cr_assert_eq(set.ncases, 1);
    cr_assert_eq(set.ndamage, 0);
    cr_assert_str_eq(set.runs[0].protocol, "ABBA");
    cr_assert(set.runs[0].baseline_capped);
    cr_assert_eq(set.runs[0].unplanned_cases, 5);
    cr_assert_float_eq(set.runs[0].noise_floor, 0.012, 0);
    cr_assert_eq(set.ceilings[0].dtype, TILEWISE_F32);
    cr_assert_float_eq(set.ceilings[0].floor_ns, 80, 0);
    const struct result_case *row = &set.cases[0];
    struct tilewise_signature want = fixture_signature(7);
    cr_assert(signature_equal(&row->signature, &want), "entry is 0, the rest as it was");
    cr_assert(isnan(row->baseline_best_ns));
    cr_assert_eq(row->ncandidates, 2);
    cr_assert_str_eq(row->candidates[0].name, "gemm_f32_avx2");
    cr_assert_float_eq(row->candidates[0].best_hi, 1.3, 0);
    cr_assert(row->candidates[0].deterministic);
    cr_assert_str_eq(row->candidates[1].reason, "wrong result");
    cr_assert_eq(set.nverdicts, 1);
    cr_assert_eq(set.verdicts[0].op, TILEWISE_OP_GEMM);
    cr_assert_str_eq(set.verdicts[0].verdict, "pilot");
    cr_assert_float_eq(set.verdicts[0].heat_lo, 0.3, 0);
    cr_assert(isnan(set.verdicts[0].gain_hi));
    result_free(&set);
}

Test(result, reading_appends)
{
    const char *path = write_sample("a.twr");
    struct result_set set = { 0 };
    cr_assert_eq(result_read(&set, path, NULL), ST_OK);
    cr_assert_eq(result_read(&set, path, NULL), ST_OK);
    cr_assert_eq(set.ncases, 2);
    cr_assert_str_eq(set.cases[1].entry, "cblas_sgemm");
    result_free(&set);
}

Test(result, file_is_private_and_replaces_a_link)
{
    const char *victim = fixture_path("victim"), *path = fixture_path("a.twr");
    fixture_write(victim, (struct bytes){ (uint8_t *)"keep", 4 });
    cr_assert_eq(symlink(victim, path), 0);
    write_sample("a.twr");
    struct stat info;
    cr_assert_eq(lstat(path, &info), 0);
    cr_assert(S_ISREG(info.st_mode));
    cr_assert_eq(info.st_mode & 07777, 0600);
    cr_assert_eq(stat(victim, &info), 0);
    cr_assert_eq(info.st_size, 4);
}

Test(result, every_row_is_in_the_file_at_once)
{
    const char *path = fixture_path("a.twr");
    struct result_writer *w;
    cr_assert_eq(result_create(&w, path, NULL), ST_OK);
    struct result_run run = sample_run();
    for (size_t i = 1; i <= 3; i++) {
        cr_assert_eq(result_put_run(w, &run), ST_OK);
        struct result_set set = { 0 };
        cr_assert_eq(result_read(&set, path, NULL), ST_OK, "the writer still has it open");
        cr_assert_eq(set.nruns, i);
        result_free(&set);
    }
    result_close(w);
}

Test(result, is_result_file)
{
    cr_assert(result_is_result_file(write_sample("a.twr")));
    struct bytes trace =
        fixture_trace((struct fixture_options){ .frames = 1, .events_per_frame = 10 });
    const char *path = fixture_path("t.twt");
    fixture_write(path, trace);
    cr_assert_not(result_is_result_file(path));
    cr_assert_not(result_is_result_file("/nonexistent"));
    cr_assert_not(result_is_result_file("/etc/passwd"));
    struct result_set set = { 0 };
    struct fault fault;
    cr_assert_eq(result_read(&set, path, &fault), ST_FORMAT);
    cr_assert(strstr(fault.text, "t.twt"));
    free(trace.at);
}

Test(result, unknown_fields_are_skipped_and_missing_ones_unknown)
{
    struct buffer b = { 0 };
    buffer_reserve(&b, 200);
    buffer_put_varint(&b, 900 * 4 + 0); /* of the future: a varint, a double, bytes */
    buffer_put_varint(&b, 77);
    buffer_put_varint(&b, 901 * 4 + 1);
    buffer_put(&b, "12345678", 8);
    buffer_put_varint(&b, 902 * 4 + 2);
    buffer_put_varint(&b, 3);
    buffer_put(&b, "abc", 3);
    buffer_put_varint(&b, 11 * 4 + 0); /* threads */
    buffer_put_varint(&b, 8);
    struct result_run run = { 0 };
    struct cursor in = { b.bytes, b.bytes + b.size, false };
    cr_assert_eq(resultrow_set_unknown(resultrow_run, &run), ST_OK);
    cr_assert_eq(resultrow_get(&in, resultrow_run, &run), ST_OK);
    cr_assert_eq(run.threads, 8);
    cr_assert_str_eq(run.device, "");
    cr_assert(isnan(run.noise_floor));
    resultrow_free(resultrow_run, &run);
    buffer_free(&b);
}

Test(result, malformed_rows_are_refused)
{
    static const uint8_t rows[][12] = {
        { 1 * 4 + 2, 0xff, 0xff, 0x7f },                /* a text longer than the row */
        { 1 * 4 + 0, 1 },                               /* a text as a number */
        { 15 * 4 + 2, 1, 'x' },                         /* a real as bytes */
        { 15 * 4 + 1, 1, 2, 3 },                        /* half a real */
        { 10 * 4 + 3 },                                 /* no such wire type */
        { 11 * 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 }, /* threads beyond 32 bits */
    };
    static const size_t sizes[] = { 4, 2, 3, 4, 1, 7 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct result_run run = { 0 };
        struct cursor in = { rows[i], rows[i] + sizes[i], false };
        cr_assert_eq(resultrow_set_unknown(resultrow_run, &run), ST_OK);
        cr_assert_eq(resultrow_get(&in, resultrow_run, &run), ST_FORMAT, "row %zu", i);
        resultrow_free(resultrow_run, &run);
    }
}

Test(result, a_damaged_row_is_said)
{
    const char *path = write_sample("a.twr");
    int fd = open(path, O_RDWR);
    struct bytes b = fixture_read(fd);
    uint8_t flipped = b.at[96 + 272 + 10] ^ 1;
    cr_assert_eq(pwrite(fd, &flipped, 1, 96 + 272 + 10), 1);
    close(fd);
    struct result_set set = { 0 };
    cr_assert_eq(result_read(&set, path, NULL), ST_OK);
    cr_assert_eq(set.nruns, 0);
    cr_assert_eq(set.ncases, 1);
    cr_assert_eq(set.ndamage, 1);
    result_free(&set);
    free(b.at);
}

Test(result, names)
{
    cr_assert_str_eq(result_status_name(RESULT_NOT_VERIFIED), "not-verified");
    cr_assert_str_eq(result_status_name(99), "unknown");
    cr_assert_str_eq(result_call_name(RESULT_UNCLEAR), "UNCLEAR");
    cr_assert_str_eq(result_call_name(0), "-");
}

Test(result, create_in_a_missing_directory_names_it)
{
    struct result_writer *w;
    struct fault fault;
    cr_assert_eq(result_create(&w, "/nonexistent/a.twr", &fault), ST_IO);
    cr_assert_null(w);
    cr_assert(strstr(fault.text, "/nonexistent/a.twr"));
}
