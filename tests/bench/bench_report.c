/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a report takes and how much memory it needs:
 *
 *   bench_report TILEWISE [MILLION [SIGNATURES]]
 *
 * TILEWISE is the program; 10 million events of about 5,000 signatures if not told otherwise. Four
 * generated traces (server_trace.h): of a processor and of a GPU with windows, requests of near
 * lengths and calls in no order at all. Each row is the best of three runs.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server_trace.h"

struct cost {
    double wall_s, processor_s, peak_mib;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_report: %s\n", what);
    exit(2);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static struct cost run(const char *tilewise, const char *format, const char *trace)
{
    char option[32];
    snprintf(option, sizeof option, "--format=%s", format);
    double start = now_s();
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        if (dup2(null, STDOUT_FILENO) >= 0)
            execl(tilewise, tilewise, "report", option, trace, NULL);
        _exit(127);
    }
    struct rusage usage;
    int status;
    if (wait4(child, &status, 0, &usage) != child || status != 0)
        die("a report failed");
    return (struct cost){ now_s() - start, seconds(usage.ru_utime) + seconds(usage.ru_stime),
                          (double)usage.ru_maxrss / 1024 };
}

static void measure(const char *tilewise, const char *format, const char *trace)
{
    struct cost best = { INFINITY, INFINITY, 0 };
    for (int round = 0; round < 3; round++) {
        struct cost one = run(tilewise, format, trace);
        best.wall_s = fmin(best.wall_s, one.wall_s);
        best.processor_s = fmin(best.processor_s, one.processor_s);
        best.peak_mib = fmax(best.peak_mib, one.peak_mib);
    }
    printf("  report --format=%-5s %8.2f s %8.2f s of processor %8.1f MiB at most\n", format,
           best.wall_s, best.processor_s, best.peak_mib);
}

static void measure_all(const char *tilewise, const struct server_trace *server)
{
    static const char *const formats[] = { "json", "html" };
    char path[] = "/tmp/bench_report.XXXXXX";
    close(mkstemp(path));
    uint64_t bytes = server_trace_write(path, server);
    printf("%s%s: %llu events, %u signatures, %.1f MiB\n",
           server->on_gpu ? "GPU with windows" : "processor",
           server->shuffled ? ", in no order" : "", (unsigned long long)server->events,
           server->lengths * SERVER_TRACE_KINDS, (double)bytes / 1048576);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        measure(tilewise, formats[i], path);
    unlink(path);
}

int main(int argc, char **argv)
{
    uint64_t millions = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;
    unsigned long signatures = argc > 3 ? strtoul(argv[3], NULL, 10) : 5000;
    unsigned long lengths = (signatures + SERVER_TRACE_KINDS - 1) / SERVER_TRACE_KINDS;
    if (argc < 2 || millions == 0 || lengths == 0 || lengths > SERVER_TRACE_LENGTHS_MAX)
        die("usage: bench_report TILEWISE [MILLION [SIGNATURES]]; up to 7,168 signatures");
    struct server_trace server = { .events = millions * 1000000,
                                   .lengths = (unsigned)lengths,
                                   .threads = 4 };
    for (unsigned kind = 0; kind < 4; kind++) {
        server.on_gpu = kind / 2;
        server.shuffled = kind % 2;
        measure_all(argv[1], &server);
    }
    return 0;
}
