/* SPDX-License-Identifier: Apache-2.0
 *
 * Which branches of a graph are forks. A branch that begins soon after a node of another one ended
 * may have waited for it (a fork), or come late for a reason of its own: the branches of a graph
 * reach the GPU one after the other. A graph is the same at every launch, so a fork is behind the
 * same node each time, and its distance to that varies less than its distance to the launch.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_FORKS_H
#define TILEWISE_ANALYSIS_CAUSAL_FORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAUSAL_NO_NODE UINT64_MAX

/* The first node of a launch on a stream. */
struct causal_branch {
    size_t at;       /* the caller's */
    size_t nodes;    /* of the launch: graphs are told apart by that */
    uint32_t stream; /* of the branch */
    uint64_t behind; /* which node of its launch ended just before, the same number at every launch;
                      * CAUSAL_NO_NODE */
    double node_lag_ns, launch_lag_ns; /* to its start, from there and from the launch */
    bool is_fork;
};

/* Set is_fork of each; the order changes. `scratch`: `count` values. Where there are too few
 * launches of a graph to say, what ended just before was waited for. */
void causal_forks_find(struct causal_branch *branches, size_t count, double *scratch);

#endif
