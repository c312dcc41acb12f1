/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/sort.h"

/* Of the kernels of a window: without an interval; launched after they began; without a launch, as
 * those that were launched just as it opened. */
static const double missing_most = 0.01, wrong_most = 0.01, unknown_most = 0.1;
enum { CLOCKS_NS = 1000000 }; /* so far may the clocks of host and GPU be apart */

enum status causal_windows_open(struct causal_windows *c, size_t groups)
{
    size_t n = groups + 1;
    c->per_column = 1;
    c->shares = calloc(n, sizeof *c->shares);
    c->spans = calloc(CAUSAL_WINDOWS_COLUMNS, sizeof *c->spans);
    c->saved_ns = calloc(n * CAUSAL_WINDOWS_COLUMNS, sizeof *c->saved_ns);
    c->active_ns = calloc(n * CAUSAL_WINDOWS_COLUMNS, sizeof *c->active_ns);
    if (!c->shares || !c->spans || !c->saved_ns || !c->active_ns)
        return ST_NOMEM;
    return causal_streams_open(&c->streams, groups);
}

void causal_windows_free(struct causal_windows *c)
{
    free(c->shares);
    free(c->spans);
    free(c->saved_ns);
    free(c->active_ns);
    causal_streams_close(c->streams);
    buffer_free(&c->work);
}

/* Collectives are found by name too: most are launched by no recorded call. */
static bool is_collective(const struct reader *r, const struct timeline_interval *v)
{
    size_t count;
    const struct tilewise_signature *signatures = reader_signatures(r, &count);
    if (v->signature != GPU_NO_SIGNATURE)
        return signatures[v->signature].op == TILEWISE_OP_COLLECTIVE;
    return strncmp(reader_string(r, v->name), "nccl", 4) == 0;
}

