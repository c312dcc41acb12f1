/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/escape.h"
#include "report_fixture.h"

/* Hostile names in every place that a trace or a result can fill. */
static const char *const attacks[] = {
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</style><svg onload=alert(1)>",
    "</title><iframe src=javascript:alert(1)>",
    "\x1b[31mred\x1b[0m \r\n\t\x07",
    "\xff\xfe\xc0\xaf\xed\xa0\x80 broken \xe2\x28\xa1",
    "\xe2\x80\xae rtl \xe2\x80\xa8 line \xc2\x9b csi",
    "=HYPERLINK(\"http://x\")",
    "-->]]><!--",
    "a|b](javascript:alert(1))`",
    "%s%n%x",
};

static void attack(const char *name)
{
    setup_replay();
    trace->strings[1] = name;
    for (int i = 0; i < 3; i++) {
        cases[i].entry = (char *)name;
        candidates[i].name = candidates[i].reason = (char *)name;
    }
    run.device = run.protocol = run.baseline_library = run.baseline_core = (char *)name;
    trace->shard.path = name;
    trace->facts[0] = (struct reader_fact){ name, name };
    trace->s.nfacts = 1;
    static struct reader_damage damage;
    snprintf(damage.what, sizeof damage.what, "%.*s", (int)sizeof damage.what - 1, name);
    trace->s.damage = &damage;
    trace->s.ndamage = 1;
    trace->s.complete = false;
    analyse();
}

/* Length of the UTF-8 character at p, 0 if it is none or a control character. */
static size_t clean_length(const char *p)
{
    size_t length;
    unsigned c = escape_decode((const unsigned char *)p, strlen(p), &length);
    bool replacement = strncmp(p, "\xef\xbf\xbd", 3) == 0;
    return c == 0xfffd && !replacement && !strchr("\n\r", *p) ? 0 : length;
}

Test(hostile, every_report_is_clean_text)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        attack(attacks[i]);
        for (enum format f = 0; f < FORMATS; f++)
            for (const char *p = print(f); *p;) {
                size_t length = clean_length(p);
                cr_assert_gt(length, 0, "attack %zu, format %d: byte %02x", i, f, *p & 0xff);
                p += length;
            }
    }
}

Test(hostile, the_page_keeps_its_tags_whatever_the_names)
{
    setup_replay();
    trace->s.complete = false;
    trace->facts[0] = (struct reader_fact){ "key", "value" };
    trace->s.nfacts = 1;
    static struct reader_damage damage = { .what = "x" };
    trace->s.damage = &damage;
    trace->s.ndamage = 1;
    analyse();
    size_t tags = 0, quotes = 0;
    for (const char *p = print(HTML); *p; p++) {
        tags += *p == '<' || *p == '>';
        quotes += *p == '"' || *p == '\'' || *p == '`';
    }
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        attack(attacks[i]);
        char *page = print(HTML);
        size_t tags_now = 0, quotes_now = 0;
        for (const char *p = page; *p; p++) {
            tags_now += *p == '<' || *p == '>';
            quotes_now += *p == '"' || *p == '\'' || *p == '`';
        }
        cr_assert_eq(tags_now, tags, "attack %zu", i);
        cr_assert_eq(quotes_now, quotes, "attack %zu", i);
    }
}

Test(hostile, json_survives_and_keeps_the_structure)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        attack(attacks[i]);
        char *text = print(JSON);
        cr_assert_not(has(text, "</script"));
        cr_assert_not_null(value_of(parse(text), "fidelity.total"));
    }
}

Test(hostile, a_spreadsheet_runs_nothing)
{
    attack("=cmd|' /C calc'!A0");
    char *text = print(CSV);
    cr_assert_not(has(text, ",="));
    cr_assert(has(text, ",\"'=cmd|' /C calc'!A0\","));
    const char *const starts[] = { "+1", "-1", "@SUM(A1)" };
    for (size_t i = 0; i < 3; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, ",\"'%s\",", starts[i]);
        attack(starts[i]);
        cr_assert(has(print(CSV), wanted), "%s", starts[i]);
    }
}

Test(hostile, a_long_name_is_cut)
{
    static char name[100000];
    memset(name, 'x', sizeof name - 1);
    attack(name);
    cr_assert_lt(strlen(print(HTML)), 400000);
}

Test(hostile, absurd_dimensions_are_printed_and_harmless)
{
    build_trace();
    struct tilewise_signature s = fixture_gemm(INT64_MAX, INT64_MIN, -1);
    s.batch = INT64_MAX;
    fixture_calls(trace, 0, &s, 10, 10);
    for (int i = 0; i < 40; i++) {
        s = fixture_gemm(INT64_MAX - i * (INT64_MAX / 41), 1, 1);
        fixture_calls(trace, 1, &s, 10, 10);
    }
    analyse();
    for (enum format f = 0; f < FORMATS; f++)
        cr_assert(has(print(f), "9223372036854775807") || f == TEXT || f == MD);
}
