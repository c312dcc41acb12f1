/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <string.h>

#include "analysis/kernel_name.h"

static const char *short_of(const char *name)
{
    static char text[KERNEL_NAME_BYTES];
    return kernel_name(name, text);
}

Test(kernel_name, nested_names_without_their_arguments)
{
    cr_assert_str_eq(short_of("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_"),
                     "at::native::reduce_kernel");
    cr_assert_str_eq(
        short_of("_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e85"
                 "4fillIfEEvv"),
        "at::native::fill");
    cr_assert_str_eq(short_of("_Z6kernelPfi"), "kernel");
    cr_assert_str_eq(short_of("_ZN3foo3barEv"), "foo::bar");
}

Test(kernel_name, what_is_none_comes_back)
{
    const char *const names[] = {
        "",
        "nvjet_sm90_tst_176x128",
        "_Z",
        "_ZN",
        "_ZN9short",
        "_Z0",
        "_ZN99999999999999999999999x",
        "_ZTV6vtable",
        "_ZN3foo999999barE",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_eq(short_of(names[i]), names[i], "%s", names[i]);
}

Test(kernel_name, a_name_without_room_comes_back)
{
    char name[1024] = "_ZN";
    for (int i = 0; i < 60; i++)
        strcat(name, "9namespace");
    cr_assert_eq(short_of(name), name);
}
