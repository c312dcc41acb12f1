/* SPDX-License-Identifier: Apache-2.0 */
#include "server_trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/writer.h"

enum { LAYERS = 6, CHUNK = 4096, FLUSH_BYTES = 700000 };
enum { WINDOW_NS = 250000000, WINDOW_EVERY = 10, LAUNCHES = 4096 };

struct worker {
    struct writer_event events[CHUNK];
    size_t pending;
    uint64_t at_ns;
};

struct launch {
    uint32_t signature;
    unsigned kind;
};

struct generator {
    const struct server_trace *of;
    struct writer *w;
    uint32_t ids[SERVER_TRACE_LENGTHS_MAX][SERVER_TRACE_KINDS];
    double mean_ns[SERVER_TRACE_LENGTHS_MAX][SERVER_TRACE_KINDS];
    struct worker workers[SERVER_TRACE_THREADS_MAX];
    struct trace_counters counters;
    /* Of the GPU: what the window that is open holds, on one stream. */
    uint32_t kernels[SERVER_TRACE_KINDS]; /* their names */
    struct launch launches[LAUNCHES];
    struct gpu_interval intervals[LAUNCHES];
    size_t nlaunches;
    uint16_t source_of[SERVER_TRACE_LENGTHS_MAX * SERVER_TRACE_KINDS]; /* in the part; 0: none */
    struct gpu_window window;
    struct gpu_totals totals;
    uint64_t free_ns; /* the stream is */
};

static void die(const char *what)
{
    fprintf(stderr, "server_trace: %s\n", what);
    exit(2);
}

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* About normal, mean 0, deviation 1: the sum of four uniform numbers. */
static double random_normal(void)
{
    uint64_t r = random_bits();
    double sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += (double)(r >> 16 * i & 0xffff) / 65536 - 0.5;
    return sum * 1.7320508;
}

/* The weight matrices of one layer, width 384, for `length` tokens. */
static struct tilewise_signature signature_of(unsigned length, unsigned kind)
{
    static const int64_t n[SERVER_TRACE_KINDS] = { 384, 384, 384, 0, 384, 1536, 384 };
    static const int64_t k[SERVER_TRACE_KINDS] = { 384, 384, 384, 64, 384, 384, 1536 };
    int64_t m = length, columns = n[kind] ? n[kind] : length;
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .layout = TILEWISE_ROW_MAJOR,
        .trans_b = kind == 3,
        .dtype_a = TILEWISE_F32,
        .dtype_b = TILEWISE_F32,
        .dtype_c = TILEWISE_F32,
        .dtype_d = TILEWISE_F32,
        .compute = TILEWISE_F32,
        .scale = TILEWISE_F32,
        .alpha = TILEWISE_SCALAR_ONE,
        .align_a = (uint8_t)(6 - (kind == 1)), /* four of one shape */
        .align_b = (uint8_t)(6 - (kind == 4)),
        .align_c = (uint8_t)(6 - (kind == 2)),
        .m = m,
        .n = columns,
        .k = k[kind],
        .batch = 1,
        .lda = k[kind],
        .ldb = kind == 3 ? k[kind] : columns,
        .ldc = columns,
    };
}

static uint32_t string(struct generator *g, const char *text)
{
    uint32_t id;
    if (writer_string(g->w, text, strlen(text), &id) != ST_OK)
        die("no memory");
    return id;
}

static void define(struct generator *g)
{
    uint32_t entry = string(g, g->of->on_gpu ? "cublasSgemm_v2" : "cblas_sgemm");
    for (unsigned length = 0; length < g->of->lengths; length++)
        for (unsigned kind = 0; kind < SERVER_TRACE_KINDS; kind++) {
            struct tilewise_signature s = signature_of(length + 1, kind);
            s.entry = entry;
            if (writer_signature(g->w, &s, &g->ids[length][kind]) != ST_OK)
                die("no memory");
            g->mean_ns[length][kind] = 2000 + signature_flops(&s) / (g->of->on_gpu ? 8000 : 80);
        }
    for (unsigned kind = 0; kind < SERVER_TRACE_KINDS; kind++) {
        char name[32];
        snprintf(name, sizeof name, "sgemm_kernel_%u", kind);
        g->kernels[kind] = string(g, name);
    }
}

