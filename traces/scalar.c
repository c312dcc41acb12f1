/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool scalar_flag(const char *text, bool *out)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {
        { "true", true },   { "yes", true }, { "on", true },   { "1", true },
        { "false", false }, { "no", false }, { "off", false }, { "0", false },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i].word, text) == 0) {
            *out = words[i].value;
            return true;
        }
    return false;
}

/* strtod also takes spaces, hexadecimal, "nan" and "inf": only what looks like a decimal goes in.
 * Returns where the number ends, or NULL. */
static const char *decimal(const char *text, double *out)
{
    size_t length = strspn(text, "+-.0123456789eE");
    char number[64];
    if (length == 0 || length >= sizeof number)
        return NULL;
    memcpy(number, text, length);
    number[length] = '\0';
    char *end;
    double value = strtod(number, &end);
    if (end == number || !isfinite(value))
        return NULL;
    *out = value;
    return text + (end - number);
}

bool scalar_real(const char *text, double *out)
{
    double value;
    const char *end = decimal(text, &value);
    if (!end || *end)
        return false;
    *out = value;
    return true;
}

/* Digits, then a suffix out of `letters`, each worth `step` times the one before it. */
static bool scaled(const char *text, const char *letters, uint64_t step, uint64_t *out,
                   const char **rest)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno)
        return false;
    const char *letter = *end ? strchr(letters, tolower((unsigned char)*end)) : NULL;
    for (long power = letter ? letter - letters + 1 : 0; power > 0; power--)
        if (__builtin_mul_overflow(value, step, &value))
            return false;
    *rest = end + (letter != NULL);
    *out = value;
    return true;
}

bool scalar_count(const char *text, uint64_t *out)
{
    const char *rest;
    uint64_t value;
    if (!scaled(text, "kmg", 1000, &value, &rest) || *rest)
        return false;
    *out = value;
    return true;
}

bool scalar_bytes(const char *text, uint64_t *out)
{
    const char *rest;
    uint64_t value;
    if (!scaled(text, "kmgt", 1024, &value, &rest))
        return false;
    if (*rest && strcasecmp(rest, "b") != 0 && strcasecmp(rest, "ib") != 0)
        return false;
    *out = value;
    return true;
}

bool scalar_seconds(const char *text, double *out)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = { { "", 1 },     { "s", 1 },     { "m", 60 },    { "min", 60 },
                  { "h", 3600 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 } };
    double value;
    const char *end = decimal(text, &value);
    if (!end || !(value >= 0))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0) {
            *out = value * units[i].seconds;
            return true;
        }
    return false;
}
