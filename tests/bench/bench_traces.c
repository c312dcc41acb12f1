/* SPDX-License-Identifier: Apache-2.0
 *
 * Size of traces and speed of reading them.
 *
 *   bench_traces             a generated trace (server_trace.h) of 896 signatures
 *   bench_traces -n MILLION  so many million events (default 20)
 *   bench_traces FILE...     recorded traces: read as they are
 *
 * Each figure of reading is the best of three runs, each in a process of its own, whose peak memory
 * is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server_trace.h"
#include "traces/reader.h"
#include "traces/summary.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_traces: %s\n", what);
    exit(2);
}

static void generate(const char *path, uint64_t events, bool untimed)
{
    const struct server_trace server = {
        .events = events, .lengths = 128, .threads = 1, .untimed = untimed
    };
    double start = now_s();
    uint64_t bytes = server_trace_write(path, &server);
    double wall = now_s() - start;
    printf("%-28s %10.4f bytes per event (%llu events, %llu bytes; generated and written at "
           "%.1f M/s)\n",
           untimed ? "without times" : "100 ns ticks", (double)bytes / (double)events,
           (unsigned long long)events, (unsigned long long)bytes, (double)events / wall * 1e-6);
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
