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

/* One signature of a group, with what it holds of the group's time (of its kernels where they were
 * measured on a GPU) and calls. */
struct shape_share {
    uint32_t signature; /* index into the summary's */
    double time, calls;
};

/* All of them, by time, largest first; to be freed. NULL without memory. */
struct shape_share *shape_bins_shares(const struct analysis *a, const struct analysis_group *g);

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
