/* SPDX-License-Identifier: Apache-2.0
 *
 * Are two recordings of one operation drawn from the same mix of shapes, and does a call take as
 * long as it did? Formulas: docs/decision.md. NaN: unknown.
 */
#ifndef TILEWISE_ANALYSIS_DIFF_DRIFT_H
#define TILEWISE_ANALYSIS_DIFF_DRIFT_H

#include "analysis/mix.h"

struct diff_drift {
    double divergence; /* Jensen-Shannon, base 2, of the two time-weighted mixes: 0 to 1 */
    double null95;     /* its 95th percentile when blocks of windows change sides at random */
    double p;          /* share of those draws that are as far apart as the recordings are */
};

/* The mixes number the same shapes by the same keys. Needs no memory but for a scratch: NaN where
 * that could not be had. */
struct diff_drift diff_drift(const struct mix *before, const struct mix *after, struct prng prng);

/* Time per call after / before, with the mix of `after` and the shapes that both have: above 1 the
 * calls became slower. Interval of 95 %, from a block bootstrap over the windows of both. */
struct diff_pace {
    double ratio, lo, hi;
};
struct diff_pace diff_pace(const struct mix *before, const struct mix *after);

#endif
