/* SPDX-License-Identifier: Apache-2.0
 *
 * What replay promises for one group: which shapes a kernel wins, and what that is worth of the
 * whole. Formulas: docs/decision.md.
 */
#ifndef TILEWISE_ANALYSIS_GAIN_H
#define TILEWISE_ANALYSIS_GAIN_H

#include "analysis/decide.h"
#include "analysis/headroom.h"

/* One shape of the group: its recorded time, its calls, its result (NULL: not replayed). */
struct gain_row {
    double time_ns;
    uint64_t calls;
    const struct result_case *result;
};

struct gain_input {
    const struct gain_row *rows;
    size_t count;
    double time_ns; /* of the whole group */
    double heat;    /* E */
    double cov05;   /* of the level's grain */
    uint64_t wall_ns;
    const struct result_set *results;
};

/* The candidate whose kernel a dispatch table would choose for this shape: verified, timed, its
 * lower bound above noise; the one with the largest lower bound. NULL: none. */
const struct result_candidate *gain_winner(const struct result_case *row,
                                           const struct result_set *results,
                                           const struct policy *policy);

/* Fill everything but `potential`. */
void gain_measure(struct decide_replay *out, const struct gain_input *in,
                  const struct policy *policy);

#endif
