/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/shim.h"

static struct fault fault;
static char path[PATH_MAX];

Test(shim, is_where_the_environment_says)
{
    setenv("TILEWISE_SHIM", "/proc/self/exe", 1);
    char self[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    cr_assert(bytes > 0);
    self[bytes] = '\0';
    cr_assert_eq(shim_find(path, sizeof path, &fault), ST_OK);
    cr_assert_str_eq(path, self);
}

Test(shim, a_wrong_environment_is_named)
{
    setenv("TILEWISE_SHIM", "/nonexistent/shim.so", 1);
    cr_assert_eq(shim_find(path, sizeof path, &fault), ST_IO);
    cr_assert(strstr(fault.text, "TILEWISE_SHIM=/nonexistent/shim.so: No such file"), "%s",
              fault.text);
}

Test(shim, a_path_that_does_not_fit_is_refused)
{
    setenv("TILEWISE_SHIM", "/proc/self/exe", 1);
    cr_assert_eq(shim_find(path, 4, &fault), ST_LIMIT);
}
