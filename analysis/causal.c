/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal_streams.h"
#include "analysis/causal_threads.h"
#include "analysis/heat.h"
#include "analysis/shape.h"
#include "traces/buffer.h"
#include "traces/frame.h"
#include "traces/timeline.h"

enum { WINDOWS_MIN = 5, WINDOWS_MAX = 512 };

/* Shares of a group's time that must have been replayed to speak for it. */
static const double events_least = 0.95, events_most = 1.05, late_most = 0.05;

/* What the windows of a GPU said, one column per window; neighbours are united where there are more
 * than WINDOWS_MAX. */
struct columns {
    size_t count, windows; /* in use; replayed */
    size_t per_column;
    double *span_ns;   /* per column */
    double *saved_ns;  /* per group and column */
    double *active_ns; /* per group */
    struct causal_span sum;
};

struct pair {
    uint32_t group[2];
};

struct measure {
    const struct summary *summary;
    const struct causal_group *groups;
    size_t ngroups;
    struct causal_threads *threads;
    struct causal_streams *streams;
    double *event_ns, *remote_ns; /* per group: of all events; of those on streams */
    struct columns columns;
    struct causal_share *shares; /* per group, of one window */
    /* Of the open file. */
    const char *path;
    struct buffer pairs;               /* struct pair per signature of the reader */
    struct buffer work;                /* struct causal_work of a window */
    struct buffer heads;               /* struct head: places in the runs of a frame */
    const struct summary_shard *shard; /* NULL: it is read from another file */
    struct fault *fault;
};

static enum status no_memory(struct measure *m)
{
    return fault_set(m->fault, ST_NOMEM, "out of memory for the timeline");
}

static int by_id(const void *id, const void *shard)
{
    return frame_compare_shards(id, &((const struct summary_shard *)shard)->shard.id);
}

/* The shard of the summary that is read from this file; NULL: it is read from another. */
static const struct summary_shard *find_shard(const struct measure *m, const struct reader *r,
                                              uint32_t index)
{
    size_t count;
    const struct shard_id *id = &reader_shards(r, &count)[index].id;
    const struct summary_shard *found =
        bsearch(id, m->summary->shards, m->summary->nshards, sizeof *found, by_id);
    return found && strcmp(found->path, m->path) == 0 ? found : NULL;
}

static struct pair groups_of(const struct measure *m, const struct tilewise_signature *s)
{
    struct pair pair = { { CAUSAL_NO_GROUP, CAUSAL_NO_GROUP } };
    uint8_t dtype = shape_dtype(s);
    const char *shape_class = shape_class_name(s);
    for (uint32_t i = 0; i < m->ngroups; i++) {
        const struct causal_group *g = &m->groups[i];
        if (g->op != s->op || g->dtype != dtype)
            continue;
        if (!g->shape_class)
            pair.group[0] = i;
        else if (strcmp(g->shape_class, shape_class) == 0)
            pair.group[1] = i;
    }
    return pair;
}

static enum status enter_signatures(struct measure *m, const struct reader *r)
{
    size_t count, known = m->pairs.size / sizeof(struct pair);
    const struct tilewise_signature *signatures = reader_signatures(r, &count);
    if (count > known && !buffer_reserve(&m->pairs, (count - known) * sizeof(struct pair)))
        return no_memory(m);
    for (; known < count; known++) {
        const struct pair pair = groups_of(m, &signatures[known]);
        buffer_put(&m->pairs, &pair, sizeof pair);
    }
    return ST_OK;
}

static const struct pair *pair_of(const struct measure *m, uint32_t signature)
{
    return (const struct pair *)m->pairs.bytes + signature;
}

/* Calls. */

/* The next event of one run of a frame. */
struct head {
    const struct reader_events *run;
    size_t at;
};

static enum status add_event(struct measure *m, const struct head *h)
{
    uint32_t signature = h->run->signature[h->at];
    const struct pair *pair = pair_of(m, signature);
    if (pair->group[0] == CAUSAL_NO_GROUP || pair->group[1] == CAUSAL_NO_GROUP)
        return ST_OK;
    const struct causal_call call = {
        .thread = h->run->thread,
        .group = { pair->group[0], pair->group[1] },
        .is_communication = m->groups[pair->group[0]].op == TILEWISE_OP_COLLECTIVE,
        .start_ns = h->run->start_ns[h->at],
        .duration_ns = h->run->duration_ns[h->at],
    };
    for (int i = 0; i < 2; i++) {
        m->event_ns[call.group[i]] += (double)call.duration_ns;
        m->remote_ns[call.group[i]] += h->run->stream ? (double)call.duration_ns : 0;
    }
    return causal_threads_add(m->threads, &call) == ST_OK ? ST_OK : no_memory(m);
}

