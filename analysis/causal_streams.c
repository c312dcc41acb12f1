/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_streams.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/causal_spans.h"
#include "analysis/causal_threads.h"
#include "analysis/quantile.h"

/* What decides between causes (docs/decision.md). */
enum {
    PAUSE_NS = 20000,   /* a host that waits does so for at least this long, and */
    PAUSE_GAPS = 4,     /* for at least so many usual gaps between launches */
    WAIT_NS = 4000,     /* work that starts so long after it could waited for another stream, */
    NEAR_NS = 8000,     /* if something ended there so shortly before */
    BACKLOG_NS = 50000, /* the first work of a window was behind older work */
    LATENCY_NS = 20000  /* from launch to start at most, where nothing is in the way */
};
enum { LAUNCHES_MIN = 8 }; /* to tell lockstep from a steady host */
enum { STREAMS_MAX = 256, LOOK_BACK = 64 };

static const size_t none = SIZE_MAX;

/* Work as the replay sees it. Indexes are places in the window. */
struct node {
    size_t launch, before, other; /* of its launch; on its stream; on another stream, or `none` */
    double lag_ns;                /* from what it waited for to its start */
    double slack_ns;              /* at most 0: overlap with the one before */
    enum { BY_LAUNCH, BY_STREAM, BY_OTHER, BY_CLOCK } cause;
};

struct launch {
    uint64_t at_ns;
    size_t awaited; /* the work that the host waited for, or `none` */
};

