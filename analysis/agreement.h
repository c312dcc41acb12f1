/* SPDX-License-Identifier: Apache-2.0
 *
 * Does the trace, replayed in its order with the chosen kernels, gain what the single shapes
 * promised? Stretches of the trace stand for the part of its time that their repeats fill. Shares
 * are of the whole, as gains are (docs/decision.md). NaN: unknown.
 */
#ifndef TILEWISE_ANALYSIS_AGREEMENT_H
#define TILEWISE_ANALYSIS_AGREEMENT_H

#include <stddef.h>

#include "traces/result.h"

/* What the shapes of one operation promise over the recorded calls, and its shares. */
struct agreement_promise {
    double lo, hi;           /* of the whole */
    double heat, busy_share; /* E and B */
};

struct agreement {
    double covered;                  /* of the recorded time; 0: nothing was replayed in order */
    double gain, lo, hi;             /* in order, with its 95 % interval */
    double promised_lo, promised_hi; /* by all shapes of the table */
};

void agreement_measure(struct agreement *out, const struct result_set *results,
                       const struct agreement_promise *promises, size_t count);

#endif
