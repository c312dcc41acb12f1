/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/timeline.h"

#include <stdlib.h>

#include "traces/buffer.h"
#include "traces/sort.h"

struct pending {
    struct gpu_window window;
    uint64_t missing;
    size_t count; /* of its intervals */
};

struct timeline {
    struct reader *reader;
    struct reader_frame frame;
    bool has_frame; /* it waits until the windows of another shard are delivered */
    bool is_ended;
    timeline_see *see; /* NULL: nobody */
    void *context;
    uint32_t shard;
    bool has_delivered;          /* a window of that shard: the one below */
    struct gpu_window delivered; /* last */
    struct buffer windows;       /* struct pending, in order */
    struct buffer intervals;     /* struct timeline_interval, from sort() on in order of these */
    struct buffer streams;       /* struct timeline_stream of the window that was delivered last */
    size_t ready, next;          /* windows that are complete; the next one to deliver */
    size_t next_interval;
};

static struct pending *window_at(const struct timeline *t, size_t i)
{
    return (struct pending *)t->windows.bytes + i;
}

static size_t window_count(const struct timeline *t)
{
    return t->windows.size / sizeof(struct pending);
}

static struct timeline_interval *interval_at(const struct timeline *t, size_t i)
{
    return (struct timeline_interval *)t->intervals.bytes + i;
}

static enum status open_parts(struct timeline **out, struct timeline *t, enum status st)
{
    if (st == ST_OK)
        *out = t;
    else
        timeline_close(t);
    return st;
}

enum status timeline_open(struct timeline **out, const char *path, struct fault *fault)
{
    *out = NULL;
    struct timeline *t = calloc(1, sizeof *t);
    if (!t)
        return fault_set(fault, ST_NOMEM, "out of memory");
    return open_parts(out, t, reader_open(&t->reader, path, fault));
}

enum status timeline_open_bytes(struct timeline **out, const void *bytes, size_t count,
                                struct fault *fault)
{
    *out = NULL;
    struct timeline *t = calloc(1, sizeof *t);
    if (!t)
        return fault_set(fault, ST_NOMEM, "out of memory");
    return open_parts(out, t, reader_open_bytes(&t->reader, bytes, count, fault));
}

void timeline_watch(struct timeline *t, timeline_see *see, void *context)
{
    t->see = see;
    t->context = context;
}

const struct reader *timeline_reader(const struct timeline *t)
{
    return t->reader;
}

void timeline_close(struct timeline *t)
{
    if (!t)
        return;
    reader_close(t->reader);
    buffer_free(&t->windows);
    buffer_free(&t->intervals);
    buffer_free(&t->streams);
    free(t);
}

/* The last window may go on in the next frame; the others are delivered and forgotten. */
static void keep_last(struct timeline *t)
{
    size_t windows = window_count(t);
    t->next = 0;
    if (windows == t->ready) {
        t->windows.size = t->intervals.size = 0;
    } else {
        struct pending *last = window_at(t, windows - 1);
        size_t first = t->intervals.size / sizeof(struct timeline_interval) - last->count;
        for (size_t i = 0; i < last->count; i++) {
            *interval_at(t, i) = *interval_at(t, first + i);
            interval_at(t, i)->window = 0;
        }
        *window_at(t, 0) = *last;
        t->windows.size = sizeof *last;
        t->intervals.size = window_at(t, 0)->count * sizeof(struct timeline_interval);
    }
    t->ready = t->next_interval = 0;
}

/* The window with this begin, looked for from `from` on; windows and their intervals are written in
 * the same order. SIZE_MAX: its row was lost. */
static size_t find_window(const struct timeline *t, uint64_t begin_ns, size_t from)
{
    for (size_t n = window_count(t), i = 0; i < n; i++) {
        size_t at = from + i < n ? from + i : from + i - n;
        if (window_at(t, at)->window.begin_ns == begin_ns)
            return at;
    }
    return SIZE_MAX;
}

static bool add_intervals(struct timeline *t, size_t window, const struct gpu_intervals *g)
{
    struct pending *p = window_at(t, window);
    p->missing += g->missing;
    size_t room = TIMELINE_WINDOW_MAX - p->count, count = g->count < room ? g->count : room;
    p->missing += g->count - count;
    p->count += count;
    if (!buffer_reserve(&t->intervals, count * sizeof(struct timeline_interval)))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct gpu_interval *from = &g->interval[i];
        const struct gpu_source *source = &g->sources[from->source];
        const struct timeline_interval v = { .start_ns = from->start_ns,
                                             .end_ns = from->start_ns + from->duration_ns,
                                             .launch_ns = from->launch_ns,
                                             .name = source->name,
                                             .signature = source->signature,
                                             .window = (uint32_t)window,
                                             .stream = g->stream,
                                             .device = g->device,
                                             .work = source->work,
                                             .in_graph = source->in_graph,
                                             .is_first = source->is_first };
        buffer_put(&t->intervals, &v, sizeof v);
    }
    return true;
}

