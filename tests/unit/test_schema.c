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
    return schema_read_text(fields, "p.yaml", text, strlen(text), SCHEMA_BYTES_MAX, &fault);
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

Test(schema, anchors_aliases_and_tags_are_refused)
{
    refuse("windows: [4]\n", "p.yaml:1:10: windows expects a whole number, not a list");
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
    refuse("windows: 4\nstrict: \"\xc3\xa4\x01\"\n",
           "p.yaml:2:11: control characters are not allowed");
    refuse("heat: \xff\n", "p.yaml:1:7: invalid leading UTF-8 octet");
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
    cr_assert_eq(schema_read_text(fields, "p.yaml", text, bytes, SCHEMA_BYTES_MAX, &fault),
                 ST_LIMIT);
    cr_assert_str_eq(fault.text, "p.yaml: longer than 64 KiB");
    memset(text, '[', 5000);
    cr_assert_eq(schema_read_text(fields, "p.yaml", text, 5000, SCHEMA_BYTES_MAX, &fault),
                 ST_LIMIT);
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
    cr_assert_eq(schema_read_text(endless, "p.yaml", text, strlen(text), SCHEMA_BYTES_MAX, &fault),
                 ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:1:65: more than 16 levels deep");
}

Test(schema, a_missing_file_is_one_clear_line)
{
    cr_assert_eq(schema_read_file(fields, "/nonexistent/p.yaml", SCHEMA_BYTES_MAX, &fault), ST_IO);
    cr_assert_str_eq(fault.text, "/nonexistent/p.yaml: No such file or directory");
    cr_assert_eq(schema_read_file(fields, "/", SCHEMA_BYTES_MAX, &fault), ST_IO);
}

Test(schema, a_file_is_read_like_its_text)
{
    char path[] = "/tmp/tilewise-schema-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "windows: 33\n", 12), 12);
    close(fd);
    cr_assert_eq(schema_read_file(fields, path, SCHEMA_BYTES_MAX, &fault), ST_OK, "%s", fault.text);
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

/* Lists: items are copied out as they come. */
static uint64_t row_m, row_op, row_sum, rows_seen, parts_seen;
static char rows_text[256];

static enum status take_part(void *context, struct fault *why)
{
    (void)why;
    row_sum += *(uint64_t *)context;
    parts_seen++;
    return ST_OK;
}

static enum status take_row(void *context, struct fault *why)
{
    (void)context;
    size_t used = strlen(rows_text);
    if (row_m == 13)
        return fault_set(why, ST_INVALID, "13 brings bad luck");
    snprintf(rows_text + used, sizeof rows_text - used, "%s%u:%u/%u", used ? " " : "",
             (unsigned)row_op, (unsigned)row_m, (unsigned)row_sum);
    row_op = row_sum = 0;
    row_m = 7;
    rows_seen++;
    return ST_OK;
}

static uint64_t part;
static const struct schema_field part_fields[] = {
    { .name = "", .type = SCHEMA_COUNT, .value = &part, .max = 99 },
    { 0 },
};
static const struct schema_field row_fields[] = {
    { .name = "m", .type = SCHEMA_COUNT, .value = &row_m, .required = true },
    { .name = "op", .type = SCHEMA_WORD, .value = &row_op, .choices = "gemm|gemv|add" },
    { .name = "parts",
      .type = SCHEMA_LIST,
      .fields = part_fields,
      .take = take_part,
      .context = &part },
    { 0 },
};
static const struct schema_field list_fields[] = {
    { .name = "rows",
      .type = SCHEMA_LIST,
      .fields = row_fields,
      .take = take_row,
      .required = true },
    { .name = "note", .type = SCHEMA_ANY },
    { 0 },
};

static enum status read_list(const char *text)
{
    row_m = 7;
    row_op = row_sum = rows_seen = parts_seen = 0;
    *rows_text = '\0';
    return schema_read_text(list_fields, "l.yaml", text, strlen(text), SCHEMA_BYTES_MAX, &fault);
}

static void refuse_list(const char *text, const char *message)
{
    cr_assert_eq(read_list(text), ST_INVALID, "accepted: %s", text);
    cr_assert_str_eq(fault.text, message);
}

Test(schema, lists_of_maps_and_of_values)
{
    cr_assert_eq(read_list("rows:\n- m: 1\n  op: add\n- { m: 2, parts: [3, 4] }\n-\n  m: 5\n"),
                 ST_OK, "%s", fault.text);
    cr_assert_str_eq(rows_text, "2:1/0 0:2/7 0:5/0");
    cr_assert_eq(read_list("rows: []\n"), ST_OK);
    cr_assert_eq(rows_seen, 0);
}

Test(schema, an_item_that_is_refused_is_named_by_its_place)
{
    refuse_list("rows:\n- m: 1\n- m: 13\n", "l.yaml:3:3: 13 brings bad luck");
    cr_assert_eq(rows_seen, 1);
}

Test(schema, what_is_required_and_missing_is_named)
{
    refuse_list("rows:\n- op: add\n", "l.yaml:2:3: key 'm' is missing");
    refuse_list("note: 1\n", "l.yaml:1:1: key 'rows' is missing");
    refuse_list("", "l.yaml:1:1: key 'rows' is missing");
    refuse_list("---\n", "l.yaml:1:1: key 'rows' is missing");
}

Test(schema, a_list_where_none_belongs_and_the_reverse)
{
    refuse_list("rows: 3\n", "l.yaml:1:7: rows expects a list, not a value");
    refuse_list("rows: {m: 3}\n", "l.yaml:1:7: rows expects a list, not a map");
    refuse_list("rows: [3]\n", "l.yaml:1:8: rows expects a list of maps");
    refuse_list("rows: [[]]\n", "l.yaml:1:8: rows expects a list of maps");
    refuse_list("rows: [{m: [1]}]\n", "l.yaml:1:12: m expects a whole number, not a list");
    refuse_list("rows: [{m: 1, parts: [x]}]\n",
                "l.yaml:1:23: parts expects a whole number, not 'x'");
    refuse_list("rows: [{m: 1, parts: [100]}]\n",
                "l.yaml:1:23: parts expects a whole number from 0 to 99, not '100'");
    refuse_list("rows: [{m: 1, parts: [{a: 1}]}]\n",
                "l.yaml:1:23: parts expects a whole number, not a map");
    refuse_list("rows: [{m: 1, op: gem}]\n", "l.yaml:1:19: op expects one of gemm|gemv|add, not "
                                             "'gem' (did you mean 'gemm'?)");
    refuse_list("[]\n", "l.yaml:1:1: expected a map of keys and values");
    refuse_list("rows: &a []\n", "l.yaml:1:7: anchors are not supported: write the value out");
    refuse_list("[rows]: 1\n", "l.yaml:1:1: a key must be a plain name");
}

Test(schema, what_is_passed_over_keeps_the_limits)
{
    cr_assert_eq(read_list("note: {a: [1, {b: 2}], c: null}\nrows: [{m: 1}]\n"), ST_OK, "%s",
                 fault.text);
    cr_assert_str_eq(rows_text, "0:1/0");
    refuse_list("note: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n",
                "l.yaml:1:22: more than 16 levels deep");
    refuse_list("note: [1, *a]\n", "l.yaml:1:11: aliases are not supported: write the value out");
    cr_assert_eq(read_list("note: [1, 2\n"), ST_INVALID);
}

Test(schema, a_longer_limit_allows_more_of_everything)
{
    size_t bytes = 1 << 20, used = 0;
    char *text = malloc(bytes);
    used += (size_t)snprintf(text, bytes, "rows:\n");
    for (int i = 0; i < 20000; i++)
        used += (size_t)snprintf(text + used, bytes - used, "- { m: %d, parts: [] }\n", i + 14);
    cr_assert_eq(schema_read_text(list_fields, "l.yaml", text, used, bytes, &fault), ST_OK, "%s",
                 fault.text);
    cr_assert_eq(rows_seen, 20000);
    free(text);
}

/* Own values: the caller reads the text. */
static size_t letters;

static enum status parse_letters(void *value, const char *text, size_t *at, struct fault *why)
{
    size_t *sum = value;
    *at = strspn(text, "abc");
    *sum += *at;
    return text[*at] ? fault_set(why, ST_INVALID, "knows a, b and c, not '%s'", text + *at) : ST_OK;
}

static enum status take_nothing(void *context, struct fault *why)
{
    (void)context;
    (void)why;
    return ST_OK;
}

static const struct schema_field own_element[] = {
    { .name = "", .type = SCHEMA_OWN, .value = &letters, .parse = parse_letters }, { 0 }
};
static const struct schema_field own_fields[] = {
    { .name = "one", .type = SCHEMA_OWN, .value = &letters, .parse = parse_letters },
    { .name = "many", .type = SCHEMA_LIST, .fields = own_element, .take = take_nothing },
    { 0 },
};

static enum status read_own(const char *text)
{
    letters = 0;
    return schema_read_text(own_fields, "o.yaml", text, strlen(text), SCHEMA_BYTES_MAX, &fault);
}

static void refuse_own(const char *text, const char *message)
{
    cr_assert_eq(read_own(text), ST_INVALID, "accepted: %s", text);
    cr_assert_str_eq(fault.text, message);
}

Test(schema, own_values_are_read_by_their_owner)
{
    cr_assert_eq(read_own("one: ab\nmany: [a, 'bc', \"abc\"]\n"), ST_OK, "%s", fault.text);
    cr_assert_eq(letters, 8);
}

Test(schema, an_own_value_is_refused_at_the_byte)
{
    refuse_own("one: abxc\n", "o.yaml:1:8: one knows a, b and c, not 'xc'");
    refuse_own("one: \"abxc\"\n", "o.yaml:1:9: one knows a, b and c, not 'xc'");
    refuse_own("many: [a, q]\n", "o.yaml:1:11: many knows a, b and c, not 'q'");
    refuse_own("one: >\n  ab\n  c\n", "o.yaml:1:6: one knows a, b and c, not ' c?'");
    refuse_own("one: [a]\n", "o.yaml:1:6: one expects a text, not a list");
    refuse_own("one: \"a\\0b\"\n", "o.yaml:1:6: one holds a zero byte");
}
