/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays kept over time: one .twr each, with the verdicts of its day in it. Nothing is derived and
 * stored, so nothing goes stale. NaN: unknown.
 */
#ifndef TILEWISE_ANALYSIS_HISTORY_H
#define TILEWISE_ANALYSIS_HISTORY_H

#include <stdio.h>

#include "analysis/analysis.h"

/* One kept replay; the caller's set holds at least one run. */
struct history_entry {
    const char *name; /* of the file, for the reader */
    const struct result_set *set;
};

/* One shape in one replay. */
struct history_point {
    size_t entry; /* index into entries */
    const struct result_case *row;
    const struct result_candidate *candidate; /* the best verified one; NULL: none */
};

struct history_shape {
    const struct result_case *row; /* of the last replay that has it */
    size_t npoints;
    struct history_point *points; /* in order of time */
};

struct history {
    size_t nentries, nshapes;
    struct history_entry *entries; /* in order of time */
    struct history_shape *shapes;  /* by recorded time in their last replay, largest first */
    struct history_point *points;  /* what the shapes point into */
};

/* Orders the entries by date (in place), then by name. NOMEM. */
enum status history_build(struct history **out, struct history_entry *entries, size_t count,
                          struct fault *fault);
void history_free(struct history *h); /* accepts NULL */

/* The run that speaks for an entry: its last. */
const struct result_run *history_run(const struct history_entry *e);
/* The first entry of other hardware than the first one; NULL: all are alike. */
const struct history_entry *history_stranger(const struct history *h);

/* What the library and what a dispatch table need for the recorded calls of one operation that were
 * replayed; NaN where none was. Without a winner the table is the library. */
struct history_cost {
    double library_ns, table_ns;
};
struct history_cost history_cost(const struct history_entry *e, unsigned op, unsigned dtype,
                                 const struct policy *policy);

/* The verdict of an operation as an entry keeps it; NULL: it keeps none. */
const struct result_verdict *history_verdict(const struct history_entry *e, unsigned op,
                                             unsigned dtype);
/* The operations of all entries, by kind: at most `most` pairs. Returns how many. */
size_t history_ops(const struct history *h, uint8_t (*ops)[2], size_t most);

/* Copy a result, with the verdicts of `a`, into a writer. IO, NOMEM. */
enum status history_write(struct result_writer *w, const struct analysis *a);

/* `shapes`: how many of them at most. */
void history_text(const struct history *h, const struct policy *policy, size_t shapes, FILE *out);
void history_md(const struct history *h, const struct policy *policy, size_t shapes, FILE *out);
enum status history_json(const struct history *h, const struct policy *policy,
                         FILE *out); /* NOMEM */

#endif
