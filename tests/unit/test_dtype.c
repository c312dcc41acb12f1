/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "traces/dtype.h"
#include "traces/status.h"

Test(dtype, names_round_trip)
{
    for (unsigned i = 0; i < TILEWISE_DTYPE_COUNT; i++)
        cr_assert_eq(tilewise_dtype_find(tilewise_dtype_name(i)), i, "row %u", i);
}

Test(dtype, unknown_numbers_have_a_name_and_no_size)
{
    cr_assert_str_eq(tilewise_dtype_name(200), "unknown");
    cr_assert_eq(tilewise_dtype_bits(200), 0);
    cr_assert_eq(tilewise_dtype_kind(200), TILEWISE_KIND_NONE);
    cr_assert_eq(tilewise_dtype_find("f33"), TILEWISE_UNKNOWN);
}

Test(status, fault_text_has_no_control_bytes)
{
    struct fault fault;
    cr_assert_eq(fault_set(&fault, ST_FORMAT, "%s", "a\033[31mb\nc"), ST_FORMAT);
    cr_assert_str_eq(fault.text, "a?[31mb?c");
    cr_assert_eq(fault_set(NULL, ST_IO, "ignored"), ST_IO);
}
