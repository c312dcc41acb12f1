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

#endif
