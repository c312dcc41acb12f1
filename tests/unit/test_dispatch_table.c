/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables from files: what a report wrote is read back as it was meant, and nothing else is.
 */
#include "kernels/dispatch_table.h"

#include "report_fixture.h"

static const struct tilewise_candidate fast = { .name = "gemm_f32_avx2" },
                                       portable = { .name = "gemm_f32_portable" };
static const struct tilewise_candidate *const kernel_rows[] = { &fast, &portable };
static const struct dispatch_kernels kernels = { kernel_rows, 2 };
static struct dispatch_table *table;
static struct fault fault;

static enum status read_table(const char *text)
{
    dispatch_table_free(table);
    return dispatch_table_read_text(&table, "d.yaml", text, strlen(text), &kernels, &fault);
}

static void done(void)
{
    dispatch_table_free(table);
    analysis_free(analysis);
}

static const char *choice(const struct tilewise_signature *s)
{
    const struct tilewise_candidate *kernel = dispatch_table_find(table, s);
    return kernel ? kernel->name : "library";
}

#define SHAPE "op: gemm, dtype: f32, layout: row, trans: NN, m: 16, n: 384, k: 1536, batch: 1, "
#define LD    "ld: { a: 1536, b: 384, c: 384 }"

static void refuse(const char *text, const char *message)
{
    cr_assert_eq(read_table(text), ST_INVALID, "accepted: %s", text);
    cr_assert_null(table);
    cr_assert_str_eq(fault.text, message);
}

/* The first and the third shape of the gemm win with different kernels, the second loses. */
Test(dispatch_table, what_a_report_chose_is_chosen, .init = setup_replay, .fini = done)
{
    candidates[0].name = "gemm_f32_avx2";
    candidates[1].name = "gemm_f32_avx2";
    candidates[2].name = "gemm_f32_portable";
    candidates[1].best_lo = 0.99;
    analyse();
    cr_assert_eq(read_table(print(DISPATCH)), ST_OK, "%s", fault.text);
    static const char *const want[] = { "gemm_f32_avx2", "library", "gemm_f32_portable",
                                        "library" };
    for (size_t i = 0; i < 4; i++) {
        struct tilewise_signature s = trace->s.signatures[i].signature;
        s.align_a = 4, s.beta = TILEWISE_SCALAR_OTHER, s.entry = 77; /* not looked up */
        cr_expect_str_eq(choice(&s), want[i], "shape %zu: %s", i, choice(&s));
    }
}

Test(dispatch_table, another_shape_is_not_in_it, .fini = done)
{
    struct tilewise_signature s = fixture_gemm(16, 384, 1536), other[9];
    cr_assert_eq(read_table("kernels:\n- {" SHAPE LD ", kernel: gemm_f32_avx2}\n"), ST_OK, "%s",
                 fault.text);
    cr_expect_str_eq(choice(&s), "gemm_f32_avx2");
    for (int i = 0; i < 9; i++)
        other[i] = s;
    other[0].op = TILEWISE_OP_GEMV;
    other[1].dtype_c = TILEWISE_F64;
    other[2].layout = TILEWISE_COL_MAJOR;
    other[3].trans_b = TILEWISE_T;
    other[4].m = 17;
    other[5].n = -384;
    other[6].k = 0;
    other[7].batch = 2;
    other[8].lda = 1537;
    for (int i = 0; i < 9; i++)
        cr_expect_str_eq(choice(&other[i]), "library", "%d", i);
}

Test(dispatch_table, where_rows_of_one_call_disagree_it_stays, .fini = done)
{
    struct tilewise_signature s = fixture_gemm(16, 384, 1536);
    cr_assert_eq(read_table("stays:\n- {" SHAPE LD ", entry: sgemm_, why: slower}\n"
                            "kernels:\n- {" SHAPE LD ", kernel: gemm_f32_avx2}\n"),
                 ST_OK, "%s", fault.text);
    cr_expect_str_eq(choice(&s), "library");
    cr_assert_eq(read_table("kernels:\n- {" SHAPE LD ", kernel: gemm_f32_portable}\n"
                            "- {" SHAPE LD ", kernel: gemm_f32_avx2}\n"),
                 ST_OK, "%s", fault.text);
    cr_expect_str_eq(choice(&s), "gemm_f32_portable");
}

