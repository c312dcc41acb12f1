/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"

/* One option of every type, each with a default that no test uses. */
static bool cold;
static const char *output, *format;
static uint64_t calls, cap;
static double budget, share;

static const struct option_row rows[] = {
    { "cold", 'c', OPTION_FLAG, NULL, "flush the caches", &cold, NULL },
    { "output", 'o', OPTION_TEXT, "DIR", "where to write", &output, NULL },
    { "calls", 0, OPTION_COUNT, "N", "how many", &calls, NULL },
    { "size-cap", 0, OPTION_BYTES, "SIZE", "most bytes on disk", &cap, NULL },
    { "budget", 'b', OPTION_SECONDS, "TIME", "time to spend", &budget, NULL },
    { "time-share", 0, OPTION_REAL, "SHARE", "stop at this share", &share, NULL },
    { "format", 'f', OPTION_CHOICE, "WHAT", "how to print", &format, "text|json|csv" },
    { 0 },
};

static struct usage usage = { .command = "demo",
                              .args = "TRACE...",
                              .doc = "Try things.",
                              .options = rows,
                              .min_args = 0,
                              .max_args = -1 };

static char *argv[16];
static int argc, first;

static int parse(const char *a, const char *b, const char *c, const char *d)
{
    const char *words[] = { "demo", a, b, c, d };
    argc = 0;
    for (int i = 0; i < 5; i++)
        if (words[i])
            argv[argc++] = strdup(words[i]);
    argv[argc] = NULL;
    return options_parse(&usage, argc, argv, &first);
}

static void expect_stderr(const char *text)
{
    fflush(stderr);
    cr_assert_stderr_eq_str(text);
}

static const char *write_config(const char *text)
{
    static char path[] = "/tmp/test_options.XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void reset(void)
{
    cold = false;
    output = NULL;
    format = "text";
    calls = 7;
    cap = 7;
    budget = 7;
    share = 0.5;
    cr_redirect_stderr();
    cr_redirect_stdout();
}

TestSuite(options, .init = reset);

Test(options, defaults_stay_when_nothing_is_given)
{
    cr_assert_eq(parse(NULL, NULL, NULL, NULL), -1);
    cr_assert(!cold && !output && calls == 7 && cap == 7 && budget == 7.0 && share == 0.5);
    cr_assert_str_eq(format, "text");
    cr_assert_eq(first, argc);
}

Test(options, flag_by_name_letter_and_negation)
{
    cr_assert_eq(parse("--cold", NULL, NULL, NULL), -1);
    cr_assert(cold);
    cr_assert_eq(parse("--cold", "--no-cold", NULL, NULL), -1);
    cr_assert(!cold);
    cr_assert_eq(parse("-c", NULL, NULL, NULL), -1);
    cr_assert(cold);
}

Test(options, text_in_every_spelling)
{
    cr_assert_eq(parse("--output=a", NULL, NULL, NULL), -1);
    cr_assert_str_eq(output, "a");
    cr_assert_eq(parse("--output", "b", NULL, NULL), -1);
    cr_assert_str_eq(output, "b");
    cr_assert_eq(parse("-oc", NULL, NULL, NULL), -1);
    cr_assert_str_eq(output, "c");
    cr_assert_eq(parse("--out", "d", NULL, NULL), -1);
    cr_assert_str_eq(output, "d");
}

Test(options, count_suffix_is_thousands)
{
    cr_assert_eq(parse("--calls", "64k", NULL, NULL), -1);
    cr_assert_eq(calls, 64000);
}

Test(options, bytes_suffix_is_1024)
{
    cr_assert_eq(parse("--size-cap", "512M", NULL, NULL), -1);
    cr_assert_eq(cap, (uint64_t)512 << 20);
}

Test(options, seconds_take_units)
{
    const char *const texts[] = { "60", "60s", "1.5m", "200ms" };
    const double values[] = { 60, 60, 90, 0.2 };
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(parse("-b", texts[i], NULL, NULL), -1);
        cr_assert_float_eq(budget, values[i], 1e-12, "%s", texts[i]);
    }
}

