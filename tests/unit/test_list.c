/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/list.h"

#include <criterion/criterion.h>

#include "traces/fnv.h"

Test(list, holds_whole_names)
{
    cr_assert(list_holds("a,bc,d", ',', "a"));
    cr_assert(list_holds("a,bc,d", ',', "bc"));
    cr_assert(list_holds("a,bc,d", ',', "d"));
    cr_assert_not(list_holds("a,bc,d", ',', "b"));
    cr_assert_not(list_holds("a,bc,d", ',', "c"));
    cr_assert_not(list_holds("a,bc,d", ',', "bcd"));
    cr_assert_not(list_holds("a,bc,d", ',', "a,bc"));
    cr_assert(list_holds("one two\nthree", '\n', "one two"));
    cr_assert(list_holds("one\nthree\n", '\n', "three"));
}

Test(list, nothing_is_in_nothing)
{
    cr_assert_not(list_holds(NULL, ',', "a"));
    cr_assert_not(list_holds("", ',', "a"));
    cr_assert_not(list_holds("a,,b,", ',', ""));
    cr_assert_not(list_holds("", ',', ""));
    cr_assert(list_holds(",,b", ',', "b"));
}

/* The published values. */
Test(fnv, known_values)
{
    cr_assert_eq(fnv_text(FNV_START, ""), 0xcbf29ce484222325u);
    cr_assert_eq(fnv_text(FNV_START, "a"), 0xaf63dc4c8601ec8cu);
    cr_assert_eq(fnv_text(FNV_START, "foobar"), 0x85944171f73967e8u);
    cr_assert_eq(fnv_bytes(fnv_text(FNV_START, "foo"), "bar", 3), 0x85944171f73967e8u);
}
