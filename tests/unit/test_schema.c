/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/scalar.h"
#include "traces/schema.h"
#include "traces/suggest.h"

static double high, share, pause_s;
static uint64_t windows, budget;
static bool strict;
static const char *name, *format;

static const struct schema_field heat_fields[] = {
    { .name = "high", .type = SCHEMA_REAL, .value = &high, .min = 0, .max = 1 },
    { .name = "share", .type = SCHEMA_REAL, .value = &share },
    { 0 },
};
static const struct schema_field fields[] = {
    { .name = "heat", .type = SCHEMA_MAP, .fields = heat_fields },
    { .name = "windows", .type = SCHEMA_COUNT, .value = &windows, .min = 1, .max = 64 },
    { .name = "budget", .type = SCHEMA_BYTES, .value = &budget },
    { .name = "pause", .type = SCHEMA_SECONDS, .value = &pause_s },
    { .name = "strict", .type = SCHEMA_FLAG, .value = &strict },
    { .name = "name", .type = SCHEMA_TEXT, .value = &name },
    { .name = "format", .type = SCHEMA_CHOICE, .value = &format, .choices = "text|json|csv" },
    { 0 },
};

static struct fault fault;

static enum status read_yaml(const char *text)
{
    return schema_read_text(fields, "p.yaml", text, strlen(text), &fault);
}

/* Read `text` and expect exactly this message. */
static void refuse(const char *text, const char *message)
{
    cr_assert_neq(read_yaml(text), ST_OK, "accepted: %s", text);
    cr_assert_str_eq(fault.text, message);
}

Test(schema, every_type_is_read)
{
    cr_assert_eq(read_yaml("heat:\n  high: 0.25\nwindows: 12\nbudget: 2M\npause: 1.5m\n"
                           "strict: yes\nname: 'a: b'\nformat: json\n"),
                 ST_OK, "%s", fault.text);
    cr_assert_eq(high, 0.25);
    cr_assert_eq(windows, 12);
    cr_assert_eq(budget, 2u << 20);
    cr_assert_eq(pause_s, 90);
    cr_assert(strict);
    cr_assert_str_eq(name, "a: b");
    cr_assert_str_eq(format, "json");
}

Test(schema, what_the_file_leaves_out_keeps_its_value)
{
    high = 0.5;
    windows = 7;
    cr_assert_eq(read_yaml("windows: 9\n"), ST_OK);
    cr_assert_eq(high, 0.5);
    cr_assert_eq(windows, 9);
}

Test(schema, an_empty_file_and_a_comment_are_fine)
{
    cr_assert_eq(read_yaml(""), ST_OK);
    cr_assert_eq(read_yaml("# nothing here\n"), ST_OK);
    cr_assert_eq(read_yaml("---\n"), ST_OK);
}

Test(schema, a_typing_error_names_the_place_and_the_nearest_key)
{
    refuse("heat:\n  hihg: 0.25\n", "p.yaml:2:3: unknown key 'hihg' (did you mean 'high'?)");
    refuse("windws: 4\n", "p.yaml:1:1: unknown key 'windws' (did you mean 'windows'?)");
}

Test(schema, a_strange_key_lists_the_known_ones)
{
    refuse("heat:\n  zebra: 1\n", "p.yaml:2:3: unknown key 'zebra'; known here: high, share");
}

Test(schema, a_wrong_type_names_the_place_of_the_value)
{
    refuse("heat:\n  high: warm\n", "p.yaml:2:9: high expects a number, not 'warm'");
    refuse("windows: 1.5\n", "p.yaml:1:10: windows expects a whole number, not '1.5'");
    refuse("windows: -3\n", "p.yaml:1:10: windows expects a whole number, not '-3'");
    refuse("strict: maybe\n", "p.yaml:1:9: strict expects true or false, not 'maybe'");
    refuse("pause: soon\n", "p.yaml:1:8: pause expects a time like 1.5s, not 'soon'");
    refuse("budget: lots\n", "p.yaml:1:9: budget expects a size like 512M, not 'lots'");
    refuse("windows:\n", "p.yaml:1:9: windows expects a whole number, and has no value");
}

