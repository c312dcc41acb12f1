/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_plan.h"

#include <stdlib.h>

#include "analysis/causal_forks.h"
#include "analysis/causal_spans.h"
#include "analysis/quantile.h"

/* What decides between causes (docs/decision.md). */
enum {
    PAUSE_NS = 20000,  /* a host that waits does so for at least this long, and */
    PAUSE_GAPS = 4,    /* for at least so many usual gaps between launches */
    WAIT_NS = 4000,    /* work that starts so long after it could waited for another stream, */
    NEAR_NS = 8000,    /* if something ended there so shortly before */
    LATENCY_NS = 20000 /* from launch to start at most, where nothing is in the way */
};
enum { LAUNCHES_MIN = 8 }; /* to tell lockstep from a steady host */
enum { STREAMS_MAX = 256, LOOK_BACK = 64 };

void causal_plan_free(struct causal_plan *p)
{
    free(p->nodes);
    free(p->launches);
    free(p->by_end);
    free(p->scratch);
    free(p->branches);
}

static enum status reserve(struct causal_plan *p, size_t count)
{
    if (count <= p->capacity && p->nodes)
        return ST_OK;
    causal_plan_free(p);
    p->capacity = count + count / 2 + 1;
    p->nodes = malloc(p->capacity * sizeof *p->nodes);
    p->launches = malloc(p->capacity * sizeof *p->launches);
    p->by_end = malloc(p->capacity * sizeof *p->by_end);
    p->scratch = malloc(2 * p->capacity * sizeof *p->scratch);
    p->branches = malloc(p->capacity * sizeof *p->branches);
    return p->nodes && p->launches && p->by_end && p->scratch && p->branches ? ST_OK : ST_NOMEM;
}

