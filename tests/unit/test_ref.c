/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>

#include "kernels/builtin.h"

/* A is 2 x 3, B is 3 x 2; A B = { 58 64; 139 154 }. Column-major unless a test says otherwise. */
static const float a_columns[] = { 1, 4, 2, 5, 3, 6 }, a_rows[] = { 1, 2, 3, 4, 5, 6 };
static const float b_columns[] = { 7, 9, 11, 8, 10, 12 }, b_rows[] = { 7, 8, 9, 10, 11, 12 };
static const double want[] = { 58, 139, 64, 154 };

static struct tilewise_signature gemm_2x2x3(void)
{
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .dtype_a = TILEWISE_F32,
        .dtype_b = TILEWISE_F32,
        .dtype_c = TILEWISE_F32,
        .dtype_d = TILEWISE_F32,
        .compute = TILEWISE_F32,
        .scale = TILEWISE_F32,
        .m = 2,
        .n = 2,
        .k = 3,
        .batch = 1,
        .lda = 2,
        .ldb = 3,
        .ldc = 2,
        .ldd = 2,
    };
}

static struct tilewise_args args_of(const void *a, const void *b, void *c, const float *scalars)
{
    return (struct tilewise_args){
        .abi = TILEWISE_CANDIDATE_ABI,
        .bytes = sizeof(struct tilewise_args),
        .a = a,
        .b = b,
        .c = c,
        .alpha = &scalars[0],
        .beta = &scalars[1],
        .threads = 1,
    };
}

static const float one_zero[] = { 1, 0 };

static void expect_product(const struct tilewise_signature *s, const float *a, const float *b)
{
    float c[4] = { NAN, NAN, NAN, NAN };
    double got[4], magnitude[4];
    struct tilewise_args args = args_of(a, b, c, one_zero);
    cr_assert_eq(ref_compute(s, &args, got, magnitude), 0);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(got[i], want[i]);
        cr_expect_eq(magnitude[i], want[i]);
    }
}

Test(ref, column_major)
{
    struct tilewise_signature s = gemm_2x2x3();
    expect_product(&s, a_columns, b_columns);
}

Test(ref, transposes_read_the_other_way)
{
    struct tilewise_signature s = gemm_2x2x3();
    s.trans_a = TILEWISE_T, s.trans_b = TILEWISE_C;
    s.lda = 3, s.ldb = 2;
    expect_product(&s, a_rows, b_rows);
}

Test(ref, conjugate_without_transpose_is_plain_for_real_types)
{
    struct tilewise_signature s = gemm_2x2x3();
    s.trans_a = TILEWISE_R;
    expect_product(&s, a_columns, b_columns);
}

Test(ref, row_major)
{
    struct tilewise_signature s = gemm_2x2x3();
    s.layout = TILEWISE_ROW_MAJOR;
    s.lda = 3, s.ldb = 2;
    expect_product(&s, a_rows, b_rows);
}

Test(ref, beta_zero_does_not_read_c_and_beta_one_does)
{
    struct tilewise_signature s = gemm_2x2x3();
    float c[4] = { NAN, 1, 2, 3 }, scalars[] = { 2, -1 };
    double got[4], magnitude[4];
    struct tilewise_args args = args_of(a_columns, b_columns, c, scalars);
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect(isnan(got[0]));
    cr_expect_eq(got[1], 2 * 139 - 1);
    cr_expect_eq(magnitude[1], 2 * 139 + 1);
    cr_expect_eq(got[3], 2 * 154 - 3);
}

Test(ref, alpha_zero_does_not_read_a)
{
    struct tilewise_signature s = gemm_2x2x3();
    float c[4] = { 1, 2, 3, 4 }, scalars[] = { 0, 2 }, nan[6] = { NAN, NAN, NAN, NAN, NAN, NAN };
    double got[4], magnitude[4];
    struct tilewise_args args = args_of(nan, nan, c, scalars);
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 2);
    cr_expect_eq(got[3], 8);
    cr_expect_eq(magnitude[3], 8);
}

