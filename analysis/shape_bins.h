/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of one dimension of a group, in at most SHAPE_BINS_MAX bins, for charts.
 */
#ifndef TILEWISE_ANALYSIS_SHAPE_BINS_H
#define TILEWISE_ANALYSIS_SHAPE_BINS_H

#include "analysis/analysis.h"

enum { SHAPE_BINS_MAX = 16 };

struct shape_bin {
    int64_t from, to;   /* both included */
    double time, calls; /* shares of the group */
};

/* One shape of a group (shape.h: signatures that differ in alignment, strides or entry point are
 * one shape), with what it holds of the group's time (of its kernels where they were measured on a
 * GPU) and calls. */
struct shape_share {
    uint32_t signature; /* its largest: index into the summary's */
    double time, calls;
};

enum { SHAPE_BINS_NO_SHAPE = -1 };

struct shape_shares {
    size_t count;
    struct shape_share *share; /* by time, largest first */
    int32_t *of_signature;     /* per signature of the summary: index of its shape, or
                                * SHAPE_BINS_NO_SHAPE outside of the group */
};

/* NOMEM. To be freed in every case. */
enum status shape_bins_shares(struct shape_shares *out, const struct analysis *a,
                              const struct analysis_group *g);
void shape_bins_free_shares(struct shape_shares *shares);

/* What each of the first `shown` shapes holds of the group's time or calls in window w:
 * [w * (shown + 1) + i], and all others together behind them; durations are means of the whole run.
 * A window without the group has zeros. To be freed; NULL without memory. */
double *shape_bins_windows(const struct analysis *a, const struct shape_shares *shares,
                           size_t shown, bool by_calls);

struct shape_bins {
    size_t count, values; /* bins; distinct values in them */
    struct shape_bin bin[SHAPE_BINS_MAX];
};

/* Few values get a bin each. Many share equal bins over a narrow range, growing ones over a wide
 * range. NOMEM. */
enum status shape_bins_fill(struct shape_bins *out, const struct analysis *a,
                            const struct analysis_group *g, enum shape_dimension d);

/* "64" or "64–127". Returns `text`. */
char *shape_bins_label(const struct shape_bin *b, char *text, size_t text_bytes);

#endif