struct causal_streams {
    size_t groups, capacity, nlaunches;
    struct node *nodes;
    struct launch *launches;
    size_t *by_end;               /* places in order of end */
    double *end_ns, *launched_ns; /* of a replay */
    double *scratch;              /* two per work */
    bool *is_present;             /* per group */
    double latency_ns;            /* least from launch to start */
    double usual_gap_ns; /* median from launch to launch; in the end of those without a wait */
    const struct causal_window *window;
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

static void free_arrays(struct causal_streams *s)
{
    free(s->nodes);
    free(s->launches);
    free(s->by_end);
    free(s->end_ns);
    free(s->launched_ns);
    free(s->scratch);
}

void causal_streams_close(struct causal_streams *s)
{
    if (!s)
        return;
    free_arrays(s);
    free(s->is_present);
    free(s);
}

static enum status reserve(struct causal_streams *s, size_t count)
{
    if (count <= s->capacity && s->nodes)
        return ST_OK;
    free_arrays(s);
    s->capacity = count + count / 2 + 1;
    s->nodes = malloc(s->capacity * sizeof *s->nodes);
    s->launches = malloc(s->capacity * sizeof *s->launches);
    s->by_end = malloc(s->capacity * sizeof *s->by_end);
    s->end_ns = malloc(s->capacity * sizeof *s->end_ns);
    s->launched_ns = malloc(s->capacity * sizeof *s->launched_ns);
    s->scratch = malloc(2 * s->capacity * sizeof *s->scratch);
    return s->nodes && s->launches && s->by_end && s->end_ns && s->launched_ns && s->scratch
               ? ST_OK
               : ST_NOMEM;
}

static double from_to(uint64_t from_ns, uint64_t to_ns)
{
    return (double)to_ns - (double)from_ns;
}

static int by_time(const void *left, const void *right)
{
    const struct launch *a = left, *b = right;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void collect_launches(struct causal_streams *s)
{
    size_t known = 0, distinct = 0;
    for (size_t i = 0; i < s->window->count; i++) {
        uint64_t at_ns = causal_spans_launch(&s->window->work[i]);
        if (at_ns != CAUSAL_NO_TIME)
            s->launches[known++] = (struct launch){ at_ns, none };
    }
    if (known)
        qsort(s->launches, known, sizeof *s->launches, by_time);
    for (size_t i = 0; i < known; i++)
        if (distinct == 0 || s->launches[distinct - 1].at_ns != s->launches[i].at_ns)
            s->launches[distinct++] = s->launches[i];
    s->nlaunches = distinct;
}

static size_t find_launch(const struct causal_streams *s, uint64_t at_ns)
{
    if (at_ns == CAUSAL_NO_TIME)
        return none;
    const struct launch key = { at_ns, none };
    const struct launch *found = bsearch(&key, s->launches, s->nlaunches, sizeof key, by_time);
    return found ? (size_t)(found - s->launches) : none;
}

static void measure_latency(struct causal_streams *s)
{
    size_t count = 0;
    s->latency_ns = 0;
    for (size_t i = 0; i < s->window->count; i++) {
        uint64_t at_ns = causal_spans_launch(&s->window->work[i]);
        if (at_ns == CAUSAL_NO_TIME)
            continue;
        double latency = (double)(s->window->work[i].start_ns - at_ns);
        s->latency_ns = count++ == 0 || latency < s->latency_ns ? latency : s->latency_ns;
    }
    s->latency_ns = s->latency_ns < LATENCY_NS ? s->latency_ns : LATENCY_NS;
}

/* Median time from launch to launch where the host did not wait for work; 0 where it always did. */
static double usual_gap_ns(struct causal_streams *s)
{
    size_t count = 0;
    for (size_t j = 1; j < s->nlaunches; j++)
        if (s->launches[j].awaited == none)
            s->scratch[count++] = from_to(s->launches[j - 1].at_ns, s->launches[j].at_ns);
    return count ? quantile_of(s->scratch, count, 0.5) : 0;
}

static int by_end(const void *left, const void *right, void *work)
{
    const struct causal_work *all = work;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (all[a].end_ns != all[b].end_ns)
        return all[a].end_ns < all[b].end_ns ? -1 : 1;
    return (a > b) - (a < b);
}

static void sort_ends(struct causal_streams *s)
{
    for (size_t i = 0; i < s->window->count; i++)
        s->by_end[i] = i;
    if (s->window->count)
        qsort_r(s->by_end, s->window->count, sizeof *s->by_end, by_end, (void *)s->window->work);
}

static double spread(double *values, size_t count)
{
    double low = quantile_of(values, count, 0.25);
    return quantile_of(values, count, 0.75) - low;
}

/* The work that ended last before each launch, where the host may have waited for it. */
static void find_awaited(struct causal_streams *s)
{
    const struct causal_work *work = s->window->work;
    for (size_t j = 0, ended = 0; j < s->nlaunches; j++) {
        uint64_t at_ns = s->launches[j].at_ns;
        while (ended < s->window->count && work[s->by_end[ended]].end_ns <= at_ns)
            ended++;
        size_t last = j && ended ? s->by_end[ended - 1] : none;
        s->launches[j].awaited = last != none && work[last].start_ns < at_ns ? last : none;
    }
}

/* Does the host launch at a fixed time after the GPU became idle, rather than at a pace of its own?
 * Then the times from the end of the work to the next launch vary less than those from launch to
 * launch, which hold the duration of the work. */
static bool is_lockstep(struct causal_streams *s)
{
    const struct causal_work *work = s->window->work;
    double *gaps = s->scratch, *delays = s->scratch + s->capacity;
    size_t count = 0, started = 0;
    uint64_t last_end = 0;
    for (size_t j = 1; j < s->nlaunches; j++) {
        uint64_t at_ns = s->launches[j].at_ns;
        for (; started < s->window->count && work[started].start_ns < at_ns; started++)
            last_end = work[started].end_ns > last_end ? work[started].end_ns : last_end;
        if (s->launches[j].awaited == none || last_end > at_ns)
            continue;
        gaps[count] = (double)(at_ns - s->launches[j - 1].at_ns);
        delays[count++] = (double)(at_ns - work[s->launches[j].awaited].end_ns);
    }
    if (count < LAUNCHES_MIN || (double)count < 0.8 * (double)(s->nlaunches - 1))
        return false;
    double pace = spread(gaps, count);
    return spread(delays, count) < 0.5 * pace;
}

/* The last thing that the host asked for was to have something back, and it asked for nothing more
 * until it had it. When it asked is not recorded of copies, as a rule: behind the launch before, if
 * the copy began behind it. */
static bool is_read_back(const struct causal_streams *s, size_t j)
{
    const struct causal_work *w = &s->window->work[s->launches[j].awaited];
    uint64_t asked_ns = causal_spans_launch(w), before_ns = s->launches[j - 1].at_ns;
    if (asked_ns == CAUSAL_NO_TIME)
        return w->is_readback && w->start_ns >= before_ns;
    return w->is_readback && asked_ns == before_ns;
}

/* Or it stopped for long, most of the time the GPU was at work, and it went on soon after. */
static bool is_pause(const struct causal_streams *s, uint64_t from_ns, uint64_t to_ns,
                     uint64_t end_ns)
{
    double least = PAUSE_GAPS * s->usual_gap_ns, pause = from_to(from_ns, to_ns);
    return pause >= (least > PAUSE_NS ? least : PAUSE_NS) && from_to(end_ns, to_ns) <= pause / 2;
}

/* Forget what the host did not wait for. */
static void keep_waits(struct causal_streams *s)
{
    bool lockstep = is_lockstep(s);
    for (size_t j = 1; j < s->nlaunches && !lockstep; j++) {
        struct launch *l = &s->launches[j];
        if (l->awaited != none && !is_read_back(s, j) &&
            !is_pause(s, s->launches[j - 1].at_ns, l->at_ns, s->window->work[l->awaited].end_ns))
            l->awaited = none;
    }
}

/* The work of another stream that ended last before this one began. Where its launch is not known
 * nothing else says why it began then, so the end may be as far away as a start from its launch. */
static size_t find_other(const struct causal_streams *s, size_t at, size_t ended)
{
    const struct causal_work *work = s->window->work;
    uint64_t near_ns = s->nodes[at].launch == none ? LATENCY_NS : NEAR_NS;
    for (int looked = 0; ended-- > 0 && looked < LOOK_BACK; looked++) {
        const struct causal_work *w = &work[s->by_end[ended]];
        if (w->end_ns + near_ns < work[at].start_ns)
            return none;
        if (w->stream != work[at].stream && s->by_end[ended] < at)
            return s->by_end[ended];
    }
    return none;
}

/* Why did it start when it did? `ended`: how much had ended by then. */
static void explain(struct causal_streams *s, size_t at, size_t ended)
{
    const struct causal_work *work = s->window->work, *w = &work[at];
    struct node *n = &s->nodes[at];
    uint64_t launch_ns = causal_spans_launch(w);
    double launched = n->launch == none ? -1 : (double)launch_ns + s->latency_ns;
    double before = n->before == none ? -1 : (double)work[n->before].end_ns;
    double ready = launched > before ? launched : before;
    n->slack_ns = 0;
    if (n->before != none && work[n->before].end_ns > w->start_ns)
        n->slack_ns = from_to(work[n->before].end_ns, w->start_ns);
    size_t other = find_other(s, at, ended);
    if (other != none && (double)w->start_ns - ready > WAIT_NS &&
        (double)work[other].end_ns > ready) {
        n->cause = BY_OTHER;
        n->other = other;
        n->lag_ns = from_to(work[other].end_ns, w->start_ns);
    } else if (n->launch != none && (n->before == none || launch_ns > work[n->before].end_ns)) {
        n->cause = BY_LAUNCH;
        n->lag_ns = from_to(launch_ns, w->start_ns);
    } else if (n->before != none) {
        n->cause = BY_STREAM;
        n->lag_ns = from_to(work[n->before].end_ns, w->start_ns);
    } else {
        n->cause = BY_CLOCK;
        n->lag_ns = (double)w->start_ns;
    }
}

/* The work before each on its stream. What is on more streams than are told apart has none. */
static void link_streams(struct causal_streams *s)
{
    struct {
        uint32_t stream;
        size_t last;
    } tails[STREAMS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < s->window->count; i++) {
        uint32_t stream = s->window->work[i].stream;
        size_t k = 0;
        while (k < count && tails[k].stream != stream)
            k++;
        s->nodes[i].before = k < count && stream ? tails[k].last : none;
        if (k == STREAMS_MAX)
            continue;
        tails[k].stream = stream;
        tails[k].last = i;
        count += k == count;
    }
}

static void plan(struct causal_streams *s)
{
    const struct causal_work *work = s->window->work;
    collect_launches(s);
    measure_latency(s);
    s->usual_gap_ns = usual_gap_ns(s);
    sort_ends(s);
    find_awaited(s);
    keep_waits(s);
    s->usual_gap_ns = usual_gap_ns(s);
    link_streams(s);
    for (size_t i = 0, ended = 0; i < s->window->count; i++) {
        while (ended < s->window->count && work[s->by_end[ended]].end_ns <= work[i].start_ns)
            ended++;
        s->nodes[i].launch = find_launch(s, causal_spans_launch(&work[i]));
        explain(s, i, ended);
    }
}

/* What had ended before a launch, of the work that is placed: when is all of it over now? */
struct ended {
    size_t count; /* in order of the recorded ends */
    double over_ns;
};

static void let_end(const struct causal_streams *s, struct ended *e, uint64_t at_ns, size_t placed)
{
    const struct causal_window *window = s->window;
    for (; e->count < window->count; e->count++) {
        size_t i = s->by_end[e->count];
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
    const struct launch *l = &s->launches[j];
    if (j == 0) {
        s->launched_ns[0] = (double)l->at_ns;
        return;
    }
    double pause = from_to(s->launches[j - 1].at_ns, l->at_ns);
    if (l->awaited == none) {
        s->launched_ns[j] = s->launched_ns[j - 1] + pause;
        return;
    }
    double own = s->launched_ns[j - 1] + (pause < s->usual_gap_ns ? pause : s->usual_gap_ns);
    double resumed = ended->over_ns + from_to(s->window->work[l->awaited].end_ns, l->at_ns);
    s->launched_ns[j] = own > resumed ? own : resumed;
}

static double start_of(const struct causal_streams *s, size_t at)
{
    const struct node *n = &s->nodes[at];
    double launched = n->launch == none ? 0 : s->launched_ns[n->launch];
    double start = n->launch == none ? 0 : launched + s->latency_ns;
    if (n->before != none && s->end_ns[n->before] + n->slack_ns > start)
        start = s->end_ns[n->before] + n->slack_ns;
    double caused = n->cause == BY_LAUNCH   ? launched + n->lag_ns
                    : n->cause == BY_STREAM ? s->end_ns[n->before] + n->lag_ns
                    : n->cause == BY_OTHER  ? s->end_ns[n->other] + n->lag_ns
                                            : n->lag_ns;
    return caused > start ? caused : start;
}

/* When is the host done? It keeps what it did behind its last launch; where that was to wait for
 * the GPU, or launches are not known, behind the last work. */
static double host_end(const struct causal_streams *s, double over, uint64_t last_end_ns)
{
    const struct causal_window *window = s->window;
    double tail = window->end_ns > last_end_ns ? from_to(last_end_ns, window->end_ns) : 0;
    if (s->nlaunches == 0)
        return over + tail;
    uint64_t last_ns = s->launches[s->nlaunches - 1].at_ns;
    if (window->end_ns <= last_ns)
        return s->launched_ns[s->nlaunches - 1];
    if (is_pause(s, last_ns, window->end_ns, last_end_ns))
        return over + tail;
    return s->launched_ns[s->nlaunches - 1] + from_to(last_ns, window->end_ns);
}

/* When everything is over, with the work of the group scaled. */
static double replay(struct causal_streams *s, uint32_t group, double scale)
{
    const struct causal_window *window = s->window;
    double over = (double)window->begin_ns;
    uint64_t last_end_ns = window->begin_ns;
    struct ended ended = { 0, 0 };
    size_t j = 0;
    for (size_t i = 0; i < window->count; i++) {
        const struct causal_work *w = &window->work[i];
        for (; j < s->nlaunches && s->launches[j].at_ns <= w->start_ns; j++) {
            let_end(s, &ended, s->launches[j].at_ns, i);
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
    const struct causal_window *window = s->window;
    if (window->count == 0)
        return (double)window->begin_ns;
    const struct causal_work *first = &window->work[0];
    uint64_t launch_ns = causal_spans_launch(first);
    bool behind = launch_ns != CAUSAL_NO_TIME &&
                  from_to(launch_ns, first->start_ns) > s->latency_ns + BACKLOG_NS;
    return behind || first->start_ns < window->begin_ns ? (double)first->start_ns
                                                        : (double)window->begin_ns;
}

static void mark_present(struct causal_streams *s)
{
    memset(s->is_present, 0, s->groups * sizeof *s->is_present);
    for (size_t i = 0; i < s->window->count; i++)
        for (int k = 0; k < 2; k++)
            if (s->window->work[i].group[k] < s->groups)
                s->is_present[s->window->work[i].group[k]] = true;
}

enum status causal_streams_replay(struct causal_streams *s, const struct causal_window *window,
                                  struct causal_span *span, struct causal_share *shares)
{
    s->window = window;
    if (reserve(s, window->count) != ST_OK)
        return ST_NOMEM;
    plan(s);
    double origin = origin_of(s), over = replay(s, CAUSAL_NO_GROUP, 1);
    double computing = causal_spans_union(window, CAUSAL_NO_GROUP, CAUSAL_COMPUTE);
    double kernels = causal_spans_union(window, CAUSAL_NO_GROUP, CAUSAL_COMMUNICATION);
    *span =
        (struct causal_span){ .span_ns = over - origin,
                              .busy_ns = causal_spans_union(window, CAUSAL_NO_GROUP, CAUSAL_COPY) };
    span->communication_ns = kernels - computing;
    span->copy_ns = span->busy_ns - kernels;
    causal_spans_idle(window, s->latency_ns, origin, over, span);
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