/* A A^T = { 14 32; 32 77 }; syrk names A once. */
Test(ref, other_triangle_is_marked)
{
    struct tilewise_signature s = gemm_2x2x3();
    float c[4] = { 0 };
    double got[4], magnitude[4];
    struct tilewise_args args = args_of(a_columns, NULL, c, one_zero);
    s.ldb = 0;
    s.uplo = TILEWISE_LOWER;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(magnitude[2], -1);
    cr_expect_eq(got[1], 32);
    s.uplo = TILEWISE_UPPER;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(magnitude[1], -1);
    cr_expect_eq(got[2], 32);
    cr_expect_eq(got[3], 77);
}

Test(ref, candidate_leaves_the_other_triangle_alone)
{
    struct tilewise_signature s = gemm_2x2x3();
    float c[4] = { -1, -1, -1, -1 };
    struct tilewise_args args = args_of(a_columns, NULL, c, one_zero);
    s.uplo = TILEWISE_LOWER;
    cr_assert_eq(ref_candidate.supports(&ref_candidate, &s), 1);
    cr_assert_eq(ref_candidate.run(&ref_candidate, &s, &args), 0);
    cr_expect_eq(c[1], 32);
    cr_expect_eq(c[2], -1);
}

Test(ref, magnitude_sums_absolute_values)
{
    struct tilewise_signature s = gemm_2x2x3();
    float c[1] = { 0 }, a[] = { 1, -2, 3 }, b[] = { 4, 2, 1 };
    double got[1], magnitude[1];
    struct tilewise_args args = args_of(a, b, c, one_zero);
    s.m = s.n = s.lda = s.ldc = s.ldd = 1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 3);
    cr_expect_eq(magnitude[0], 11);
}

Test(ref, f64_sums_are_better_than_f64)
{
    struct tilewise_signature s = gemm_2x2x3();
    double a[] = { 1e16, 1, -1e16 }, b[] = { 1, 1, 1 }, c[1], alpha = 1, beta = 0;
    double got[1], magnitude[1];
    struct tilewise_args args = args_of(a, b, c, NULL);
    args.alpha = &alpha, args.beta = &beta;
    s.dtype_a = s.dtype_b = s.dtype_c = s.dtype_d = s.compute = s.scale = TILEWISE_F64;
    s.m = s.n = s.lda = s.ldc = s.ldd = 1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 1, "a plain f64 sum gives 0");
}

Test(ref, overflow_is_infinite_and_not_nan)
{
    struct tilewise_signature s = gemm_2x2x3();
    double a[] = { 1e308, 1e308, 1 }, b[] = { 10, 10, 1 }, c[1], alpha = 1, beta = 0;
    double got[1], magnitude[1];
    struct tilewise_args args = args_of(a, b, c, NULL);
    args.alpha = &alpha, args.beta = &beta;
    s.dtype_a = s.dtype_b = s.dtype_c = s.dtype_d = s.compute = s.scale = TILEWISE_F64;
    s.m = s.n = s.lda = s.ldc = s.ldd = 1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], INFINITY);
}

Test(ref, bf16_inputs_are_read)
{
    struct tilewise_signature s = gemm_2x2x3();
    uint16_t a[] = { 0x3f80, 0x4000, 0xc040 }, b[] = { 0x3f80, 0x3f80, 0x3f80 }; /* 1 2 -3, 1 1 1 */
    float c[1];
    double got[1], magnitude[1];
    struct tilewise_args args = args_of(a, b, c, one_zero);
    s.dtype_a = s.dtype_b = TILEWISE_BF16;
    s.m = s.n = s.lda = s.ldc = s.ldd = 1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 0);
    cr_expect_eq(magnitude[0], 6);
}

Test(ref, gemv_with_negative_increments)
{
    struct tilewise_signature s = gemm_2x2x3();
    float x[] = { 3, 0, 2, 0, 1 }, y[2] = { 0 }; /* x = 1 2 3, backwards, every other */
    double got[2], magnitude[2];
    struct tilewise_args args = args_of(a_columns, x, y, one_zero);
    s.op = TILEWISE_OP_GEMV;
    s.m = 2, s.n = 3, s.k = 1, s.ldb = -2, s.ldc = s.ldd = -1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 1 * 1 + 2 * 2 + 3 * 3);
    cr_expect_eq(got[1], 4 * 1 + 5 * 2 + 6 * 3);
}

