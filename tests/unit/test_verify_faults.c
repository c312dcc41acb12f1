/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that are wrong in one way each, as they have been seen in the wild, must not pass.
 */
#include <float.h>

#include "verify_fixture.h"

static void expect_failure(const struct tilewise_signature *s, kernel *run, const char *reason)
{
    struct verify_report report = verify(s, run);
    cr_assert_eq(report.status, RESULT_FAILED, "status %d: %s", report.status, report.reason);
    cr_assert_not_null(strstr(report.reason, reason), "reason: %s", report.reason);
}

Test(verify, does_nothing)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, does_nothing, "never written");
}

Test(verify, does_nothing_when_c_is_read)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.beta = TILEWISE_SCALAR_ONE;
    expect_failure(&s, does_nothing, "should be");
}

static int misses_last_column(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    struct tilewise_signature less = *s;
    less.n--;
    return right(&less, args);
}

Test(verify, edge_tile_left_out)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 16, 17, 8);
    expect_failure(&s, misses_last_column, "never written");
}

static int drops_last_k(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    struct tilewise_signature less = *s;
    less.k--;
    return right(&less, args);
}

Test(verify, edge_of_k_left_out)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 16, 16, 129);
    expect_failure(&s, drops_last_k, "should be");
}

static int one_wrong_element(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    *at(s, args, s->m - 1, s->n / 2) *= 1.001f;
    return error;
}

Test(verify, one_element_slightly_wrong)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 16, 16, 16);
    expect_failure(&s, one_wrong_element, "should be");
}

static int one_wrong_element_inside(const struct tilewise_signature *s,
                                    const struct tilewise_args *args)
{
    int error = right(s, args);
    *at(s, args, 123, 77) += 1;
    return error;
}

Test(verify, one_wrong_element_of_a_large_matrix)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 500, 390, 420);
    expect_failure(&s, one_wrong_element_inside, VERIFY_LARGE);
}

static int one_nan_inside(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    *at(s, args, 321, 99) = NAN;
    return error;
}

Test(verify, one_nan_in_a_large_matrix)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 500, 390, 420);
    expect_failure(&s, one_nan_inside, VERIFY_LARGE);
}

static int stale_output(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    static float kept[64 * 64];
    static bool have;
    if (!have) {
        int error = right(s, args);
        have = true;
        for (int64_t c = 0; c < s->n; c++)
            memcpy(kept + c * s->m, at(s, args, 0, c), (size_t)s->m * sizeof *kept);
        return error;
    }
    for (int64_t c = 0; c < s->n; c++)
        memcpy(at(s, args, 0, c), kept + c * s->m, (size_t)s->m * sizeof *kept);
    return 0;
}

Test(verify, output_cached_from_an_earlier_call)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 16, 16, 16);
    expect_failure(&s, stale_output, "uniform data");
}

/* As a bf16 kernel would see its inputs. */
static int reduced_precision(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    size_t a_count = (size_t)(s->lda * s->k), b_count = (size_t)(s->ldb * s->n);
    float *copy = malloc((a_count + b_count) * sizeof *copy);
    struct tilewise_args low = *args;
    memcpy(copy, args->a, a_count * sizeof *copy);
    memcpy(copy + a_count, args->b, b_count * sizeof *copy);
    for (size_t i = 0; i < a_count + b_count; i++) {
        uint32_t bits;
        memcpy(&bits, &copy[i], 4);
        bits &= 0xffff0000u;
        memcpy(&copy[i], &bits, 4);
    }
    low.a = copy;
    low.b = copy + a_count;
    int error = right(s, &low);
    free(copy);
    return error;
}

Test(verify, precision_silently_reduced)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 16, 16, 64);
    expect_failure(&s, reduced_precision, "integer data");
}

Test(verify, precision_silently_reduced_in_a_long_sum)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 4, 4, 20000);
    expect_failure(&s, reduced_precision, "uniform data");
}

static int f32_arithmetic(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    for (int64_t c = 0; c < s->n; c++)
        for (int64_t r = 0; r < s->m; r++) {
            float sum = 0;
            for (int64_t p = 0; p < s->k; p++)
                sum += (float)((const double *)args->a)[r + p * s->lda] *
                       (float)((const double *)args->b)[p + c * s->ldb];
            ((double *)args->c)[r + c * s->ldc] = (double)sum;
        }
    return 0;
}

Test(verify, f64_computed_in_f32)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F64, 8, 8, 8);
    expect_failure(&s, f32_arithmetic, "should be");
}

static int ignores_alpha(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    const float one = 1;
    struct tilewise_args other = *args;
    other.alpha = &one;
    return right(s, &other);
}

Test(verify, alpha_ignored)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.alpha = TILEWISE_SCALAR_OTHER;
    expect_failure(&s, ignores_alpha, "should be");
}

static int ignores_beta(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    const float zero = 0;
    struct tilewise_args other = *args;
    other.beta = &zero;
    return right(s, &other);
}