static uint64_t time_of(const struct head *h)
{
    return h->run->start_ns[h->at];
}

/* A binary heap, earliest first. */
static void sink(struct head *heap, size_t count, size_t at)
{
    struct head moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && time_of(&heap[child + 1]) < time_of(&heap[child]))
            child++;
        if (time_of(&heap[child]) >= time_of(&moving))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static enum status add_events(struct measure *m, const struct reader_frame *f)
{
    size_t count = 0;
    m->heads.size = 0;
    if (!buffer_reserve(&m->heads, f->nevents * sizeof(struct head)))
        return no_memory(m);
    struct head *heap = (struct head *)m->heads.bytes;
    for (size_t i = 0; i < f->nevents; i++)
        if (f->events[i].count)
            heap[count++] = (struct head){ &f->events[i], 0 };
    for (size_t i = count / 2; i-- > 0;)
        sink(heap, count, i);
    while (count) {
        enum status st = add_event(m, &heap[0]);
        if (st != ST_OK)
            return st;
        if (++heap[0].at == heap[0].run->count)
            heap[0] = heap[--count];
        if (count)
            sink(heap, count, 0);
    }
    return ST_OK;
}

static void end_process(struct measure *m)
{
    if (m->shard)
        causal_threads_end_process(m->threads, m->shard->wall_ns);
    m->shard = NULL;
}

static enum status read_calls(struct measure *m)
{
    struct reader *r;
    struct reader_frame f;
    uint32_t shard = UINT32_MAX;
    enum status st = reader_open(&r, m->path, m->fault);
    if (st != ST_OK)
        return st;
    m->pairs.size = 0;
    while ((st = reader_next(r, &f, m->fault)) == ST_OK) {
        if (f.shard != shard) {
            shard = f.shard;
            end_process(m);
            m->shard = find_shard(m, r, shard);
            causal_threads_begin_process(m->threads);
        }
        st = enter_signatures(m, r);
        if (st == ST_OK && m->shard)
            st = add_events(m, &f);
        if (st != ST_OK)
            break;
    }
    end_process(m);
    reader_close(r);
    return st == ST_END ? ST_OK : st;
}

/* Kernels. */

/* Collectives are found by name too: most are launched by no recorded call. */
static bool is_collective(const struct reader *r, const struct timeline_interval *v)
{
    size_t count;
    const struct tilewise_signature *signatures = reader_signatures(r, &count);
    if (v->signature != GPU_NO_SIGNATURE)
        return signatures[v->signature].op == TILEWISE_OP_COLLECTIVE;
    return strncmp(reader_string(r, v->name), "nccl", 4) == 0;
}

static void add_work(struct measure *m, const struct reader *r, const struct timeline_interval *v)
{
    struct causal_work w = { .start_ns = v->start_ns,
                             .end_ns = v->end_ns,
                             .launch_ns = v->launch_ns,
                             .stream = v->stream,
                             .group = { CAUSAL_NO_GROUP, CAUSAL_NO_GROUP } };
    if (v->signature != GPU_NO_SIGNATURE)
        memcpy(w.group, pair_of(m, v->signature)->group, sizeof w.group);
    w.is_readback = v->work == GPU_COPY && strcmp(reader_string(r, v->name), "DtoH") == 0;
    w.kind = v->work != GPU_KERNEL ? CAUSAL_COPY
             : is_collective(r, v) ? CAUSAL_COMMUNICATION
                                   : CAUSAL_COMPUTE;
    buffer_put(&m->work, &w, sizeof w);
}

