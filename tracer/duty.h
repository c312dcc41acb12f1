/* SPDX-License-Identifier: Apache-2.0
 *
 * When to look at the GPU: windows of a fixed length, as often as their cost allows. The cost of a
 * window is what handling its records took plus what each launch in it is known to take longer;
 * after each window the next one waits until everything spent so far is below the budget again. The
 * waiting time varies at random, so that a workload with a period is not always met at one place.
 * Nothing but arithmetic: the caller has the clock. One thread.
 */
#ifndef TILEWISE_TRACER_DUTY_H
#define TILEWISE_TRACER_DUTY_H

#include <stdbool.h>
#include <stdint.h>

struct duty_options {
    double budget_share;   /* of wall time */
    uint64_t window_ns;    /* length of a window */
    uint64_t first_ns;     /* before the first window */
    uint64_t launch_ns;    /* what one launch by the host takes longer in a window */
    uint64_t node_ns;      /* what one kernel of a launched graph takes longer */
    uint64_t launches_max; /* a window ends early after so many kernels */
};

struct duty {
    struct duty_options options;
    bool is_open;
    uint64_t start_ns, begin_ns, next_ns; /* next_ns: of the next window, while none is open */
    uint64_t spent_ns;                    /* by all windows so far */
    uint64_t random;
};

struct duty_cost {
    uint64_t handling_ns; /* measured: CPU time for this window */
    uint64_t launches, nodes;
};

/* The defaults: windows of 100 ms, 1 % of the time. */
struct duty_options duty_defaults(void);
void duty_start(struct duty *d, const struct duty_options *options, uint64_t now_ns);

bool duty_is_due(const struct duty *d, uint64_t now_ns); /* open a window now? */
void duty_open(struct duty *d, uint64_t now_ns);
/* Close it now? `launches` so far, kernels of graphs included. */
bool duty_is_over(const struct duty *d, uint64_t now_ns, uint64_t launches);
void duty_close(struct duty *d, uint64_t now_ns, const struct duty_cost *cost);
/* Until something is due, 0 if it is. */
uint64_t duty_wait_ns(const struct duty *d, uint64_t now_ns);

#endif
