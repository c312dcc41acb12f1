/* SPDX-License-Identifier: Apache-2.0
 *
 * The windows of a GPU, replayed one after the other (causal_streams.h) and summed up.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_WINDOWS_H
#define TILEWISE_ANALYSIS_CAUSAL_WINDOWS_H

#include "analysis/causal_file.h"
#include "analysis/causal_streams.h"
#include "traces/timeline.h"

enum { CAUSAL_WINDOWS_COLUMNS = 512 };

/* One column per window; neighbours are united where there are more than CAUSAL_WINDOWS_COLUMNS. */
struct causal_windows {
    size_t columns, windows; /* in use; replayed */
    size_t per_column;
    struct causal_span *spans;    /* per column */
    double *saved_ns, *active_ns; /* per group: CAUSAL_WINDOWS_COLUMNS of them */
    /* Of the window that is replayed. */
    struct causal_streams *streams;
    struct causal_share *shares; /* per group */
    struct buffer work;          /* struct causal_work */
};

/* Add up all that is in `more`. */
void causal_windows_add_span(struct causal_span *sum, const struct causal_span *more,
                             double factor);

/* `c` is zeroed. NOMEM. Free in every case. */
enum status causal_windows_open(struct causal_windows *c, size_t groups);
void causal_windows_free(struct causal_windows *c);
/* Read the file that was begun: every frame for `see` (NULL: nobody), and all windows, where the
 * summary has any. As timeline_next. */
enum status causal_windows_read(struct causal_windows *c, struct causal_file *f, timeline_see *see,
                                void *context);

#endif
