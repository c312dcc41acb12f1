/* SPDX-License-Identifier: Apache-2.0
 *
 * Plug-ins are compiled here with the C compiler, as their authors do; the complete one is the
 * example of docs/candidate-abi.md.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/builtin.h"
#include "replayer/candidates.h"

static char directory[64], plugin[96];
static struct candidates all;
static struct fault fault;

static void make_directory(void)
{
    strcpy(directory, "/tmp/tilewise-candidates-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(plugin, sizeof plugin, "%s/plugin.so", directory);
    all = (struct candidates){ 0 };
}

static void remove_directory(void)
{
    char command[128];
    candidates_close(&all);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    cr_assert_eq(system(command), 0);
}

TestSuite(candidates, .init = make_directory, .fini = remove_directory);

static void compile(const char *source)
{
    char command[8192];
    snprintf(command, sizeof command, "cc -shared -fPIC -Wall -Werror -I%s %s -o %s",
             TILEWISE_SOURCE, source, plugin);
    cr_assert_eq(system(command), 0, "%s", command);
    cr_assert_eq(chmod(plugin, 0755), 0);
}

static void compile_text(const char *text)
{
    char source[128];
    snprintf(source, sizeof source, "%s/plugin.c", directory);
    FILE *file = fopen(source, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    cr_assert_eq(fclose(file), 0);
    compile(source);
}

#define PLUGIN(abi_value, bytes_value, run_value, answer)                                          \
    "#include \"replayer/candidate.h\"\n"                                                          \
    "#define SELF const struct tilewise_candidate *self, const struct tilewise_signature *s\n"     \
    "static int yes(SELF) { (void)self; (void)s; return 1; }\n"                                    \
    "static int run(SELF, const struct tilewise_args *a)\n"                                        \
    "{ (void)self; (void)s; (void)a; return 0; }\n"                                                \
    "int (*used)(SELF, const struct tilewise_args *) = run;\n"                                     \
    "static const struct tilewise_candidate one = { .abi = " abi_value ", .bytes = " bytes_value   \
    ", .name = \"one\", .target = \"cpu\", .summary = \"s\", .supports = yes, .run = " run_value   \
    " };\n"                                                                                        \
    "static const struct tilewise_candidate *const table[] = { &one };\n"                          \
    "const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count);\n"  \
    "const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count)\n"   \
    "{ (void)abi; (void)table; *count = 1; return " answer "; }\n"

static void expect_refusal(enum status want, const char *text)
{
    enum status st = candidates_load(&all, plugin, &fault);
    cr_assert_eq(st, want, "status %d: %s", st, fault.text);
    cr_assert_not_null(strstr(fault.text, text), "%s", fault.text);
    cr_assert_eq(all.count, 0);
}

/* Cut the C block out of the document and compile it: what we show must work. */
static void compile_documented_example(void)
{
    char command[8192];
    snprintf(command, sizeof command,
             "sed -n '/^```c$/,/^```$/p' %s/docs/candidate-abi.md | "
             "sed '/^```/d' > %s/plugin.c",
             TILEWISE_SOURCE, directory);
    cr_assert_eq(system(command), 0);
    snprintf(command, sizeof command, "%s/plugin.c", directory);
    compile(command);
}

