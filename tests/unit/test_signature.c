/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "traces/counters.h"
#include "traces/signature.h"

static struct tilewise_signature gemm(int64_t m, int64_t n, int64_t k)
{
    return signature_gemm(TILEWISE_ROW_MAJOR, TILEWISE_F32, m, n, k);
}

Test(signature, a_packed_product_is_as_the_hooks_see_it)
{
    struct tilewise_signature s = signature_gemm(TILEWISE_COL_MAJOR, TILEWISE_F64, 5, 7, 11);
    cr_assert(signature_is_sane(&s));
    cr_assert_eq(s.dtype_d, TILEWISE_F64);
    cr_assert(s.lda == 5 && s.ldb == 11 && s.ldc == 5 && s.ldd == 5);
    s = gemm(5, 7, 11);
    cr_assert(signature_is_sane(&s));
    cr_assert(s.lda == 11 && s.ldb == 7 && s.ldc == 7 && s.ldd == 7);
    s.lda--;
    cr_assert(!signature_is_sane(&s));
}

Test(signature, op_names_round_trip)
{
    for (unsigned op = 0; op < TILEWISE_OP_COUNT; op++)
        cr_assert_eq(tilewise_op_find(tilewise_op_name(op)), op);
    cr_assert_eq(tilewise_op_find("gemmm"), TILEWISE_OP_COUNT);
    cr_assert_str_eq(tilewise_op_name(200), "other");
}

Test(signature, trans_letters)
{
    cr_assert_eq(tilewise_trans_letter(TILEWISE_N), 'N');
    cr_assert_eq(tilewise_trans_letter(TILEWISE_R), 'R');
    cr_assert_eq(tilewise_trans_letter(9), '?');
}

Test(signature, equal_and_hash_see_every_byte)
{
    struct tilewise_signature a = gemm(64, 32, 128), b = a;
    cr_assert(signature_equal(&a, &b));
    cr_assert_eq(signature_hash(&a), signature_hash(&b));
    for (size_t i = 0; i < sizeof b; i++) {
        ((unsigned char *)&b)[i] ^= 1;
        cr_assert_not(signature_equal(&a, &b), "byte %zu", i);
        cr_assert_neq(signature_hash(&a), signature_hash(&b), "byte %zu", i);
        ((unsigned char *)&b)[i] ^= 1;
    }
}

Test(signature, describes_gemm_with_batch_only_when_there_is_one)
{
    struct tilewise_signature s = gemm(64, 32, 128);
    char text[200];
    cr_assert_str_eq(signature_describe(&s, text, sizeof text), "f32 gemm 64x32x128 NN row");
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 12;
    cr_assert_str_eq(signature_describe(&s, text, sizeof text),
                     "f32 gemm 64x32x128 NN row batch 12");
    s.dtype_a = TILEWISE_BF16;
    cr_assert(strstr(signature_describe(&s, text, sizeof text), "bf16/f32 gemm"));
}

Test(signature, describe_never_overruns)
{
    struct tilewise_signature s;
    memset(&s, 0xff, sizeof s);
    char text[12] = { [11] = 'x' };
    signature_describe(&s, text, 11);
    cr_assert_eq(text[10], '\0');
    cr_assert_eq(text[11], 'x');
}

Test(signature, flops_by_op_and_type)
{
    struct tilewise_signature s = gemm(64, 32, 128);
    cr_assert_float_eq(signature_flops(&s), 2.0 * 64 * 32 * 128, 0.5);
    s.dtype_c = TILEWISE_C64;
    cr_assert_float_eq(signature_flops(&s), 8.0 * 64 * 32 * 128, 0.5);
    s = gemm(32, 32, 128);
    s.uplo = TILEWISE_UPPER;
    cr_assert_float_eq(signature_flops(&s), 128.0 * 32 * 33, 0.5);
    s = gemm(1000, 1, 1);
    s.op = TILEWISE_OP_ADD;
    cr_assert_float_eq(signature_flops(&s), 2000.0, 0.5);
}

Test(signature, bytes_count_c_twice_only_with_beta)
{
    struct tilewise_signature s = gemm(64, 32, 128);
    double ab = 4.0 * (64 * 128 + 128 * 32);
    cr_assert_float_eq(signature_bytes(&s), ab + 4.0 * 64 * 32, 0.5);
    s.beta = TILEWISE_SCALAR_ONE;
    cr_assert_float_eq(signature_bytes(&s), ab + 8.0 * 64 * 32, 0.5);
}

Test(signature, bytes_of_gemv_follow_the_transpose)
{
    struct tilewise_signature s = gemm(10, 1000, 1);
    s.op = TILEWISE_OP_GEMV;
    cr_assert_float_eq(signature_bytes(&s), 4.0 * (10000 + 1000 + 10), 0.5);
    s.trans_a = TILEWISE_T;
    s.beta = TILEWISE_SCALAR_ONE;
    cr_assert_float_eq(signature_bytes(&s), 4.0 * (10000 + 10 + 2 * 1000), 0.5);
}