Test(schema, not_a_number_is_not_a_number)
{
    refuse("heat: {high: .nan}\n", "p.yaml:1:14: high expects a number, not '.nan'");
    refuse("heat: {high: nan}\n", "p.yaml:1:14: high expects a number, not 'nan'");
    refuse("heat: {high: inf}\n", "p.yaml:1:14: high expects a number, not 'inf'");
    refuse("heat: {high: 0x1p-3}\n", "p.yaml:1:14: high expects a number, not '0x1p-3'");
}

Test(schema, a_quoted_number_is_a_text)
{
    refuse("windows: \"4\"\n", "p.yaml:1:10: windows expects a whole number, not a quoted text");
}

Test(schema, out_of_range_names_the_range)
{
    refuse("heat:\n  high: 1.5\n", "p.yaml:2:9: high expects a number from 0 to 1, not '1.5'");
    refuse("windows: 65\n", "p.yaml:1:10: windows expects a whole number from 1 to 64, not '65'");
    refuse("windows: 99999999999999999999\n",
           "p.yaml:1:10: windows expects a whole number, not '99999999999999999999'");
}

Test(schema, a_key_given_twice_is_refused)
{
    refuse("windows: 4\nheat: {}\nwindows: 4\n", "p.yaml:3:1: key 'windows' is given twice");
}

Test(schema, a_wrong_choice_offers_the_nearest)
{
    refuse("format: jsno\n", "p.yaml:1:9: format expects one of text|json|csv, not 'jsno' "
                             "(did you mean 'json'?)");
    refuse("format: postscript\n",
           "p.yaml:1:9: format expects one of text|json|csv, not 'postscript'");
}

Test(schema, a_map_where_a_value_belongs_and_the_reverse)
{
    refuse("windows: {a: 1}\n", "p.yaml:1:10: windows expects a whole number, not a map");
    refuse("heat: 3\n", "p.yaml:1:7: heat expects a map");
    refuse("just words\n", "p.yaml:1:1: expected a map of keys and values");
}

Test(schema, lists_anchors_aliases_and_tags_are_refused)
{
    refuse("windows: [4]\n", "p.yaml:1:10: lists are not supported here");
    refuse("windows: &a 4\n", "p.yaml:1:10: anchors are not supported: write the value out");
    refuse("heat: &a {high: 1}\n", "p.yaml:1:7: anchors are not supported: write the value out");
    refuse("windows: *a\n", "p.yaml:1:10: aliases are not supported: write the value out");
    refuse("windows: !!int 4\n", "p.yaml:1:10: tags are not supported: remove it");
    refuse("heat: !x {high: 1}\n", "p.yaml:1:7: tags are not supported: remove it");
}

Test(schema, a_second_document_is_refused)
{
    refuse("windows: 4\n---\nwindows: 5\n", "p.yaml:2:1: only one document is expected");
}

Test(schema, broken_yaml_names_the_place)
{
    refuse("windows: 4\nheat\n", "p.yaml:3:1: could not find expected ':'");
    refuse("heat: {high: 1,\n", "p.yaml:2:1: did not find expected node content");
    cr_assert_eq(read_yaml("windows: \"\x01\"\n"), ST_INVALID);
    cr_assert_eq(read_yaml("\xff\xfe\xff"), ST_INVALID);
}

Test(schema, a_zero_byte_does_not_hide_the_rest_of_a_value)
{
    refuse("name: \"a\\0b\"\n", "p.yaml:1:7: name holds a zero byte");
    refuse("\"windows\\0x\": 4\n", "p.yaml:1:1: a key must be a plain name");
}

