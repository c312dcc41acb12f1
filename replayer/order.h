/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay in the recorded order: a stretch of the trace (sequence.h) as a whole, through the
 * baseline and through a table of chosen kernels. Neighbours decide what is in the caches, which an
 * isolated loop cannot show.
 *
 * Traces hold no addresses, so buffers are reused as a model does it: every place in the repeating
 * sequence has the larger input (the weights) to itself, all calls share one buffer for the other
 * input (the activations), and all calls of one shape share the result. Work that cannot be
 * replayed has fillers in its place (order_filler.h), as long as it was recorded. They end with the
 * activations of the next call, which whoever came before has just written there.
 */
#ifndef TILEWISE_REPLAYER_ORDER_H
#define TILEWISE_REPLAYER_ORDER_H

#include "replayer/measure.h"
#include "replayer/sequence.h"

enum { ORDER_PARTS_MAX = 64 };

struct order_job {
    const struct measure_setup *setup;
    const struct plan *plan;
    const struct sequence *sequence;
    /* Per item of the plan: what the dispatch table calls; NULL: the recorded call. */
    const struct tilewise_candidate *const *choice;
    double budget_ns; /* of wall time, for everything */
};

/* All calls of one item in the stretch. */
struct order_part {
    size_t item, calls;
    double recorded_ns, kernel_ns; /* of one call, mean; NaN: unknown */
    bool chosen;                   /* the table has a kernel for it */
};

/* Times are of one pass through the stretch. A plain value. */
struct order_outcome {
    enum result_status status;
    char reason[MEASURE_REASON_BYTES];
    char traffic[MEASURE_REASON_BYTES]; /* of the fillers, by kind; "": there are none */
    double kernel_ns;                   /* kernels of the calls; NaN: unknown */
    double baseline_ns, chosen_ns; /* everything, fillers and gaps included; chosen: NaN where the
                                      table has nothing */
    struct stats_interval ratio;   /* baseline / chosen */
    double noise;
    uint32_t rounds;
    size_t nparts;
    struct order_part part[ORDER_PARTS_MAX];
};

/* For isolate_run(): `job` is a struct order_job, `message` a struct order_outcome. */
void order_measure(void *job, void *message);

#endif