/* One step of 16 sequences with 32 heads: keys and values are 18 MB each. */
Test(signature, bytes_of_attention_are_queries_keys_values_and_the_result)
{
    struct tilewise_signature s = signature_gemm(TILEWISE_COL_MAJOR, TILEWISE_BF16, 1, 139, 128);
    double heads = 512, row = 2 * 128;
    s.op = TILEWISE_OP_ATTENTION;
    s.batch = 512;
    cr_assert_float_eq(signature_read_bytes(&s), heads * row * (1 + 2 * 139), 0.5);
    cr_assert_float_eq(signature_bytes(&s), heads * row * (2 + 2 * 139), 0.5);
    s.n = 0;
    s.k = 0;
    cr_assert_float_eq(signature_bytes(&s), 0, 0.5); /* no shape is known */
}

Test(signature, what_is_read_is_all_but_the_result)
{
    struct tilewise_signature s = gemm(64, 32, 128);
    double ab = 4.0 * (64 * 128 + 128 * 32);
    cr_assert_float_eq(signature_read_bytes(&s), ab, 0.5);
    s.op = TILEWISE_OP_OTHER;
    cr_assert_float_eq(signature_read_bytes(&s), 4.0 * 64, 0.5);
}

Test(signature, hostile_numbers_never_overflow)
{
    struct tilewise_signature s = gemm(INT64_MAX, INT64_MAX, INT64_MAX);
    s.batch = INT64_MAX;
    cr_assert_gt(signature_flops(&s), 1e70);
    cr_assert_gt(signature_bytes(&s), 1e50);
    s.m = INT64_MIN;
    cr_assert_float_eq(signature_flops(&s), 0, 0.5);
}

Test(signature, sane_accepts_what_blas_accepts)
{
    struct tilewise_signature s = gemm(64, 32, 128);
    cr_assert(signature_is_sane(&s));
    s.lda = 127;
    cr_assert_not(signature_is_sane(&s), "lda below k");
    s.lda = 4096;
    cr_assert(signature_is_sane(&s));
    s.trans_b = TILEWISE_T;
    cr_assert_not(signature_is_sane(&s), "ldb below k");
    s.ldb = 128;
    cr_assert(signature_is_sane(&s));
    s = gemm(0, 0, 0);
    s.lda = s.ldb = s.ldc = 1;
    cr_assert(signature_is_sane(&s), "empty is legal");
}

Test(signature, sane_rejects_absurd_dimensions_and_unknown_numbers)
{
    struct tilewise_signature s = gemm(64, 32, 128);
    s.m = -1;
    cr_assert_not(signature_is_sane(&s));
    s.m = (INT64_C(1) << 40) + 1;
    cr_assert_not(signature_is_sane(&s));
    s = gemm(64, 32, 128);
    s.op = TILEWISE_OP_COUNT;
    cr_assert_not(signature_is_sane(&s));
    s = gemm(64, 32, 128);
    s.dtype_d = TILEWISE_DTYPE_COUNT;
    cr_assert_not(signature_is_sane(&s));
    s = gemm(64, 32, 128);
    s.batch = 2;
    cr_assert_not(signature_is_sane(&s), "a batch of no kind");
}

Test(signature, sane_gemv_needs_increments)
{
    struct tilewise_signature s = gemm(64, 32, 1);
    s.op = TILEWISE_OP_GEMV;
    s.lda = 32;
    s.ldb = -2;
    s.ldc = 1;
    cr_assert(signature_is_sane(&s), "negative increments are legal");
    s.ldc = 0;
    cr_assert_not(signature_is_sane(&s));
}

Test(counters, loss_total_and_names)
{
    struct trace_counters c = { .seen = 10, .dropped = { [LOSS_DISK_FULL] = 3, [15] = 4 } };
    cr_assert_eq(loss_total(&c), 7);
    cr_assert_str_eq(loss_name(LOSS_SIGNATURE_CAP), "signature_cap");
    cr_assert_null(loss_name(15));
    cr_assert_null(loss_name(1000));
}

Test(signature, math_is_plain_when_the_types_say_it_all)
{
    struct tilewise_signature s = { .dtype_c = TILEWISE_F32, .compute = TILEWISE_F32 };
    cr_assert(signature_is_plain_math(&s));
    s.math_mode = 68 << 8;
    cr_assert(signature_is_plain_math(&s));
    s.math_mode = 77 << 8;
    cr_assert_not(signature_is_plain_math(&s));
    s.math_mode = 3;
    cr_assert_not(signature_is_plain_math(&s));
    s.math_mode = 68 << 8, s.dtype_c = TILEWISE_F64;
    cr_assert_not(signature_is_plain_math(&s));
    s.math_mode = 0, s.compute = TILEWISE_TF32;
    cr_assert_not(signature_is_plain_math(&s));
}
