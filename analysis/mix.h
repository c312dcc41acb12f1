/* SPDX-License-Identifier: Apache-2.0
 *
 * The mix of shapes of one group of signatures, in total and per window, and the measures of its
 * stability. Formulas: docs/decision.md. A measure without evidence is NaN.
 */
#ifndef TILEWISE_ANALYSIS_MIX_H
#define TILEWISE_ANALYSIS_MIX_H

#include <stdbool.h>

#include "analysis/prng.h"
#include "traces/summary.h"

struct mix_cell {
    uint32_t key;
    uint64_t calls;
    double time_ns;
};

struct mix {
    size_t nkeys, nwindows; /* windows in which the group was active */
    uint64_t calls;
    double time_ns;
    bool is_of_kernels;  /* times are those of kernels (mix_call_ns) */
    uint64_t *key_calls; /* per key */
    double *key_time_ns;
    size_t *first; /* window w holds cells first[w] .. first[w + 1] - 1, ordered by key */
    struct mix_cell *cells;
};

/* What a group's time is. Where kernels of any member were measured on a GPU: per member, the time
 * of those of one call; what was not measured gets the mean of the others. Else NaN: the times of
 * the calls themselves count. */
void mix_call_ns(const struct summary *s, const uint32_t *members, size_t count, double *call_ns);
/* Time of `calls` calls that took `time_ns` on the host, with a member's call_ns. */
double mix_time_ns(double call_ns, uint64_t calls, uint64_t time_ns);
/* So the time of all calls of each member. Returns the sum. */
double mix_member_ns(const struct summary *s, const uint32_t *members, size_t count,
                     double *member_ns);

/* Collect the group: `members` are indexes into the summary's signatures, ascending; key[i] < nkeys
 * numbers the shape of members[i]. Totals are of the signatures, windows of the windows. NOMEM. */
enum status mix_build(struct mix *out, const struct summary *s, const uint32_t *members,
                      size_t count, const uint32_t *key, size_t nkeys);
void mix_free(struct mix *m); /* accepts a zeroed one */

/* D1 = exp(-sum q ln q) over time shares q. */
double mix_effective(const struct mix *m);
/* Fewest shapes that hold 90 % of the time. */
uint64_t mix_k90(const struct mix *m);
/* For every window but the last: of the time of the next window, the share held by the fewest
 * shapes that held `table` of the time until now. The 5th percentile of those. */
struct mix_coverage {
    double p05, lo, hi; /* that percentile with its interval of 95 % (quantile.h) */
};
struct mix_coverage mix_coverage(const struct mix *m, double table);
/* Good-Turing: share of the calls whose shape was met once. */
double mix_unseen(const struct mix *m);

/* Jensen-Shannon divergence, base 2, of two vectors of n weights; NaN if one of them is empty. */
double mix_divergence(const double *a, const double *b, size_t n);

struct mix_drift {
    double adjacent;   /* median Jensen-Shannon divergence (base 2) of neighbouring windows */
    double first_last; /* of the first and the last window */
    double null95;     /* 95th percentile of `adjacent` when nothing drifts */
};
struct mix_drift mix_drift(const struct mix *m, struct prng prng);
/* The same without the null, which is what takes time. */
struct mix_drift mix_drift_alone(const struct mix *m);

#endif
