/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine allows: the least time that a shape can take by the measured ceilings, and what
 * is left of it above the best library call.
 */
#ifndef TILEWISE_ANALYSIS_HEADROOM_H
#define TILEWISE_ANALYSIS_HEADROOM_H

#include <stdbool.h>

#include "analysis/policy.h"
#include "traces/result.h"

/* Ceilings for results in this dtype; NULL if none was measured. The last row of a dtype counts. */
const struct result_ceiling *headroom_ceiling(const struct result_set *set, unsigned dtype);

/* t_sol = max(flops / rate, bytes / bandwidth) + floor, in ns; NaN where a ceiling is unknown. */
double headroom_sol_ns(const struct tilewise_signature *s, const struct result_ceiling *c);

/* True if one call in `time_ns` would be faster than the measured matrix rate allows, beyond
 * policy->slack: a result that must not be believed. The bandwidth is no such bound: a shape that
 * fits into a cache may beat it. */
bool headroom_above_ceiling(const struct tilewise_signature *s, const struct result_ceiling *c,
                            double time_ns, const struct policy_headroom *policy);

/* h = 1 - t_sol / t_base, 0 where the library is at the ceiling already; NaN if unknown, and where
 * the library is above the ceiling, which then was measured too low. */
double headroom_of(const struct result_case *row, const struct result_ceiling *c,
                   const struct policy_headroom *policy);

#endif
