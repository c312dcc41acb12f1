/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal_file.h"
#include "analysis/causal_threads.h"
#include "analysis/causal_windows.h"
#include "analysis/heat.h"

enum { WINDOWS_MIN = 5 };

/* Shares of a group's time that must have been replayed to speak for it. */
static const double events_least = 0.95, events_most = 1.05, late_most = 0.05;

struct measure {
    struct causal_file file;
    struct causal_threads *threads;
    struct causal_windows windows;
    double *event_ns, *remote_ns;      /* per group: of all events; of those on streams */
    struct buffer heads;               /* struct head: places in the runs of a frame */
    uint32_t shard_index;              /* of the open file; UINT32_MAX: none yet */
    const struct summary_shard *shard; /* the open one; NULL: it is read from another file */
};

/* The next event of one run of a frame. */
struct head {
    const struct reader_events *run;
    size_t at;
};

static enum status add_event(struct measure *m, const struct head *h)
{
    uint32_t signature = h->run->signature[h->at];
    const struct causal_pair *pair = causal_file_pair(&m->file, signature);
    if (pair->group[0] == CAUSAL_NO_GROUP || pair->group[1] == CAUSAL_NO_GROUP)
        return ST_OK;
    const struct causal_call call = {
        .thread = h->run->thread,
        .group = { pair->group[0], pair->group[1] },
        .is_communication = m->file.groups[pair->group[0]].op == TILEWISE_OP_COLLECTIVE,
        .start_ns = h->run->start_ns[h->at],
        .duration_ns = h->run->duration_ns[h->at],
    };
    for (int i = 0; i < 2; i++) {
        m->event_ns[call.group[i]] += (double)call.duration_ns;
        m->remote_ns[call.group[i]] += h->run->stream ? (double)call.duration_ns : 0;
    }
    return causal_threads_add(m->threads, &call) == ST_OK ? ST_OK : causal_file_no_memory(&m->file);
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

/* When the earliest of the other heads comes. */
static uint64_t second_ns(const struct head *heap, size_t count)
{
    uint64_t first = count > 1 ? time_of(&heap[1]) : UINT64_MAX;
    uint64_t second = count > 2 ? time_of(&heap[2]) : UINT64_MAX;
    return first < second ? first : second;
}

static enum status add_events(struct measure *m, const struct reader_frame *f)
{
    size_t count = 0;
    m->heads.size = 0;
    if (!buffer_reserve(&m->heads, f->nevents * sizeof(struct head)))
        return causal_file_no_memory(&m->file);
    struct head *heap = (struct head *)m->heads.bytes;
    for (size_t i = 0; i < f->nevents; i++)
        if (f->events[i].count)
            heap[count++] = (struct head){ &f->events[i], 0 };
    for (size_t i = count / 2; i-- > 0;)
        sink(heap, count, i);
    while (count) {
        enum status st;
        uint64_t until_ns = second_ns(heap, count);
        bool more;
        do {
            if ((st = add_event(m, &heap[0])) != ST_OK)
                return st;
            more = ++heap[0].at < heap[0].run->count;
        } while (more && time_of(&heap[0]) <= until_ns);
        if (!more)
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

/* Calls of a frame, whose shard may be another one than that of the frame before. */
static enum status see_frame(void *context, const struct reader *r, const struct reader_frame *f)
{
    struct measure *m = context;
    if (f->shard != m->shard_index) {
        m->shard_index = f->shard;
        end_process(m);
        m->shard = causal_file_shard(&m->file, r, f->shard);
        causal_threads_begin_process(m->threads);
    }
    enum status st = causal_file_enter(&m->file, r);
    return st == ST_OK && m->shard ? add_events(m, f) : st;
}

static enum status read_file(struct measure *m, const char *path)
{
    causal_file_begin(&m->file, path);
    m->shard_index = UINT32_MAX;
    timeline_see *see = m->file.summary->events ? see_frame : NULL;
    enum status st = causal_windows_read(&m->windows, &m->file, see, m);
    end_process(m);
    return st;
}

/* Each file once, in the order of the shards. */
static enum status read_all(struct measure *m)
{
    const struct summary *s = m->file.summary;
    const char **paths = calloc(s->nshards + 1, sizeof *paths);
    enum status st = paths ? ST_OK : causal_file_no_memory(&m->file);
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
    size_t groups = m->file.ngroups;
    m->event_ns = calloc(groups + 1, sizeof *m->event_ns);
    m->remote_ns = calloc(groups + 1, sizeof *m->remote_ns);
    bool fine = m->event_ns && m->remote_ns && causal_windows_open(&m->windows, groups) == ST_OK &&
                causal_threads_open(&m->threads, groups, m->file.summary->wall_ns) == ST_OK;
    return fine ? ST_OK : causal_file_no_memory(&m->file);
}

static void finish(struct measure *m)
{
    free(m->event_ns);
    free(m->remote_ns);
    causal_threads_close(m->threads);
    causal_windows_free(&m->windows);
    causal_file_free(&m->file);
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
    e->value = fmax(fmin(saved / span, 1), 0);
    heat_bootstrap(saved_ns, span_ns, count, &e->lo, &e->hi);
    if (isnan(e->lo))
        return; /* one column: no interval, and fmin would make one up */
    e->lo = fmax(fmin(e->lo, e->value), 0);
    e->hi = fmin(fmax(e->hi, e->value), 1);
}

static bool threads_can_tell(const struct measure *m, uint32_t g)
{
    struct causal_threads_totals totals = causal_threads_totals(m->threads);
    double part = m->event_ns[g] / (double)m->file.groups[g].time_ns;
    return m->file.groups[g].time_ns && part >= events_least && part <= events_most &&
           m->remote_ns[g] <= m->event_ns[g] / 2 && !totals.too_many_threads &&
           (double)totals.late_ns <= late_most * (double)totals.busy_ns;
}

static double sum_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static struct causal_span sum_of_windows(const struct measure *m)
{
    struct causal_span sum = { 0 };
    for (size_t i = 0; i < m->windows.columns; i++)
        causal_windows_add_span(&sum, &m->windows.spans[i], 1);
    return sum;
}

static struct causal_effect effect_of(const struct measure *m, uint32_t g)
{
    const struct causal_windows *w = &m->windows;
    struct causal_effect e = { CAUSAL_NONE, NAN, NAN, NAN, NAN, NAN };
    double active_ns = sum_of(w->active_ns + g * CAUSAL_WINDOWS_COLUMNS, w->columns);
    if (w->windows >= WINDOWS_MIN && active_ns > 0) {
        const struct causal_span sum = sum_of_windows(m);
        double span_ns[CAUSAL_WINDOWS_COLUMNS];
        for (size_t i = 0; i < w->columns; i++)
            span_ns[i] = w->spans[i].span_ns;
        e.source = CAUSAL_STREAMS;
        e.busy_share = active_ns / sum.busy_ns;
        e.wall_share = fmin(active_ns / sum.span_ns, 1);
        share(&e, w->saved_ns + g * CAUSAL_WINDOWS_COLUMNS, span_ns, w->columns);
    } else if (m->file.summary->wall_ns && threads_can_tell(m, g)) {
        double block[CAUSAL_THREADS_BLOCKS];
        for (size_t i = 0; i < CAUSAL_THREADS_BLOCKS; i++)
            block[i] = (double)m->file.summary->wall_ns / CAUSAL_THREADS_BLOCKS;
        e.source = CAUSAL_THREADS;
        share(&e, causal_threads_saved_ns(m->threads, g), block, CAUSAL_THREADS_BLOCKS);
    }
    return e;
}

static struct causal_idle idle_of(const struct measure *m)
{
    const struct causal_span all = sum_of_windows(m), *sum = &all;
    struct causal_threads_totals totals = causal_threads_totals(m->threads);
    double wall_ns = (double)m->file.summary->wall_ns;
    if (m->windows.windows >= WINDOWS_MIN && sum->busy_ns > 0)
        return (struct causal_idle){ CAUSAL_STREAMS, sum->host_ns / sum->span_ns,
                                     sum->wait_ns / sum->span_ns,
                                     sum->communication_ns / sum->span_ns,
                                     sum->copy_ns / sum->span_ns };
    if (totals.busy_ns == 0 || !(wall_ns > 0) || totals.too_many_threads)
        return (struct causal_idle){ CAUSAL_NONE, NAN, NAN, NAN, NAN };
    return (struct causal_idle){ CAUSAL_THREADS, fmax(1 - (double)totals.busy_ns / wall_ns, 0), NAN,
                                 fmin((double)totals.communication_ns / wall_ns, 1), NAN };
}

static void slice_windows(const struct measure *m, struct causal *c)
{
    const struct causal_windows *w = &m->windows;
    size_t each = (w->columns + CAUSAL_SLICES_MAX - 1) / CAUSAL_SLICES_MAX;
    c->nslices = (w->columns + each - 1) / each;
    for (size_t i = 0; i < w->columns; i++) {
        causal_windows_add_span(&c->slices[i / each], &w->spans[i], 1);
        for (size_t g = 0; g < c->ngroups; g++)
            c->active_ns[g * CAUSAL_SLICES_MAX + i / each] +=
                w->active_ns[g * CAUSAL_WINDOWS_COLUMNS + i];
    }
}

_Static_assert((int)CAUSAL_SLICES_MAX == (int)CAUSAL_THREADS_BLOCKS, "a slice is a block");

static void slice_threads(const struct measure *m, struct causal *c)
{
    double span_ns = (double)m->file.summary->wall_ns / CAUSAL_THREADS_BLOCKS;
    c->nslices = CAUSAL_THREADS_BLOCKS;
    for (size_t i = 0; i < c->nslices; i++) {
        struct causal_threads_block block = causal_threads_block(m->threads, i);
        c->slices[i] = (struct causal_span){ .span_ns = span_ns,
                                             .busy_ns = block.busy_ns,
                                             .host_ns = fmax(span_ns - block.busy_ns, 0),
                                             .communication_ns = block.communication_ns };
    }
    for (uint32_t g = 0; g < c->ngroups; g++)
        memcpy(c->active_ns + (size_t)g * CAUSAL_SLICES_MAX,
               causal_threads_called_ns(m->threads, g),
               CAUSAL_THREADS_BLOCKS * sizeof *c->active_ns);
}

static enum status conclude(const struct measure *m, struct causal **out)
{
    struct causal *c = calloc(1, sizeof *c);
    if (!c)
        return causal_file_no_memory(&m->file);
    c->ngroups = m->file.ngroups;
    c->effects = calloc(c->ngroups + 1, sizeof *c->effects);
    c->active_ns = calloc((c->ngroups + 1) * CAUSAL_SLICES_MAX, sizeof *c->active_ns);
    if (!c->effects || !c->active_ns) {
        causal_free(c);
        return causal_file_no_memory(&m->file);
    }
    c->windows = m->windows.windows;
    for (uint32_t g = 0; g < m->file.ngroups; g++)
        c->effects[g] = effect_of(m, g);
    c->idle = idle_of(m);
    if (c->idle.source == CAUSAL_STREAMS)
        slice_windows(m, c);
    else if (c->idle.source == CAUSAL_THREADS)
        slice_threads(m, c);
    *out = c;
    return ST_OK;
}

enum status causal_measure(struct causal **out, const struct summary *s,
                           const struct causal_group *groups, size_t count, struct fault *fault)
{
    struct measure m = { .file = {
                             .summary = s, .groups = groups, .ngroups = count, .fault = fault } };
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
    free(c->active_ns);
    free(c);
}
