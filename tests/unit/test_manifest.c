/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cubin_fixture.h"

TestSuite(manifest, .init = cubin_set_up, .fini = cubin_tear_down);

#define CUBIN  "fake cubin sm_90\nkernel f PPPiii nothing\n"
#define HEAD   "  - name: one\n    summary: s\n    op: gemm\n"
#define TYPES  "    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [NN]\n"
#define LAUNCH "    launches:\n      - { module: k, entry: f, grid: [m], args: [] }\n"

/* The text between `format` and the end, refused with the message behind FILE:. */
static void refuse_text(const char *text, const char *message)
{
    struct manifest *m = NULL;
    char want[1024];
    cubin_write("m.yaml", text);
    enum status st = manifest_read(&m, cubin_path, &cubin_fault);
    cr_assert_eq(st, ST_INVALID, "%d for\n%s", st, text);
    snprintf(want, sizeof want, "%s:%s", cubin_path, message);
    cr_expect_str_eq(cubin_fault.text, want);
}

/* The same for the list of candidates: lines count from 8 on. */
static void refuse(const char *candidates, const char *message)
{
    char text[8192];
    snprintf(text, sizeof text,
             "format: 1\nmodules:\n  - name: k\n    source: k.py\n    cubins:\n%scandidates:\n%s",
             cubin_row("sm_90", "k.cubin", CUBIN), candidates);
    refuse_text(text, message);
}

static void refuse_modules(const char *modules, const char *message)
{
    char text[8192];
    snprintf(text, sizeof text, "format: 1\nmodules:\n%scandidates:\n" HEAD TYPES LAUNCH, modules);
    refuse_text(text, message);
}

/* ---- what is read ---- */

Test(manifest, everything_is_read)
{
    cubin_manifest(CUBIN, "  - name: first\n"
                          "    summary: the first one\n"
                          "    op: gemm\n"
                          "    types: { a: bf16, b: f16, c: f32, compute: [f32, tf32] }\n"
                          "    trans: [NN, TN]\n"
                          "    batch: strided\n"
                          "    alpha: any\n"
                          "    beta: zero-or-one\n"
                          "    when: [k % 8 == 0, \"!(m % 2)\"]\n"
                          "    deterministic: false\n"
                          "    scratch: m * n * 4\n"
                          "    launches:\n"
                          "      - module: k\n"
                          "        entry: f\n"
                          "        grid: [\"ceil_div(m, 16)\", n]\n"
                          "        block: [32, 4, 2]\n"
                          "        cluster: [2]\n"
                          "        shared: 65536\n"
                          "        clear_scratch: 16\n"
                          "        args:\n"
                          "          - { ptr: scratch, offset: 4 * m }\n"
                          "          - ptr: null\n"
                          "          - i32: m\n"
                          "          - f32: alpha\n"
                          "          - f64: beta\n"
                          "          - f32: -1.5e3\n"
                          "          - u64: batch\n"
                          "      - { module: k, entry: g, grid: [1], args: [ { ptr: c } ] }\n"
                          "  - name: second.one+\n"
                          "    summary: y += x\n"
                          "    op: add\n"
                          "    types: { b: f64, c: f64 }\n"
                          "    launches: [ { module: k, entry: f, grid: [m], args: [] } ]\n"
                          "  - { name: third, summary: s, op: gemv, trans: [T],\n"
                          "      types: { a: f32, b: f32, c: f32, compute: [f32] },\n"
                          "      launches: [ { module: k, entry: f, grid: [m], args: [] } ] }\n");
    struct manifest *m = cubin_read();
    cr_assert(m->nmodules == 1 && m->ncandidates == 3);
    cr_expect_str_eq(m->modules[0]->compilers, "fake 1.0, other 2");
    const struct cubin_candidate *c = m->candidates[0];
    cr_expect_str_eq(c->row.name, "first");
    cr_expect_str_eq(c->row.summary, "the first one");
    cr_expect_str_eq(c->row.target, "cuda");
    cr_expect_eq(c->row.flags, TILEWISE_CANDIDATE_VARIES);
    cr_expect_eq(m->rows[0], &c->row);
    cr_expect_eq(cubin_of(m->rows[0]), c);
    cr_expect(c->op == TILEWISE_OP_GEMM && c->type_a == TILEWISE_BF16);
    cr_expect(c->type_b == TILEWISE_F16 && c->type_c == TILEWISE_F32);
    cr_expect_eq(c->computes, 1u << TILEWISE_F32 | 1u << TILEWISE_TF32);
    cr_expect_eq(c->transposes, 1 << 0 | 1 << 2);
    cr_expect(c->takes_batches && c->alpha == CUBIN_ALPHA_ANY && c->beta == CUBIN_BETA_ZERO_OR_ONE);
    cr_expect_eq(c->nwhen, 2);
    cr_assert_eq(c->nlaunches, 2);
    const struct cubin_launch *l = &c->launches[0];
    cr_expect(l->is_clustered && l->nargs == 7);
    cr_expect_str_eq(l->entry, "f");
    cr_expect(l->args[0].type == CUBIN_PTR && l->args[0].source == CUBIN_FROM_SCRATCH);
    cr_expect(l->args[1].source == CUBIN_FROM_NULL && l->args[2].type == CUBIN_I32);
    cr_expect(l->args[3].type == CUBIN_F32 && l->args[3].source == CUBIN_FROM_ALPHA);
    cr_expect(l->args[4].type == CUBIN_F64 && l->args[4].source == CUBIN_FROM_BETA);
    cr_expect(l->args[5].source == CUBIN_FROM_NUMBER && l->args[5].number == -1500);
    cr_expect(!c->launches[1].is_clustered && c->launches[1].args[0].source == CUBIN_FROM_C);
    cr_expect_eq(m->candidates[1]->row.flags, 0);
    cr_expect(m->candidates[1]->alpha == CUBIN_ALPHA_ONE &&
              m->candidates[1]->op == TILEWISE_OP_ADD);
    cr_expect_eq(m->candidates[2]->transposes, 1 << 2);
    manifest_free(m);
}

