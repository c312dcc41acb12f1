/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "analysis/shape.h"
#include "summary_fixture.h"

Test(shape, buckets_are_those_of_serving_engines)
{
    const int64_t sizes[][2] = { { 1, 1 },       { 2, 2 },
                                 { 3, 4 },       { 4, 4 },
                                 { 5, 8 },       { 8, 8 },
                                 { 9, 16 },      { 17, 24 },
                                 { 24, 24 },     { 25, 32 },
                                 { 1000, 1000 }, { 1001, 1008 },
                                 { 0, 0 },       { INT64_MAX, INT64_MAX } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        cr_assert_eq(shape_bucket(sizes[i][0]), sizes[i][1], "of %ld", (long)sizes[i][0]);
}

Test(shape, alignment_leading_dimensions_and_graphs_make_no_new_shape)
{
    struct fixture *f = fixture_new(1);
    const struct shape_rule raw = { .grain = SHAPE_RAW };
    struct tilewise_signature s = fixture_gemm(64, 32, 16);
    fixture_calls(f, 0, &s, 1, 1);
    s.align_a = 4;
    fixture_calls(f, 0, &s, 1, 1);
    s.lda = 99;
    fixture_calls(f, 0, &s, 1, 1);
    s.flags = TILEWISE_IN_GRAPH;
    fixture_calls(f, 0, &s, 1, 1);
    s.trans_b = TILEWISE_T;
    fixture_calls(f, 0, &s, 1, 1);
    uint32_t key[5];
    cr_assert_eq(shape_number(&f->s, fixture_all(f), 5, &raw, key), 2);
    for (int i = 1; i < 4; i++)
        cr_assert_eq(key[0], key[i]);
    cr_assert_neq(key[0], key[4]);
    const struct shape_rule as_called = { .grain = SHAPE_RAW, .as_called = true };
    cr_assert_eq(shape_number(&f->s, fixture_all(f), 5, &as_called, key),
                 4); /* all but alignment */
}

Test(shape, classes_by_size_and_depth)
{
    const struct {
        int64_t m, n, k;
        const char *name;
    } rows[] = {
        { 1, 384, 384, "vector" },        { 384, 1, 384, "vector" },
        { 2, 384, 384, "skinny" },        { 16, 384, 384, "skinny" },
        { 17, 384, 384, "small" },        { 127, 1536, 384, "small" },
        { 128, 384, 1536, "mid" },        { 511, 512, 512, "mid" },
        { 512, 512, 512, "large" },       { 100, 100, 64, "small short-k" },
        { 20, 20, 4096, "small deep-k" }, { 4096, 4096, 64, "large short-k" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tilewise_signature s = fixture_gemm(rows[i].m, rows[i].n, rows[i].k);
        cr_assert_str_eq(shape_class_name(&s), rows[i].name);
    }
    struct tilewise_signature s = fixture_gemm(100, 100, 100);
    s.batch = 12;
    cr_assert_str_eq(shape_class_name(&s), "batched small");
    s.op = TILEWISE_OP_ADD;
    cr_assert_str_eq(shape_class_name(&s), "matrix");
    s.n = 1;
    cr_assert_str_eq(shape_class_name(&s), "vector");
}
