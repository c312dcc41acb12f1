/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/attach.h"

#define MS ((uint64_t)1000000)

enum {
    TERM_MS = 3000,
    LOADED_MIN = 10, /* looks: a second of work */
    /* What a launch by the host takes longer, how many there are for each call that we see, and
     * what a kernel of a launched graph adds. Judgement, to come near to what a decoder on an H200
     * paid (docs/results/h200-capture.md, "attached"): 16 % of a step with 67 hooked calls when
     * eager, 5.6 % as a graph. */
    LAUNCH_NS = 2200,
    KERNELS = 6,
    NODE_NS = 300,
};

void attach_start(struct attach *a, uint64_t now_ns, struct attach_work work)
{
    *a = (struct attach){ .look_ns = now_ns, .term_ns = now_ns, .seen = work };
}

static void next_term(struct attach *a, uint64_t now_ns)
{
    /* A term without work says nothing: what was known before stays. */
    if (a->loaded >= LOADED_MIN) {
        a->peak_before = a->peak;
        a->peak = 0;
        a->is_known = true;
    }
    a->loaded = 0;
    a->term_ns = now_ns;
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

void attach_look(struct attach *a, uint64_t now_ns, struct attach_work work)
{
    if (now_ns - a->look_ns < ATTACH_LOOK_MS * MS)
        return;
    uint64_t calls = since(work.calls, a->seen.calls), nodes = since(work.nodes, a->seen.nodes);
    uint64_t longer_ns = calls * KERNELS * LAUNCH_NS + nodes * NODE_NS;
    double share = (double)longer_ns / (double)(now_ns - a->look_ns);
    a->peak = share > a->peak ? share : a->peak;
    a->loaded += calls + nodes > 0;
    a->look_ns = now_ns;
    a->seen = work;
    if (now_ns - a->term_ns >= TERM_MS * MS)
        next_term(a, now_ns);
}

bool attach_is_known(const struct attach *a)
{
    return a->is_known;
}

double attach_share(const struct attach *a)
{
    return a->peak > a->peak_before ? a->peak : a->peak_before;
}