Test(ref, gemv_transposed_has_n_results)
{
    struct tilewise_signature s = gemm_2x2x3();
    float x[] = { 1, 10 }, y[3] = { 0 };
    double got[3], magnitude[3];
    struct tilewise_args args = args_of(a_columns, x, y, one_zero);
    s.op = TILEWISE_OP_GEMV;
    s.trans_a = TILEWISE_T;
    s.m = 2, s.n = 3, s.k = 1, s.ldb = 1, s.ldc = s.ldd = 1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 41);
    cr_expect_eq(got[2], 63);
}

Test(ref, strided_batch_gives_one_matrix_after_another)
{
    struct tilewise_signature s = gemm_2x2x3();
    float a[2] = { 2, 3 }, b[2] = { 5, 7 }, c[2] = { 0 };
    double got[2], magnitude[2];
    struct tilewise_args args = args_of(a, b, c, one_zero);
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.m = s.n = s.k = s.lda = s.ldb = s.ldc = s.ldd = 1;
    s.batch = 2, s.stride_a = s.stride_b = s.stride_c = s.stride_d = 1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 10);
    cr_expect_eq(got[1], 21);
}

Test(ref, add_rounds_once)
{
    struct tilewise_signature s = gemm_2x2x3();
    float x[] = { 1 + 0x1p-12f }, y[] = { -1 }, scalars[] = { 1 + 0x1p-12f, 1 };
    double got[1], magnitude[1];
    struct tilewise_args args = args_of(NULL, x, y, scalars);
    s.op = TILEWISE_OP_ADD;
    s.m = s.n = s.k = 1, s.ldb = s.ldc = s.ldd = 1;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 0x1p-11 + 0x1p-24);
}

Test(ref, add_with_increment_zero_collects)
{
    struct tilewise_signature s = gemm_2x2x3();
    float x[] = { 1, 2, 3 }, y[] = { 10 };
    double got[3], magnitude[3];
    struct tilewise_args args = args_of(NULL, x, y, (float[]){ 2, 1 });
    s.op = TILEWISE_OP_ADD;
    s.m = 3, s.n = s.k = 1, s.ldb = 1, s.ldc = s.ldd = 0;
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_expect_eq(got[0], 22);
    cr_expect_eq(got[2], 22);
}

Test(ref, unknown_work_is_refused)
{
    double got[4], magnitude[4];
    struct tilewise_args args = args_of(a_columns, b_columns, NULL, one_zero);
    struct tilewise_signature s = gemm_2x2x3();
    s.dtype_a = TILEWISE_C64;
    cr_expect_eq(ref_compute(&s, &args, got, magnitude), -ENOTSUP);
    s = gemm_2x2x3();
    s.op = TILEWISE_OP_CONV;
    cr_expect_eq(ref_compute(&s, &args, got, magnitude), -ENOTSUP);
    s = gemm_2x2x3();
    s.batch_kind = TILEWISE_BATCH_POINTERS;
    cr_expect_eq(ref_compute(&s, &args, got, magnitude), -ENOTSUP);
    s = gemm_2x2x3();
    s.epilogue = 1;
    cr_expect_eq(ref_compute(&s, &args, got, magnitude), -ENOTSUP);
}

/* The two ways to compute it are different code: they must agree. */
Test(ref, candidate_agrees_over_block_edges)
{
    enum { M = 259, N = 66, K = 67 };
    static float a[M * K], b[K * N], c[M * N];
    static double got[M * N], magnitude[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 11 - 5);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 7 - 3);
    struct tilewise_signature s = gemm_2x2x3();
    s.m = M, s.n = N, s.k = K, s.lda = M, s.ldb = K, s.ldc = s.ldd = M;
    struct tilewise_args args = args_of(a, b, c, one_zero);
    cr_assert_eq(ref_candidate.supports(&ref_candidate, &s), 1);
    cr_assert_eq(ref_compute(&s, &args, got, magnitude), 0);
    cr_assert_eq(ref_candidate.run(&ref_candidate, &s, &args), 0);
    for (int i = 0; i < M * N; i++)
        cr_assert_eq(got[i], (double)c[i], "element %d", i);
}

Test(null, touches_nothing)
{
    struct tilewise_signature s = gemm_2x2x3();
    float c[4] = { 1, 2, 3, 4 };
    struct tilewise_args args = args_of(a_columns, b_columns, c, one_zero);
    cr_expect_eq(null_candidate.supports(&null_candidate, &s), 1);
    cr_expect_eq(null_candidate.run(&null_candidate, &s, &args), 0);
    cr_expect_eq(c[0], 1);
}
