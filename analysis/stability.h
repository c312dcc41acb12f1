/* SPDX-License-Identifier: Apache-2.0
 *
 * Are the shapes of a group of signatures stable, stable once padded, or varying, and which
 * dimension moves? Formulas and thresholds: docs/decision.md.
 */
#ifndef TILEWISE_ANALYSIS_STABILITY_H
#define TILEWISE_ANALYSIS_STABILITY_H

#include "analysis/mix.h"
#include "analysis/policy.h"
#include "analysis/shape.h"

enum stability_level {
    STABILITY_UNKNOWN, /* the group was active in fewer than 2 windows */
    STABILITY_STABLE,
    STABILITY_BUCKETABLE,
    STABILITY_VARYING,
};
const char *stability_level_name(enum stability_level level); /* NULL for unknown */

/* The measures at one grain. */
struct stability_grain {
    uint64_t shapes; /* distinct */
    double effective_shapes;
    uint64_t k90;
    double cov05, cov05_lo, cov05_hi; /* with its interval of 95 % */
    double unseen;
    struct mix_drift drift;
    double padding_waste; /* share of the padded work that is padding; 0 at the raw grain */
};

struct stability {
    enum stability_level level;
    size_t windows; /* in which the group was active */
    struct stability_grain raw, bucket, tile;
    bool rounded[SHAPE_DIMENSIONS];     /* which dimensions the bucket grain pads */
    double effective[SHAPE_DIMENSIONS]; /* effective values of each dimension, alone */
    uint64_t values[SHAPE_DIMENSIONS];  /* distinct values */
    bool moving[SHAPE_DIMENSIONS];
};

/* True if the measures of a grain meet the policy. */
bool stability_holds(const struct stability_grain *g, const struct policy_stability *policy);

/* Measure the group. `members` are indexes into the summary's signatures, ascending. NOMEM. */
enum status stability_measure(struct stability *out, const struct summary *s,
                              const uint32_t *members, size_t count, const struct policy *policy);

#endif