static int by_start(const void *left, const void *right)
{
    const struct causal_work *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static void unite_columns(struct measure *m)
{
    struct columns *c = &m->columns;
    for (size_t row = 0; row <= m->ngroups; row++) {
        double *of = row < m->ngroups ? c->saved_ns + row * WINDOWS_MAX : c->span_ns;
        for (size_t i = 0; i < WINDOWS_MAX; i++)
            of[i] = i < WINDOWS_MAX / 2 ? of[2 * i] + of[2 * i + 1] : 0;
    }
    c->count = WINDOWS_MAX / 2;
    c->per_column *= 2;
}

static void add_column(struct measure *m, const struct causal_span *span)
{
    struct columns *c = &m->columns;
    size_t at = c->windows++ / c->per_column;
    if (at == WINDOWS_MAX) {
        unite_columns(m);
        at = c->count;
    }
    c->count = at + 1;
    c->span_ns[at] += span->span_ns;
    for (size_t g = 0; g < m->ngroups; g++) {
        c->saved_ns[g * WINDOWS_MAX + at] += m->shares[g].saved_ns;
        c->active_ns[g] += m->shares[g].active_ns;
    }
    c->sum.span_ns += span->span_ns;
    c->sum.busy_ns += span->busy_ns;
    c->sum.host_ns += span->host_ns;
    c->sum.wait_ns += span->wait_ns;
    c->sum.communication_ns += span->communication_ns;
    c->sum.copy_ns += span->copy_ns;
}

static enum status add_window(struct measure *m, const struct reader *r,
                              const struct timeline_window *w)
{
    m->work.size = 0;
    for (size_t i = 0; i < w->nstreams; i++) {
        if (!buffer_reserve(&m->work, w->streams[i].count * sizeof(struct causal_work)))
            return no_memory(m);
        for (size_t k = 0; k < w->streams[i].count; k++)
            add_work(m, r, &w->streams[i].interval[k]);
    }
    size_t count = m->work.size / sizeof(struct causal_work);
    if (count)
        qsort(m->work.bytes, count, sizeof(struct causal_work), by_start);
    const struct causal_window window = { w->window.begin_ns, w->window.end_ns, count,
                                          (const struct causal_work *)m->work.bytes };
    struct causal_span span;
    if (causal_streams_replay(m->streams, &window, &span, m->shares) != ST_OK)
        return no_memory(m);
    add_column(m, &span);
    return ST_OK;
}

/* A window that lost many of its kernels would show idle time that was none. */
static bool is_whole(const struct timeline_window *w)
{
    uint64_t lost = w->missing + w->window.dropped;
    return w->window.launches == 0 || (double)lost <= 0.01 * (double)w->window.launches;
}

static enum status read_windows(struct measure *m)
{
    struct timeline *t;
    struct timeline_window w;
    enum status st = timeline_open(&t, m->path, m->fault);
    m->pairs.size = 0;
    while (st == ST_OK && (st = timeline_next(t, &w, m->fault)) == ST_OK) {
        const struct reader *r = timeline_reader(t);
        st = enter_signatures(m, r);
        if (st == ST_OK && is_whole(&w) && find_shard(m, r, w.shard))
            st = add_window(m, r, &w);
    }
    timeline_close(t);
    return st == ST_END ? ST_OK : st;
}

/* Both. */

static enum status read_file(struct measure *m, const char *path)
{
    m->path = path;
    enum status st = read_calls(m);
    return st == ST_OK && m->summary->gpu.intervals ? read_windows(m) : st;
}

/* Each file once, in the order of the shards. */
static enum status read_all(struct measure *m)
{
    const struct summary *s = m->summary;
    const char **paths = calloc(s->nshards + 1, sizeof *paths);
    enum status st = paths ? ST_OK : no_memory(m);
    for (size_t i = 0, count = 0; i < s->nshards && st == ST_OK; i++) {
        size_t k = 0;
        while (k < count && strcmp(paths[k], s->shards[i].path) != 0)
            k++;
        if (k < count)
            continue;
        paths[count++] = s->shards[i].path;
        st = read_file(m, s->shards[i].path);
    }
    free(paths);
    return st;
}

static enum status start(struct measure *m)
{
    size_t n = m->ngroups + 1;
    m->columns.per_column = 1;
    m->event_ns = calloc(n, sizeof *m->event_ns);
    m->remote_ns = calloc(n, sizeof *m->remote_ns);
    m->shares = calloc(n, sizeof *m->shares);
    m->columns.span_ns = calloc(WINDOWS_MAX, sizeof *m->columns.span_ns);
    m->columns.saved_ns = calloc(n * WINDOWS_MAX, sizeof *m->columns.saved_ns);
    m->columns.active_ns = calloc(n, sizeof *m->columns.active_ns);
    if (!m->event_ns || !m->remote_ns || !m->shares || !m->columns.span_ns ||
        !m->columns.saved_ns || !m->columns.active_ns ||
        causal_threads_open(&m->threads, m->ngroups, m->summary->wall_ns) != ST_OK)
        return no_memory(m);
    return causal_streams_open(&m->streams, m->ngroups) == ST_OK ? ST_OK : no_memory(m);
}

static void finish(struct measure *m)
{
    free(m->event_ns);
    free(m->remote_ns);
    free(m->shares);
    free(m->columns.span_ns);
    free(m->columns.saved_ns);
    free(m->columns.active_ns);
    causal_threads_close(m->threads);
    causal_streams_close(m->streams);
    buffer_free(&m->pairs);
    buffer_free(&m->work);
    buffer_free(&m->heads);
}

/* Sums over the columns, as shares. */
static void share(struct causal_effect *e, const double *saved_ns, const double *span_ns,
                  size_t count)
{
    double saved = 0, span = 0;
    for (size_t i = 0; i < count; i++) {
        saved += saved_ns[i];
        span += span_ns[i];
    }
    e->value = fmin(saved / span, 1);
    heat_bootstrap(saved_ns, span_ns, count, &e->lo, &e->hi);
    e->lo = fmin(e->lo, e->value);
    e->hi = fmin(fmax(e->hi, e->value), 1);
}

static bool threads_can_tell(const struct measure *m, uint32_t g)
{
    struct causal_threads_totals totals = causal_threads_totals(m->threads);
    double part = m->event_ns[g] / (double)m->groups[g].time_ns;
    return m->groups[g].time_ns && part >= events_least && part <= events_most &&
           m->remote_ns[g] <= m->event_ns[g] / 2 && !totals.too_many_threads &&
           (double)totals.late_ns <= late_most * (double)totals.busy_ns;
}

static struct causal_effect effect_of(const struct measure *m, uint32_t g)
{
    const struct columns *c = &m->columns;
    struct causal_effect e = { CAUSAL_NONE, NAN, NAN, NAN, NAN, NAN };
    if (c->windows >= WINDOWS_MIN && c->active_ns[g] > 0) {
        e.source = CAUSAL_STREAMS;
        e.busy_share = c->active_ns[g] / c->sum.busy_ns;
        e.wall_share = fmin(c->active_ns[g] / c->sum.span_ns, 1);
        share(&e, c->saved_ns + g * WINDOWS_MAX, c->span_ns, c->count);
    } else if (m->summary->wall_ns && threads_can_tell(m, g)) {
        double block[CAUSAL_THREADS_BLOCKS];
        for (size_t i = 0; i < CAUSAL_THREADS_BLOCKS; i++)
            block[i] = (double)m->summary->wall_ns / CAUSAL_THREADS_BLOCKS;
        e.source = CAUSAL_THREADS;
        share(&e, causal_threads_saved_ns(m->threads, g), block, CAUSAL_THREADS_BLOCKS);
    }
    return e;
}

static struct causal_idle idle_of(const struct measure *m)
{
    const struct causal_span *sum = &m->columns.sum;
    struct causal_threads_totals totals = causal_threads_totals(m->threads);
    double wall_ns = (double)m->summary->wall_ns;
    if (m->columns.windows >= WINDOWS_MIN && sum->busy_ns > 0)
        return (struct causal_idle){ CAUSAL_STREAMS, sum->host_ns / sum->span_ns,
                                     sum->wait_ns / sum->span_ns,
                                     sum->communication_ns / sum->span_ns,
                                     sum->copy_ns / sum->span_ns };
    if (totals.busy_ns == 0 || !(wall_ns > 0) || totals.too_many_threads)
        return (struct causal_idle){ CAUSAL_NONE, NAN, NAN, NAN, NAN };
    return (struct causal_idle){ CAUSAL_THREADS, fmax(1 - (double)totals.busy_ns / wall_ns, 0), NAN,
                                 fmin((double)totals.communication_ns / wall_ns, 1), NAN };
}

static enum status conclude(const struct measure *m, struct causal **out)
{
    struct causal *c = calloc(1, sizeof *c);
    if (!c || !(c->effects = calloc(m->ngroups + 1, sizeof *c->effects))) {
        free(c);
        return fault_set(m->fault, ST_NOMEM, "out of memory for the timeline");
    }
    c->ngroups = m->ngroups;
    c->windows = m->columns.windows;
    for (uint32_t g = 0; g < m->ngroups; g++)
        c->effects[g] = effect_of(m, g);
    c->idle = idle_of(m);
    *out = c;
    return ST_OK;
}

enum status causal_measure(struct causal **out, const struct summary *s,
                           const struct causal_group *groups, size_t count, struct fault *fault)
{
    struct measure m = { .summary = s, .groups = groups, .ngroups = count, .fault = fault };
    *out = NULL;
    enum status st = start(&m);
    if (st == ST_OK)
        st = read_all(&m);
    if (st == ST_OK)
        st = conclude(&m, out);
    finish(&m);
    return st;
}

void causal_free(struct causal *c)
{
    if (!c)
        return;
    free(c->effects);
    free(c);
}