Test(verify, beta_ignored)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.beta = TILEWISE_SCALAR_ONE;
    expect_failure(&s, ignores_beta, "should be");
}

static int reads_c(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    size_t count = (size_t)(s->ldc * s->n);
    float *old = malloc(count * sizeof *old);
    memcpy(old, args->c, count * sizeof *old);
    int error = right(s, args);
    for (size_t i = 0; i < count; i++)
        ((float *)args->c)[i] += *(const float *)args->beta * old[i];
    free(old);
    return error;
}

Test(verify, c_read_although_beta_is_zero)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, reads_c, "computed from memory that is not theirs");
}

static int writes_behind(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    *(at(s, args, s->m - 1, s->n - 1) + 1) = 0;
    return error;
}

Test(verify, writes_behind_the_end)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, writes_behind, "outside the result");
}

static int writes_before(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    *((float *)args->c - 1) = 0;
    return error;
}

Test(verify, writes_before_the_start)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, writes_before, "outside the result");
}

static int writes_padding(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    *at(s, args, s->m, 0) = 0;
    return error;
}

Test(verify, writes_into_the_gap_of_ldc)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.ldc = 11;
    expect_failure(&s, writes_padding, "outside the result");
}

static int writes_both_triangles(const struct tilewise_signature *s,
                                 const struct tilewise_args *args)
{
    struct tilewise_signature full = *s;
    full.uplo = TILEWISE_FULL;
    struct tilewise_args both = *args;
    both.b = args->a;
    return right(&full, &both);
}

Test(verify, writes_the_other_triangle)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.uplo = TILEWISE_LOWER;
    s.trans_b = TILEWISE_T;
    expect_failure(&s, writes_both_triangles, "outside the result");
}

static int hides_nan(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    for (int64_t c = 0; c < s->n; c++)
        for (int64_t r = 0; r < s->m; r++)
            if (isnan(*at(s, args, r, c)))
                *at(s, args, r, c) = 0;
    return error;
}

Test(verify, nan_hidden)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, hides_nan, "is a number");
}

static int loses_infinity(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    for (int64_t c = 0; c < s->n; c++)
        for (int64_t r = 0; r < s->m; r++)
            if (isinf(*at(s, args, r, c)))
                *at(s, args, r, c) = copysignf(FLT_MAX, *at(s, args, r, c));
    return error;
}

Test(verify, infinity_lost)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, loses_infinity, "is a number");
}

static int makes_nan_of_infinity(const struct tilewise_signature *s,
                                 const struct tilewise_args *args)
{
    int error = right(s, args);
    for (int64_t c = 0; c < s->n; c++)
        for (int64_t r = 0; r < s->m; r++)
            *at(s, args, r, c) += 0 * *at(s, args, r, c);
    return error;
}

Test(verify, infinity_made_nan)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, makes_nan_of_infinity, "infinity in row");
}

static int spreads_nan(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    float sum = 0;
    for (int64_t r = 0; r < s->m; r++)
        sum += 0 * *at(s, args, r, 0);
    *at(s, args, 0, 0) += sum;
    *at(s, args, s->m - 1, 0) += sum;
    return error;
}

Test(verify, nan_spread_to_other_rows)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, spreads_nan, "is NaN");
}

static int only_first_batch(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    struct tilewise_signature one = *s;
    one.batch = 1;
    return right(&one, args);
}

Test(verify, only_the_first_batch)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 3;
    s.stride_a = s.stride_b = s.stride_c = 64;
    s.beta = TILEWISE_SCALAR_ONE;
    expect_failure(&s, only_first_batch, "batch 1");
}

static int modifies_input(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    ((float *)args->b)[3] += 1;
    return error;
}

Test(verify, input_modified)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, modifies_input, "input B was modified");
}

static int reads_b_transposed(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    struct tilewise_signature other = *s;
    other.trans_b = s->trans_b == TILEWISE_T ? TILEWISE_N : TILEWISE_T;
    return right(&other, args);
}

Test(verify, operand_read_transposed)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, reads_b_transposed, "should be");
}

static int reads_padding(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    *at(s, args, 0, 0) += 0 * ((const float *)args->a)[s->m];
    return error;
}

Test(verify, gap_of_lda_read)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.lda = 9;
    expect_failure(&s, reads_padding, "computed from memory that is not theirs");
}

static int fails(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    (void)s;
    (void)args;
    return -ENOMEM;
}

Test(verify, run_reports_an_error)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    expect_failure(&s, fails, "run() returned -12");
}

static int add_off_by_one_ulp(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    int error = right(s, args);
    float *y = (float *)args->c + 5;
    *y = nextafterf(*y, INFINITY);
    return error;
}

Test(verify, add_off_by_one_ulp)
{
    struct tilewise_signature s = fixture_add(TILEWISE_F32, 100);
    expect_failure(&s, add_off_by_one_ulp, "should be");
}