Test(schema, size_and_brackets_are_limited)
{
    size_t bytes = (64 << 10) + 1;
    char *text = malloc(bytes);
    memset(text, '#', bytes);
    cr_assert_eq(schema_read_text(fields, "p.yaml", text, bytes, &fault), ST_LIMIT);
    cr_assert_str_eq(fault.text, "p.yaml: longer than 64 KiB");
    memset(text, '[', 5000);
    cr_assert_eq(schema_read_text(fields, "p.yaml", text, 5000, &fault), ST_LIMIT);
    cr_assert_str_eq(fault.text, "p.yaml: more than 4096 brackets");
    free(text);
}

Test(schema, depth_is_limited)
{
    /* A table that contains itself: every level is known, so only the limit can refuse. */
    struct schema_field endless[] = { { .name = "a", .type = SCHEMA_MAP }, { 0 } };
    endless[0].fields = endless;
    char text[256] = "";
    for (int i = 0; i < 40; i++)
        strcat(text, "{a: ");
    cr_assert_eq(schema_read_text(endless, "p.yaml", text, strlen(text), &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:1:65: more than 16 levels deep");
}

Test(schema, a_missing_file_is_one_clear_line)
{
    cr_assert_eq(schema_read_file(fields, "/nonexistent/p.yaml", &fault), ST_IO);
    cr_assert_str_eq(fault.text, "/nonexistent/p.yaml: No such file or directory");
    cr_assert_eq(schema_read_file(fields, "/", &fault), ST_IO);
}

Test(schema, a_file_is_read_like_its_text)
{
    char path[] = "/tmp/tilewise-schema-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "windows: 33\n", 12), 12);
    close(fd);
    cr_assert_eq(schema_read_file(fields, path, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(windows, 33);
    unlink(path);
}

Test(schema, one_value_is_set_with_the_same_rules)
{
    cr_assert_eq(schema_set(&fields[1], "21", &fault), ST_OK);
    cr_assert_eq(windows, 21);
    cr_assert_eq(schema_set(&fields[1], "0", &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "expects a whole number from 1 to 64, not '0'");
    cr_assert_eq(windows, 21);
}

Test(scalar, sizes_and_counts_differ_in_their_thousands)
{
    uint64_t value = 0;
    cr_assert(scalar_bytes("64k", &value));
    cr_assert_eq(value, 64u << 10);
    cr_assert(scalar_bytes("3MiB", &value));
    cr_assert_eq(value, 3u << 20);
    cr_assert(scalar_count("64k", &value));
    cr_assert_eq(value, 64000);
}

Test(scalar, overflow_is_refused_and_leaves_the_value)
{
    uint64_t value = 5;
    cr_assert_not(scalar_bytes("17592186044416M", &value));
    cr_assert_not(scalar_count("18446744073709551616", &value));
    cr_assert_not(scalar_bytes("4x", &value));
    cr_assert_not(scalar_count("", &value));
    cr_assert_not(scalar_count(" 4", &value));
    cr_assert_eq(value, 5);
    double real = 1;
    cr_assert_not(scalar_real("1e999", &real));
    cr_assert_not(scalar_real("", &real));
    cr_assert_not(scalar_seconds("-1s", &real));
    cr_assert_eq(real, 1);
}

Test(scalar, seconds_take_units)
{
    double s;
    cr_assert(scalar_seconds("200ms", &s));
    cr_assert_float_eq(s, 0.2, 1e-12);
    cr_assert(scalar_seconds("60", &s));
    cr_assert_eq(s, 60);
    cr_assert(scalar_seconds("2h", &s));
    cr_assert_eq(s, 7200);
    cr_assert_not(scalar_seconds("5 days", &s));
}

Test(suggest, swaps_count_once)
{
    cr_assert_eq(suggest_distance("high", "hihg"), 1);
    cr_assert_eq(suggest_distance("", "abc"), 3);
    cr_assert_eq(suggest_distance("kitten", "sitting"), 3);
}

Test(suggest, far_words_are_not_offered)
{
    const char *best = NULL;
    suggest_offer("cov50", "unseen", &best);
    cr_assert_null(best);
    suggest_offer("cov50", "cov05", &best);
    cr_assert_str_eq(best, "cov05");
}
