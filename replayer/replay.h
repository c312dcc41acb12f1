/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop: every planned signature, every candidate, each in a child process of its own, within a
 * time budget. Rows go to the result file case by case.
 */
#ifndef TILEWISE_REPLAYER_REPLAY_H
#define TILEWISE_REPLAYER_REPLAY_H

#include "replayer/candidates.h"
#include "replayer/measure.h"
#include "replayer/order.h"
#include "replayer/plan.h"

enum { REPLAY_ALL = -1 };

struct replay_progress {
    size_t done, total;     /* child processes: baselines and candidates */
    double spent_s, left_s; /* left: what the budget allows at most */
    const char *what;       /* "f32 gemm 64x64x64 NN row: gemm_f32_avx2" */
};

struct replay_options {
    struct measure_setup setup;
    const struct plan *plan;
    const struct candidates *candidates;
    double budget_s; /* of wall time, spread over the cases by recorded time, a tenth left for the
                        order; overrun only by the case that is running, and by an order that gets
                        its least four seconds */
    int64_t only;    /* index of one plan item, or REPLAY_ALL */
    const char *command; /* as typed, for the result file */
    uint64_t trace_shards;
    const char *trace_device; /* recorded name of the kind of device replayed on; NULL: unknown */
    struct result_writer *writer;      /* NULL: none */
    const struct companion *companion; /* second baseline; NULL: none */
    const struct sequences *sequences; /* replayed in their order behind the cases; NULL: none */
    /* Called in the parent after each step; may be NULL. tried: a process was asked to measure the
     * case's baseline. */
    void (*on_start)(void *context, const struct result_run *run, const char *capped);
    void (*on_case)(void *context, size_t item, const struct result_case *row, bool tried);
    void (*on_progress)(void *context, const struct replay_progress *progress);
    void (*on_order)(void *context, const struct result_order *row);
    void *context;
};

struct replay_outcome {
    size_t measured, findings; /* cases whose baseline was measured; candidates that failed, crashed
                                  or hung */
    bool capped;
};

/* INVALID: no such item. DEVICE or UNSUPPORTED: no device or no library, with the remedy. IO: the
 * result file. Must be called before this process starts threads or loads a BLAS. */
enum status replay_run(const struct replay_options *options, struct replay_outcome *outcome,
                       struct fault *fault);

#endif
