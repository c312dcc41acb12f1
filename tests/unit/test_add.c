/* SPDX-License-Identifier: Apache-2.0
 *
 * Every add candidate of this processor, bit for bit.
 */
#include "kernel_case.h"

static const enum tilewise_dtype dtypes[] = { TILEWISE_F32, TILEWISE_F64 };

static struct tilewise_signature add(enum tilewise_dtype dtype, int64_t m, int64_t n)
{
    struct tilewise_signature s = kernel_gemm(dtype, m, n, 1);
    s.op = TILEWISE_OP_ADD;
    s.dtype_a = TILEWISE_NONE;
    s.ldb = s.ldc = s.ldd = n == 1 ? 1 : m;
    return s;
}

static void check_all(const struct tilewise_signature *s, double alpha, uint32_t threads)
{
    size_t count, done = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i + 2 < count; i++) {
        struct kernel_case k;
        if (!kernel_is_here(all[i], s))
            continue;
        kernel_case_make(&k, s, alpha, 1, 23);
        kernel_case_run(&k, all[i], threads);
        kernel_case_check(&k, all[i]->name);
        kernel_case_free(&k);
        done++;
    }
    /* With incy = 0 there is nothing to do side by side: not for a GPU. */
    bool is_serial = s->n == 1 && s->ldc == 0 && strcmp(KERNEL_TARGET, "cuda") == 0;
    cr_assert(done > 0 || is_serial);
}

Test(add, every_length_to_150)
{
    for (int64_t m = 0; m <= 150; m++)
        for (size_t d = 0; d < 2; d++) {
            struct tilewise_signature s = add(dtypes[d], m, 1);
            check_all(&s, 1, 1);
            check_all(&s, 0.3, 1);
        }
}

Test(add, alpha_zero_changes_nothing)
{
    struct tilewise_signature s = add(TILEWISE_F32, 70, 1);
    check_all(&s, 0, 1);
}

Test(add, all_increments)
{
    static const int64_t steps[] = { 1, -1, 2, -2, 5, 0 };
    for (int i = 0; i < 36; i++)
        for (size_t d = 0; d < 2; d++) {
            struct tilewise_signature s = add(dtypes[d], 43, 1);
            s.ldb = steps[i % 6];
            s.ldc = s.ldd = steps[i / 6];
            check_all(&s, 1.7, 1);
        }
}

Test(add, increment_zero_with_threads_is_still_in_order)
{
    struct tilewise_signature s = add(TILEWISE_F32, 300000, 1);
    s.ldc = s.ldd = 0;
    check_all(&s, 1, 4);
}

Test(add, matrices_with_gaps)
{
    for (size_t d = 0; d < 2; d++)
        for (int row_major = 0; row_major < 2; row_major++) {
            struct tilewise_signature s = add(dtypes[d], 37, 23);
            s.layout = row_major ? TILEWISE_ROW_MAJOR : TILEWISE_COL_MAJOR;
            s.ldb = (row_major ? 23 : 37) + 3;
            s.ldc = s.ldd = (row_major ? 23 : 37) + 8;
            check_all(&s, 0.3, 1);
            check_all(&s, 1, 2);
        }
}

Test(add, matrices_without_gaps)
{
    struct tilewise_signature s = add(TILEWISE_F64, 64, 33);
    check_all(&s, 0.3, 1);
}

Test(add, large_vectors_with_threads)
{
    struct tilewise_signature s = add(TILEWISE_F32, 500003, 1);
    check_all(&s, 0.3, 3);
    check_all(&s, 1, 2);
}

Test(add, a_large_matrix_with_gaps_and_threads)
{
    struct tilewise_signature s = add(TILEWISE_F32, 1000, 301);
    s.ldb = 1003, s.ldc = s.ldd = 1001;
    check_all(&s, 0.3, 3);
}

Test(add, strided_batches)
{
    struct tilewise_signature s = add(TILEWISE_F32, 37, 1);
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 3, s.stride_b = 40, s.stride_c = s.stride_d = 41;
    check_all(&s, 0.3, 1);
}

/* x = 1 + 2^-12 squared loses its last bit unless product and sum are rounded once. */
Test(add, rounds_once_on_every_instruction_set)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    struct tilewise_signature s = add(TILEWISE_F32, 40, 1);
    for (size_t i = 0; i + 2 < count; i++) {
        float x[40], y[40], alpha = 1 + 0x1p-12f;
        if (!kernel_is_here(all[i], &s))
            continue;
        for (int e = 0; e < 40; e++)
            x[e] = 1 + 0x1p-12f, y[e] = -1;
        struct tilewise_args args = { .b = x, .c = y, .alpha = &alpha, .threads = 1 };
        cr_assert_eq(all[i]->run(all[i], &s, &args), 0);
        for (int e = 0; e < 40; e++)
            cr_expect_eq(y[e], 0x1p-11f + 0x1p-24f, "%s element %d", all[i]->name, e);
    }
}

Test(add, x_and_y_may_be_the_same)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    struct tilewise_signature s = add(TILEWISE_F64, 77, 1);
    for (size_t i = 0; i + 2 < count; i++) {
        double y[77], alpha = 2;
        if (!kernel_is_here(all[i], &s))
            continue;
        for (int e = 0; e < 77; e++)
            y[e] = e;
        struct tilewise_args args = { .b = y, .c = y, .alpha = &alpha, .threads = 1 };
        cr_assert_eq(all[i]->run(all[i], &s, &args), 0);
        for (int e = 0; e < 77; e++)
            cr_expect_eq(y[e], 3. * e, "%s element %d", all[i]->name, e);
    }
}

static void check_aligned(const struct tilewise_candidate *c, int64_t m)
{
    _Alignas(16) float x[1032], y[1032], alpha = 2;
    struct tilewise_signature s = add(TILEWISE_F32, m, 1);
    struct tilewise_args args = { .b = x, .c = y, .alpha = &alpha, .threads = 1 };
    for (int e = 0; e < 1032; e++)
        x[e] = y[e] = (float)e;
    cr_assert_eq(c->run(c, &s, &args), 0);
    for (int e = 0; e < 1032; e++)
        cr_expect_eq(y[e], e < m ? 3 * (float)e : (float)e, "%s %d: %d", c->name, (int)m, e);
}

/* A block of a GPU adds 4096 bytes, and somebody what is left behind the last 16. */
Test(add, aligned_vectors_of_any_length)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    struct tilewise_signature s = add(TILEWISE_F32, 1, 1);
    for (size_t i = 0; i + 2 < count; i++)
        for (int64_t m = 0; m < 1032; m += m == 140 ? 870 : 1)
            if (kernel_is_here(all[i], &s))
                check_aligned(all[i], m);
}