static int by_time(const void *left, const void *right)
{
    const struct causal_launch *a = left, *b = right;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void collect_launches(struct causal_plan *p)
{
    size_t known = 0, distinct = 0;
    for (size_t i = 0; i < p->window->count; i++) {
        uint64_t at_ns = causal_spans_launch(&p->window->work[i]);
        if (at_ns != CAUSAL_NO_TIME)
            p->launches[known++] = (struct causal_launch){ at_ns, CAUSAL_NOTHING, 1 };
    }
    if (known)
        qsort(p->launches, known, sizeof *p->launches, by_time);
    for (size_t i = 0; i < known; i++)
        if (distinct == 0 || p->launches[distinct - 1].at_ns != p->launches[i].at_ns)
            p->launches[distinct++] = p->launches[i];
        else
            p->launches[distinct - 1].nodes++;
    p->nlaunches = distinct;
}

static size_t find_launch(const struct causal_plan *p, uint64_t at_ns)
{
    if (at_ns == CAUSAL_NO_TIME)
        return CAUSAL_NOTHING;
    const struct causal_launch key = { .at_ns = at_ns };
    const struct causal_launch *found =
        bsearch(&key, p->launches, p->nlaunches, sizeof key, by_time);
    return found ? (size_t)(found - p->launches) : CAUSAL_NOTHING;
}

static void measure_latency(struct causal_plan *p)
{
    size_t count = 0;
    p->latency_ns = 0;
    for (size_t i = 0; i < p->window->count; i++) {
        uint64_t at_ns = causal_spans_launch(&p->window->work[i]);
        if (at_ns == CAUSAL_NO_TIME)
            continue;
        double latency = (double)(p->window->work[i].start_ns - at_ns);
        p->latency_ns = count++ == 0 || latency < p->latency_ns ? latency : p->latency_ns;
    }
    p->latency_ns = p->latency_ns < LATENCY_NS ? p->latency_ns : LATENCY_NS;
}

/* Median time from launch to launch where the host did not wait for work; 0 where it always did. */
static double usual_gap_ns(struct causal_plan *p)
{
    size_t count = 0;
    for (size_t j = 1; j < p->nlaunches; j++)
        if (p->launches[j].awaited == CAUSAL_NOTHING)
            p->scratch[count++] =
                causal_plan_from_to(p->launches[j - 1].at_ns, p->launches[j].at_ns);
    return count ? quantile_of(p->scratch, count, 0.5) : 0;
}

static int by_end(const void *left, const void *right, void *work)
{
    const struct causal_work *all = work;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (all[a].end_ns != all[b].end_ns)
        return all[a].end_ns < all[b].end_ns ? -1 : 1;
    return (a > b) - (a < b);
}

static void sort_ends(struct causal_plan *p)
{
    for (size_t i = 0; i < p->window->count; i++)
        p->by_end[i] = i;
    if (p->window->count)
        qsort_r(p->by_end, p->window->count, sizeof *p->by_end, by_end, (void *)p->window->work);
}

/* The work that ended last before each launch, where the host may have waited for it: behind the
 * launch before. */
static void find_awaited(struct causal_plan *p)
{
    const struct causal_work *work = p->window->work;
    for (size_t j = 1, ended = 0; j < p->nlaunches; j++) {
        while (ended < p->window->count && work[p->by_end[ended]].end_ns <= p->launches[j].at_ns)
            ended++;
        size_t last = ended ? p->by_end[ended - 1] : CAUSAL_NOTHING;
        if (last != CAUSAL_NOTHING && work[last].end_ns > p->launches[j - 1].at_ns &&
            work[last].start_ns < p->launches[j].at_ns)
            p->launches[j].awaited = last;
    }
}

/* Does the host launch at a fixed time after the GPU became idle, rather than at a pace of its own?
 * Then the times from the end of the work to the next launch vary less than those from launch to
 * launch, which hold the duration of the work. */
static bool is_lockstep(struct causal_plan *p)
{
    const struct causal_work *work = p->window->work;
    double *gaps = p->scratch, *delays = p->scratch + p->capacity;
    size_t count = 0, started = 0;
    uint64_t last_end = 0;
    for (size_t j = 1; j < p->nlaunches; j++) {
        uint64_t at_ns = p->launches[j].at_ns;
        for (; started < p->window->count && work[started].start_ns < at_ns; started++)
            last_end = work[started].end_ns > last_end ? work[started].end_ns : last_end;
        if (p->launches[j].awaited == CAUSAL_NOTHING || last_end > at_ns)
            continue;
        gaps[count] = (double)(at_ns - p->launches[j - 1].at_ns);
        delays[count++] = (double)(at_ns - work[p->launches[j].awaited].end_ns);
    }
    if (count < LAUNCHES_MIN || (double)count < 0.8 * (double)(p->nlaunches - 1))
        return false;
    double pace = quantile_spread(gaps, count);
    return quantile_spread(delays, count) < 0.5 * pace;
}

/* The last thing that the host asked for was to have something back, and it asked for nothing more
 * until it had it. When it asked is not recorded of copies, as a rule: behind the launch before, if
 * the copy began behind it. */
static bool is_read_back(const struct causal_plan *p, size_t j)
{
    const struct causal_work *w = &p->window->work[p->launches[j].awaited];
    uint64_t asked_ns = causal_spans_launch(w), before_ns = p->launches[j - 1].at_ns;
    if (asked_ns == CAUSAL_NO_TIME)
        return w->is_readback && w->start_ns >= before_ns;
    return w->is_readback && asked_ns == before_ns;
}

/* Or it stopped for long, most of the time the GPU was at work, and it went on soon after. */
bool causal_plan_is_pause(const struct causal_plan *p, uint64_t from_ns, uint64_t to_ns,
                          uint64_t end_ns)
{
    double least = PAUSE_GAPS * p->usual_gap_ns, pause = causal_plan_from_to(from_ns, to_ns);
    return pause >= (least > PAUSE_NS ? least : PAUSE_NS) &&
           causal_plan_from_to(end_ns, to_ns) <= pause / 2;
}

/* Forget what the host did not wait for. */
static void keep_waits(struct causal_plan *p)
{
    bool lockstep = is_lockstep(p);
    for (size_t j = 1; j < p->nlaunches && !lockstep; j++) {
        struct causal_launch *l = &p->launches[j];
        if (l->awaited != CAUSAL_NOTHING && !is_read_back(p, j) &&
            !causal_plan_is_pause(p, p->launches[j - 1].at_ns, l->at_ns,
                                  p->window->work[l->awaited].end_ns))
            l->awaited = CAUSAL_NOTHING;
    }
}

/* The work of another stream that ended last before this one began. Where its launch is not known
 * nothing else says why it began then, so the end may be as far away as a start from its launch. */
static size_t find_other(const struct causal_plan *p, size_t at, size_t ended)
{
    const struct causal_work *work = p->window->work;
    uint64_t near_ns = p->nodes[at].launch == CAUSAL_NOTHING ? LATENCY_NS : NEAR_NS;
    for (int looked = 0; ended-- > 0 && looked < LOOK_BACK; looked++) {
        const struct causal_work *w = &work[p->by_end[ended]];
        if (w->end_ns + near_ns < work[at].start_ns)
            return CAUSAL_NOTHING;
        if (w->stream != work[at].stream && p->by_end[ended] < at)
            return p->by_end[ended];
    }
    return CAUSAL_NOTHING;
}

/* Why did it start when it did? `other`: what it may have waited for on another stream. */
static void explain(struct causal_plan *p, size_t at, size_t other)
{
    const struct causal_work *work = p->window->work, *w = &work[at];
    struct causal_node *n = &p->nodes[at];
    uint64_t launch_ns = causal_spans_launch(w);
    double launched = n->launch == CAUSAL_NOTHING ? -1 : (double)launch_ns + p->latency_ns;
    double before = n->before == CAUSAL_NOTHING ? -1 : (double)work[n->before].end_ns;
    double ready = launched > before ? launched : before;
    n->slack_ns = 0;
    if (n->before != CAUSAL_NOTHING && work[n->before].end_ns > w->start_ns)
        n->slack_ns = causal_plan_from_to(work[n->before].end_ns, w->start_ns);
    if (other != CAUSAL_NOTHING && (double)w->start_ns - ready > WAIT_NS &&
        (double)work[other].end_ns > ready) {
        n->cause = CAUSAL_BY_OTHER;
        n->other = other;
        n->lag_ns = causal_plan_from_to(work[other].end_ns, w->start_ns);
    } else if (n->launch != CAUSAL_NOTHING &&
               (n->before == CAUSAL_NOTHING || launch_ns > work[n->before].end_ns)) {
        n->cause = CAUSAL_BY_LAUNCH;
        n->lag_ns = causal_plan_from_to(launch_ns, w->start_ns);
    } else if (n->before != CAUSAL_NOTHING) {
        n->cause = CAUSAL_BY_STREAM;
        n->lag_ns = causal_plan_from_to(work[n->before].end_ns, w->start_ns);
    } else {
        n->cause = CAUSAL_BY_CLOCK;
        n->lag_ns = (double)w->start_ns;
    }
}

/* The launch of each, and the work before it on its stream. What is on more streams than are told
 * apart has none. */
static void link_streams(struct causal_plan *p)
{
    struct {
        uint32_t stream;
        size_t last;
    } tails[STREAMS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < p->window->count; i++) {
        uint32_t stream = p->window->work[i].stream;
        size_t k = 0;
        while (k < count && tails[k].stream != stream)
            k++;
        struct causal_node *n = &p->nodes[i];
        n->launch = find_launch(p, causal_spans_launch(&p->window->work[i]));
        n->before = k < count && stream ? tails[k].last : CAUSAL_NOTHING;
        n->rank = 0;
        if (n->before != CAUSAL_NOTHING && p->nodes[n->before].launch == n->launch)
            n->rank = p->nodes[n->before].rank + 1;
        if (k == STREAMS_MAX)
            continue;
        tails[k].stream = stream;
        tails[k].last = i;
        count += k == count;
    }
}

/* The first node of a launch on a stream, but not the only one of the launch. */
static bool is_branch(const struct causal_plan *p, size_t at)
{
    const struct causal_node *n = &p->nodes[at];
    return p->window->work[at].stream && n->rank == 0 && n->launch != CAUSAL_NOTHING &&
           p->launches[n->launch].nodes > 1;
}

static struct causal_branch branch_of(const struct causal_plan *p, size_t at)
{
    const struct causal_work *work = p->window->work, *w = &work[at];
    const struct causal_node *n = &p->nodes[at];
    struct causal_branch b = { .at = at,
                               .nodes = p->launches[n->launch].nodes,
                               .stream = w->stream,
                               .behind = CAUSAL_NO_NODE };
    b.launch_lag_ns = causal_plan_from_to(causal_spans_launch(w), w->start_ns);
    if (n->cause == CAUSAL_BY_OTHER && p->nodes[n->other].launch == n->launch) {
        b.behind = (uint64_t)work[n->other].stream << 32 | p->nodes[n->other].rank;
        b.node_lag_ns = n->lag_ns;
    }
    return b;
}

/* Branches of a graph that are no forks waited for nothing in it. */
static void part_branches(struct causal_plan *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->window->count; i++)
        if (is_branch(p, i))
            p->branches[count++] = branch_of(p, i);
    causal_forks_find(p->branches, count, p->scratch);
    for (size_t i = 0; i < count; i++)
        if (!p->branches[i].is_fork && p->branches[i].behind != CAUSAL_NO_NODE)
            explain(p, p->branches[i].at, CAUSAL_NOTHING);
}

enum status causal_plan_make(struct causal_plan *p, const struct causal_window *window)
{
    p->window = window;
    if (reserve(p, window->count) != ST_OK)
        return ST_NOMEM;
    const struct causal_work *work = p->window->work;
    collect_launches(p);
    measure_latency(p);
    p->usual_gap_ns = usual_gap_ns(p);
    sort_ends(p);
    find_awaited(p);
    keep_waits(p);
    p->usual_gap_ns = usual_gap_ns(p);
    link_streams(p);
    for (size_t i = 0, ended = 0; i < p->window->count; i++) {
        while (ended < p->window->count && work[p->by_end[ended]].end_ns <= work[i].start_ns)
            ended++;
        explain(p, i, find_other(p, i, ended));
    }
    part_branches(p);
    return ST_OK;
}
