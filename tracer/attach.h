/* SPDX-License-Identifier: Apache-2.0
 *
 * May CUPTI be attached? From the first use of it on, for the rest of the process's life and
 * whether a window is open or not, each launch takes the host longer, each kernel of a launched
 * graph too. What that would cost is predicted from what the process does: the most that it did in
 * any tenth of a second lately, since the cost stays when a quiet time ends. Nothing but
 * arithmetic: the caller has the clock. One thread.
 */
#ifndef TILEWISE_TRACER_ATTACH_H
#define TILEWISE_TRACER_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

enum { ATTACH_LOOK_MS = 100 };

/* Since the start of the process. */
struct attach_work {
    uint64_t calls; /* hooked ones by the host */
    uint64_t nodes; /* of launched graphs */
};

struct attach {
    uint64_t look_ns, term_ns; /* the last look, the begin of this term */
    struct attach_work seen;
    double peak, peak_before; /* predicted share of wall time: in this term, in the one before */
    unsigned loaded;          /* looks of this term with any work */
    bool is_known;
};

void attach_start(struct attach *a, uint64_t now_ns, struct attach_work work);
/* As often as ATTACH_LOOK_MS says or less: what was done so far. Counts of what is under way may
 * step back by a little: that is no work. */
void attach_look(struct attach *a, uint64_t now_ns, struct attach_work work);

/* Was there enough work to predict anything? */
bool attach_is_known(const struct attach *a);
/* The share of wall time that being attached costs or would cost. */
double attach_share(const struct attach *a);

#endif
