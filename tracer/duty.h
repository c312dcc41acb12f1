/* SPDX-License-Identifier: Apache-2.0
 *
 * When to look at the GPU: short windows, as often as their cost allows. A budget is a share of
 * wall time, and it holds locally: behind a window of cost c the next one begins c / budget later
 * or more. Time in which nothing was spent is no credit, so a burst after an idle hour is met as
 * gently as any other.
 *
 * What a window costs is measured: how far the host got in it, against the stretches just before
 * and behind. One window says little about that, so the estimate is over the last dozen or two, at
 * the upper end of its error; until there are some, all of the time in a window counts as lost. The
 * prices of launches bound it on both sides: no less than a launch is known to take longer at least
 * (a busy GPU hides a slower host), and what is not certain no more than it may take longer (a few
 * launches in a long window). Where progress cannot be measured the upper price is paid. The CPU
 * time of the recorder comes on top.
 *
 * The waiting time varies at random, so that a workload with a period is not always met at one
 * place. Nothing but arithmetic: the caller has the clock. One thread.
 */
#ifndef TILEWISE_TRACER_DUTY_H
#define TILEWISE_TRACER_DUTY_H

#include <stdbool.h>
#include <stdint.h>

/* What tracing adds to one launch by the host, and to one kernel of a launched graph. */
struct duty_price {
    uint64_t launch_ns, node_ns;
};

struct duty_options {
    double budget_share;  /* of wall time */
    uint64_t window_ns;   /* length of a window, at most */
    uint64_t kernels_max; /* it ends after so many kernels too */
    uint64_t first_ns;    /* before the first window */
    uint64_t rest_ns;     /* between two, at least */
    uint64_t stretch_ns;  /* before and behind a window, to compare it with */
    struct duty_price least, most;
};

/* How far the host got meanwhile: calls and launches, in any unit that stays the same. */
struct duty_stretch {
    uint64_t ns, progress;
};

struct duty_window {
    uint64_t handling_ns; /* CPU time of the recorder for this window */
    uint64_t switch_ns;   /* wall time of opening and closing: launches may have stood still */
    uint64_t launches, nodes;
    struct duty_stretch inside, outside; /* outside without progress: cannot be compared */
};

struct duty {
    struct duty_options options;
    bool is_open;
    uint64_t start_ns, begin_ns, next_ns; /* next_ns: of the next window, while none is open */
    uint64_t spent_ns;                    /* so far */
    uint64_t random;
    /* Sums over the windows that could be compared, the older the less: how many, their length, the
     * time lost in them, and the products of the two. */
    struct {
        double windows, ns, lost, ns_ns, lost_ns, lost_lost;
    } seen;
};

/* 1 % of wall time; windows of 100 ms or 4,000 kernels. */
struct duty_options duty_defaults(void);
void duty_start(struct duty *d, const struct duty_options *options, uint64_t now_ns);

bool duty_is_near(const struct duty *d, uint64_t now_ns); /* watch the stretch before a window? */
bool duty_is_due(const struct duty *d, uint64_t now_ns);  /* open a window now? */
void duty_open(struct duty *d, uint64_t now_ns);
/* Close it now? `kernels` so far, those of graphs included. */
bool duty_is_over(const struct duty *d, uint64_t now_ns, uint64_t kernels);
/* What the window cost; the budget begins to count again at now_ns. */
void duty_close(struct duty *d, uint64_t now_ns, const struct duty_window *w);

/* The share of its time that a window is taken to cost the host, 0 to 1. */
double duty_slowdown(const struct duty *d);
/* The share of wall time that all windows are taken to have cost. */
double duty_cost_share(const struct duty *d, uint64_t now_ns);

#endif