static void add_work(struct causal_windows *c, const struct causal_file *f, const struct reader *r,
                     const struct timeline_interval *v)
{
    struct causal_work w = { .start_ns = v->start_ns,
                             .end_ns = v->end_ns,
                             .launch_ns = v->launch_ns,
                             .stream = v->stream,
                             .group = { CAUSAL_NO_GROUP, CAUSAL_NO_GROUP } };
    if (v->signature != GPU_NO_SIGNATURE)
        memcpy(w.group, causal_file_pair(f, v->signature)->group, sizeof w.group);
    w.is_readback = v->work == GPU_COPY && strcmp(reader_string(r, v->name), "DtoH") == 0;
    w.kind = v->work != GPU_KERNEL ? CAUSAL_COPY
             : is_collective(r, v) ? CAUSAL_COMMUNICATION
                                   : CAUSAL_COMPUTE;
    buffer_put(&c->work, &w, sizeof w);
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

void causal_windows_add_span(struct causal_span *sum, const struct causal_span *more, double factor)
{
    sum->span_ns += factor * more->span_ns;
    sum->busy_ns += factor * more->busy_ns;
    sum->host_ns += factor * more->host_ns;
    sum->wait_ns += factor * more->wait_ns;
    sum->communication_ns += factor * more->communication_ns;
    sum->copy_ns += factor * more->copy_ns;
}

static void unite_columns(struct causal_windows *c, size_t groups)
{
    enum { HALF = CAUSAL_WINDOWS_COLUMNS / 2 };
    for (size_t row = 0; row < 2 * groups; row++) {
        double *of = row < groups ? c->saved_ns + row * CAUSAL_WINDOWS_COLUMNS
                                  : c->active_ns + (row - groups) * CAUSAL_WINDOWS_COLUMNS;
        for (size_t i = 0; i < CAUSAL_WINDOWS_COLUMNS; i++)
            of[i] = i < HALF ? of[2 * i] + of[2 * i + 1] : 0;
    }
    for (size_t i = 0; i < CAUSAL_WINDOWS_COLUMNS; i++) {
        struct causal_span both = { 0 };
        for (size_t k = 2 * i; i < HALF && k < 2 * i + 2; k++)
            causal_windows_add_span(&both, &c->spans[k], 1);
        c->spans[i] = both;
    }
    c->columns = HALF;
    c->per_column *= 2;
}

/* `factor`: what the window stands for, in its own lengths. */
static void add_column(struct causal_windows *c, size_t groups, const struct causal_span *span,
                       double factor)
{
    size_t at = c->windows++ / c->per_column;
    if (at == CAUSAL_WINDOWS_COLUMNS) {
        unite_columns(c, groups);
        at = c->columns;
    }
    c->columns = at + 1;
    causal_windows_add_span(&c->spans[at], span, factor);
    for (size_t g = 0; g < groups; g++) {
        c->saved_ns[g * CAUSAL_WINDOWS_COLUMNS + at] += factor * c->shares[g].saved_ns;
        c->active_ns[g * CAUSAL_WINDOWS_COLUMNS + at] += factor * c->shares[g].active_ns;
    }
}

/* A recorder that has no room for more keeps the first work of a window. That part stands for the
 * whole: busy windows are those that are cut, so leaving them out would favour idle ones. */
static bool is_cut(const struct timeline_window *w)
{
    return (double)w->missing > missing_most * (double)w->window.launches;
}

/* What the host did after the last launch that was kept is not known. */
static uint64_t last_launch_ns(const struct causal_window *window)
{
    uint64_t last = window->begin_ns;
    for (size_t i = 0; i < window->count; i++) {
        uint64_t at_ns = window->work[i].launch_ns;
        last = at_ns != CAUSAL_NO_TIME && at_ns > last ? at_ns : last;
    }
    return last;
}

/* What is replayed ends with the last work, which may be after the window. */
static double stands_for_ns(const struct timeline_window *w, const struct causal_span *span)
{
    double length_ns = (double)(w->window.end_ns - w->window.begin_ns);
    double beyond_ns = is_cut(w) ? 0 : fmax(span->span_ns - length_ns, 0);
    return fmax((double)w->stands_for_ns, length_ns + beyond_ns);
}

static enum status replay_window(struct causal_windows *c, const struct causal_file *f,
                                 const struct timeline_window *w)
{
    const struct causal_work *work = (const struct causal_work *)c->work.bytes;
    size_t count = c->work.size / sizeof *work;
    struct causal_window window = { w->window.begin_ns, w->window.end_ns, count, work };
    struct causal_span span;
    if (count == 0 && is_cut(w))
        return ST_OK;
    if (is_cut(w))
        window.end_ns = last_launch_ns(&window);
    if (causal_streams_replay(c->streams, &window, &span, c->shares) != ST_OK)
        return causal_file_no_memory(f);
    if (span.span_ns > 0)
        add_column(c, f->ngroups, &span, stands_for_ns(w, &span) / span.span_ns);
    return ST_OK;
}

/* Where launches could not be told apart, as CUPTI gave all of them one number, work has no time or
 * that of one that came after it; of copies no launch is recorded. Nothing can be said then about
 * the host, nor of which call it was. */
static bool has_launches(const struct causal_work *work, size_t count)
{
    size_t wrong = 0, unknown = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_known = work[i].launch_ns != CAUSAL_NO_TIME;
        unknown += !is_known && work[i].kind != CAUSAL_COPY;
        wrong += is_known && work[i].launch_ns > work[i].start_ns &&
                 work[i].launch_ns - work[i].start_ns > CLOCKS_NS;
    }
    return (double)wrong <= wrong_most * (double)count &&
           (double)unknown <= unknown_most * (double)count;
}

static enum status add_window(struct causal_windows *c, const struct causal_file *f,
                              const struct reader *r, const struct timeline_window *w)
{
    c->work.size = 0;
    for (size_t i = 0; i < w->nstreams; i++) {
        if (!buffer_reserve(&c->work, w->streams[i].count * sizeof(struct causal_work)))
            return causal_file_no_memory(f);
        for (size_t k = 0; k < w->streams[i].count; k++)
            add_work(c, f, r, &w->streams[i].interval[k]);
    }
    const struct causal_work *work = (const struct causal_work *)c->work.bytes;
    size_t count = c->work.size / sizeof *work;
    /* The work of one stream is in order already. */
    sort_unordered(c->work.bytes, count, sizeof *work, by_start);
    return has_launches(work, count) ? replay_window(c, f, w) : ST_OK;
}

/* Kernels without a record would show as idle time. */
static bool is_whole(const struct timeline_window *w)
{
    return (double)w->window.dropped <= missing_most * (double)w->window.launches;
}

enum status causal_windows_read(struct causal_windows *c, struct causal_file *f, timeline_see *see,
                                void *context)
{
    struct timeline *t;
    struct timeline_window w;
    enum status st = timeline_open(&t, f->path, f->fault);
    if (st == ST_OK)
        timeline_watch(t, see, context);
    while (st == ST_OK && (st = timeline_next(t, &w, f->fault)) == ST_OK) {
        const struct reader *r = timeline_reader(t);
        st = causal_file_enter(f, r);
        if (st == ST_OK && f->summary->gpu.intervals && is_whole(&w) &&
            causal_file_shard(f, r, w.shard))
            st = add_window(c, f, r, &w);
    }
    timeline_close(t);
    return st == ST_END ? ST_OK : st;
}
