/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_forks.h"

#include <stdlib.h>

#include "analysis/quantile.h"

/* What decides (docs/decision.md). */
enum { LAUNCHES_MIN = 8 };
static const double same_least = 0.8, spread_most = 0.5;

#define ORDER(a, b)                                                                                \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int compare(const void *left, const void *right)
{
    const struct causal_branch *a = left, *b = right;
    ORDER(a->stream, b->stream);
    ORDER(a->nodes, b->nodes);
    ORDER(a->behind, b->behind);
    ORDER(a->at, b->at);
    return 0;
}
#undef ORDER

/* Behind which node does it begin most often? The first of these launches, and how many. */
static const struct causal_branch *most_often(const struct causal_branch *branches, size_t count,
                                              size_t *often)
{
    const struct causal_branch *most = branches;
    *often = 0;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && branches[to].behind == branches[from].behind;)
            to++;
        if (branches[from].behind != CAUSAL_NO_NODE && to - from > *often) {
            most = &branches[from];
            *often = to - from;
        }
    }
    return most;
}

static bool is_fork(const struct causal_branch *branches, size_t count, double *scratch)
{
    if (count < LAUNCHES_MIN)
        return true;
    size_t often;
    const struct causal_branch *same = most_often(branches, count, &often);
    if ((double)often < same_least * (double)count)
        return false;
    for (size_t i = 0; i < often; i++)
        scratch[i] = same[i].node_lag_ns;
    double by_node = quantile_spread(scratch, often);
    for (size_t i = 0; i < often; i++)
        scratch[i] = same[i].launch_lag_ns;
    return by_node <= spread_most * quantile_spread(scratch, often);
}

void causal_forks_find(struct causal_branch *branches, size_t count, double *scratch)
{
    if (count)
        qsort(branches, count, sizeof *branches, compare);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && branches[to].stream == branches[from].stream &&
                            branches[to].nodes == branches[from].nodes;)
            to++;
        bool fork = is_fork(&branches[from], to - from, scratch);
        for (size_t i = from; i < to; i++)
            branches[i].is_fork = fork;
    }
}
