/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "analysis/shape.h"
#include "analysis/words.h"
#include "cli/command.h"
#include "cli/live.h"
#include "cli/options.h"

enum { HEAD_LINES = 8, LINES_DEFAULT = 24 };

static bool once;
static double interval_s = 1;
static uint64_t lines;

static const struct option_row rows[] = {
    { "once", '1', OPTION_FLAG, NULL, "print one view and end (so it is without a terminal)", &once,
      NULL },
    { "interval", 'i', OPTION_SECONDS, "TIME", "time between two views (default: 1s)", &interval_s,
      NULL },
    { "lines", 'n', OPTION_COUNT, "N", "how many shapes (default: as many as there is room for)",
      &lines, NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "top",
    .args = "DIR",
    .doc = "Watch traces being written: calls a second, the hottest shapes, coverage, losses, GPU "
           "time, and how old the last frame is.\v"
           "DIR is what record -o or TILEWISE_OUT names. Ctrl-C ends it; the recorded program is "
           "not touched. A frame comes every second at most.",
    .options = rows,
    .min_args = 1,
    .max_args = 1,
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

/* A line of the screen; what an older view left behind it is erased. */
static void end_line(bool screen)
{
    fputs(screen ? "\033[K\n" : "\n", stdout);
}

static void print_losses(const struct trace_counters *c, bool screen)
{
    double coverage = c->seen ? (double)c->recorded / (double)c->seen : NAN;
    printf("coverage of calls %s; lost %s",
           words_share(isnan(coverage) ? coverage : floor(coverage * 1e3) / 1e3),
           words_count(loss_total(c)));
    for (unsigned cause = 0; cause < LOSS_MAX; cause++)
        if (c->dropped[cause])
            printf(", %s %s", loss_name(cause) ? loss_name(cause) : "unknown",
                   words_count(c->dropped[cause]));
    if (c->failed)
        printf("; failed calls %s", words_count(c->failed));
    end_line(screen);
}

static void print_gpu(const struct gpu_totals *g, bool screen)
{
    if (g->windows == 0)
        printf("GPU time: not measured");
    else
        printf("GPU time: %s windows of %s together, busy %s; kernels %s, without a record %s",
               words_count(g->windows), words_ns((double)g->window_ns),
               words_share(g->window_ns ? (double)g->busy_ns / (double)g->window_ns : NAN),
               words_count(g->launches), words_count(g->dropped));
    end_line(screen);
}

static void print_head(const char *directory, const struct live_view *v, bool screen)
{
    struct fault name; /* replaces control bytes */
    fault_set(&name, ST_OK, "%.200s", directory);
    printf("tilewise top: %s", name.text);
    end_line(screen);
    printf("%zu trace%s, %zu being written, %zu unreadable; %s bytes, %s damaged stretches",
           v->files, v->files == 1 ? "" : "s", v->running, v->unreadable, words_count(v->bytes),
           words_count(v->damage));
    end_line(screen);
    printf("calls %s, %s a second; last frame ", words_count(v->counters.recorded),
           words_count((uint64_t)v->calls_per_s));
    if (isnan(v->age_s))
        printf("not there yet");
    else
        printf("%.1f s ago%s", v->age_s, v->running && v->age_s > 5 ? " (STALE)" : "");
    end_line(screen);
    print_losses(&v->counters, screen);
    print_gpu(&v->gpu, screen);
}

static void print_rows(const struct live_view *v, size_t most, bool screen)
{
    uint64_t total = 0;
    for (size_t i = 0; i < v->nrows; i++)
        total += v->rows[i].time_ns;
    end_line(screen);
    printf("%-11s %-6s %-26s %-5s %14s %12s %10s %8s", "op", "dtype", "shape", "trans", "calls",
           "calls/s", "mean", "time");
    end_line(screen);
    for (size_t i = 0; i < v->nrows && i < most; i++) {
        const struct live_row *r = &v->rows[i];
        printf("%-11s %-6s %-26s %-5s %14s %12s %10s %8s", tilewise_op_name(r->shape.op),
               tilewise_dtype_name(shape_dtype(&r->shape)), words_shape(&r->shape),
               words_trans(&r->shape), words_count(r->calls), words_count((uint64_t)r->calls_per_s),
               words_ns((double)r->time_ns / (double)r->calls),
               words_share(total ? (double)r->time_ns / (double)total : NAN));
        end_line(screen);
    }
}

static size_t room(void)
{
    struct winsize size;
    size_t height = LINES_DEFAULT;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > HEAD_LINES)
        height = size.ws_row;
    return lines ? (size_t)lines : height - HEAD_LINES;
}

static enum status show(struct live *l, const char *directory, bool screen, struct fault *fault)
{
    struct live_view view;
    enum status st = live_poll(l, &view, fault);
    if (st != ST_OK)
        return st;
    if (screen)
        fputs("\033[H", stdout);
    print_head(directory, &view, screen);
    print_rows(&view, room(), screen);
    if (screen)
        fputs("\033[J", stdout);
    fflush(stdout); /* main says what is wrong with it */
    return ST_OK;
}

static void pause_until_next(void)
{
    struct timespec wait = { .tv_sec = (time_t)interval_s };
    wait.tv_nsec = (long)((interval_s - (double)wait.tv_sec) * 1e9);
    if (!stopped)
        nanosleep(&wait, NULL); /* a signal ends it early */
}

static enum status watch(struct live *l, const char *directory, struct fault *fault)
{
    const struct sigaction action = { .sa_handler = stop };
    enum status st = ST_OK;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    fputs("\033[2J", stdout);
    while (!stopped && st == ST_OK && !ferror(stdout)) {
        st = show(l, directory, true, fault);
        if (st == ST_OK)
            pause_until_next();
    }
    return st;
}

int cmd_top(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    if (!(interval_s > 0)) {
        fputs("tilewise top: --interval is above 0; see: tilewise help top\n", stderr);
        return EXIT_BAD_USAGE;
    }
    struct fault fault = { .status = ST_NOMEM, .text = "" };
    struct live *l = live_open(argv[first]);
    enum status st = ST_NOMEM;
    if (l)
        st = once || !isatty(STDOUT_FILENO) ? show(l, argv[first], false, &fault)
                                            : watch(l, argv[first], &fault);
    live_close(l);
    return st == ST_OK ? EXIT_FINE : command_fault("top", &fault);
}
