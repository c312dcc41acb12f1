/* SPDX-License-Identifier: Apache-2.0
 *
 * Every gemv candidate of this processor against the reference.
 */
#include "kernel_case.h"

static const enum tilewise_dtype dtypes[] = { TILEWISE_F32, TILEWISE_F64 };

static struct tilewise_signature gemv(enum tilewise_dtype dtype, int64_t m, int64_t n, int64_t pad)
{
    struct tilewise_signature s = kernel_gemm(dtype, m, n, 1);
    s.op = TILEWISE_OP_GEMV;
    kernel_set_ld(&s, pad);
    s.ldb = s.ldc = s.ldd = 1;
    return s;
}

static void check_all(const struct tilewise_signature *s, double alpha, double beta,
                      uint32_t threads)
{
    size_t count, done = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i + 2 < count; i++) {
        struct kernel_case k;
        if (!kernel_is_here(all[i], s))
            continue;
        kernel_case_make(&k, s, alpha, beta, 11 + i);
        kernel_case_run(&k, all[i], threads);
        kernel_case_check(&k, all[i]->name);
        kernel_case_free(&k);
        done++;
    }
    cr_assert_gt(done, 0);
}

/* Both types, layouts and transposes. */
static void check_ways(int64_t m, int64_t n, int64_t pad, double alpha, double beta)
{
    for (int way = 0; way < 8; way++) {
        struct tilewise_signature s = gemv(dtypes[way & 1], m, n, 0);
        s.layout = way & 2 ? TILEWISE_ROW_MAJOR : TILEWISE_COL_MAJOR;
        s.trans_a = way & 4 ? TILEWISE_T : TILEWISE_N;
        s.lda = (s.layout == TILEWISE_ROW_MAJOR ? n : m) + pad;
        check_all(&s, alpha, beta, 1);
    }
}

Test(gemv, small_sizes)
{
    for (int64_t m = 1; m <= 40; m += 3)
        for (int64_t n = 1; n <= 40; n += 5)
            check_ways(m, n, 2, 1, 0);
}

Test(gemv, edges_of_what_stays_in_cache)
{
    static const int64_t lengths[] = { 1023, 1024, 1025, 2047, 2051 };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        check_ways(lengths[i], 9, 1, 1, 1);
        check_ways(9, lengths[i], 1, 1, 1);
    }
}

Test(gemv, alpha_and_beta)
{
    static const double values[] = { 0, 1, -0.5 };
    for (int i = 0; i < 9; i++)
        check_ways(33, 21, 0, values[i % 3], values[i / 3]);
}

Test(gemv, all_increments)
{
    static const int64_t steps[] = { 1, -1, 2, -3 };
    for (int i = 0; i < 16; i++)
        for (int way = 0; way < 4; way++) {
            struct tilewise_signature s = gemv(dtypes[way & 1], 37, 29, 1);
            s.trans_a = way & 2 ? TILEWISE_T : TILEWISE_N;
            s.ldb = steps[i % 4];
            s.ldc = s.ldd = steps[i / 4];
            check_all(&s, 1.5, 0.5, 1);
        }
}

Test(gemv, threads)
{
    for (int way = 0; way < 4; way++) {
        struct tilewise_signature s = gemv(dtypes[way & 1], 2100, 1100, 0);
        s.trans_a = way & 2 ? TILEWISE_T : TILEWISE_N;
        check_all(&s, 1, 0, 3);
    }
}

Test(gemv, empty_sum_scales_y)
{
    struct tilewise_signature s = gemv(TILEWISE_F32, 5, 0, 0);
    check_all(&s, 1, 0.5, 1);
    check_all(&s, 1, 0, 1);
}

Test(gemv, y_with_increment_zero_is_refused)
{
    struct tilewise_signature s = gemv(TILEWISE_F32, 5, 5, 0);
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    s.ldc = s.ldd = 0;
    for (size_t i = 0; i + 2 < count; i++)
        cr_expect_eq(all[i]->supports(all[i], &s), 0, "%s", all[i]->name);
}
