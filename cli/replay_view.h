/* SPDX-License-Identifier: Apache-2.0
 *
 * How `tilewise replay` shows its rows: the table on stdout as it grows, progress on a terminal.
 */
#ifndef TILEWISE_CLI_REPLAY_VIEW_H
#define TILEWISE_CLI_REPLAY_VIEW_H

#include "cli/replay_second.h"
#include "replayer/replay.h"

enum { REPLAY_VIEW_REASONS = 12 };

struct replay_view {
    const struct plan *plan;
    const struct candidates *candidates;
    char *const *traces; /* as typed: for the line that reproduces a failure */
    int ntraces;
    uint64_t nshards;
    const char *const *settings; /* words that change the data or the work, for the same line */
    const char *const *timing;   /* those that change a measurement, too; both end with NULL */
    bool live;                   /* stderr is a terminal: show progress */
    bool check_only;             /* nothing is timed */
    bool bitwise;                /* --mode bitwise */
    bool one_only;               /* --only: one row is measured, be it a twin or not */
    struct sequences sequences;  /* with --order=recorded; owned */
    char trace_device[BACKEND_TEXT_BYTES];
    char second[REPLAY_SECOND_BYTES]; /* the second baseline, or why there is none */
    bool other_device;                /* than the traces': fidelity is not claimed */
    /* Counted row by row: */
    double replayed_ns, recorded_ns; /* of the measured shapes: fidelity */
    size_t rest;                     /* rows that are not replayed, shown or not */
    double rest_share;               /* of the recorded time */
    struct replay_view_reason {
        char text[160];
        size_t shapes;
        double time_share;
    } reasons[REPLAY_VIEW_REASONS]; /* of them; the last one is for all others */
};

/* Callbacks of struct replay_options; `context` is a struct replay_view. */
void replay_view_start(void *context, const struct result_run *run, const char *capped);
void replay_view_case(void *context, size_t item, const struct result_case *row, bool tried);
void replay_view_progress(void *context, const struct replay_progress *progress);

void replay_view_order(void *context, const struct result_order *row);

/* The lines below the table. */
void replay_view_end(struct replay_view *view);

/* The plan alone (--mode list). */
void replay_view_plan(struct replay_view *view);

#endif
