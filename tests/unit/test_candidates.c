/* SPDX-License-Identifier: Apache-2.0
 *
 * Plug-ins are compiled here with the C compiler, as their authors do; the complete ones are those
 * of examples/.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <math.h>
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

/* A plug-in with one candidate whose designated fields come behind the right ones. */
static void compile_one(const char *fields, const char *answer)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "#include \"replayer/candidate.h\"\n"
        "#define SELF const struct tilewise_candidate *self, const struct tilewise_signature *s\n"
        "static int yes(SELF) { (void)self; (void)s; return 1; }\n"
        "static int run(SELF, const struct tilewise_args *a)\n"
        "{ (void)self; (void)s; (void)a; return 0; }\n"
        "#pragma GCC diagnostic ignored \"-Woverride-init\"\n"
        "static const struct tilewise_candidate one = { .abi = TILEWISE_CANDIDATE_ABI,\n"
        "    .bytes = sizeof one, .name = \"one\", .target = \"cpu\", .summary = \"s\",\n"
        "    .supports = yes, .run = run, %s };\n"
        "static const struct tilewise_candidate *const table[] = { &one };\n"
        "const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t "
        "*count);\n"
        "const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count)\n"
        "{ (void)abi; (void)table; *count = 1; %s }\n",
        fields, answer);
    compile_text(text);
}

static void compile_good(void)
{
    compile_one("", "return table;");
}

static void expect_refusal(enum status want, const char *text)
{
    enum status st = candidates_load(&all, plugin, &fault);
    cr_assert_eq(st, want, "status %d: %s", st, fault.text);
    cr_assert_not_null(strstr(fault.text, text), "%s", fault.text);
    cr_assert_eq(all.count, 0);
    candidates_close(&all); /* else the next file of that name is not looked at */
}

/* ---- what is loaded ---- */

static void load_example(const char *source)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/%s", TILEWISE_SOURCE, source);
    compile(path);
    cr_assert_eq(candidates_load(&all, plugin, &fault), ST_OK, "%s", fault.text);
}

Test(candidates, the_example_in_c_loads_and_computes)
{
    load_example("candidate_c/candidate.c");
    cr_assert_eq(all.count, 2);
    const struct tilewise_candidate *c = all.row[0];
    cr_assert_str_eq(c->name, "example_gemm_f32");
    cr_assert_str_eq(all.origin[0], plugin);
    struct tilewise_signature s = {
        .op = TILEWISE_OP_GEMM,
        .dtype_a = TILEWISE_F32,
        .dtype_b = TILEWISE_F32,
        .dtype_c = TILEWISE_F32,
        .dtype_d = TILEWISE_F32,
        .compute = TILEWISE_F32,
        .scale = TILEWISE_F32,
        .alpha = TILEWISE_SCALAR_OTHER,
        .beta = TILEWISE_SCALAR_ZERO,
        .m = 2,
        .n = 1,
        .k = 2,
        .batch = 1,
        .lda = 2,
        .ldb = 2,
        .ldc = 2,
    };
    cr_assert_eq(c->supports(c, &s), 1);
    cr_assert_eq(all.row[1]->supports(all.row[1], &s), 0, "that one is for f64");
    cr_assert_eq(c->scratch_bytes(c, &s, 1), 8);
    float a[] = { 1, 2, 3, 4 }, b[] = { 5, 6 }, y[] = { NAN, NAN }, line[2], alpha = 2, beta = 0;
    struct tilewise_args args = { .abi = TILEWISE_CANDIDATE_ABI,
                                  .bytes = sizeof args,
                                  .a = a,
                                  .b = b,
                                  .c = y,
                                  .alpha = &alpha,
                                  .beta = &beta,
                                  .scratch = line };
    cr_assert_eq(c->run(c, &s, &args), 0);
    cr_assert(y[0] == 46 && y[1] == 68);
    s.layout = TILEWISE_ROW_MAJOR, s.ldb = s.ldc = 1;
    cr_assert_eq(c->run(c, &s, &args), 0);
    cr_assert(y[0] == 34 && y[1] == 78);
    s.trans_a = TILEWISE_T;
    cr_assert_eq(c->supports(c, &s), 0);
    args.abi = 1;
    cr_assert_neq(c->run(c, &s, &args), 0, "another tilewise");
}