Test(manifest, architectures)
{
    char text[4096];
    struct manifest *m;
    snprintf(text, sizeof text, "format: 1\nmodules:\n  - name: k\n    cubins:\n%s",
             cubin_row("sm_80", "a.cubin", "80"));
    strcat(text, cubin_row("sm_90", "b.cubin", "90"));
    strcat(text, cubin_row("sm_90a", "c.cubin", "90a"));
    strcat(text, cubin_row("sm_86", "d.cubin", "86"));
    strcat(text, cubin_row("sm_100f", "e.cubin", "100f"));
    strcat(text, "candidates:\n" HEAD TYPES LAUNCH);
    cubin_write("m.yaml", text);
    m = cubin_read();
    static const struct {
        unsigned arch;
        const char *file;
    } rows[] = { { 80, "a.cubin" },  { 87, "d.cubin" }, { 86, "d.cubin" },
                 { 89, "d.cubin" },  { 90, "c.cubin" }, { 75, NULL },
                 { 103, "e.cubin" }, { 110, NULL },     { 120, NULL } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cubin_binary *b = cubin_choose(m->modules[0], rows[i].arch);
        if (rows[i].file == NULL)
            cr_expect_null(b, "sm_%u has %s", rows[i].arch, b->path);
        else
            cr_expect(b && strstr(b->path, rows[i].file), "sm_%u", rows[i].arch);
    }
    manifest_free(m);
}

