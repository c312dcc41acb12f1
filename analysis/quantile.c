/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/quantile.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile_of(double *values, size_t count, double q)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, ascending);
    double at = q * (double)(count - 1);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return values[below] + (at - (double)below) * (values[above] - values[below]);
}

double quantile_spread(double *values, size_t count)
{
    double low = quantile_of(values, count, 0.25);
    return quantile_of(values, count, 0.75) - low;
}

/* So few values are below the quantile with probability `least` or less: the number of values below
 * it is binomial. */
static size_t below_quantile(size_t count, double q, double least)
{
    double term = pow(1 - q, (double)count), sum = term;
    size_t below = 0;
    while (below < count && sum <= least) {
        term *= (double)(count - below) / (double)(below + 1) * q / (1 - q);
        sum += term;
        below++;
    }
    return below;
}

void quantile_interval(double *values, size_t count, double q, double *lo, double *hi)
{
    *lo = *hi = NAN;
    if (count == 0)
        return;
    qsort(values, count, sizeof *values, ascending);
    size_t first = below_quantile(count, q, 0.025), last = below_quantile(count, q, 0.975);
    *lo = values[first ? first - 1 : 0];
    *hi = values[last < count ? last : count - 1];
}
