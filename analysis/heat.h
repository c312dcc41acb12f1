/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of the time a group of signatures holds, with an interval over the windows. Where the
 * timeline was recorded it is the causal heat; else the wall share: an upper bound of what a faster
 * kernel can win (docs/decision.md).
 */
#ifndef TILEWISE_ANALYSIS_HEAT_H
#define TILEWISE_ANALYSIS_HEAT_H

#include "analysis/causal.h"
#include "analysis/policy.h"
#include "traces/summary.h"

enum heat_level { HEAT_UNKNOWN, HEAT_LOW, HEAT_HIGH };
const char *heat_level_name(enum heat_level level); /* NULL for unknown */

enum heat_method { HEAT_WALL_SHARE, HEAT_CAUSAL };
const char *heat_method_name(enum heat_method method); /* "wall_share", "causal" */

struct heat {
    enum heat_method method;
    bool is_of_gpu;      /* the shares are those of a GPU's time */
    bool is_of_launches; /* those of calls that only launch work: they say nothing about its heat */
    double busy_share, wall_share;
    double value, lo, hi; /* by that method, with its 95 % interval; NaN if unknown */
    double ceiling;       /* 1 / (1 - value): speed-up of the whole if the group took no time */
    enum heat_level level;
};

/* `members`: indexes into the summary's signatures, ascending. `active_ns`: union of the intervals
 * in which at least one call of the group was running. NOMEM. */
enum status heat_measure(struct heat *out, const struct summary *s, const uint32_t *members,
                         size_t count, double active_ns, const struct policy *policy);

/* Replace the wall share by the causal heat, where the effect has one with an interval. Of a GPU
 * the shares are those of the GPU then. */
void heat_refine(struct heat *h, const struct causal_effect *effect, const struct policy *policy);

/* The calls launch work on a GPU whose time is not known: the heat is unknown, the shares stay. */
void heat_of_launches(struct heat *h);

/* Block bootstrap of sum(x) / sum(y) over windows, 95 % interval; seeded. Neighbouring windows are
 * drawn together, since a phase of the load spans several. NaN where sum(y) is 0. */
void heat_bootstrap(const double *x, const double *y, size_t windows, double *lo, double *hi);

#endif
