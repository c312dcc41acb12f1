/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>

#include "analysis/html_style.h"
#include "report_fixture.h"

Test(report_html, needs_no_network_and_runs_no_script, .init = setup)
{
    char *page = print(HTML);
    cr_assert(
        has(page, "Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"));
    const char *const bad[] = { "<script", "http:",   "https:", "url(", "@import", " style=\"",
                                "onload",  "onclick", "<link",  "<img", "<iframe", "javascript:" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(has(page, bad[i]), "%s", bad[i]);
}

Test(report_html, the_style_has_the_digest_that_the_policy_names)
{
    char path[] = "/tmp/tilewise-style-XXXXXX", command[64], hex[65] = "";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs(html_style, file);
    fclose(file);
    snprintf(command, sizeof command, "sha256sum < %s", path);
    FILE *sum = popen(command, "r");
    cr_assert_eq(fread(hex, 1, 64, sum), 64);
    pclose(sum);
    remove(path);
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char base64[45];
    for (int i = 0; i < 43; i++) { /* six bits each, from 256 and two zero bits */
        unsigned bits = 0;
        for (int b = 6 * i; b < 6 * i + 6; b++) {
            char digit = b / 4 < 64 ? hex[b / 4] : '0';
            unsigned nibble = isdigit((unsigned char)digit) ? (unsigned)(digit - '0')
                                                            : (unsigned)(digit - 'a' + 10);
            bits = bits << 1 | (nibble >> (3 - b % 4) & 1);
        }
        base64[i] = letters[bits];
    }
    strcpy(base64 + 43, "=");
    cr_assert_str_eq(html_style_sha256, base64, "the digest is %s", base64);
}

Test(report_html, opens_with_coverage_and_holds_every_part, .init = setup_replay)
{
    analyse();
    char *page = print(HTML);
    const char *const parts[] = { "Coverage and loss",
                                  "<svg class=\"matrix\"",
                                  "id=\"op-1\"",
                                  "id=\"class-1\"",
                                  "Busy and idle",
                                  "id=\"verdicts\"",
                                  "<svg class=\"histogram\"",
                                  "<svg class=\"windows\"",
                                  "<h2>Shapes",
                                  "Replay and fidelity",
                                  "class=\"roof\"",
                                  "<svg class=\"ratios\"",
                                  "Fidelity:",
                                  "How this was measured",
                                  "stability / cov05" };
    const char *at = page;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        cr_assert_not_null(found, "%s missing or out of order", parts[i]);
        at = found;
    }
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, part)); p++)
        count++;
    return count;
}

/* Half a second: first half busy, then a tenth communication, and nothing. */
Test(report_html, the_timeline_shows_what_the_slices_hold, .init = setup)
{
    struct causal *c = analysis->causal = calloc(1, sizeof *c);
    c->ngroups = analysis->nops + analysis->nclasses;
    c->active_ns = calloc(c->ngroups * CAUSAL_SLICES_MAX, sizeof *c->active_ns);
    c->idle = (struct causal_idle){ .source = CAUSAL_THREADS, .host = 0.4, .communication = 0.1 };
    c->nslices = 2;
    c->slices[0] = (struct causal_span){ .span_ns = 2.5e8, .busy_ns = 2.5e8 };
    c->slices[1] = (struct causal_span){
        .span_ns = 2.5e8, .busy_ns = 5e7, .communication_ns = 5e7, .host_ns = 2e8
    };
    c->active_ns[0] = 1e8;
    char *page = print(HTML);
    cr_assert(has(page, "</span>computing: 50.0 %<"));
    cr_assert(has(page, "</span>nothing but communication: 10.0 %<"));
    cr_assert(has(page, "</span>no recorded call: 40.0 %<"));
    cr_assert(!has(page, "nothing but copies:")); /* nobody knows, of calls */
    cr_assert(has(page, ">500.0 ms</text>"));
    cr_assert_eq(count_of(page, "<rect class=\"t-busy\""), 1);
    cr_assert(has(page, "<rect class=\"t-communication\" x=\"439.0\" y=\"104.0\" width=\"311.0\" "
                        "height=\"24.0\"/>"));
    char *strip = strstr(page, "<rect class=\"cell\"");
    cr_assert_not_null(strip);
    cr_assert(has(strip, "fill-opacity=\"0.45\"/>")); /* 0.4 of the first slice */
}

Test(report_html, the_roofline_has_the_measured_ceilings, .init = setup_replay)
{
    ceiling.rate_flops = 100e9;
    ceiling.bandwidth_bytes_per_s = 200e9;
    for (int i = 0; i < 3; i++)
        cases[i].baseline_best_ns =
            signature_flops(&cases[i].signature) / 50; /* 50 Gflop/s: half of the roof */
    analyse();
    char *page = print(HTML);
    cr_assert(has(page, ">f32</text>") && has(page, ">100 Gflop/s</text>") &&
              has(page, ">200 GB/s</text>"));
    cr_assert_eq(count_of(page, ": 50.0 Gflop/s, 50.0 % of what the roof allows"), 3);
    cr_assert_eq(count_of(page, "<path class=\"best\""), 3); /* candidates that are FASTER */
    ceiling.rate_flops = NAN;
    analyse();
    cr_assert(has(print(HTML), "no ceilings"));
}