static bool add_frame(struct timeline *t)
{
    const struct reader_frame *f = &t->frame;
    t->has_delivered = t->has_delivered && f->shard == t->shard;
    t->shard = f->shard;
    t->has_frame = false;
    if (!buffer_reserve(&t->windows, f->ngpu_windows * sizeof(struct pending)))
        return false;
    for (size_t i = 0; i < f->ngpu_windows; i++)
        buffer_put(&t->windows, &(struct pending){ .window = f->gpu_windows[i] },
                   sizeof(struct pending));
    size_t from = 0;
    for (size_t i = 0; i < f->nintervals; i++) {
        size_t at = find_window(t, f->intervals[i].window_ns, from);
        if (at == SIZE_MAX)
            continue;
        if (!add_intervals(t, at, &f->intervals[i]))
            return false;
        from = at;
    }
    return true;
}

#define ORDER(a, b)                                                                                \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int compare(const void *left, const void *right)
{
    const struct timeline_interval *a = left, *b = right;
    ORDER(a->window, b->window);
    ORDER(a->stream, b->stream);
    ORDER(a->start_ns, b->start_ns);
    ORDER(a->end_ns, b->end_ns);
    ORDER(a->launch_ns, b->launch_ns);
    ORDER(a->name, b->name);
    ORDER(a->signature, b->signature);
    ORDER(a->work, b->work);
    return 0;
}
#undef ORDER

/* A window with one stream is in order already. */
static void sort(struct timeline *t)
{
    size_t row_bytes = sizeof(struct timeline_interval);
    sort_unordered(t->intervals.bytes, t->intervals.size / row_bytes, row_bytes, compare);
}

static enum status next_frame(struct timeline *t, struct fault *fault)
{
    enum status st = reader_next(t->reader, &t->frame, fault);
    return st == ST_OK && t->see ? t->see(t->context, t->reader, &t->frame) : st;
}

/* Until some window is complete, or the end. */
static enum status load(struct timeline *t, struct fault *fault)
{
    keep_last(t);
    while (t->ready == 0 && !t->is_ended) {
        enum status st = t->has_frame ? ST_OK : next_frame(t, fault);
        if (st != ST_OK && st != ST_END)
            return st;
        t->is_ended = st == ST_END;
        t->has_frame = !t->is_ended;
        size_t windows = window_count(t);
        if (t->is_ended || (windows && t->frame.shard != t->shard)) {
            t->ready = windows;
            continue;
        }
        if (!add_frame(t))
            return fault_set(fault, ST_NOMEM, "out of memory");
        windows = window_count(t);
        t->ready = windows ? windows - 1 : 0;
    }
    sort(t);
    return ST_OK;
}

static bool add_stream(struct timeline *t, const struct timeline_interval *v)
{
    size_t known = t->streams.size / sizeof(struct timeline_stream);
    struct timeline_stream *streams = (struct timeline_stream *)t->streams.bytes;
    if (known && streams[known - 1].stream == v->stream) {
        streams[known - 1].count++;
        return true;
    }
    const struct timeline_stream new = { v->stream, v->device, 1, v };
    if (!buffer_reserve(&t->streams, sizeof new))
        return false;
    buffer_put(&t->streams, &new, sizeof new);
    return true;
}

/* All windows of a shard but the last are delivered when the next one is known. */
static uint64_t stands_for_ns(const struct timeline *t, size_t i)
{
    const struct gpu_window *after = i + 1 < window_count(t) ? &window_at(t, i + 1)->window : NULL;
    return gpu_window_stands_for_ns(t->has_delivered ? &t->delivered : NULL,
                                    &window_at(t, i)->window, after);
}

enum status timeline_next(struct timeline *t, struct timeline_window *window, struct fault *fault)
{
    if (t->next == t->ready) {
        enum status st = load(t, fault);
        if (st != ST_OK)
            return st;
    }
    if (t->next == t->ready)
        return ST_END;
    size_t at = t->next++;
    const struct pending *p = window_at(t, at);
    t->streams.size = 0;
    for (size_t i = 0; i < p->count; i++)
        if (!add_stream(t, interval_at(t, t->next_interval++)))
            return fault_set(fault, ST_NOMEM, "out of memory");
    *window =
        (struct timeline_window){ .shard = t->shard,
                                  .window = p->window,
                                  .stands_for_ns = stands_for_ns(t, at),
                                  .missing = p->missing,
                                  .nstreams = t->streams.size / sizeof *window->streams,
                                  .streams = (const struct timeline_stream *)t->streams.bytes };
    t->delivered = p->window;
    t->has_delivered = true;
    return ST_OK;
}
