/* SPDX-License-Identifier: Apache-2.0
 *
 * Seeded random numbers for intervals and null distributions: the same seed gives the same report,
 * byte for byte. SplitMix64; not for secrets.
 */
#ifndef TILEWISE_ANALYSIS_PRNG_H
#define TILEWISE_ANALYSIS_PRNG_H

#include <stdint.h>

struct prng {
    uint64_t state; /* the seed; any value */
};

uint64_t prng_next(struct prng *p);
/* Uniform in [0, 1). */
double prng_unit(struct prng *p);
/* Whole number in [0, below); `below` > 0. */
uint64_t prng_below(struct prng *p, uint64_t below);
/* Poisson with this mean; above 30 by the rounded normal with the same mean and variance. */
double prng_poisson(struct prng *p, double mean);

#endif
