/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/spans.h"

#include <string.h>
#include <sys/mman.h>

#include "tracer/clock.h"
#include "tracer/launches.h"
#include "tracer/pages.h"

enum {
    SPANS = 1 << 17,
    WINDOW_SPANS = 1 << 16,
    STREAMS = 256,
    CHUNK = 8192, /* of one section */
    PLACES = 1024,
    STEP_NS = 10000, /* clocks that move apart by this and a thousandth were set */
};

struct span {
    uint64_t start,
        launch_ticks; /* start: CUPTI's clock, the host's since clock_start once closed */
    uint32_t duration_ns, name, op;
    uint8_t stream;
    uint8_t work;
    bool in_graph, is_first;
};

struct stream {
    uint32_t device, context, stream;
};

struct window {
    uint64_t begin_ns, missing;
    uint32_t first, count, streams; /* streams: known when it was closed */
};

static struct book {
    struct span span[SPANS]; /* of closed windows, then, from `open` on, of the open one */
    uint32_t open, used;
    uint64_t missing;              /* of the open one */
    uint64_t end, beyond_ns;       /* the latest end; union of what had no room */
    struct stream stream[STREAMS]; /* from 1 */
    uint32_t streams, last_stream;
    struct window window[SPANS_WINDOWS];
    uint32_t windows;
    uint32_t cut_first; /* of the last one, what came with the last cut */
    uint64_t cut_beyond_ns;

    /* Writing: where it stands in the first window, and the section under way. */
    uint32_t at_stream, at_span;
    struct gpu_interval interval[CHUNK];
    struct gpu_source source[GPU_SOURCES_MAX];
    const struct span *source_of[GPU_SOURCES_MAX];
    uint16_t place[PLACES]; /* index of a source + 1 */
} * book;

bool spans_start(void)
{
    if (!book)
        book = pages_map(sizeof *book);
    return book != NULL;
}

/* 0: of more streams than we tell apart. */
static uint32_t stream_of(const struct spans_record *r)
{
    const struct stream wanted = { r->device, r->context, r->stream };
    const struct stream *s = book->stream;
    if (memcmp(&s[book->last_stream], &wanted, sizeof wanted) == 0 && book->last_stream)
        return book->last_stream;
    uint32_t at = 1;
    while (at <= book->streams && memcmp(&s[at], &wanted, sizeof wanted) != 0)
        at++;
    if (at == STREAMS)
        return 0;
    if (at > book->streams)
        book->stream[book->streams = at] = wanted;
    return book->last_stream = at;
}

/* Records come nearly in order, so their union is nearly right without sorting them. */
static void add_beyond(const struct spans_record *r)
{
    uint64_t from = r->start_ns > book->end ? r->start_ns : book->end;
    book->beyond_ns += r->end_ns > from ? r->end_ns - from : 0;
}

void spans_add(const struct spans_record *r)
{
    if (!book)
        return;
    bool is_timed = r->start_ns && r->end_ns >= r->start_ns, is_kernel = r->work == GPU_KERNEL;
    if (!is_timed || book->used == SPANS || book->used - book->open == WINDOW_SPANS) {
        book->missing += is_kernel;
        if (is_timed && is_kernel)
            add_beyond(r);
    } else {
        uint64_t ns = r->end_ns - r->start_ns;
        book->span[book->used++] =
            (struct span){ .start = r->start_ns,
                           .launch_ticks = r->launch_ticks,
                           .duration_ns = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns,
                           .name = r->name,
                           .op = r->op,
                           .stream = (uint8_t)stream_of(r),
                           .work = r->work,
                           .in_graph = r->in_graph,
                           .is_first = r->is_first };
    }
    if (is_timed && is_kernel && r->end_ns > book->end)
        book->end = r->end_ns;
}

void spans_cut(uint64_t window_ns)
{
    if (!book)
        return;
    if (book->windows < SPANS_WINDOWS)
        book->window[book->windows++] =
            (struct window){ .begin_ns = window_ns, .first = book->open };
    /* Otherwise nobody wrote for long: one longer window, as its row. */
    struct window *w = &book->window[book->windows - 1];
    w->missing += book->missing;
    w->count += book->used - book->open;
    w->streams = book->streams;
    book->cut_first = book->open;
    book->cut_beyond_ns = book->beyond_ns;
    book->open = book->used;
    book->missing = book->beyond_ns = book->end = 0;
}

/* Shell's: in place, without the host's heap, and quick for what is nearly in order. */
static void sort(struct span *all, size_t count)
{
    static const size_t gaps[] = { 23501, 8929, 3905, 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t i = gaps[g]; i < count; i++) {
            struct span moved = all[i];
            size_t to = i;
            for (; to >= gaps[g] && all[to - gaps[g]].start > moved.start; to -= gaps[g])
                all[to] = all[to - gaps[g]];
            if (to != i)
                all[to] = moved;
        }
}

static uint64_t busy_of(const struct span *all, size_t count)
{
    uint64_t busy_ns = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = all[i].start + all[i].duration_ns;
        uint64_t from = all[i].start > last ? all[i].start : last;
        if (all[i].work != GPU_KERNEL)
            continue;
        busy_ns += end > from ? end - from : 0;
        last = end > last ? end : last;
    }
    return busy_ns;
}

/* CUPTI's clock and ours drift apart by little, which is spread over the window. */
static uint64_t host_of(uint64_t cupti, const struct spans_anchor *begin,
                        const struct spans_anchor *end)
{
    int64_t at = (int64_t)(cupti - begin->cupti_ns),
            length = (int64_t)(end->cupti_ns - begin->cupti_ns);
    int64_t drift = (int64_t)(end->host_ns - begin->host_ns) - length;
    int64_t most = STEP_NS + length / 1000;
    if (end->cupti_ns == 0 || length <= 0 || drift > most || drift < -most)
        drift = 0;
    double part = length > 0 ? (double)at / (double)length : 0;
    int64_t host = (int64_t)begin->host_ns + at + (int64_t)((double)drift * part);
    return host > 0 ? (uint64_t)host : 0;
}