Test(manifest, files_are_found_beside_it)
{
    char command[160];
    snprintf(command, sizeof command, "mkdir %s/sub", cubin_folder);
    cr_assert_eq(system(command), 0);
    char text[2048];
    snprintf(text, sizeof text, "format: 1\nmodules:\n  - name: k\n    cubins:\n%scandidates:\n%s",
             cubin_row("sm_90", "sub/k.cubin", CUBIN), HEAD TYPES LAUNCH);
    cubin_write("m.yaml", text);
    cr_assert_eq(chdir(cubin_folder), 0);
    struct manifest *m = NULL;
    cr_assert_eq(manifest_read(&m, "m.yaml", &cubin_fault), ST_OK, "%s", cubin_fault.text);
    cr_expect_str_eq(m->modules[0]->binaries[0].path, "sub/k.cubin");
    manifest_free(m);
}

/* Nothing of one reading is left for the next. */
Test(manifest, a_second_one_begins_anew)
{
    refuse(HEAD "    when: [m > 1, n > 1]\n" TYPES, "8:5: key 'launches' is missing");
    cubin_manifest(CUBIN, HEAD TYPES LAUNCH);
    struct manifest *m = cubin_read(), *other = cubin_read();
    cr_expect(m->candidates[0]->nwhen == 0 && m->candidates[0]->nlaunches == 1);
    cr_expect(other->candidates[0]->nlaunches == 1 && other->ncandidates == 1);
    manifest_free(m);
    cr_expect_str_eq(other->modules[0]->name, "k");
    manifest_free(other);
    manifest_free(NULL);
}

/* ---- what is refused ---- */

Test(manifest, a_typing_error_names_the_place_and_the_nearest_key)
{
    refuse(HEAD TYPES "    lanches: []\n",
           "13:5: unknown key 'lanches' (did you mean 'launches'?)");
    refuse("  - name: one\n    summary: s\n    op: gem\n",
           "10:9: op expects one of gemm|gemv|add, not 'gem' (did you mean 'gemm'?)");
    refuse(HEAD "    types: { a: fp16 }\n",
           "11:17: a expects an element type like f16, not 'fp16' (did you mean 'f16'?)");
    refuse(HEAD TYPES "    launches: [ { modul: k } ]\n",
           "13:19: unknown key 'modul' (did you mean 'module'?)");
    refuse(HEAD TYPES "    launches: [ { module: kk } ]\n",
           "13:27: module expects the name of a module above, not 'kk' (did you mean 'k'?)");
    refuse(HEAD TYPES
           "    launches: [ { module: k, entry: f, grid: [m], args: [ { i23: m } ] } ]\n",
           "13:61: unknown key 'i23' (did you mean 'i32'?)");
}

Test(manifest, an_expression_is_refused_at_its_byte)
{
    refuse(HEAD TYPES "    when: [ m % 8 = 0 ]\n",
           "13:19: when is not an expression: expected an operator or the end");
    refuse(HEAD TYPES "    when: [ \"m + arch\" ]\n",
           "13:18: when is not an expression: unknown name 'arch' here; known: ceil_div(), min(), "
           "max(), m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c, align_a, align_b, "
           "align_c, incx, incy");
    refuse(HEAD TYPES "    launches: [ { module: k, entry: f, grid: [m, ceil_div(n)] } ]\n",
           "13:60: grid is not an expression: expected ',': the function takes two values");
    refuse(HEAD TYPES "    scratch: 4 * \n",
           "13:17: scratch is not an expression: the expression is "
           "not finished");
    refuse(
        HEAD TYPES "    launches: [ { module: k, entry: f, grid: [m], args: [ { i32: x } ] } ]\n",
        "13:66: i32 is not an expression: unknown name 'x' here; known: ceil_div(), min(), max(), "
        "m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c, align_a, align_b, align_c, "
        "arch, sm_count, incx, incy");
}

Test(manifest, arguments_have_one_type_and_a_known_source)
{
#define ARGS(text)                                                                                 \
    HEAD TYPES "    launches: [ { module: k, entry: f, grid: [m], args: [ " text " ] } ]\n"
    static const char one_type[] = "13:59: an argument has exactly one type, like { i32: m }";
    refuse(ARGS("{ i32: m, i64: m }"), one_type);
    refuse(ARGS("{ offset: 4 }"), one_type);
    refuse(ARGS("{}"), one_type);
    refuse(ARGS("{ i32: m, offset: 4 }"), "13:59: only a pointer has an offset");
    refuse(ARGS("{ ptr: d }"), "13:66: ptr expects a, b, c, scratch or null, not 'd'");
    refuse(ARGS("{ f32: m }"), "13:66: f32 expects alpha, beta or a number, not 'm'");
    refuse(ARGS("m"), "13:59: args expects a list of maps");
#undef ARGS
}