Test(dispatch_table, an_empty_table_leaves_everything, .fini = done)
{
    struct tilewise_signature s = fixture_gemm(16, 384, 1536);
    cr_assert_eq(read_table("kernels: []\n"), ST_OK, "%s", fault.text);
    cr_expect_str_eq(choice(&s), "library");
}

Test(dispatch_table, thousands_of_rows_are_found, .fini = done)
{
    struct text *text = new_text();
    FILE *out = open_memstream(&text->at, &text->bytes);
    fputs("kernels:\n", out);
    for (int i = 1; i <= 5000; i++)
        fprintf(out,
                "- {op: gemm, dtype: f32, layout: row, trans: NN, m: %d, n: 384, k: 64, batch: 1,"
                " ld: {a: 64, b: 384, c: 384}, kernel: %s}\n",
                i, i % 2 ? "gemm_f32_avx2" : "gemm_f32_portable");
    fclose(out);
    cr_assert_eq(read_table(text->at), ST_OK, "%s", fault.text);
    for (int i = 1; i <= 5000; i++) {
        struct tilewise_signature s = fixture_gemm(i, 384, 64);
        cr_assert_str_eq(choice(&s), i % 2 ? "gemm_f32_avx2" : "gemm_f32_portable");
    }
    struct tilewise_signature s = fixture_gemm(5001, 384, 64);
    cr_assert_str_eq(choice(&s), "library");
}

Test(dispatch_table, a_mistake_is_named_with_its_place, .fini = done)
{
    refuse(
        "kernels:\n- {" SHAPE LD ", kernel: gemm_f32_avx3}\n",
        "d.yaml:2:125: kernel 'gemm_f32_avx3' is not one of the kernels that these calls can run "
        "(did you mean 'gemm_f32_avx2'?)");
    refuse("kernels:\n- {" SHAPE LD ", kernel: cutile}\n",
           "d.yaml:2:125: kernel 'cutile' is not one of the kernels that these calls can run");
    refuse("kernels:\n- {" SHAPE LD "}\n", "d.yaml:2:3: key 'kernel' is missing");
    refuse("kernels:\n- {" SHAPE "kernel: gemm_f32_avx2}\n", "d.yaml:2:3: key 'ld' is missing");
    refuse("kernels:\n- {op: gem}\n",
           "d.yaml:2:8: op expects one of other|gemm|gemv|add|conv|attention|collective, not 'gem' "
           "(did you mean 'gemm'?)");
    refuse("kernels:\n- {m: 16.5}\n", "d.yaml:2:7: m expects a whole number, not '16.5'");
    refuse("kernels:\n- {m: 99999999999999999999}\n",
           "d.yaml:2:7: m expects a whole number, not '99999999999999999999'");
    refuse("kernels:\n- {m: }\n", "d.yaml:2:7: m expects a whole number, not ''");
    refuse("kernels:\n- {m: -}\n", "d.yaml:2:7: m expects a whole number, not '-'");
    refuse("kernels:\n- {trans: NX}\n",
           "d.yaml:2:11: trans expects two of N, T, C and R, not 'NX'");
    refuse("kernels:\n- {trans: NNN}\n",
           "d.yaml:2:11: trans expects two of N, T, C and R, not 'NNN'");
    refuse("kernels:\n- {trans: N}\n", "d.yaml:2:11: trans expects two of N, T, C and R, not 'N'");
    refuse("kernel:\n", "d.yaml:1:1: unknown key 'kernel' (did you mean 'kernels'?)");
    refuse("kernels: {}\n", "d.yaml:1:10: kernels expects a list, not a map");
    refuse("", "d.yaml:1:1: key 'kernels' is missing");
    refuse("kernels: [\n", "d.yaml:2:1: did not find expected node content");
    refuse("kernels: *all\n", "d.yaml:1:10: aliases are not supported: write the value out");
}

Test(dispatch_table, a_long_file_is_refused, .fini = done)
{
    size_t bytes = (8 << 20) + 1;
    char *text = malloc(bytes);
    memset(text, '#', bytes);
    cr_assert_eq(dispatch_table_read_text(&table, "d.yaml", text, bytes, &kernels, &fault),
                 ST_LIMIT);
    cr_assert_str_eq(fault.text, "d.yaml: longer than 8192 KiB");
    free(text);
    cr_assert_eq(dispatch_table_read(&table, "/nowhere/d.yaml", &kernels, &fault), ST_IO);
    cr_assert_str_eq(fault.text, "/nowhere/d.yaml: No such file or directory");
}
