/* SPDX-License-Identifier: Apache-2.0
 *
 * Right kernels pass, over many shapes; what cannot be told is labelled so.
 */
#include "verify_fixture.h"

/* ---- right kernels ---- */

Test(verify, right_kernel_passes)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 17, 9, 33);
    struct verify_report report = verify(&s, right);
    cr_assert_eq(report.status, RESULT_PASSED, "%s", report.reason);
    cr_assert(report.deterministic);
    cr_assert(report.worst_error > 0 && report.worst_error <= 1, "%g", report.worst_error);
    cr_assert_geq(report.runs, 14);
    cr_assert_str_eq(report.reason, "");
}

Test(verify, right_kernel_passes_on_many_shapes)
{
    uint64_t state = 1;
    for (int i = 0; i < 150; i++) {
        struct tilewise_signature s =
            fixture_random_gemm(i % 2 ? TILEWISE_F32 : TILEWISE_F64, &state, 40);
        struct verify_report report = verify(&s, right);
        char text[96];
        cr_assert_eq(report.status, RESULT_PASSED, "%s: %s",
                     signature_describe(&s, text, sizeof text), report.reason);
    }
}

Test(verify, right_gemv_passes_with_any_increment)
{
    const int64_t steps[][2] = { { 1, 1 }, { 3, 2 }, { -1, 1 }, { 2, -3 } };
    for (int i = 0; i < 4; i++) {
        struct tilewise_signature s = fixture_gemv(TILEWISE_F32, 23, 11);
        s.ldb = steps[i][0], s.ldc = steps[i][1];
        s.trans_a = i & 1;
        s.beta = TILEWISE_SCALAR_OTHER;
        struct verify_report report = verify(&s, right);
        cr_assert_eq(report.status, RESULT_PASSED, "%d: %s", i, report.reason);
    }
}

Test(verify, right_add_passes)
{
    struct tilewise_signature s = fixture_add(TILEWISE_F64, 1000);
    s.alpha = TILEWISE_SCALAR_OTHER;
    s.ldb = 2, s.ldc = -3;
    struct verify_report report = verify(&s, right);
    cr_assert_eq(report.status, RESULT_PASSED, "%s", report.reason);
}

Test(verify, right_batches_pass)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 5, 6, 7);
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 4;
    s.stride_a = 40, s.stride_b = 0, s.stride_c = 33;
    struct verify_report report = verify(&s, right);
    cr_assert_eq(report.status, RESULT_PASSED, "%s", report.reason);
}

Test(verify, right_syrk_passes)
{
    for (int i = 0; i < 4; i++) {
        struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 12, 12, 20);
        s.uplo = i & 1 ? TILEWISE_LOWER : TILEWISE_UPPER;
        s.trans_a = i >> 1;
        s.trans_b = s.trans_a ? TILEWISE_N : TILEWISE_T;
        s.lda = s.ldb = s.trans_a ? 20 : 12;
        s.beta = TILEWISE_SCALAR_OTHER;
        struct verify_report report = verify(&s, right);
        cr_assert_eq(report.status, RESULT_PASSED, "%d: %s", i, report.reason);
    }
}

/* Beyond the size where the whole reference is computed. */
Test(verify, right_large_kernel_passes_by_samples)
{
    for (int i = 0; i < 2; i++) {
        struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 500, 390, 420);
        s.layout = i ? TILEWISE_ROW_MAJOR : TILEWISE_COL_MAJOR;
        s.beta = TILEWISE_SCALAR_OTHER;
        s.lda = s.ldb = s.ldc = 512;
        struct verify_report report = verify(&s, right);
        cr_assert_eq(report.status, RESULT_PASSED, "%s", report.reason);
    }
}

/* ---- labels ---- */

static int wobbles(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    static unsigned calls;
    int error = right(s, args);
    if (calls++ % 3 == 2 && fmodf(*at(s, args, 0, 0), 1) != 0)
        *at(s, args, 0, 0) = nextafterf(*at(s, args, 0, 0), 0);
    return error;
}

Test(verify, right_but_not_deterministic_is_labelled)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 64);
    struct verify_report report = verify(&s, wobbles);
    cr_assert_eq(report.status, RESULT_PASSED, "%s", report.reason);
    cr_assert_not(report.deterministic);
}

Test(verify, case_that_nothing_can_fail_is_not_verified)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 8);
    s.alpha = TILEWISE_SCALAR_ZERO;
    s.beta = TILEWISE_SCALAR_ONE;
    struct verify_report report = verify(&s, does_nothing);
    cr_assert_eq(report.status, RESULT_NOT_VERIFIED);
    cr_assert_not_null(strstr(report.reason, "does nothing would pass"));
}

Test(verify, no_reference_is_not_verified)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_C64, 8, 8, 8);
    struct verify_report report = verify(&s, does_nothing);
    cr_assert_eq(report.status, RESULT_NOT_VERIFIED);
    cr_assert_not_null(strstr(report.reason, "no reference for c64"));
}

static int blind_reference(const struct tilewise_signature *s, const struct tilewise_args *args,
                           double *result, double *magnitude)
{
    (void)args;
    for (int64_t i = 0; i < s->m * s->n; i++) {
        result[i] = 0;
        magnitude[i] = INFINITY;
    }
    return 0;
}

static int writes_zeros(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    for (int64_t c = 0; c < s->n; c++)
        memset(at(s, args, 0, c), 0, (size_t)s->m * 4);
    return 0;
}

/* A check without teeth shows in the ghost run: C with real numbers passes untouched. */
Test(verify, toothless_check_is_found_out)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 8, 20000000);
    s.lda = s.ldc = 8;
    s.beta = TILEWISE_SCALAR_ONE;
    s.k = 8;
    struct verify_report report = verify_kernel(
        (struct verify_job){ .signature = &s, .reference = blind_reference, .seed = 7 },
        writes_zeros);
    cr_assert_neq(report.status, RESULT_PASSED);
}
