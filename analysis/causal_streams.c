/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_streams.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/causal_plan.h"
#include "analysis/causal_spans.h"
#include "analysis/causal_threads.h"

/* The first work of a window was behind older work (docs/decision.md). */
enum { BACKLOG_NS = 50000 };

struct causal_streams {
    size_t groups, capacity;
    struct causal_plan plan;
    double *end_ns, *launched_ns; /* of a replay */
    bool *is_present;             /* per group */
};

enum status causal_streams_open(struct causal_streams **out, size_t groups)
{
    struct causal_streams *s = *out = calloc(1, sizeof *s);
    if (s && (s->is_present = calloc(groups + 1, sizeof *s->is_present))) {
        s->groups = groups;
        return ST_OK;
    }
    free(s);
    *out = NULL;
    return ST_NOMEM;
}

void causal_streams_close(struct causal_streams *s)
{
    if (!s)
        return;
    causal_plan_free(&s->plan);
    free(s->end_ns);
    free(s->launched_ns);
    free(s->is_present);
    free(s);
}

static enum status reserve(struct causal_streams *s, size_t count)
{
    if (count <= s->capacity && s->end_ns)
        return ST_OK;
    free(s->end_ns);
    free(s->launched_ns);
    s->capacity = count + count / 2 + 1;
    s->end_ns = malloc(s->capacity * sizeof *s->end_ns);
    s->launched_ns = malloc(s->capacity * sizeof *s->launched_ns);
    return s->end_ns && s->launched_ns ? ST_OK : ST_NOMEM;
}

/* What had ended before a launch, of the work that is placed: when is all of it over now? */
struct ended {
    size_t count; /* in order of the recorded ends */
    double over_ns;
};

static void let_end(const struct causal_streams *s, struct ended *e, uint64_t at_ns, size_t placed)
{
    const struct causal_window *window = s->plan.window;
    for (; e->count < window->count; e->count++) {
        size_t i = s->plan.by_end[e->count];
        if (window->work[i].end_ns > at_ns)
            return;
        if (i < placed && s->end_ns[i] > e->over_ns)
            e->over_ns = s->end_ns[i];
    }
}

/* When does the host launch this? The launch before it and what it waits for are placed. Which
 * stream it waited for is not recorded: it is taken to have waited for all of them. */
static void place_launch(struct causal_streams *s, size_t j, const struct ended *ended)
{
    const struct causal_launch *l = &s->plan.launches[j];
    if (j == 0) {
        s->launched_ns[0] = (double)l->at_ns;
        return;
    }
    double pause = causal_plan_from_to(s->plan.launches[j - 1].at_ns, l->at_ns);
    if (l->awaited == CAUSAL_NOTHING) {
        s->launched_ns[j] = s->launched_ns[j - 1] + pause;
        return;
    }
    double own =
        s->launched_ns[j - 1] + (pause < s->plan.usual_gap_ns ? pause : s->plan.usual_gap_ns);
    double resumed =
        ended->over_ns + causal_plan_from_to(s->plan.window->work[l->awaited].end_ns, l->at_ns);
    s->launched_ns[j] = own > resumed ? own : resumed;
}

static double start_of(const struct causal_streams *s, size_t at)
{
    const struct causal_node *n = &s->plan.nodes[at];
    double launched = n->launch == CAUSAL_NOTHING ? 0 : s->launched_ns[n->launch];
    double start = n->launch == CAUSAL_NOTHING ? 0 : launched + s->plan.latency_ns;
    if (n->before != CAUSAL_NOTHING && s->end_ns[n->before] + n->slack_ns > start)
        start = s->end_ns[n->before] + n->slack_ns;
    double caused = n->cause == CAUSAL_BY_LAUNCH   ? launched + n->lag_ns
                    : n->cause == CAUSAL_BY_STREAM ? s->end_ns[n->before] + n->lag_ns
                    : n->cause == CAUSAL_BY_OTHER  ? s->end_ns[n->other] + n->lag_ns
                                                   : n->lag_ns;
    return caused > start ? caused : start;
}

/* When is the host done? It keeps what it did behind its last launch; where that was to wait for
 * the GPU, or launches are not known, behind the last work. */
