/* SPDX-License-Identifier: Apache-2.0
 *
 * Every gemm candidate of this processor against the reference.
 */
#include "kernel_case.h"

static const enum tilewise_dtype dtypes[] = { TILEWISE_F32, TILEWISE_F64 };

/* Call `body` for every candidate that does this signature, but for ref and null. */
static void for_each_kernel(const struct tilewise_signature *s,
                            void (*body)(const struct tilewise_candidate *kernel,
                                         const struct tilewise_signature *s))
{
    size_t count, done = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i + 2 < count; i++)
        if (kernel_is_here(all[i], s)) {
            body(all[i], s);
            done++;
        }
    cr_assert_gt(done, 0, "no candidate for this case");
}

static double alpha_now = 1, beta_now;
static uint32_t threads_now = 1;
static uint64_t seed_now = 1;

/* One reference for all candidates. */
static void check_all(const struct tilewise_signature *s)
{
    struct kernel_case k;
    size_t count, done = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    kernel_case_make(&k, s, alpha_now, beta_now, seed_now);
    for (size_t i = 0; i + 2 < count; i++)
        if (kernel_is_here(all[i], s)) {
            kernel_case_run(&k, all[i], threads_now);
            kernel_case_check(&k, all[i]->name);
            done++;
        }
    cr_assert_gt(done, 0, "no candidate for this case");
    kernel_case_free(&k);
}

/* All layouts and transposes of one size in both types. */
static void check_ways(int64_t m, int64_t n, int64_t k, int64_t pad)
{
    for (size_t d = 0; d < 2; d++)
        for (int way = 0; way < 8; way++) {
            struct tilewise_signature s = kernel_gemm(dtypes[d], m, n, k);
            s.layout = way & 1 ? TILEWISE_ROW_MAJOR : TILEWISE_COL_MAJOR;
            s.trans_a = way & 2 ? TILEWISE_T : TILEWISE_N;
            s.trans_b = way & 4 ? TILEWISE_T : TILEWISE_N;
            kernel_set_ld(&s, pad);
            seed_now += 2;
            check_all(&s);
        }
}

Test(gemm, every_size_up_to_17)
{
    for (int64_t m = 1; m <= 17; m += 2)
        for (int64_t n = 1; n <= 17; n += 3)
            for (int64_t k = 1; k <= 17; k += 4)
                check_ways(m, n, k, 0);
}

Test(gemm, register_tile_edges)
{
    static const int64_t edges[] = { 5, 7, 13, 14, 15, 29, 31, 32, 33, 47, 65 };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        check_ways(edges[i], 31, 9, 3);
        check_ways(33, edges[i], 9, 3);
        check_ways(34, 15, edges[i], 3);
    }
}

Test(gemm, thin_shapes)
{
    for (int64_t thin = 1; thin <= 5; thin++) {
        check_ways(thin, 70, 130, 1);
        check_ways(70, thin, 130, 1);
        check_ways(thin, thin, 300, 1);
        check_ways(1100, thin, 3, 0);
    }
}

Test(gemm, cache_block_edges_of_k)
{
    static const int64_t depths[] = { 255, 256, 257, 383, 384, 385, 767, 769 };
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++)
        check_ways(67, 43, depths[i], 1);
}

Test(gemm, cache_block_edges_of_m)
{
    static const int64_t rows[] = { 127, 129, 191, 193, 255, 257, 383, 384, 385, 769 };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_ways(rows[i], 53, 61, 1);
}

Test(gemm, cache_block_edges_of_n)
{
    static const int64_t columns[] = { 2047, 2049, 4100 };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        check_ways(19, columns[i], 33, 0);
}

Test(gemm, all_classes_of_alpha_and_beta)
{
    static const double values[] = { 0, 1, -1, 0.37 };
    for (int i = 0; i < 16; i++) {
        alpha_now = values[i % 4], beta_now = values[i / 4];
        check_ways(3, 37, 50, 2);
        check_ways(37, 21, 50, 2);
        check_ways(133, 101, 97, 2);
    }
}

Test(gemm, nothing_to_sum_scales_c)
{
    static const double betas[] = { 0, 1, 0.5 };
    for (int i = 0; i < 3; i++) {
        beta_now = betas[i];
        check_ways(7, 5, 0, 1);
        check_ways(70, 50, 0, 0);
    }
}

