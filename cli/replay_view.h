/* SPDX-License-Identifier: Apache-2.0
 *
 * How `tilewise replay` shows its rows: the table on stdout as it grows, progress on a terminal.
 */
#ifndef TILEWISE_CLI_REPLAY_VIEW_H
#define TILEWISE_CLI_REPLAY_VIEW_H

#include "cli/replay_second.h"
#include "replayer/replay.h"

struct replay_view {
    const struct plan *plan;
    const struct candidates *candidates;
    char *const *traces; /* as typed: for the line that reproduces a failure */
    int ntraces;
    uint64_t nshards;
    const char *settings;      /* options that change the data or the work, for the same line */
    bool live;                 /* stderr is a terminal: show progress */
    bool check_only;           /* nothing is timed */
    bool bitwise;              /* --mode bitwise */
    bool one_only;             /* --only: one row is measured, be it a twin or not */
    size_t rest;               /* unplanned rows so far */
    double rest_share;         /* of the recorded time */
    struct sequence *sequence; /* with --order=recorded; owned */
    char trace_device[BACKEND_TEXT_BYTES];
    char second[REPLAY_SECOND_BYTES]; /* the second baseline, or why there is none */
    double replayed_ns, recorded_ns;  /* of the measured shapes: fidelity */
};

/* Callbacks of struct replay_options; `context` is a struct replay_view. */
void replay_view_start(void *context, const struct result_run *run, const char *capped);
void replay_view_case(void *context, size_t item, const struct result_case *row);
void replay_view_progress(void *context, const struct replay_progress *progress);

void replay_view_order(void *context, const struct result_order *row);

/* The lines below the table. */
void replay_view_end(struct replay_view *view);

/* The plan alone (--mode list). */
void replay_view_plan(const struct plan *plan);

#endif
