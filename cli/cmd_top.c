/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
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
    .doc =
        "Watch traces being written: calls a second, the hottest shapes, coverage, losses, GPU "
        "time, and how old the last frame is.\v"
        "DIR is what record -o or TILEWISE_OUT names. Shapes go by the time of their calls; once "
        "windows of GPU time were recorded, by that of their kernels. Ctrl-C ends it; the "
        "recorded program is not touched. A frame comes every second at most.",
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

/* A view is a list of lines; on a screen each is cut at its edge, and what an older view left
 * behind it is erased. */
struct page {
    bool is_screen;
    size_t columns; /* 0: as long as they are */
};

static void line(const struct page *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void line(const struct page *p, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("%.*s%s", p->columns ? (int)p->columns : (int)sizeof text, text,
           p->is_screen ? "\033[K\n" : "\n");
}

static void print_losses(const struct trace_counters *c, const struct page *p)
{
    char causes[256] = "";
    double coverage = c->seen ? (double)c->recorded / (double)c->seen : NAN;
    for (unsigned cause = 0; cause < LOSS_MAX; cause++)
        if (c->dropped[cause]) {
            size_t used = strlen(causes);
            snprintf(causes + used, sizeof causes - used, ", %s %s",
                     loss_name(cause) ? loss_name(cause) : "unknown",
                     words_count(c->dropped[cause]));
        }
    line(p, "coverage of calls %s; lost %s%s%s%s",
         words_share(isnan(coverage) ? coverage : floor(coverage * 1e3) / 1e3),
         words_count(loss_total(c)), causes, c->failed ? "; failed calls " : "",
         c->failed ? words_count(c->failed) : "");
}

static void print_gpu(const struct live_view *v, const struct page *p)
{
    const struct gpu_totals *g = &v->gpu;
    if (g->windows == 0) {
        line(p, "GPU time: not measured");
        return;
    }
    line(p,
         "GPU time: %s windows of %s together stand for %s, busy %s of that; kernels %s, "
         "without a record %s",
         words_count(g->windows), words_ns((double)g->window_ns), words_ns((double)v->gpu_ns),
         words_share(v->gpu_ns ? (double)v->gpu_busy_ns / (double)v->gpu_ns : NAN),
         words_count(g->launches), words_count(g->dropped));
}

static void print_head(const char *directory, const struct live_view *v, const struct page *p)
{
    struct fault name; /* replaces control bytes */
    char age[64] = "not there yet";
    fault_set(&name, ST_OK, "%.200s", directory);
    if (!isnan(v->age_s))
        snprintf(age, sizeof age, "%.1f s ago%s", v->age_s,
                 v->running && v->age_s > 5 ? " (STALE)" : "");
    line(p, "tilewise top: %s", name.text);
    line(p, "%zu trace%s, %zu being written, %zu unreadable; %s bytes, %s damaged stretches",
         v->files, v->files == 1 ? "" : "s", v->running, v->unreadable, words_count(v->bytes),
         words_count(v->damage));
    line(p, "calls %s, %s a second; last frame %s%s", words_count(v->counters.recorded),
         words_count((uint64_t)v->calls_per_s), age,
         v->files && v->running == 0 && v->unreadable < v->files ? "; the recording has ended"
                                                                 : "");
    print_losses(&v->counters, p);
    print_gpu(v, p);
}

/* All of it, and what of it is known to belong to recorded calls. */
static double total_ns(const struct live_view *v)
{
    double total = 0;
    for (size_t i = 0; i < v->nrows; i++) {
        double time_ns = live_time_ns(v, &v->rows[i]);
        total += isnan(time_ns) ? 0 : time_ns;
    }
    return total;
}

static void print_row(const struct live_view *v, const struct live_row *r, double total,
                      const struct page *p)
{
    char shape[24];
    double time_ns = live_time_ns(v, r);
    snprintf(shape, sizeof shape, "%s", words_shape(&r->shape));
    line(p, "%-15s %-23s %-2s %11s %8s %8s %7s",
         words_operation(r->shape.op, shape_dtype(&r->shape)), shape, words_trans(&r->shape),
         words_count(r->calls), words_count((uint64_t)r->calls_per_s),
         words_ns(time_ns / (double)r->calls), words_share(total > 0 ? time_ns / total : NAN));
}

static void print_rows(const struct live_view *v, size_t most, const struct page *p)
{
    double total = total_ns(v);
    line(p, "%s", "");
    line(p, "%-15s %-23s %-2s %11s %8s %8s %7s", "operation", "shape (m x n x k)", "tr", "calls",
         "calls/s", v->kernel_ns ? "GPU mean" : "mean", v->kernel_ns ? "GPU" : "time");
    for (size_t i = 0; i < v->nrows && i < most; i++)
        print_row(v, &v->rows[i], total, p);
}

/* The page as it is now, and how many shapes it has room for. */
static struct page measure(bool is_screen, size_t *shapes)
{
    struct winsize size = { 0 };
    bool known = is_screen && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    size_t height = known && size.ws_row > HEAD_LINES ? size.ws_row : LINES_DEFAULT;
    *shapes = lines ? (size_t)lines : height - HEAD_LINES;
    return (struct page){ is_screen, known ? size.ws_col : 0 };
}

static enum status show(struct live *l, const char *directory, bool screen, struct fault *fault)
{
    struct live_view view;
    enum status st = live_poll(l, &view, fault);
    if (st != ST_OK)
        return st;
    size_t shapes;
    struct page page = measure(screen, &shapes);
    if (screen)
        fputs("\033[H", stdout);
    print_head(directory, &view, &page);
    print_rows(&view, shapes, &page);
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
