/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/escape.h"
#include "analysis/words.h"
#include "summary_fixture.h"

Test(words, numbers_as_people_read_them)
{
    cr_assert_str_eq(words_count(0), "0");
    cr_assert_str_eq(words_count(999), "999");
    cr_assert_str_eq(words_count(1234567), "1,234,567");
    cr_assert_str_eq(words_share(0.1234), "12.3 %");
    cr_assert_str_eq(words_share(NAN), "-");
    cr_assert_str_eq(words_ns(999), "999 ns");
    cr_assert_str_eq(words_ns(1500), "1.50 us");
    cr_assert_str_eq(words_ns(2.5e10), "25.0 s");
    cr_assert_str_eq(words_real(NAN, 2), "-");
    cr_assert_str_eq(words_scaled(1.5e12), "1.50 T");
    cr_assert_str_eq(words_scaled(999.7), "1.00 k");
    cr_assert_str_eq(words_scaled(0.25), "0.25");
    cr_assert_str_eq(words_scaled(INFINITY), "-");
    cr_assert_str_eq(words_operation(TILEWISE_OP_GEMM, TILEWISE_F32), "gemm f32");
}

Test(words, what_reports_say_of_the_gpu)
{
    struct fixture *f = fixture_new(1);
    struct tilewise_signature s = fixture_gemm(64, 32, 128);
    const struct summary_gpu gpu = {
        .totals = { .launches = 34199, .dropped = 2, .windows = 19, .window_ns = 1250000000 },
        .busy_share = 0.384,
    };
    cr_assert_str_eq(
        words_windows(&gpu),
        "34,199 kernels in 19 windows of 1.25 s together, 2 without a record; busy 38.4 %");
    struct summary_kernel kernel = { .signature = fixture_signature(f, &s) };
    cr_assert_str_eq(words_launcher(&f->s, &kernel), "gemm f32 64 x 32 x 128");
    kernel.signature = GPU_NO_SIGNATURE;
    cr_assert_str_eq(words_launcher(&f->s, &kernel), "no recorded call");
}

Test(words, what_became_of_a_call_and_of_a_candidate)
{
    struct result_candidate c = { .status = RESULT_PASSED, .call = RESULT_FASTER };
    cr_assert_str_eq(words_outcome(&c), "FASTER");
    c.status = RESULT_FAILED;
    cr_assert_str_eq(words_outcome(&c), "failed");
    cr_assert_str_eq(words_loss(LOSS_SIGNATURE_CAP), "signature_cap");
    cr_assert_str_eq(words_loss(1000), "unknown cause");
}

Test(words, the_row_major_view_swaps_column_major_calls)
{
    struct tilewise_signature s = fixture_gemm(64, 32, 128);
    cr_assert_str_eq(words_row_view(&s), "[64,128] x [128,32]");
    s.layout = TILEWISE_COL_MAJOR;
    cr_assert_str_eq(words_row_view(&s), "[32,128] x [128,64]");
}

static const char *markdown(const char *text)
{
    static char buffer[256];
    FILE *out = fmemopen(buffer, sizeof buffer, "w");
    escape_markdown(out, text);
    fclose(out);
    return buffer;
}

Test(escape, markdown_stays_readable_and_says_nothing_of_its_own)
{
    cr_assert_str_eq(markdown("Intel(R) Xeon(R) 2.1 GHz, record --gpu-time=windows; a_b_c"),
                     "Intel(R) Xeon(R) 2.1 GHz, record --gpu-time=windows; a_b_c");
    cr_assert_str_eq(markdown("_x_ *b* `c` ~d~"), "\\_x\\_ \\*b\\* \\`c\\` \\~d\\~");
    cr_assert_str_eq(markdown("a|b](javascript:alert(1))!["), "a\\|b\\](javascript:alert(1))!\\[");
    cr_assert_str_eq(markdown("<img onerror=x>&amp;"), "&lt;img onerror=x&gt;&amp;amp;");
    cr_assert_str_eq(markdown("http://x.y www.x.y"), "http\\://x.y www\\.x.y");
    cr_assert_str_eq(markdown("a\\"), "a\\\\");
}

Test(escape, invalid_utf8_becomes_a_replacement)
{
    char *copy = escape_copy("a\xff"
                             "b\xc3\xa9\xe2\x82"
                             "c\x1b[0m");
    cr_assert_str_eq(copy, "a\xef\xbf\xbd"
                           "b\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"
                           "c\xef\xbf\xbd[0m");
    free(copy);
}