Test(gemm, empty_c_is_left_alone)
{
    beta_now = 0.5;
    check_ways(0, 5, 7, 1);
    check_ways(5, 0, 7, 1);
    check_ways(0, 0, 0, 0);
}

Test(gemm, random_shapes_with_threads)
{
    uint64_t seed = 2024;
    for (int i = 0; i < 24; i++) {
        int64_t m = 1 + random_below(&seed, 300), n = 1 + random_below(&seed, 300);
        int64_t k = 1 + random_below(&seed, 300);
        threads_now = 1 + (uint32_t)random_below(&seed, 4);
        alpha_now = i % 3 ? 1 : 0.7, beta_now = i % 2 ? 0 : -0.3;
        check_ways(m, n, k, random_below(&seed, 9));
    }
}

static void same_bits_with_threads(const struct tilewise_candidate *kernel,
                                   const struct tilewise_signature *s)
{
    struct kernel_case k;
    kernel_case_make(&k, s, 0.7, 0.3, 5);
    kernel_case_run(&k, kernel, 1);
    void *first = malloc(k.c.bytes);
    memcpy(first, k.c.data, k.c.bytes);
    for (uint32_t threads = 2; threads <= 4; threads++) {
        kernel_case_run(&k, kernel, threads);
        cr_assert_eq(memcmp(first, k.c.data, k.c.bytes), 0, "%s with %u threads", kernel->name,
                     threads);
    }
    free(first);
    kernel_case_free(&k);
}

Test(gemm, result_does_not_depend_on_threads)
{
    static const int64_t sizes[][3] = { { 200, 190, 400 }, { 600, 33, 300 },  { 3, 3000, 500 },
                                        { 3000, 2, 500 },  { 150, 150, 150 }, { 31, 2100, 50 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int way = 0; way < 4; way++) {
            struct tilewise_signature s =
                kernel_gemm(TILEWISE_F32, sizes[i][0], sizes[i][1], sizes[i][2]);
            s.trans_a = way & 1 ? TILEWISE_T : TILEWISE_N;
            s.trans_b = way & 2 ? TILEWISE_T : TILEWISE_N;
            kernel_set_ld(&s, 0);
            for_each_kernel(&s, same_bits_with_threads);
        }
}

static void same_bits_in_ten_runs(const struct tilewise_candidate *kernel,
                                  const struct tilewise_signature *s)
{
    struct kernel_case k;
    kernel_case_make(&k, s, 1, 0, 7);
    kernel_case_run(&k, kernel, 2);
    void *first = malloc(k.c.bytes);
    memcpy(first, k.c.data, k.c.bytes);
    for (int run = 0; run < 10; run++) {
        kernel_case_run(&k, kernel, 2);
        cr_assert_eq(memcmp(first, k.c.data, k.c.bytes), 0, "%s run %d", kernel->name, run);
    }
    free(first);
    kernel_case_free(&k);
}

Test(gemm, ten_runs_are_bitwise_equal)
{
    for (size_t d = 0; d < 2; d++) {
        struct tilewise_signature s = kernel_gemm(dtypes[d], 301, 299, 401);
        kernel_set_ld(&s, 3);
        for_each_kernel(&s, same_bits_in_ten_runs);
    }
}

/* Small integers have one exact answer in any order of summing. */
static void integers_are_exact(const struct tilewise_candidate *kernel,
                               const struct tilewise_signature *s)
{
    struct kernel_case k;
    kernel_case_make(&k, s, 1, 0, 3);
    for (int64_t i = 0; i < s->m * s->k; i++)
        ((float *)k.a.data)[i] = (float)(i % 17 - 8);
    for (int64_t i = 0; i < s->k * s->n; i++)
        ((float *)k.b.data)[i] = (float)(i % 13 - 6);
    cr_assert_eq(ref_compute(s, &k.args, k.want, k.magnitude), 0);
    kernel_case_run(&k, kernel, 1);
    for (int64_t i = 0; i < s->m * s->n; i++)
        cr_assert_eq((double)((float *)k.c.data)[i], k.want[i], "%s element %ld", kernel->name,
                     (long)i);
    kernel_case_free(&k);
}

Test(gemm, small_integers_are_exact)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 150, 141, 777);
    kernel_set_ld(&s, 0);
    for_each_kernel(&s, integers_are_exact);
}

