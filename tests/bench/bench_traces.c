/* SPDX-License-Identifier: Apache-2.0
 *
 * Size of traces and speed of reading them.
 *
 *   bench_traces             a generated trace: an encoder server, 896 signatures
 *   bench_traces -n MILLION  so many million events (default 20)
 *   bench_traces FILE...     recorded traces: read as they are
 *
 * The generated durations spread around a mean per signature and the gaps around a few
 * microseconds, as they do in a recorded server; both are drawn anew for every call. Each figure of
 * reading is the best of three runs, each in a process of its own, whose peak memory is printed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "traces/reader.h"
#include "traces/summary.h"
#include "traces/writer.h"

enum { LENGTHS = 128, KINDS = 7, LAYERS = 6, CHUNK = 4096, FLUSH_BYTES = 900000 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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

static void die(const char *what)
{
    fprintf(stderr, "bench_traces: %s\n", what);
    exit(2);
}

struct generator {
    struct writer *w;
    uint32_t ids[LENGTHS][KINDS];
    double mean_ns[LENGTHS][KINDS];
    struct writer_event events[CHUNK];
    size_t pending;
    uint64_t at_ns;
    struct trace_counters counters;
};

/* The weight matrices of one layer, width 384, for `length` tokens. */
static struct tilewise_signature signature_of(unsigned length, unsigned kind)
{
    static const int64_t n[KINDS] = { 384, 384, 384, 0, 384, 1536, 384 };
    static const int64_t k[KINDS] = { 384, 384, 384, 64, 384, 384, 1536 };
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
        .align_a = 6,
        .align_b = 6,
        .align_c = 6,
        .m = m,
        .n = columns,
        .k = k[kind],
        .batch = 1,
        .lda = k[kind],
        .ldb = kind == 3 ? k[kind] : columns,
        .ldc = columns,
    };
}

static void define(struct generator *g)
{
    uint32_t entry;
    if (writer_string(g->w, "cblas_sgemm", 11, &entry) != ST_OK)
        die("no memory");
    for (unsigned length = 0; length < LENGTHS; length++)
        for (unsigned kind = 0; kind < KINDS; kind++) {
            struct tilewise_signature s = signature_of(length + 1, kind);
            s.entry = entry;
            if (writer_signature(g->w, &s, &g->ids[length][kind]) != ST_OK)
                die("no memory");
            g->mean_ns[length][kind] = 2000 + signature_flops(&s) / 80;
        }
}

static void hand_over(struct generator *g)
{
    enum status st = writer_events(g->w, 0, 0, g->events, g->pending);
    if (st == ST_LIMIT) { /* wider columns: the frame is full earlier than it seemed */
        st = writer_flush(g->w, &g->counters, g->at_ns);
        if (st == ST_OK)
            st = writer_events(g->w, 0, 0, g->events, g->pending);
    }
    g->counters.seen += g->pending;
    g->counters.recorded += g->pending;
    g->pending = 0;
    if (st == ST_OK && writer_pending_bytes(g->w) > FLUSH_BYTES)
        st = writer_flush(g->w, &g->counters, g->at_ns);
    if (st != ST_OK)
        die(status_text(st));
}

static void call(struct generator *g, unsigned length, unsigned kind)
{
    double ns = g->mean_ns[length][kind] * (1 + 0.04 * random_normal());
    g->at_ns += (uint64_t)(2500 * (1 + 0.3 * random_normal()));
    g->events[g->pending++] = (struct writer_event){ g->ids[length][kind], (uint32_t)ns, g->at_ns };
    g->at_ns += (uint64_t)ns;
    if (g->pending == CHUNK)
        hand_over(g);
}

/* One request: a length, then all layers. */
static void request(struct generator *g)
{
    double position = 40 + 22 * random_normal();
    unsigned length = position < 0 ? 0 : position >= LENGTHS ? LENGTHS - 1 : (unsigned)position;
    for (unsigned layer = 0; layer < LAYERS; layer++)
        for (unsigned kind = 0; kind < KINDS; kind++)
            call(g, length, kind);
    g->at_ns += 20000 + (random_bits() & 0xffff);
}

