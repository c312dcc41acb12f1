/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/number.h"

static const struct {
    double unit, tiny, largest;
} limits[TILEWISE_DTYPE_COUNT] = {
    [TILEWISE_F64] = { 0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023 },
    [TILEWISE_F32] = { 0x1p-24, 0x1p-149, 0x1.fffffep127 },
    [TILEWISE_TF32] = { 0x1p-24, 0x1p-149, 0x1.fffffep127 }, /* stored as f32 */
    [TILEWISE_F16] = { 0x1p-11, 0x1p-24, 65504 },
    [TILEWISE_BF16] = { 0x1p-8, 0x1p-133, 0x1.fep127 },
    [TILEWISE_E4M3] = { 0x1p-4, 0x1p-9, 448 },
    [TILEWISE_E5M2] = { 0x1p-3, 0x1p-16, 57344 },
    [TILEWISE_I32] = { 0, 0, 2147483647.0 },
    [TILEWISE_I8] = { 0, 0, 127 },
    [TILEWISE_U8] = { 0, 0, 255 },
};

bool number_is_known(unsigned dtype)
{
    return dtype < TILEWISE_DTYPE_COUNT && limits[dtype].largest > 0;
}

double number_unit(unsigned dtype)
{
    return number_is_known(dtype) ? limits[dtype].unit : NAN;
}

double number_tiny(unsigned dtype)
{
    return number_is_known(dtype) ? limits[dtype].tiny : NAN;
}

double number_largest(unsigned dtype)
{
    return number_is_known(dtype) ? limits[dtype].largest : NAN;
}