static uint64_t now_ns(const struct generator *g)
{
    uint64_t now = 0;
    for (unsigned t = 0; t < g->of->threads; t++)
        now = g->workers[t].at_ns > now ? g->workers[t].at_ns : now;
    return now;
}

static void hand_over(struct generator *g, unsigned thread)
{
    struct worker *of = &g->workers[thread];
    if (of->pending == 0)
        return;
    enum status st = writer_events(g->w, thread, 0, of->events, of->pending);
    if (st == ST_LIMIT) { /* wider columns: the frame is full earlier than it seemed */
        st = writer_flush(g->w, &g->counters, now_ns(g));
        if (st == ST_OK)
            st = writer_events(g->w, thread, 0, of->events, of->pending);
    }
    if (st != ST_OK)
        die(status_text(st));
    g->counters.seen += of->pending;
    g->counters.recorded += of->pending;
    of->pending = 0;
}

/* Rows of all threads, as a recorder has them when it writes a frame. */
static void end_frame(struct generator *g)
{
    for (unsigned t = 0; t < g->of->threads; t++)
        hand_over(g, t);
    if (writer_flush(g->w, &g->counters, now_ns(g)) != ST_OK)
        die("cannot write the trace");
}

static void must(enum status st)
{
    if (st != ST_OK)
        die(status_text(st));
}

/* A source per kernel and signature; a part holds as many sources as a row may have. */
static struct gpu_intervals begin_part(const struct generator *g, const struct gpu_source *sources)
{
    return (
        struct gpu_intervals){ .window_ns = g->window.begin_ns, .stream = 1, .sources = sources };
}

static void end_part(struct generator *g, struct gpu_intervals *part, const struct gpu_kernel *rows)
{
    if (part->count)
        must(writer_gpu_intervals(g->w, part));
    for (size_t i = 0; i < part->nsources; i++) {
        must(writer_gpu_kernel(g->w, &rows[i]));
        g->source_of[part->sources[i].signature] = 0;
    }
}

static void add_to_row(struct gpu_kernel *row, uint32_t ns)
{
    row->launches++;
    row->calls++;
    row->measured++;
    row->sum_ns += ns;
    row->min_ns = ns < row->min_ns ? ns : row->min_ns;
    row->max_ns = ns > row->max_ns ? ns : row->max_ns;
}

static void put_window(struct generator *g)
{
    static struct gpu_source sources[GPU_SOURCES_MAX];
    static struct gpu_kernel rows[GPU_SOURCES_MAX];
    struct gpu_intervals part = begin_part(g, sources);
    must(writer_gpu_window(g->w, &g->window));
    for (size_t i = 0; i < g->nlaunches; i++) {
        const struct launch *l = &g->launches[i];
        uint16_t *source = &g->source_of[l->signature];
        if (*source == 0 && part.nsources == GPU_SOURCES_MAX) {
            end_part(g, &part, rows);
            part = begin_part(g, sources);
        }
        if (part.count == 0)
            part.interval = &g->intervals[i];
        if (*source == 0) {
            uint32_t name = g->kernels[l->kind];
            rows[part.nsources] = (struct gpu_kernel){ .name = name,
                                                       .signature = l->signature,
                                                       .min_ns = UINT64_MAX };
            sources[part.nsources] =
                (struct gpu_source){ .name = name, .signature = l->signature, .is_first = true };
            *source = (uint16_t)++part.nsources;
        }
        g->intervals[i].source = *source - 1u;
        add_to_row(&rows[*source - 1], g->intervals[i].duration_ns);
        part.count++;
    }
    end_part(g, &part, rows);
}