Test(candidates, documented_plugin_loads_and_computes)
{
    compile_documented_example();
    cr_assert_eq(candidates_load(&all, plugin, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(all.count, 1);
    const struct tilewise_candidate *c = all.row[0];
    cr_assert_str_eq(c->name, "example_add_f32");
    struct tilewise_signature s = {
        .op = TILEWISE_OP_ADD,
        .dtype_b = TILEWISE_F32,
        .dtype_c = TILEWISE_F32,
        .dtype_d = TILEWISE_F32,
        .compute = TILEWISE_F32,
        .scale = TILEWISE_F32,
        .alpha = TILEWISE_SCALAR_OTHER,
        .beta = TILEWISE_SCALAR_ONE,
        .m = 3,
        .n = 1,
        .k = 1,
        .batch = 1,
        .ldb = 1,
        .ldc = 1,
    };
    cr_assert_eq(c->supports(c, &s), 1);
    float x[] = { 1, 2, 3 }, y[] = { 10, 20, 30 }, alpha = 2;
    struct tilewise_args args = { .b = x, .c = y, .alpha = &alpha };
    cr_assert_eq(c->run(c, &s, &args), 0);
    cr_assert(y[0] == 12 && y[1] == 24 && y[2] == 36);
    s.ldb = 2;
    cr_assert_eq(c->supports(c, &s), 0);
}

Test(candidates, wrong_abi_names_both_numbers)
{
    compile_text(PLUGIN("7", "sizeof one", "run", "table"));
    expect_refusal(ST_VERSION, "candidate ABI 7");
    cr_assert_not_null(strstr(fault.text, "has ABI 2"), "%s", fault.text);
}

Test(candidates, short_struct_names_both_sizes)
{
    compile_text(PLUGIN("TILEWISE_CANDIDATE_ABI", "8", "run", "table"));
    expect_refusal(ST_VERSION, "with 8 bytes");
}

Test(candidates, missing_run_is_named)
{
    compile_text(PLUGIN("TILEWISE_CANDIDATE_ABI", "sizeof one", "0", "table"));
    expect_refusal(ST_INVALID, "'one' lacks a required field");
}

Test(candidates, plugin_may_decline_the_abi)
{
    compile_text(PLUGIN("TILEWISE_CANDIDATE_ABI", "sizeof one", "run", "0"));
    expect_refusal(ST_VERSION, "does not serve candidate ABI 2");
}

Test(candidates, object_without_the_symbol)
{
    compile_text("int nothing;\n");
    expect_refusal(ST_INVALID, "does not export tilewise_candidates");
}

Test(candidates, relative_path_is_refused)
{
    cr_assert_eq(candidates_load(&all, "plugin.so", &fault), ST_INVALID);
    cr_assert_not_null(strstr(fault.text, "absolute path"), "%s", fault.text);
}

Test(candidates, missing_file)
{
    expect_refusal(ST_IO, "No such file");
}

Test(candidates, file_that_others_can_write_is_not_loaded)
{
    compile_text(PLUGIN("TILEWISE_CANDIDATE_ABI", "sizeof one", "run", "table"));
    cr_assert_eq(chmod(plugin, 0775), 0);
    expect_refusal(ST_INVALID, "can be written by others");
    cr_assert_eq(chmod(plugin, 0757), 0);
    expect_refusal(ST_INVALID, "can be written by others");
}

Test(candidates, text_file_is_no_plugin)
{
    FILE *file = fopen(plugin, "w");
    cr_assert_not_null(file);
    fputs("hello\n", file);
    fclose(file);
    chmod(plugin, 0755);
    expect_refusal(ST_IO, "does not load");
}

Test(candidates, a_device_is_no_plugin)
{
    cr_assert_eq(candidates_load(&all, "/dev/null", &fault), ST_INVALID);
    cr_assert_not_null(strstr(fault.text, "not a regular file"), "%s", fault.text);
}

Test(candidates, folder_without_manifests)
{
    cr_assert_eq(candidates_load(&all, directory, &fault), ST_INVALID);
    cr_assert_not_null(strstr(fault.text, "no manifest (*.yaml) in it"), "%s", fault.text);
}

Test(candidates, name_can_be_used_once)
{
    compile_text(PLUGIN("TILEWISE_CANDIDATE_ABI", "sizeof one", "run", "table"));
    cr_assert_eq(candidates_load(&all, plugin, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(candidates_load(&all, plugin, &fault), ST_INVALID);
    cr_assert_not_null(strstr(fault.text, "is taken by"), "%s", fault.text);
    cr_assert_eq(all.count, 1);
}

Test(candidates, builtin_ones_are_accepted_and_say_so)
{
    size_t count;
    const struct tilewise_candidate *const *table = builtin_candidates(&count);
    cr_assert_eq(candidates_add(&all, table, count, "built in", &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(all.count, count);
    cr_assert_str_eq(all.origin[0], "built in");
}

Test(candidates, table_with_a_null_row)
{
    const struct tilewise_candidate *const table[] = { NULL };
    cr_assert_eq(candidates_add(&all, table, 1, "x", &fault), ST_INVALID);
}
