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
    cr_assert_str_eq(html_style_sha256, base64);
}

Test(report_html, opens_with_coverage_and_holds_every_part, .init = setup_replay)
{
    analyse();
    char *page = print(HTML);
    const char *const parts[] = {
        "Coverage and loss",      "<svg class=\"matrix\"", "id=\"op-1\"",
        "id=\"class-1\"",         "id=\"verdicts\"",       "<svg class=\"histogram\"",
        "<svg class=\"windows\"", "<svg class=\"ratios\"", "Replay and fidelity",
        "How this was measured"
    };
    const char *at = page;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        cr_assert_not_null(found, "%s missing or out of order", parts[i]);
        at = found;
    }
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