/* One operation gets its name; forty do not stand on one another. */
Test(report_html, the_picture_has_room_for_many_operations)
{
    policy_default(&policy);
    trace = fixture_new(20);
    for (uint8_t type = 1; type < 9; type++)
        for (uint8_t op = TILEWISE_OP_GEMM; op < TILEWISE_OP_GEMM + 5; op++)
            for (size_t w = 0; w < 20; w++) {
                struct tilewise_signature s = fixture_gemm(64, 64, 64);
                s.op = op;
                s.dtype_a = s.dtype_b = s.dtype_c = type;
                fixture_calls(trace, w, &s, 50, 1000u / type);
            }
    fixture_done(trace);
    analyse();
    char *page = print(HTML);
    cr_assert_eq(analysis->nops, 40);
    cr_assert_geq(count_of(page, "class=\"marker "), 30);
    cr_assert(count_of(page, "class=\"marker ") == 40 || has(page, " more that are cold"));
}

Test(report_html, a_class_that_is_all_of_its_operation_has_no_marker, .init = setup)
{
    cr_assert_eq(analysis->nops, 2);
    cr_assert_eq(analysis->nclasses, 3); /* two of gemm, all of add */
    cr_assert_eq(count_of(print(HTML), "class=\"marker "), 4);
}

Test(report_html, work_of_unknown_heat_has_no_place_in_the_picture)
{
    build_trace();
    trace->strings[1] = "cublasSgemm_v2"; /* launches, without GPU time */
    analyse();
    char *page = print(HTML), *text = print(TEXT);
    cr_assert(!has(page, "class=\"marker"));
    cr_assert(has(text, "2 of 2 operations ran on a GPU"));
    cr_assert(has(text, "withheld") && !has(text, "-~") && !has(text, "nan"));
}

Test(report_html, shapes_go_by_the_time_of_kernels_where_it_is_known)
{
    build_trace();
    trace->strings[1] = "cublasSgemm_v2";
    for (size_t i = 0; i < trace->s.nsignatures; i++) {
        struct summary_signature *row = &trace->signatures[i];
        row->gpu_calls = row->signature.op == TILEWISE_OP_GEMM ? 10 : 0;
        row->gpu_measured_ns = row->gpu_calls * (uint64_t)row->signature.m;
        trace->s.gpu.attributed_ns += row->gpu_measured_ns;
    }
    analyse();
    cr_assert_eq(analysis->shapes[0].signature->m, 48); /* the quickest to launch */
    cr_assert_float_eq(analysis->shapes[0].time_share, 0.5, 1e-9);
    cr_assert(isnan(analysis->shapes[3].time_share)); /* was not measured */
    char *strips = strstr(print(HTML), "<svg class=\"windows\"");
    cr_assert(strncmp(strstr(strips, "\"end\">"), "\"end\">48 x 384", 14) == 0);
}

Test(report_html, a_thousand_shapes_stay_below_a_megabyte)
{
    setup_replay();
    for (int i = 0; i < 1000; i++) {
        struct tilewise_signature s = fixture_gemm(i + 1, 4096, 14336);
        for (size_t w = 0; w < 20; w++)
            fixture_calls(trace, w, &s, 10, 1000);
    }
    fixture_done(trace);
    analyse();
    size_t bytes = strlen(print(HTML));
    cr_assert_gt(bytes, 100000);
    cr_assert_lt(bytes, 1000000);
}

/* The most that a page holds: twelve cards, every window, a replay of every shape. */
Test(report_html, a_thousand_replayed_shapes_of_many_operations_too)
{
    static struct result_case rows[1000];
    setup_replay();
    trace = fixture_new(FIXTURE_WINDOWS);
    for (int i = 0; i < 1000; i++) {
        struct tilewise_signature s = fixture_gemm(1000 + i, 4096, 14336);
        s.dtype_a = s.dtype_b = s.dtype_c = s.dtype_d = (uint8_t)(TILEWISE_F32 + i % 12);
        for (size_t w = 0; w < FIXTURE_WINDOWS; w++)
            fixture_calls(trace, w, &s, 10, 1000);
        rows[i] = cases[0];
        rows[i].signature = s;
        rows[i].signature.entry = 0;
    }
    fixture_done(trace);
    results.ncases = 1000;
    results.cases = rows;
    analyse();
    char *page = print(HTML);
    cr_assert_eq(analysis->nops, 12);
    cr_assert_geq(count_of(page, "avx512"), 1000);
    cr_assert_lt(strlen(page), 1000000, "%zu bytes", strlen(page));
}

Test(report_html, the_rest_of_very_many_shapes_is_named, .init = setup)
{
    for (int i = 0; i < 1100; i++) {
        struct tilewise_signature s = fixture_gemm(i + 100, 7, 7);
        fixture_calls(trace, 0, &s, 1, 10);
    }
    fixture_done(trace);
    analyse();
    cr_assert(has(print(HTML), "104 further shapes are left out"));
}