static void generate(const char *path, uint64_t events, bool untimed)
{
    static struct generator g;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED,
                                      .shard = { .start_unix_ns = 1, .pid = 1 },
                                      .untimed = untimed };
    memset(&g, 0, sizeof g);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || writer_open(&g.w, fd, &options) != ST_OK)
        die("cannot create the trace");
    define(&g);
    double start = now_s();
    while (g.counters.seen + g.pending < events)
        request(&g);
    hand_over(&g);
    double wall = now_s() - start;
    uint64_t written = g.counters.seen;
    if (writer_flush(g.w, &g.counters, g.at_ns) != ST_OK ||
        writer_close(g.w, &g.counters, g.at_ns) != ST_OK)
        die("cannot write the trace");
    struct stat info;
    stat(path, &info);
    printf("%-28s %10.4f bytes per event (%llu events, %lld bytes; generated and written at "
           "%.1f M/s)\n",
           untimed ? "without times" : "100 ns ticks", (double)info.st_size / (double)written,
           (unsigned long long)written, (long long)info.st_size, (double)written / wall * 1e-6);
}

static uint64_t decode(const char *const *paths, size_t count)
{
    uint64_t events = 0;
    for (size_t i = 0; i < count; i++) {
        struct reader *r;
        struct fault fault;
        struct reader_frame frame;
        if (reader_open(&r, paths[i], &fault) != ST_OK)
            die(fault.text);
        while (reader_next(r, &frame, &fault) == ST_OK)
            for (size_t k = 0; k < frame.nevents; k++)
                events += frame.events[k].count;
        reader_close(r);
    }
    return events;
}

static uint64_t summarise(const char *const *paths, size_t count)
{
    struct summary *s;
    struct fault fault;
    if (summary_build(&s, paths, count, 0, &fault) != ST_OK)
        die(fault.text);
    uint64_t calls = s->calls;
    summary_free(s);
    return calls;
}

/* Best of three, each in its own process: peak memory is that of reading alone. */
static void measure(const char *name, uint64_t (*reading)(const char *const *, size_t),
                    const char *const *paths, size_t count)
{
    double best = 0;
    long peak_kib = 0;
    for (unsigned round = 0; round < 3; round++) {
        int ends[2];
        double result[2] = { 0 };
        if (pipe(ends) != 0)
            die("no pipe");
        pid_t child = fork();
        if (child == 0) {
            double start = now_s();
            uint64_t events = reading(paths, count);
            result[0] = (double)events;
            result[1] = now_s() - start;
            _exit(write(ends[1], result, sizeof result) == sizeof result ? 0 : 1);
        }
        struct rusage usage;
        int status;
        if (wait4(child, &status, 0, &usage) != child || status != 0 ||
            read(ends[0], result, sizeof result) != sizeof result)
            die("a child failed");
        close(ends[0]);
        close(ends[1]);
        best = result[0] / result[1] > best ? result[0] / result[1] : best;
        peak_kib = usage.ru_maxrss > peak_kib ? usage.ru_maxrss : peak_kib;
    }
    printf("%-28s %10.1f M events/s, peak memory %.1f MiB\n", name, best * 1e-6,
           (double)peak_kib / 1024);
}

int main(int argc, char **argv)
{
    uint64_t millions = 20;
    int option;
    while ((option = getopt(argc, argv, "n:")) != -1)
        millions = option == 'n' ? strtoull(optarg, NULL, 10) : 0;
    if (millions == 0)
        die("usage: bench_traces [-n MILLION] [FILE...]");
    const char *const *paths = (const char *const *)argv + optind;
    size_t count = (size_t)(argc - optind);
    char timed[] = "/tmp/bench_traces.XXXXXX";
    if (count == 0) {
        close(mkstemp(timed));
        generate(timed, millions * 1000000, true);
        const char *untimed[] = { timed };
        measure("decode, without times", decode, untimed, 1);
        generate(timed, millions * 1000000, false);
        static const char *generated[1];
        generated[0] = timed;
        paths = generated;
        count = 1;
    } else {
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; i++) {
            struct stat info;
            bytes += stat(paths[i], &info) == 0 ? (uint64_t)info.st_size : 0;
        }
        uint64_t events = summarise(paths, count);
        printf("%-28s %10.4f bytes per event (%llu events, %llu bytes)\n", "recorded",
               (double)bytes / (double)events, (unsigned long long)events,
               (unsigned long long)bytes);
    }
    measure("decode", decode, paths, count);
    measure("decode and summarise", summarise, paths, count);
    if (argc == optind)
        unlink(timed);
    return 0;
}
