/* SPDX-License-Identifier: Apache-2.0
 *
 * The few statistics that a fair comparison of two times needs. Deterministic: the same values and
 * seed give the same result everywhere. No allocation. NaN among the values is the caller's bug.
 */
#ifndef TILEWISE_REPLAYER_STATS_H
#define TILEWISE_REPLAYER_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "traces/anywhere.h"

enum { STATS_VALUES_MAX = 512, STATS_RESAMPLES = 2000 };

struct stats_interval {
    double lo, mid, hi;
};

/* Next number of a splitmix64 sequence. */
TILEWISE_ANYWHERE uint64_t stats_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Median of `count` values, which are reordered; NaN for none. */
double stats_median(double *values, size_t count);

/* Median with its percentile bootstrap interval at `level` (0.95). `count` is at most
 * STATS_VALUES_MAX. Fewer than two values: the interval is [-inf, inf]. */
struct stats_interval stats_bootstrap(const double *values, size_t count, double level,
                                      uint64_t seed);

#endif