/* One NaN in row i of A makes row i of C NaN and nothing else. */
static void nan_stays_in_its_row(const struct tilewise_candidate *kernel,
                                 const struct tilewise_signature *s)
{
    struct kernel_case k;
    kernel_case_make(&k, s, 1, 0.5, 3);
    ((float *)k.a.data)[s->m * (s->k / 2) + s->m - 1] = NAN;
    cr_assert_eq(ref_compute(s, &k.args, k.want, k.magnitude), 0);
    kernel_case_run(&k, kernel, 1);
    cr_assert(isnan(((float *)k.c.data)[s->m - 1]), "%s lost a NaN", kernel->name);
    kernel_case_check(&k, kernel->name);
    kernel_case_free(&k);
}

Test(gemm, nan_stays_in_its_row)
{
    static const int64_t sizes[][3] = { { 35, 29, 40 }, { 135, 129, 140 }, { 70, 3, 90 } };
    for (size_t i = 0; i < 3; i++) {
        struct tilewise_signature s =
            kernel_gemm(TILEWISE_F32, sizes[i][0], sizes[i][1], sizes[i][2]);
        kernel_set_ld(&s, 0);
        for_each_kernel(&s, nan_stays_in_its_row);
    }
}

static void infinity_is_kept(const struct tilewise_candidate *kernel,
                             const struct tilewise_signature *s)
{
    struct kernel_case k;
    kernel_case_make(&k, s, 1, 0, 3);
    ((float *)k.b.data)[0] = INFINITY;
    cr_assert_eq(ref_compute(s, &k.args, k.want, k.magnitude), 0);
    kernel_case_run(&k, kernel, 1);
    kernel_case_check(&k, kernel->name);
    kernel_case_free(&k);
}

Test(gemm, infinity_is_kept)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 45, 39, 50);
    kernel_set_ld(&s, 0);
    for_each_kernel(&s, infinity_is_kept);
}

Test(gemm, strided_batches)
{
    for (size_t d = 0; d < 2; d++) {
        struct tilewise_signature s = kernel_gemm(dtypes[d], 33, 18, 21);
        kernel_set_ld(&s, 2);
        s.batch_kind = TILEWISE_BATCH_STRIDED;
        s.batch = 3;
        s.stride_a = s.lda * s.k + 5, s.stride_b = s.ldb * s.n, s.stride_c = s.ldc * s.n + 7;
        s.stride_d = s.stride_c;
        beta_now = 0.25;
        check_all(&s);
    }
}

Test(gemm, one_operand_for_all_batches)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 20, 18, 21);
    kernel_set_ld(&s, 0);
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 4;
    s.stride_b = s.ldb * s.n, s.stride_c = s.stride_d = s.ldc * s.n;
    check_all(&s);
}

Test(gemm, supports_says_no)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i + 2 < count; i++) {
        struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 4, 4, 4);
        kernel_set_ld(&s, 0);
        s.uplo = TILEWISE_LOWER;
        cr_expect_eq(all[i]->supports(all[i], &s), 0, "%s and one triangle", all[i]->name);
        s.uplo = TILEWISE_FULL, s.batch_kind = TILEWISE_BATCH_POINTERS;
        cr_expect_eq(all[i]->supports(all[i], &s), 0, "%s and pointers", all[i]->name);
        s.batch_kind = TILEWISE_BATCH_NONE, s.dtype_b = TILEWISE_F64;
        cr_expect_eq(all[i]->supports(all[i], &s), 0, "%s and mixed types", all[i]->name);
        s.dtype_b = TILEWISE_F32, s.flags = TILEWISE_NOT_REPLAYABLE;
        cr_expect_eq(all[i]->supports(all[i], &s), 0, "%s and work not understood", all[i]->name);
    }
}

Test(gemm, names_are_unique_and_complete)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i < count; i++) {
        cr_expect_eq(all[i]->abi, TILEWISE_CANDIDATE_ABI);
        cr_expect_eq(all[i]->bytes, sizeof *all[i]);
        cr_expect(all[i]->summary && all[i]->summary[0] && all[i]->target);
        for (size_t j = 0; j < i; j++)
            cr_expect_str_neq(all[i]->name, all[j]->name);
    }
    cr_expect_str_eq(all[count - 2]->name, "ref");
    cr_expect_str_eq(all[count - 1]->name, "null");
}