Test(candidates, a_longer_struct_is_of_a_later_tilewise_and_is_taken)
{
    compile_one(".bytes = sizeof one + 8", "return table;");
    cr_assert_eq(candidates_load(&all, plugin, &fault), ST_OK, "%s", fault.text);
}

/* ---- what is refused, and how it is explained ---- */

Test(candidates, wrong_abi_names_both_numbers)
{
    compile_one(".abi = 7", "return table;");
    expect_refusal(ST_VERSION, "candidate ABI 7");
    cr_assert_not_null(strstr(fault.text, "has ABI 2"), "%s", fault.text);
}

Test(candidates, short_struct_names_both_sizes)
{
    compile_one(".bytes = 8", "return table;");
    expect_refusal(ST_VERSION, "with 8 bytes");
}

Test(candidates, the_missing_field_is_named)
{
    static const char *const fields[] = { "name", "target", "summary", "supports", "run" };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char setting[64], text[96];
        snprintf(setting, sizeof setting, ".%s = 0", fields[i]);
        snprintf(text, sizeof text, "candidate '%s' lacks the required field '%s'",
                 i == 0 ? "?" : "one", fields[i]);
        compile_one(setting, "return table;");
        expect_refusal(ST_INVALID, text);
    }
}

Test(candidates, names_and_targets_are_checked)
{
    compile_one(".name = \"a,b\"", "return table;");
    expect_refusal(ST_INVALID, "the name 'a,b' is not 1 to 60 letters");
    compile_one(".name = \"\"", "return table;");
    expect_refusal(ST_INVALID, "the name '' is not 1 to 60 letters");
    compile_one(".target = \"gpu\"", "return table;");
    expect_refusal(ST_INVALID, "candidate 'one' has the target 'gpu': cpu or cuda");
}

Test(candidates, a_table_of_nothing)
{
    compile_one("", "*count = 0; return table;");
    expect_refusal(ST_INVALID, "offers no candidates");
    compile_one("", "static const struct tilewise_candidate *const none[1]; return none;");
    expect_refusal(ST_INVALID, "a row of its table is NULL");
}

Test(candidates, plugin_may_decline_the_abi)
{
    compile_one("", "return 0;");
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
    compile_good();
    cr_assert_eq(chmod(plugin, 0775), 0);
    expect_refusal(ST_INVALID, "can be written by others");
    cr_assert_eq(chmod(plugin, 0757), 0);
    expect_refusal(ST_INVALID, "can be written by others");
}

static void write_plugin(const char *text)
{
    FILE *file = fopen(plugin, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    chmod(plugin, 0755);
}

Test(candidates, text_file_is_no_plugin)
{
    write_plugin("hello\n");
    expect_refusal(ST_INVALID, "is no shared object: it has no ELF header");
    write_plugin("hello, this is a file that is longer than the header of an ELF file, in words\n");
    expect_refusal(ST_INVALID, "is no shared object: it has no ELF header");
    write_plugin("");
    expect_refusal(ST_INVALID, "is no shared object: it has no ELF header");
}

/* Put another number at a place of a good plug-in's header. */
static void patch(long at, char byte)
{
    compile_good();
    FILE *file = fopen(plugin, "r+");
    cr_assert_not_null(file);
    fseek(file, at, SEEK_SET);
    fputc(byte, file);
    fclose(file);
}

Test(candidates, another_processor_is_named)
{
    char text[80];
    patch(offsetof(Elf64_Ehdr, e_machine), (char)EM_RISCV);
    snprintf(text, sizeof text, "is built for another processor (ELF machine %d, 64 bits",
             EM_RISCV);
    expect_refusal(ST_INVALID, text);
    patch(EI_CLASS, ELFCLASS32);
    expect_refusal(ST_INVALID, "32 bits; here it is");
}

Test(candidates, an_object_file_is_no_plugin)
{
    char command[8192];
    compile_good();
    snprintf(command, sizeof command, "cc -c -I%s %s/plugin.c -o %s && chmod 755 %s",
             TILEWISE_SOURCE, directory, plugin, plugin);
    cr_assert_eq(system(command), 0);
    expect_refusal(ST_INVALID, "link it with -shared");
}

Test(candidates, a_missing_function_is_named_by_the_loader)
{
    compile_text("void nowhere(void);\nvoid (*it)(void) = nowhere;\n");
    expect_refusal(ST_IO, "undefined symbol: nowhere");
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
    compile_good();
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