Test(manifest, an_op_has_what_belongs_to_it)
{
#define ADD  "  - name: one\n    summary: s\n    op: add\n"
#define GEMV "  - name: one\n    summary: s\n    op: gemv\n"
#define ADD_ARGS(text)                                                                             \
    ADD "    types: { b: f32, c: f32 }\n"                                                          \
        "    launches: [ { module: k, entry: f, grid: [m], args: [ " text " ] } ]\n"
    static const char add[] = "8:5: an add has no types a and compute, no trans and no beta";
    refuse(ADD TYPES LAUNCH, add);
    refuse(ADD "    types: { b: f32, c: f32 }\n    beta: one\n" LAUNCH, add);
    refuse(ADD "    types: { b: f32, c: f32 }\n    trans: [N]\n" LAUNCH, add);
    refuse(ADD_ARGS("{ ptr: a }"), "8:5: an add has no a and no beta: x is b and y is c");
    refuse(ADD_ARGS("{ f32: beta }"), "8:5: an add has no a and no beta: x is b and y is c");
    refuse(HEAD "    types: { b: f32, c: f32 }\n" LAUNCH,
           "8:5: types a and compute, or trans, are missing");
    refuse(HEAD "    types: { a: f32, b: f32, c: f32, compute: [f32] }\n" LAUNCH,
           "8:5: types a and compute, or trans, are missing");
    refuse(GEMV TYPES LAUNCH, "8:5: trans of a gemm has two letters, of a gemv one");
    refuse(HEAD "    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [T]\n" LAUNCH,
           "8:5: trans of a gemm has two letters, of a gemv one");
    refuse(HEAD "    types: { a: c64 }\n",
           "11:17: a expects a real type of whole bytes, not 'c64'");
    refuse(HEAD "    types: { a: e2m1 }\n",
           "11:17: a expects a real type of whole bytes, not 'e2m1'");
    refuse(HEAD "    types: { a: tf32, b: f32, c: f32, compute: [tf32] }\n    trans: [NN]\n" LAUNCH,
           "8:5: tf32 is a type to compute in: operands are f32");
    refuse(HEAD TYPES "    trans: [NX]\n", "13:5: key 'trans' is given twice");
    refuse(HEAD "    trans: [NX]\n",
           "11:13: trans expects NN, NT, TN or TT (gemv: N or T), not 'NX'");
}

Test(manifest, names_are_checked)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s", HEAD TYPES LAUNCH, HEAD TYPES LAUNCH);
    refuse(text, "15:5: the name 'one' is taken above");
    refuse("  - name: a b\n    summary: s\n    op: gemm\n" TYPES LAUNCH,
           "8:5: the name 'a b' is not 1 to 60 letters, digits, '_', '-', '.', '+'");
    refuse("  - name: ''\n    summary: s\n    op: gemm\n" TYPES LAUNCH,
           "8:5: the name '' is not 1 to 60 letters, digits, '_', '-', '.', '+'");
}