Test(options, count_that_overflows_is_refused)
{
    cr_assert_eq(parse("--calls", "18446744073709551616", NULL, NULL), 64);
    cr_assert_eq(parse("--calls", "18446744073709551G", NULL, NULL), 64);
    cr_assert_eq(calls, 7);
}

Test(options, bytes_that_overflow_are_refused)
{
    cr_assert_eq(parse("--size-cap", "99999999999T", NULL, NULL), 64);
    cr_assert_eq(cap, 7);
}

Test(options, negative_count_is_refused)
{
    cr_assert_eq(parse("--calls", "-1", NULL, NULL), 64);
    cr_assert_eq(parse("--calls=-1", NULL, NULL, NULL), 64);
    cr_assert_eq(calls, 7);
}

Test(options, real_refuses_nan_infinity_and_rubbish)
{
    const char *const bad[] = { "nan", "inf", "1e999", "", "0.5x", " 1" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(parse("--time-share", bad[i], NULL, NULL), 64, "'%s'", bad[i]);
    cr_assert_eq(share, 0.5);
}

Test(options, negative_seconds_are_refused)
{
    cr_assert_eq(parse("--budget=-3", NULL, NULL, NULL), 64);
    cr_assert_eq(budget, 7.0);
}

Test(options, choice_accepts_only_a_whole_word)
{
    cr_assert_eq(parse("-f", "json", NULL, NULL), -1);
    cr_assert_str_eq(format, "json");
    cr_assert_eq(parse("-f", "jso", NULL, NULL), 64);
    cr_assert_eq(parse("-f", "json|csv", NULL, NULL), 64);
    cr_assert_eq(parse("-f", "", NULL, NULL), 64);
}

Test(options, bad_value_message_is_one_line_naming_the_option)
{
    cr_assert_eq(parse("--calls", "many", NULL, NULL), 64);
    fflush(stderr);
    char text[512] = "";
    FILE *f = cr_get_redirected_stderr();
    cr_assert(fgets(text, sizeof text, f));
    cr_assert(strstr(text, "tilewise demo: option '--calls'"), "%s", text);
    cr_assert(strstr(text, "'many'"), "%s", text);
    cr_assert(strstr(text, "see: tilewise help demo\n"), "%s", text);
    cr_assert_null(fgets(text, sizeof text, f));
}

Test(options, unknown_option_suggests_the_nearest)
{
    cr_assert_eq(parse("--ouptut", "x", NULL, NULL), 64);
    expect_stderr("tilewise demo: no option '--ouptut'; did you mean '--output'?; "
                  "see: tilewise help demo\n");
}

Test(options, unknown_option_far_from_all_suggests_nothing)
{
    cr_assert_eq(parse("--zzzzzzzz=1", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: no option '--zzzzzzzz'; see: tilewise help demo\n");
}

Test(options, unknown_letter_after_a_known_one)
{
    cr_assert_eq(parse("-cz", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: no option '-z'; see: tilewise help demo\n");
}

Test(options, unknown_letter_after_a_long_option)
{
    cr_assert_eq(parse("--cold", "-zc", NULL, NULL), 64);
    expect_stderr("tilewise demo: no option '-z'; see: tilewise help demo\n");
}

Test(options, unknown_letter_after_a_good_letter_option)
{
    cr_assert_eq(parse("-c", "-zc", NULL, NULL), 64);
    expect_stderr("tilewise demo: no option '-z'; see: tilewise help demo\n");
}

Test(options, unknown_option_before_a_letter_is_the_one_named)
{
    cr_assert_eq(parse("--wrong", "-c", NULL, NULL), 64);
    fflush(stderr);
    char text[512] = "";
    cr_assert(fgets(text, sizeof text, cr_get_redirected_stderr()));
    cr_assert(strstr(text, "'--wrong'"), "%s", text);
}

Test(options, missing_value_is_named)
{
    cr_assert_eq(parse("--output", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: option '--output' needs DIR; see: tilewise help demo\n");
}

Test(options, missing_value_of_a_letter_is_named)
{
    cr_assert_eq(parse("-co", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: option '-o' needs DIR; see: tilewise help demo\n");
}

Test(options, flag_with_a_value_is_refused)
{
    cr_assert_eq(parse("--cold=yes", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: option '--cold' takes no value; see: tilewise help demo\n");
}

Test(options, ambiguous_abbreviation_is_refused)
{
    cr_assert_eq(parse("--co", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: option '--co' is ambiguous: write it in full; "
                  "see: tilewise help demo\n");
}

Test(options, control_bytes_never_reach_the_terminal)
{
    cr_assert_eq(parse("--\033[31m\n", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: no option '--?[31m?'; see: tilewise help demo\n");
}

Test(options, positionals_may_stand_between_options)
{
    cr_assert_eq(parse("one", "--cold", "two", NULL), -1);
    cr_assert(cold);
    cr_assert_eq(argc - first, 2);
    cr_assert_str_eq(argv[first], "one");
    cr_assert_str_eq(argv[first + 1], "two");
}

Test(options, after_two_dashes_everything_is_positional)
{
    cr_assert_eq(parse("--", "--cold", NULL, NULL), -1);
    cr_assert(!cold);
    cr_assert_eq(argc - first, 1);
    cr_assert_str_eq(argv[first], "--cold");
}

Test(options, stop_at_first_arg_leaves_the_command_alone)
{
    usage.stop_at_first_arg = true;
    cr_assert_eq(parse("-c", "ls", "-o", "--zzz"), -1);
    cr_assert(cold && !output);
    cr_assert_str_eq(argv[first], "ls");
    cr_assert_str_eq(argv[first + 1], "-o");
    cr_assert_str_eq(argv[first + 2], "--zzz");
}

Test(options, stop_at_first_arg_with_two_dashes)
{
    usage.stop_at_first_arg = true;
    cr_assert_eq(parse("-c", "--", "ls", "-o"), -1);
    cr_assert_str_eq(argv[first], "ls");
    cr_assert_eq(argc - first, 2);
}

Test(options, too_few_arguments)
{
    usage.min_args = 1;
    cr_assert_eq(parse("--cold", NULL, NULL, NULL), 64);
    expect_stderr("tilewise demo: missing argument: needs TRACE...; see: tilewise help demo\n");
}

Test(options, too_many_arguments)
{
    usage.max_args = 1;
    cr_assert_eq(parse("one", "two", NULL, NULL), 64);
    expect_stderr("tilewise demo: unexpected argument 'two'; see: tilewise help demo\n");
}

Test(options, environment_sets_what_the_line_does_not)
{
    setenv("TILEWISE_TIME_SHARE", "0.9", 1);
    setenv("TILEWISE_COLD", "yes", 1);
    setenv("TILEWISE_CALLS", "1k", 1);
    cr_assert_eq(parse("--calls", "2", NULL, NULL), -1);
    cr_assert_float_eq(share, 0.9, 1e-12);
    cr_assert(cold);
    cr_assert_eq(calls, 2);
}

Test(options, empty_environment_means_not_set)
{
    setenv("TILEWISE_CALLS", "", 1);
    cr_assert_eq(parse(NULL, NULL, NULL, NULL), -1);
    cr_assert_eq(calls, 7);
}

Test(options, bad_environment_is_named)
{
    setenv("TILEWISE_TIME_SHARE", "lots", 1);
    cr_assert_eq(parse(NULL, NULL, NULL, NULL), 64);
    fflush(stderr);
    char text[512] = "";
    cr_assert(fgets(text, sizeof text, cr_get_redirected_stderr()));
    cr_assert(strstr(text, "TILEWISE_TIME_SHARE"), "%s", text);
}

Test(options, command_line_beats_a_bad_environment)
{
    setenv("TILEWISE_TIME_SHARE", "lots", 1);
    cr_assert_eq(parse("--time-share=0.7", NULL, NULL, NULL), -1);
    cr_assert_float_eq(share, 0.7, 1e-12);
}

Test(options, file_then_environment_then_command_line)
{
    const char *path = write_config("calls: 3\nsize-cap: 4K\ntime-share: 0.25\ncold: yes\n");
    setenv("TILEWISE_SIZE_CAP", "5K", 1);
    cr_assert_eq(parse("--config", path, "--time-share", "0.75"), -1);
    cr_assert_eq(calls, 3);
    cr_assert_eq(cap, 5120);
    cr_assert_float_eq(share, 0.75, 1e-12);
    cr_assert(cold);
    unlink(path);
}

Test(options, command_line_takes_back_a_flag_of_the_file)
{
    const char *path = write_config("cold: yes\n");
    cr_assert_eq(parse("--config", path, "--no-cold", NULL), -1);
    cr_assert(!cold);
    unlink(path);
}

Test(options, config_file_from_the_environment)
{
    const char *path = write_config("calls: 3\n");
    setenv("TILEWISE_CONFIG", path, 1);
    cr_assert_eq(parse(NULL, NULL, NULL, NULL), -1);
    cr_assert_eq(calls, 3);
    unlink(path);
}

Test(options, typo_in_the_file_names_line_and_column)
{
    const char *path = write_config("calls: 3\ntime-shore: 0.1\n");
    cr_assert_eq(parse("--config", path, NULL, NULL), 2);
    fflush(stderr);
    char text[512] = "", place[128];
    snprintf(place, sizeof place, "%s:2:1: ", path);
    cr_assert(fgets(text, sizeof text, cr_get_redirected_stderr()));
    cr_assert(strstr(text, place), "%s", text);
    cr_assert(strstr(text, "time-share"), "%s", text);
    unlink(path);
}

Test(options, missing_config_file_is_an_error)
{
    cr_assert_eq(parse("--config", "/nonexistent/x.yaml", NULL, NULL), 2);
    fflush(stderr);
    char text[512] = "";
    cr_assert(fgets(text, sizeof text, cr_get_redirected_stderr()));
    cr_assert(strstr(text, "/nonexistent/x.yaml"), "%s", text);
}

Test(options, print_config_can_be_read_back)
{
    cr_assert_eq(parse("--print-config", "--output=a \"b\\", "--time-share=0.1", "-c"), 0);
    fflush(stdout);
    char text[1024];
    size_t bytes = fread(text, 1, sizeof text - 1, cr_get_redirected_stdout());
    text[bytes] = '\0';
    reset();
    const char *path = write_config(text);
    cr_assert_eq(parse("--config", path, NULL, NULL), -1, "%s", text);
    cr_assert(cold && calls == 7 && budget == 7.0);
    cr_assert_eq(share, 0.1);
    cr_assert_str_eq(output, "a \"b\\");
    unlink(path);
}

Test(options, help_lists_every_option_on_stdout)
{
    usage.min_args = 1;
    cr_assert_eq(parse("--help", NULL, NULL, NULL), 0);
    fflush(stdout);
    char text[8192];
    size_t bytes = fread(text, 1, sizeof text - 1, cr_get_redirected_stdout());
    text[bytes] = '\0';
    for (const struct option_row *row = rows; row->name; row++)
        cr_assert(strstr(text, row->name) && strstr(text, row->doc), "%s", row->name);
    cr_assert(strstr(text, "tilewise demo"));
    cr_assert_null(strstr(text, "no-cold"));
    expect_stderr("");
}
