/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/prng.h"

#include <math.h>

uint64_t prng_next(struct prng *p)
{
    uint64_t z = p->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double prng_unit(struct prng *p)
{
    return (double)(prng_next(p) >> 11) * 0x1p-53;
}

uint64_t prng_below(struct prng *p, uint64_t below)
{
    return (uint64_t)(prng_unit(p) * (double)below);
}

static double normal(struct prng *p)
{
    double radius = sqrt(-2 * log(1 - prng_unit(p)));
    return radius * cos(2 * M_PI * prng_unit(p));
}

double prng_poisson(struct prng *p, double mean)
{
    if (mean > 30) {
        double draw = floor(mean + sqrt(mean) * normal(p) + 0.5);
        return draw > 0 ? draw : 0;
    }
    /* By inversion: one number, and the terms of the distribution until they hold it. */
    double unit = prng_unit(p), term = exp(-mean), sum = term, draw = 0;
    while (unit > sum && term > 0) {
        draw++;
        term *= mean / draw;
        sum += term;
    }
    return draw;
}