static double host_end(const struct causal_streams *s, double over, uint64_t last_end_ns)
{
    const struct causal_window *window = s->plan.window;
    double tail =
        window->end_ns > last_end_ns ? causal_plan_from_to(last_end_ns, window->end_ns) : 0;
    if (s->plan.nlaunches == 0)
        return over + tail;
    uint64_t last_ns = s->plan.launches[s->plan.nlaunches - 1].at_ns;
    if (window->end_ns <= last_ns)
        return s->launched_ns[s->plan.nlaunches - 1];
    if (causal_plan_is_pause(&s->plan, last_ns, window->end_ns, last_end_ns))
        return over + tail;
    return s->launched_ns[s->plan.nlaunches - 1] + causal_plan_from_to(last_ns, window->end_ns);
}

/* When everything is over, with the work of the group scaled. */
static double replay(struct causal_streams *s, uint32_t group, double scale)
{
    const struct causal_window *window = s->plan.window;
    double over = (double)window->begin_ns;
    uint64_t last_end_ns = window->begin_ns;
    struct ended ended = { 0, 0 };
    size_t j = 0;
    for (size_t i = 0; i < window->count; i++) {
        const struct causal_work *w = &window->work[i];
        for (; j < s->plan.nlaunches && s->plan.launches[j].at_ns <= w->start_ns; j++) {
            let_end(s, &ended, s->plan.launches[j].at_ns, i);
            place_launch(s, j, &ended);
        }
        double duration =
            (double)(w->end_ns - w->start_ns) * (causal_spans_is_of(w, group) ? scale : 1);
        s->end_ns[i] = start_of(s, i) + duration;
        over = s->end_ns[i] > over ? s->end_ns[i] : over;
        last_end_ns = w->end_ns > last_end_ns ? w->end_ns : last_end_ns;
    }
    double host = host_end(s, over, last_end_ns);
    return over > host ? over : host;
}

/* A window that opens while the GPU is behind begins for it when its first work does. */
static double origin_of(const struct causal_streams *s)
{
    const struct causal_window *window = s->plan.window;
    if (window->count == 0)
        return (double)window->begin_ns;
    const struct causal_work *first = &window->work[0];
    uint64_t launch_ns = causal_spans_launch(first);
    bool behind = launch_ns != CAUSAL_NO_TIME &&
                  causal_plan_from_to(launch_ns, first->start_ns) > s->plan.latency_ns + BACKLOG_NS;
    return behind || first->start_ns < window->begin_ns ? (double)first->start_ns
                                                        : (double)window->begin_ns;
}

static void mark_present(struct causal_streams *s)
{
    memset(s->is_present, 0, s->groups * sizeof *s->is_present);
    for (size_t i = 0; i < s->plan.window->count; i++)
        for (int k = 0; k < 2; k++)
            if (s->plan.window->work[i].group[k] < s->groups)
                s->is_present[s->plan.window->work[i].group[k]] = true;
}

enum status causal_streams_replay(struct causal_streams *s, const struct causal_window *window,
                                  struct causal_span *span, struct causal_share *shares)
{
    if (causal_plan_make(&s->plan, window) != ST_OK || reserve(s, window->count) != ST_OK)
        return ST_NOMEM;
    double origin = origin_of(s), over = replay(s, CAUSAL_NO_GROUP, 1);
    double computing = causal_spans_union(window, CAUSAL_NO_GROUP, CAUSAL_COMPUTE);
    double kernels = causal_spans_union(window, CAUSAL_NO_GROUP, CAUSAL_COMMUNICATION);
    *span =
        (struct causal_span){ .span_ns = over - origin,
                              .busy_ns = causal_spans_union(window, CAUSAL_NO_GROUP, CAUSAL_COPY) };
    span->communication_ns = kernels - computing;
    span->copy_ns = span->busy_ns - kernels;
    causal_spans_idle(window, s->plan.latency_ns, origin, over, span);
    mark_present(s);
    for (uint32_t g = 0; g < s->groups; g++) {
        shares[g] = (struct causal_share){ 0 };
        if (!s->is_present[g])
            continue;
        shares[g].active_ns = causal_spans_union(window, g, CAUSAL_COPY);
        shares[g].saved_ns = (over - replay(s, g, CAUSAL_SCALE)) / (1 - CAUSAL_SCALE);
    }
    return ST_OK;
}
