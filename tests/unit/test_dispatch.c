/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/isa.h"
#include "kernels/dispatch.h"

#include "kernel_case.h"

static enum dispatch_class class_of(int64_t m, int64_t n, int64_t k)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, m, n, k);
    return dispatch_class_of(&s);
}

Test(dispatch, classes)
{
    cr_expect_eq(class_of(16, 16, 16), DISPATCH_TINY);
    cr_expect_eq(class_of(17, 16, 16), DISPATCH_SMALL);
    cr_expect_eq(class_of(4, 384, 384), DISPATCH_THIN);
    cr_expect_eq(class_of(384, 1, 384), DISPATCH_THIN);
    cr_expect_eq(class_of(96, 96, 96), DISPATCH_SMALL);
    cr_expect_eq(class_of(97, 96, 96), DISPATCH_LARGE);
    cr_expect_eq(class_of(64, 4096, 4096), DISPATCH_SKINNY);
    cr_expect_eq(class_of(65, 4096, 4096), DISPATCH_LARGE);
    cr_expect_eq(class_of(INT64_MAX, INT64_MAX, INT64_MAX), DISPATCH_LARGE);
}

Test(dispatch, the_best_instruction_set_is_chosen)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 512, 512, 512);
    kernel_set_ld(&s, 0);
    const struct tilewise_candidate *kernel = dispatch_choose(&s);
    if (isa_is_present(ISA_AVX512))
        cr_expect_str_eq(kernel->name, "gemm_f32_avx512");
    else if (isa_is_present(ISA_AVX2))
        cr_expect_str_eq(kernel->name, "gemm_f32_avx2");
    else
        cr_expect_null(kernel, "a portable kernel is not preferred to a library");
}

Test(dispatch, the_library_is_chosen_where_the_table_says_so)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 8, 8, 8);
    kernel_set_ld(&s, 0);
    cr_expect_null(dispatch_choose(&s));
}

Test(dispatch, no_kernel_for_unknown_work)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_BF16, 512, 512, 512);
    kernel_set_ld(&s, 0);
    cr_expect_null(dispatch_choose(&s));
    cr_expect_null(dispatch_portable(&s));
}

Test(dispatch, portable_for_every_op)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F64, 512, 512, 512);
    kernel_set_ld(&s, 0);
    cr_expect_str_eq(dispatch_portable(&s)->name, "gemm_f64_portable");
    s.uplo = TILEWISE_LOWER;
    cr_expect_str_eq(dispatch_portable(&s)->name, "ref", "one triangle");
}

Test(isa, portable_is_always_there)
{
    cr_expect(isa_is_present(ISA_PORTABLE));
    cr_expect(isa_is_present(ISA_AVX2) || !isa_is_present(ISA_AVX512));
}