Test(manifest, lists_are_limited)
{
    char text[8192] = HEAD TYPES "    when:\n";
    for (int i = 0; i < 33; i++)
        strcat(text, "      - m > 1\n");
    refuse(text, "46:9: when has more than 32 conditions");
    strcpy(text, HEAD TYPES "    launches:\n");
    for (int i = 0; i < 5; i++)
        strcat(text, "      - { module: k, entry: f, grid: [m], args: [] }\n");
    refuse(text, "18:9: more than 4 launches");
    strcpy(text,
           HEAD TYPES "    launches:\n      - module: k\n        entry: f\n        grid: [1]\n"
                      "        args:\n");
    for (int i = 0; i < 65; i++)
        strcat(text, "          - i32: m\n");
    refuse(text, "82:13: more than 64 arguments");
    refuse(HEAD TYPES "    launches: [ { module: k, entry: f, grid: [1, 1, 1, 1], args: [] } ]\n",
           "13:56: grid has more than 3 axes");
    refuse(HEAD TYPES "    launches: [ { module: k, entry: f, grid: [], args: [] } ]\n",
           "13:17: its grid has no axis");
    refuse(HEAD TYPES "    launches: []\n", "8:5: it has no launches");
}

Test(manifest, modules_are_checked)
{
    char row[256], text[1024];
    strcpy(row, cubin_row("sm_90", "k.cubin", CUBIN));
    refuse_modules("  - name: k\n", "3:5: key 'cubins' is missing");
    refuse_modules("  - { name: k, cubins: [] }\n", "3:5: it has no cubins");
    refuse_modules("  - { name: k, cubins: [ { arch: 90 } ] }\n",
                   "3:34: arch expects an architecture like sm_90, not '90'");
    refuse_modules("  - { name: k, cubins: [ { arch: sm_90x } ] }\n",
                   "3:34: arch expects an architecture like sm_90, not 'sm_90x'");
    refuse_modules("  - { name: k, cubins: [ { arch: sm_90, file: k.cubin, sha256: 12G } ] }\n",
                   "3:66: sha256 expects 64 small hexadecimal digits");
    snprintf(text, sizeof text, "  - name: k\n    cubins:\n%s%s", row, row);
    refuse_modules(text, "6:9: there is a cubin for this architecture above");
    snprintf(text, sizeof text, "  - name: k\n    cubins:\n%s  - name: k\n    cubins:\n%s", row,
             row);
    refuse_modules(text, "6:5: the name 'k' is taken above");
}

Test(manifest, files_must_be_what_it_was_written_for)
{
    char text[1024], message[512];
    const char *digits = cubin_sha256("other");
    static const char *const outside[] = { "../k.cubin", "/etc/passwd", "sub/../../k", "a//b", "" };
    cubin_write("k.cubin", CUBIN);
    snprintf(text, sizeof text,
             "  - { name: k, cubins: [ { arch: sm_90, file: k.cubin, sha256: %s } ] }\n", digits);
    snprintf(message, sizeof message,
             "3:26: %s/k.cubin is not the file that the manifest was written for (sha256)",
             cubin_folder);
    refuse_modules(text, message);
    snprintf(text, sizeof text,
             "  - { name: k, cubins: [ { arch: sm_90, file: no.cubin, sha256: %s } ] }\n", digits);
    snprintf(message, sizeof message, "3:26: %s/no.cubin: No such file or directory", cubin_folder);
    refuse_modules(text, message);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        snprintf(text, sizeof text,
                 "  - { name: k, cubins: [ { arch: sm_90, file: '%s', sha256: %s } ] }\n",
                 outside[i], digits);
        snprintf(message, sizeof message, "3:26: '%s' is not inside the manifest's folder",
                 outside[i]);
        refuse_modules(text, message);
    }
}

Test(manifest, the_file_as_a_whole)
{
    struct manifest *m = NULL;
    refuse_text("", "1:1: key 'format' is missing");
    refuse_text("format: 2\n", "1:9: format expects a whole number from 1 to 1, not '2'");
    refuse_text("format: 1\nmodules: []\ncandidates: []\n", "1:1: it offers no candidates");
    refuse_text("format: 1\ncandidates:\n" HEAD TYPES LAUNCH,
                "9:19: module expects the name of a module above, not 'k'");
    refuse_text("- 1\n", "1:1: expected a map of keys and values");
    cr_assert_eq(manifest_read(&m, "/nonexistent/m.yaml", &cubin_fault), ST_IO);
    cr_expect_str_eq(cubin_fault.text, "/nonexistent/m.yaml: No such file or directory");
}
