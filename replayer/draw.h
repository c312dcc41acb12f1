/* SPDX-License-Identifier: Apache-2.0
 *
 * The random elements of an operand: each depends on its place alone, so that any order of filling,
 * on the host or in a kernel, gives the same matrix. data.h says what the classes are for.
 */
#ifndef TILEWISE_REPLAYER_DRAW_H
#define TILEWISE_REPLAYER_DRAW_H

#include <stdint.h>

#include "replayer/stats.h"

enum draw_kind { DRAW_NORMAL, DRAW_UNIFORM, DRAW_INTEGER, DRAW_CANCEL_A, DRAW_CANCEL_B };

struct draw {
    enum draw_kind kind;
    uint64_t seed;
    int64_t most; /* of DRAW_INTEGER: 1 to this, with a sign */
    double size;  /* what the others are multiplied by */
};

TILEWISE_ANYWHERE uint64_t draw_bits(uint64_t seed, int64_t b, int64_t r, int64_t c)
{
    uint64_t state = seed + (uint64_t)b * 0xd6e8feb86659fd93u + (uint64_t)r * 0xa0761d6478bd642fu +
                     (uint64_t)c * 0xe7037ed1a0b428dbu;
    return stats_random(&state);
}

/* A sum of four uniforms. */
TILEWISE_ANYWHERE double draw_normal(uint64_t bits)
{
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (int64_t)(bits >> (16 * i) & 0xffff);
    /* Variance of a sum of four uniforms on [0, 1) is 1/3. The half keeps it off zero. */
    return ((double)sum + 0.5 - 2 * 65535.0) / 65536.0 * 1.7320508075688772;
}

TILEWISE_ANYWHERE double draw_uniform(uint64_t bits)
{
    return ((double)(bits >> 41) + 0.5) / 8388608.0;
}

TILEWISE_ANYWHERE double draw_integer(uint64_t bits, int64_t most)
{
    double value = (double)(1 + (int64_t)((bits >> 1) % (uint64_t)most));
    return bits & 1 ? value : -value;
}

/* Along k (columns of A, rows of B) the second of each pair takes the first one back, nearly. */
TILEWISE_ANYWHERE double draw_cancelling(uint64_t seed, int64_t b, int64_t r, int64_t c)
{
    double value = draw_normal(draw_bits(seed, b, r / 2, c));
    double rest = draw_uniform(draw_bits(~seed, b, r, c)) / 1024;
    return r % 2 ? -value * (1 + rest) : value;
}

/* The element at row r and column c of batch b. */
TILEWISE_ANYWHERE double draw_value(const struct draw *d, int64_t b, int64_t r, int64_t c)
{
    switch (d->kind) {
    case DRAW_UNIFORM:
        return d->size * draw_uniform(draw_bits(d->seed, b, r, c));
    case DRAW_INTEGER:
        return draw_integer(draw_bits(d->seed, b, r, c), d->most);
    case DRAW_CANCEL_A:
        return d->size * draw_normal(draw_bits(d->seed, b, r, c / 2));
    case DRAW_CANCEL_B:
        return d->size * draw_cancelling(d->seed, b, r, c);
    default:
        return d->size * draw_normal(draw_bits(d->seed, b, r, c));
    }
}

#endif