uint64_t spans_close(const struct spans_anchor *begin, const struct spans_anchor *end)
{
    if (!book || book->windows == 0)
        return 0;
    struct window *w = &book->window[book->windows - 1];
    struct span *new = book->span + book->cut_first;
    size_t count = w->first + w->count - book->cut_first;
    sort(new, count);
    uint64_t busy_ns = busy_of(new, count) + book->cut_beyond_ns;
    for (size_t i = 0; i < count; i++)
        new[i].start = begin->cupti_ns ? host_of(new[i].start, begin, end) : GPU_NO_TIME;
    if (count != w->count)
        sort(book->span + w->first, w->count);
    return busy_ns;
}

/* Writing. */

static bool is_same(const struct span *a, const struct span *b)
{
    return a->name == b->name && a->op == b->op && a->work == b->work &&
           a->in_graph == b->in_graph && a->is_first == b->is_first;
}

static struct gpu_source make_source(struct drain *d, const struct span *s, spans_name *name)
{
    struct launches_place op = s->op ? launches_place(s->op) : (struct launches_place){ 0 };
    uint32_t signature = op.thread ? drain_signature(d, op.thread, op.entry) : GPU_NO_SIGNATURE;
    return (struct gpu_source){ .name = name(d, s->name),
                                .signature = signature,
                                .work = s->work,
                                .in_graph = s->in_graph,
                                .is_first = s->is_first && signature != GPU_NO_SIGNATURE };
}

/* Index of a span's source in the section under way; GPU_SOURCES_MAX: it holds no more. */
static uint32_t source_of(struct drain *d, struct gpu_intervals *g, const struct span *s,
                          spans_name *name)
{
    uint64_t key = (uint64_t)s->name << 32 | s->op << 4 | (uint32_t)s->work << 2 |
                   (uint32_t)s->in_graph << 1 | s->is_first;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) % PLACES;
    for (; book->place[at]; at = (at + 1) % PLACES)
        if (is_same(book->source_of[book->place[at] - 1], s))
            return book->place[at] - 1u;
    if (g->nsources == GPU_SOURCES_MAX)
        return GPU_SOURCES_MAX;
    book->source[g->nsources] = make_source(d, s, name);
    book->source_of[g->nsources] = s;
    book->place[at] = (uint16_t)++g->nsources;
    return (uint32_t)g->nsources - 1;
}

/* Fill the section under way from span `at` of the window on; returns where the next one begins. */
static uint32_t fill(struct drain *d, struct gpu_intervals *g, const struct window *w, uint32_t at,
                     spans_name *name)
{
    memset(book->place, 0, sizeof book->place);
    for (; at < w->count && g->count < CHUNK; at++) {
        const struct span *s = &book->span[w->first + at];
        if (s->stream != g->stream)
            continue;
        if (s->start == GPU_NO_TIME) {
            g->missing += s->work == GPU_KERNEL;
            continue;
        }
        uint32_t source = source_of(d, g, s, name);
        if (source == GPU_SOURCES_MAX)
            break;
        book->interval[g->count++] = (struct gpu_interval){
            .start_ns = s->start,
            .launch_ns = s->launch_ticks ? clock_since_start_ns(s->launch_ticks) : GPU_NO_TIME,
            .duration_ns = s->duration_ns,
            .source = source,
        };
    }
    return at;
}

/* False: the frame is full. What cannot be written for another reason is missing. */
static bool write_section(struct drain *d, struct window *w, const struct gpu_intervals *g)
{
    if (g->count == 0 && g->missing == 0)
        return true;
    enum status st = writer_gpu_intervals(d->w, g);
    if (st == ST_LIMIT)
        return false;
    for (size_t i = 0; st != ST_OK && i < g->count; i++)
        w->missing += g->sources[g->interval[i].source].work == GPU_KERNEL;
    return true;
}

static bool write_window(struct drain *d, struct window *w, spans_name *name)
{
    while (book->at_stream <= w->streams) {
        struct gpu_intervals g = { .window_ns = w->begin_ns,
                                   .stream = book->at_stream,
                                   .device = book->stream[book->at_stream].device,
                                   .sources = book->source,
                                   .interval = book->interval };
        uint32_t next = fill(d, &g, w, book->at_span, name);
        if (!write_section(d, w, &g))
            return false;
        book->at_span = next < w->count ? next : 0;
        book->at_stream += next == w->count;
    }
    const struct gpu_intervals rest = { .window_ns = w->begin_ns, .missing = w->missing };
    return w->missing == 0 || writer_gpu_intervals(d->w, &rest) != ST_LIMIT;
}

bool spans_write(struct drain *d, uint64_t window_ns, spans_name *name)
{
    while (book && book->windows && book->window[0].begin_ns == window_ns) {
        if (!write_window(d, &book->window[0], name))
            return false;
        book->at_stream = book->at_span = 0;
        book->windows--;
        memmove(book->window, book->window + 1, book->windows * sizeof *book->window);
    }
    return true;
}

void spans_pack(void)
{
    if (!book || book->windows || book->open == 0)
        return;
    book->used -= book->open;
    memmove(book->span, book->span + book->open, book->used * sizeof *book->span);
    book->open = 0;
}

void spans_forget(void)
{
    if (book)
        munmap(book, sizeof *book);
    book = NULL;
}
