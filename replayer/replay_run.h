/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one run of the replay loop, shared by its files alone: replay.c (survey, rows,
 * order) and replay_phases.c (what is measured about every item, and how long that may take).
 */
#ifndef TILEWISE_REPLAYER_REPLAY_RUN_H
#define TILEWISE_REPLAYER_REPLAY_RUN_H

#include "replayer/isolate.h"
#include "replayer/replay.h"

/* What is known about one plan item. */
struct replay_row {
    struct measure_screen screen;
    char unscreened[128]; /* why nothing is known */
    bool tried;           /* to measure the baseline */
    struct measure_baseline baseline;
    struct measure_second second;
    struct kernel_times kernels; /* of the recorded call */
    struct measure_offers offers;
    struct measure_candidate *candidates; /* one per candidate; NULL if not measured */
};

struct replay_state {
    const struct replay_options *o;
    struct replay_outcome *outcome;
    struct replay_row *rows; /* one per plan item */
    struct isolate_worker worker;
    struct measure_survey survey;
    double start_s, from_s; /* of the budget; of the cases */
    double noise;
    size_t done, total, offers; /* offers: of all candidates for all items */
    bool has_served; /* a case of this phase: a budget that is gone still buys the largest one */
    double spread;   /* sum of the weights of the planned items that are still to come */
};

/* Wanted and planned. */
bool replay_is_chosen(const struct replay_state *r, size_t item);
/* And measured itself, not by its twin. */
bool replay_is_own(const struct replay_state *r, size_t item);
/* Is there a stretch to replay in its order? */
bool replay_has_order(const struct replay_state *r);

/* Steps that on_progress will be told of. */
size_t replay_steps(const struct replay_state *r);

/* In this order: who offers something; everything but the candidates, for every item; begin once,
 * then each item's candidates. False: no memory. */
void replay_find_offers(struct replay_state *r);
void replay_measure_baselines(struct replay_state *r);
void replay_begin_candidates(struct replay_state *r);
bool replay_measure_candidates(struct replay_state *r, size_t item);

#endif
