/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/stats.h"

#include <math.h>
#include <string.h>

/* Value of rank `rank`; everything before it is not larger afterwards (Hoare's quickselect). */
static double select_rank(double *values, size_t count, size_t rank)
{
    size_t left = 0, right = count - 1;
    while (left < right) {
        double pivot = values[(left + right) / 2];
        size_t i = left, j = right;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i >= j)
                break;
            double swap = values[i];
            values[i++] = values[j];
            values[j--] = swap;
        }
        if (rank <= j)
            right = j;
        else
            left = j + 1;
    }
    return values[rank];
}

double stats_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    double upper = select_rank(values, count, count / 2);
    if (count % 2)
        return upper;
    double lower = values[0];
    for (size_t i = 1; i < count / 2; i++)
        if (values[i] > lower)
            lower = values[i];
    return (lower + upper) / 2;
}

/* Quantile q of the sorted position q * (count - 1), rounded outwards by the caller. */
static double quantile(double *values, size_t count, double rank)
{
    double last = (double)(count - 1);
    return select_rank(values, count, (size_t)(rank < 0 ? 0 : rank > last ? last : rank));
}

struct stats_interval stats_bootstrap(const double *values, size_t count, double level,
                                      uint64_t seed)
{
    double draw[STATS_VALUES_MAX], medians[STATS_RESAMPLES];
    if (count > STATS_VALUES_MAX)
        count = STATS_VALUES_MAX;
    memcpy(draw, values, count * sizeof *values);
    struct stats_interval result = { -INFINITY, stats_median(draw, count), INFINITY };
    if (count < 2)
        return result;
    for (size_t i = 0; i < STATS_RESAMPLES; i++) {
        for (size_t j = 0; j < count; j++)
            draw[j] = values[stats_random(&seed) % count];
        medians[i] = stats_median(draw, count);
    }
    double tail = (1 - level) / 2 * (STATS_RESAMPLES - 1);
    result.lo = quantile(medians, STATS_RESAMPLES, floor(tail));
    result.hi = quantile(medians, STATS_RESAMPLES, ceil(STATS_RESAMPLES - 1 - tail));
    return result;
}
