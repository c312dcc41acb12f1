/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a run that replays a stretch of the trace in its order: a child process, and its
 * rows.
 */
#ifndef TILEWISE_REPLAYER_REPLAY_ORDER_H
#define TILEWISE_REPLAYER_REPLAY_ORDER_H

#include "replayer/replay.h"

struct replay_order {
    const struct replay_options *options;           /* with sequences */
    const struct tilewise_candidate *const *choice; /* as in struct order_job */
    double budget_s;                                /* of wall time */
};

/* One stretch after the other, largest first, each with its part of the time. One that cannot be
 * replayed is a row that says why. Errors of the result file, NOMEM. */
enum status replay_order_run(const struct replay_order *order);

#endif
