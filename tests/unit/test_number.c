/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "traces/number.h"

static double round_trip(unsigned dtype, double value)
{
    double room;
    number_store(dtype, &room, 0, value);
    return number_load(dtype, &room, 0);
}

Test(number, every_code_survives)
{
    const unsigned bytes[] = { TILEWISE_E4M3, TILEWISE_E5M2 },
                   halves[] = { TILEWISE_F16, TILEWISE_BF16 };
    for (int t = 0; t < 2; t++)
        for (unsigned code = 0; code < 256; code++) {
            uint8_t from[8] = { (uint8_t)code }, to[8];
            double value = number_load(bytes[t], from, 0);
            if (isnan(value) || isinf(value))
                continue; /* infinity saturates */
            number_store(bytes[t], to, 0, value);
            cr_assert_eq(to[0], from[0], "%s %02x", tilewise_dtype_name(bytes[t]), code);
        }
    for (int t = 0; t < 2; t++)
        for (unsigned code = 0; code < 65536; code++) {
            uint16_t from[4] = { (uint16_t)code }, to[4];
            double value = number_load(halves[t], from, 0);
            number_store(halves[t], to, 0, value);
            cr_assert(isnan(value) ? isnan(number_load(halves[t], to, 0)) : to[0] == from[0],
                      "%s %04x", tilewise_dtype_name(halves[t]), code);
        }
}

Test(number, known_values)
{
    const uint16_t half[4] = { 0x3c01 };
    const uint8_t e4m3[8] = { 0x7e, 0x7f }, e5m2[8] = { 0x7b, 0x7c };
    cr_assert_eq(number_load(TILEWISE_F16, half, 0), 1 + 0x1p-10);
    cr_assert_eq(number_load(TILEWISE_E4M3, e4m3, 0), 448);
    cr_assert_eq(number_load(TILEWISE_E5M2, e5m2, 0), 57344);
    cr_assert(isnan(number_load(TILEWISE_E4M3, e4m3, 1)));
    cr_assert(isinf(number_load(TILEWISE_E5M2, e5m2, 1)));
}

Test(number, ties_go_to_even)
{
    cr_assert_eq(round_trip(TILEWISE_BF16, 1 + 0x1p-8), 1);
    cr_assert_eq(round_trip(TILEWISE_BF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
    cr_assert_eq(round_trip(TILEWISE_BF16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
    cr_assert_eq(round_trip(TILEWISE_F16, 0x1p-25), 0);
    cr_assert_eq(round_trip(TILEWISE_F16, 0x1.8p-24), 0x1p-23);
    cr_assert_eq(round_trip(TILEWISE_E4M3, 17), 16);
    cr_assert_eq(round_trip(TILEWISE_E4M3, -19), -20);
    cr_assert_eq(round_trip(TILEWISE_I8, 2.5), 2);
    cr_assert_eq(round_trip(TILEWISE_U8, -3), 0);
}

Test(number, what_does_not_fit)
{
    cr_assert_eq(round_trip(TILEWISE_E4M3, 1e9), 448);
    cr_assert_eq(round_trip(TILEWISE_E4M3, -465), -448);
    cr_assert_eq(round_trip(TILEWISE_E5M2, INFINITY), 57344);
    cr_assert_eq(round_trip(TILEWISE_F16, 65519), 65504);
    cr_assert(isinf(round_trip(TILEWISE_F16, 65520)));
    cr_assert(isinf(round_trip(TILEWISE_BF16, -1e39)));
    cr_assert_eq(round_trip(TILEWISE_I8, 300), 127);
    cr_assert(isnan(round_trip(TILEWISE_E4M3, NAN)));
    cr_assert(isnan(round_trip(TILEWISE_F16, NAN)));
    cr_assert(signbit(round_trip(TILEWISE_F16, -0.0)));
}

Test(number, types_that_are_not_known)
{
    char room[16] = "unchanged";
    cr_assert_not(number_is_known(TILEWISE_E2M1));
    cr_assert_not(number_is_known(TILEWISE_C64));
    cr_assert_not(number_is_known(1000));
    cr_assert(isnan(number_load(TILEWISE_C64, room, 0)));
    number_store(TILEWISE_C64, room, 0, 1);
    cr_assert_str_eq(room, "unchanged");
    cr_assert(isnan(number_unit(TILEWISE_I4)));
    cr_assert_eq(number_largest(TILEWISE_BF16), round_trip(TILEWISE_BF16, 0x1.fep127));
}