/* It ends with its last kernel, and goes into a frame of its own. */
static void close_window(struct generator *g)
{
    g->window.end_ns = g->free_ns;
    g->window.launches = g->window.records = g->nlaunches;
    g->totals.windows++;
    g->totals.window_ns += g->window.end_ns - g->window.begin_ns;
    g->totals.busy_ns += g->window.busy_ns;
    g->totals.launches += g->nlaunches;
    g->totals.records += g->nlaunches;
    end_frame(g);
    put_window(g);
    must(writer_gpu_totals(g->w, &g->totals));
    g->nlaunches = 0;
    g->window = (struct gpu_window){ 0 };
}

static void launch(struct generator *g, unsigned kind, uint32_t signature, uint64_t at_ns,
                   uint32_t ns)
{
    bool in_window = at_ns / WINDOW_NS % WINDOW_EVERY == 0;
    if (g->nlaunches && (g->nlaunches == LAUNCHES || !in_window))
        close_window(g);
    if (!in_window)
        return;
    if (g->nlaunches == 0)
        g->free_ns = g->window.begin_ns = at_ns > g->free_ns ? at_ns : g->free_ns;
    uint64_t start_ns = at_ns + 3000 > g->free_ns ? at_ns + 3000 : g->free_ns + 1000;
    g->intervals[g->nlaunches] = (struct gpu_interval){ start_ns, at_ns, ns, 0 };
    g->launches[g->nlaunches++] = (struct launch){ signature, kind };
    g->free_ns = start_ns + ns;
    g->window.busy_ns += ns;
}

static void call(struct generator *g, unsigned thread, unsigned length, unsigned kind)
{
    struct worker *of = &g->workers[thread];
    uint32_t ns = (uint32_t)(g->mean_ns[length][kind] * (1 + 0.04 * random_normal()));
    of->at_ns += (uint64_t)(2500 * (1 + 0.3 * random_normal()));
    if (g->of->on_gpu)
        launch(g, kind, g->ids[length][kind], of->at_ns, ns);
    of->events[of->pending++] =
        (struct writer_event){ g->ids[length][kind], g->of->on_gpu ? 4000 : ns, of->at_ns };
    of->at_ns += g->of->on_gpu ? (uint64_t)ns * g->of->threads : ns;
    if (of->pending == CHUNK)
        hand_over(g, thread);
}

static unsigned draw_length(const struct generator *g)
{
    double mean = 0.31 * g->of->lengths, last = g->of->lengths - 1;
    double position = g->of->shuffled ? (double)(random_bits() % g->of->lengths)
                                      : mean * (1 + 0.55 * random_normal());
    return (unsigned)(position < 0 ? 0 : position > last ? last : position);
}

/* All layers, on the thread that is free first. */
static uint64_t request(struct generator *g)
{
    unsigned length = draw_length(g), thread = 0;
    for (unsigned t = 1; t < g->of->threads; t++)
        if (g->workers[t].at_ns < g->workers[thread].at_ns)
            thread = t;
    for (unsigned layer = 0; layer < LAYERS; layer++)
        for (unsigned kind = 0; kind < SERVER_TRACE_KINDS; kind++)
            call(g, thread, g->of->shuffled ? draw_length(g) : length, kind);
    g->workers[thread].at_ns += 20000 + (random_bits() & 0xffff);
    if (writer_pending_bytes(g->w) > FLUSH_BYTES)
        end_frame(g);
    return (uint64_t)LAYERS * SERVER_TRACE_KINDS;
}

uint64_t server_trace_write(const char *path, const struct server_trace *of)
{
    static struct generator g;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED,
                                      .shard = { .start_unix_ns = 1, .pid = 1 },
                                      .untimed = of->untimed };
    memset(&g, 0, sizeof g);
    g.of = of;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || writer_open(&g.w, fd, &options) != ST_OK)
        die("cannot create the trace");
    define(&g);
    for (uint64_t events = 0; events < of->events;)
        events += request(&g);
    if (g.nlaunches)
        close_window(&g);
    end_frame(&g);
    uint64_t bytes = writer_file_bytes(g.w);
    if (writer_close(g.w, &g.counters, now_ns(&g)) != ST_OK)
        die("cannot write the trace");
    return bytes;
}
