/* SPDX-License-Identifier: Apache-2.0
 *
 * Two analyses held against each other: has the workload drifted since the decision, and which
 * verdicts changed? Points into both analyses, which must outlive it. NaN: unknown.
 */
#ifndef TILEWISE_ANALYSIS_DIFF_H
#define TILEWISE_ANALYSIS_DIFF_H

#include <stdio.h>

#include "analysis/analysis.h"
#include "analysis/diff_drift.h"

enum { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

/* One shape at the grain of its operation. */
struct diff_shape {
    struct tilewise_signature shape; /* entry, leading dimensions and alignment are 0 */
    uint64_t calls[DIFF_SIDES];
    double time_share[DIFF_SIDES]; /* of the operation's time */
};

struct diff_op {
    uint8_t op, dtype;
    const struct analysis_group *group[DIFF_SIDES]; /* NULL: no call on that side */
    enum shape_grain grain; /* of the decision: bucket where it was `bucketable`, else raw */
    struct diff_drift drift;
    struct diff_pace pace;
    size_t new_shapes, vanished_shapes;
    double new_share;      /* of the time after, of shapes that were not there before */
    double vanished_share; /* of the time before, of shapes that are not there after */
    size_t nshapes;
    struct diff_shape *shapes; /* largest change of share first */
    bool drifted;              /* beyond its null and beyond policy.stability.drift */
    bool verdict_changed;      /* an operation that comes or goes counts as `stay` or `note` */
};

struct diff {
    const struct analysis *side[DIFF_SIDES];
    size_t nops;
    struct diff_op *ops; /* by their time in both, largest first */
};

/* Both analyses are by one policy. NOMEM. */
enum status diff_build(struct diff **out, const struct analysis *before,
                       const struct analysis *after, struct fault *fault);
void diff_free(struct diff *d); /* accepts NULL */

/* Operations that drifted or whose verdict changed. */
size_t diff_findings(const struct diff *d);
/* True if both sides name the same device. */
bool diff_same_device(const struct diff *d);
/* "spike"; "absent" for an operation without a call on that side. */
const char *diff_verdict(const struct diff_op *op, int side);

void diff_text(const struct diff *d, FILE *out);
void diff_md(const struct diff *d, FILE *out);
enum status diff_json(const struct diff *d, FILE *out); /* NOMEM */

#endif
