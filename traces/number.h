/* SPDX-License-Identifier: Apache-2.0
 *
 * Real and integer element types as they lie in memory, to double and back. Loading is exact but
 * for i64; storing rounds to nearest, ties to even. fp8 saturates (so do the libraries); f16, bf16
 * and e5m2 have infinities. Types of less than a byte and complex ones are not known.
 */
#ifndef TILEWISE_TRACES_NUMBER_H
#define TILEWISE_TRACES_NUMBER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "traces/anywhere.h"
#include "traces/dtype.h"

/* A small floating point type; `digits`: bits of the fraction. */
struct number_format {
    int exponent_bits, digits;
    bool is_ieee; /* the largest exponent means infinity and NaN; else only all ones is NaN */
    bool saturates;
};

TILEWISE_ANYWHERE struct number_format number_format_of(unsigned dtype)
{
    const struct number_format f16 = { 5, 10, true, false }, bf16 = { 8, 7, true, false };
    const struct number_format e4m3 = { 4, 3, false, true }, e5m2 = { 5, 2, true, true };
    return dtype == TILEWISE_F16    ? f16
           : dtype == TILEWISE_BF16 ? bf16
           : dtype == TILEWISE_E4M3 ? e4m3
                                    : e5m2;
}

TILEWISE_ANYWHERE double number_power(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TILEWISE_ANYWHERE double number_widen(struct number_format f, uint32_t code)
{
    uint32_t top = (1u << f.exponent_bits) - 1, fraction = code & ((1u << f.digits) - 1);
    uint32_t exponent = code >> f.digits & top;
    int bias = (int)(top >> 1);
    bool last = exponent == top && (f.is_ieee || fraction == (1u << f.digits) - 1);
    double value;
    if (last)
        value = f.is_ieee && fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        value = (double)fraction * number_power(1 - bias - f.digits);
    else
        value = (double)(fraction | 1u << f.digits) * number_power((int)exponent - bias - f.digits);
    return code >> (f.digits + f.exponent_bits) & 1 ? -value : value;
}

TILEWISE_ANYWHERE uint32_t number_narrow(struct number_format f, double value)
{
    uint32_t top = (1u << f.exponent_bits) - 1, sign = (uint32_t)(signbit(value) != 0);
    uint32_t infinity = top << f.digits;
    uint32_t largest = f.is_ieee ? infinity - 1 : infinity + (1u << f.digits) - 2;
    int least = 2 - (1 << (f.exponent_bits - 1)), exponent;
    double size = fabs(value);
    uint64_t bits;
    uint32_t code;
    sign <<= f.digits + f.exponent_bits;
    if (isnan(value))
        return sign | infinity | ((1u << f.digits) - 1);
    if (size > number_power(64 + f.exponent_bits * 8))
        return sign | (f.saturates ? largest : infinity);
    memcpy(&bits, &size, sizeof bits);
    exponent = (int)(bits >> 52) - 1023;
    exponent = exponent < least ? least : exponent;
    /* In units of the last place; adding 2^52 rounds to nearest even. */
    double units = size * number_power(f.digits - exponent);
    volatile double rounded = units + 0x1p52;
    code = ((uint32_t)(exponent - least) << f.digits) + (uint32_t)(rounded - 0x1p52);
    if (code > largest)
        code = f.saturates ? largest : infinity;
    return sign | code;
}

/* Element `index` of an array. NaN for types that are not known. */
TILEWISE_ANYWHERE double number_load(unsigned dtype, const void *array, int64_t index)
{
    switch (dtype) {
    case TILEWISE_F64: {
        double value;
        memcpy(&value, (const char *)array + index * 8, sizeof value);
        return value;
    }
    case TILEWISE_F32:
    case TILEWISE_TF32: {
        float value;
        memcpy(&value, (const char *)array + index * 4, sizeof value);
        return (double)value;
    }
    case TILEWISE_BF16: {
        uint16_t code;
        memcpy(&code, (const char *)array + index * 2, sizeof code);
        uint32_t bits = (uint32_t)code << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    case TILEWISE_F16: {
        uint16_t code;
        memcpy(&code, (const char *)array + index * 2, sizeof code);
        return number_widen(number_format_of(dtype), code);
    }
    case TILEWISE_E4M3:
    case TILEWISE_E5M2:
        return number_widen(number_format_of(dtype), ((const uint8_t *)array)[index]);
    case TILEWISE_I32: {
        int32_t value;
        memcpy(&value, (const char *)array + index * 4, sizeof value);
        return (double)value;
    }
    case TILEWISE_I8:
        return (double)((const int8_t *)array)[index];
    case TILEWISE_U8:
        return (double)((const uint8_t *)array)[index];
    default:
        return NAN;
    }
}

TILEWISE_ANYWHERE double number_clamped(double value, double least, double most)
{
    double rounded = nearbyint(value);
    return rounded < least ? least : rounded > most ? most : rounded == rounded ? rounded : 0;
}

/* Nothing happens for types that are not known. */
TILEWISE_ANYWHERE void number_store(unsigned dtype, void *array, int64_t index, double value)
{
    switch (dtype) {
    case TILEWISE_F64:
        memcpy((char *)array + index * 8, &value, sizeof value);
        break;
    case TILEWISE_F32:
    case TILEWISE_TF32: {
        float narrow = (float)value;
        memcpy((char *)array + index * 4, &narrow, sizeof narrow);
        break;
    }
    case TILEWISE_F16:
    case TILEWISE_BF16: {
        uint16_t code = (uint16_t)number_narrow(number_format_of(dtype), value);
        memcpy((char *)array + index * 2, &code, sizeof code);
        break;
    }
    case TILEWISE_E4M3:
    case TILEWISE_E5M2:
        ((uint8_t *)array)[index] = (uint8_t)number_narrow(number_format_of(dtype), value);
        break;
    case TILEWISE_I32: {
        int32_t whole = (int32_t)number_clamped(value, -2147483648.0, 2147483647.0);
        memcpy((char *)array + index * 4, &whole, sizeof whole);
        break;
    }
    case TILEWISE_I8:
        ((int8_t *)array)[index] = (int8_t)number_clamped(value, -128, 127);
        break;
    case TILEWISE_U8:
        ((uint8_t *)array)[index] = (uint8_t)number_clamped(value, 0, 255);
        break;
    }
}

/* Can the type be loaded and stored? */
bool number_is_known(unsigned dtype);
/* Relative error of one rounding to the type; 0 for integers. */
double number_unit(unsigned dtype);
/* Smallest number above zero: what an underflow may be off; 0 for integers. */
double number_tiny(unsigned dtype);
/* Largest finite number. */
double number_largest(unsigned dtype);

#endif
