/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake CUPTI and the part of a GPU that it would see: launches, graph nodes, records. $FAKE_CUPTI
 * scripts it: "busy" (somebody else has subscribed), "old" (a version before ours), "zero" (no
 * times), "drop" (every tenth record is lost), "stale" (switched off during a launch of a graph),
 * "again" (the first graph behind a window overwrites the times of the last one in it), "stuck" (a
 * flush never returns), "within" (callbacks are switched off during launches), "repeat" (from the
 * end of the first window on all launches bear one number).
 */
#ifndef TILEWISE_TESTS_FAKE_CUPTI_H
#define TILEWISE_TESTS_FAKE_CUPTI_H

#include <stdint.h>

/* How and where what follows is launched; all zero at first. */
struct fake_launch {
    uint32_t device, stream;
    int32_t grid[3], block[3], shared_bytes;
};
void fake_how(const struct fake_launch *how);
/* A copy, by CUPTI's number of its direction; 0: a fill. */
void fake_move(int direction, uint64_t ns);

/* A kernel launched through the runtime, which calls the driver. */
void fake_kernel(const char *name, uint64_t ns);
/* The same while its stream is captured: a node of the graph under way. */
void fake_node(const char *name, uint64_t ns);
/* An executable graph of the nodes made since the last one; `exec` names it. */
void fake_instantiate(void *exec);
void fake_graph_launch(void *exec);

#endif
