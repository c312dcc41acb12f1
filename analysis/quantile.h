/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantiles of a plain array.
 */
#ifndef TILEWISE_ANALYSIS_QUANTILE_H
#define TILEWISE_ANALYSIS_QUANTILE_H

#include <stddef.h>

/* Quantile q (0..1) by linear interpolation between order statistics; sorts `values` in place.
 * NaN for count 0. No value may be NaN. */
double quantile_of(double *values, size_t count, double q);

/* From the first quartile to the third; sorts too. */
double quantile_spread(double *values, size_t count);

/* The 95 % interval of that quantile: two order statistics, whatever the distribution. Where there
 * are too few values to bound it on a side, the outermost one. Sorts too; NaN for count 0. */
void quantile_interval(double *values, size_t count, double q, double *lo, double *hi);

#endif
