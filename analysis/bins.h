/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of one dimension of a group, in at most BINS_MAX bins, for charts.
 */
#ifndef TILEWISE_ANALYSIS_BINS_H
#define TILEWISE_ANALYSIS_BINS_H

#include "analysis/analysis.h"

enum { BINS_MAX = 16 };

struct bins_bin {
    int64_t from, to;   /* both included */
    double time, calls; /* shares of the group */
};

struct bins {
    size_t count, values; /* bins; distinct values in them */
    struct bins_bin bin[BINS_MAX];
};

/* Few values get a bin each. Many share equal bins over a narrow range, growing ones over a wide
 * range. NOMEM. */
enum status bins_fill(struct bins *out, const struct analysis *a, const struct analysis_group *g,
                      enum shape_dimension d);

/* "64" or "64–127". Returns `text`. */
char *bins_label(const struct bins_bin *b, char *text, size_t text_bytes);

#endif
