/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fidelity.h"

enum { REST_SHOWN_MAX = 10, SHAPE_WIDTH = 44 };

/* Take the progress line away before anything else is printed on the terminal. */
static void clear_line(const struct replay_view *view)
{
    if (view->live)
        fputs("\r\033[K", stderr);
}

static void print_us(double ns)
{
    if (isfinite(ns))
        printf("%11.2f us", ns / 1000);
    else
        printf("%11s   ", "-");
}

static void print_shape(size_t item, const struct tilewise_signature *s, uint64_t calls,
                        double share)
{
    char shape[96];
    signature_describe(s, shape, sizeof shape);
    printf("%4zu  %-*s %10" PRIu64 " %6.2f %%", item + 1, SHAPE_WIDTH, shape, calls, 100 * share);
}

static bool has_gpu_calls(const struct plan *plan)
{
    for (size_t i = 0; i < plan->nitems; i++)
        if (plan->items[i].on_gpu)
            return true;
    return false;
}

void replay_view_start(void *context, const struct result_run *run, const char *capped)
{
    struct replay_view *view = context;
    clear_line(view);
    if (run->baseline_capped)
        fprintf(stderr,
                "tilewise replay: the baseline is capped: %s. No verdict comes from these numbers."
                " Remedy: --uncap-baseline, or: env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE"
                " tilewise replay ...\n",
                capped);
    printf("device    %s, %u thread%s\n", run->device, run->threads, run->threads == 1 ? "" : "s");
    printf("baseline  %s, core %s%s\n", run->baseline_library,
           run->baseline_core[0] ? run->baseline_core : "unknown",
           run->baseline_capped ? " (CAPPED)" : "");
    if (view->second[0])
        printf("second    %s\n", view->second);
    printf("plan      %" PRIu64 " shapes with %.1f %% of the recorded time, %" PRIu64
           " listed only\n",
           run->planned_cases, 100 * run->planned_time_share, run->unplanned_cases);
    if (isfinite(run->noise_floor))
        printf("noise     %.2f %% between two runs of the same call (median of the shapes)\n",
               100 * expm1(run->noise_floor));
    if (has_gpu_calls(view->plan) && strcmp(run->backend, backend_cpu.name) == 0)
        printf("note      recorded on a GPU, replayed on a processor: no verdict uses these "
               "ratios\n");
    view->other_device = view->trace_device[0] && !fidelity_is_of(run->device, view->trace_device);
    printf("\n%4s  %-*s %10s %8s%s\n", "#", SHAPE_WIDTH, "shape", "calls", "time",
           view->check_only ? "" : "  recorded call   best routine");
    fflush(stdout);
}

static const char *origin_of(const struct candidates *candidates, const char *name)
{
    for (size_t i = 0; i < candidates->count; i++)
        if (strcmp(candidates->row[i]->name, name) == 0)
            return candidates->origin[i];
    return CANDIDATES_BUILT_IN;
}

/* One word of a shell's command line. */
static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (word[0] && word[strspn(word, plain)] == '\0') {
        printf(" %s", word);
        return;
    }
    printf(" '");
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*word);
    putchar('\'');
}

/* The command that does one row again, ready to be pasted. `name`: a candidate; NULL: the library
 * itself failed. What failed while it was timed is timed again. */
static void print_reproducer(const struct replay_view *view, size_t item, const char *name,
                             bool timed)
{
    const char *mode = view->bitwise ? "bitwise" : timed ? "perf" : "check";
    const char *origin = name ? origin_of(view->candidates, name) : CANDIDATES_BUILT_IN;
    printf("        reproduce: %s replay --mode %s --only %zu", program_invocation_name, mode,
           item + 1);
    if (name) {
        printf(" --kernel");
        print_word(name);
    }
    for (const char *const *word = view->settings; *word; word++)
        print_word(*word);
    for (const char *const *word = view->timing; timed && *word; word++)
        print_word(*word);
    if (strcmp(origin, CANDIDATES_BUILT_IN) != 0) {
        printf(" --candidate");
        print_word(origin);
    }
    for (int i = 0; i < view->ntraces; i++)
        print_word(view->traces[i]);
    putchar('\n');
}

static void print_ratio(const char *against, double ratio, double lo, double hi)
{
    printf("  vs %s %6.3f [%.3f, %.3f]", against, ratio, lo, hi);
}

static bool is_failure(unsigned status)
{
    return status == RESULT_FAILED || status == RESULT_CRASHED || status == RESULT_TIMEOUT;
}

static void print_candidate(const struct replay_view *view, size_t item,
                            const struct result_candidate *c)
{
    printf("      %-26s %-12s", c->name, result_status_name(c->status));
    if (c->rounds) {
        print_us(c->time_ns);
        print_ratio("recorded", c->ratio_recorded, c->recorded_lo, c->recorded_hi);
        print_ratio("best", c->ratio_best, c->best_lo, c->best_hi);
        printf("  %s", result_call_name(c->call));
    }
    if (c->status == RESULT_PASSED && view->check_only)
        printf("  largest error %.2f of the bound", c->worst_error);
    if (c->status == RESULT_PASSED && !c->deterministic)
        printf("  not deterministic");
    printf("%s%s\n", c->reason[0] ? "  " : "", c->reason);
    if (is_failure(c->status))
        print_reproducer(view, item, c->name, !view->check_only && c->status != RESULT_FAILED);
}

static void print_second(const struct result_case *row)
{
    if (row->second[0] == '\0' || (!isfinite(row->second_ns) && row->second_reason[0] == '\0'))
        return;
    printf("      %-26s %-12s", row->second, "baseline");
    if (isfinite(row->second_ns)) {
        print_us(row->second_ns);
        print_ratio("recorded", row->second_ratio, row->second_lo, row->second_hi);
    }
    printf("%s%s\n", row->second_reason[0] ? "  " : "", row->second_reason);
}

static void add_fidelity(struct replay_view *view, const struct result_case *row)
{
    double ns = isfinite(row->kernel_ns) ? row->kernel_ns : row->baseline_recorded_ns;
    if (!isfinite(ns) || !isfinite(row->recorded_ns))
        return;
    view->replayed_ns += ns * (double)row->calls;
    view->recorded_ns += row->recorded_ns * (double)row->calls;
}

static void add_reason(struct replay_view *view, const char *text, double share)
{
    struct replay_view_reason *r = view->reasons, *last = &view->reasons[REPLAY_VIEW_REASONS - 1];
    while (r < last && r->shapes && strcmp(r->text, text) != 0)
        r++;
    if (r->shapes++ == 0)
        snprintf(r->text, sizeof r->text, "%s", r == last ? "other reasons" : text);
    r->time_share += share;
}

/* A row that is not replayed: is it to be shown? A long tail is summed up by its reasons. */
static bool count_rest(struct replay_view *view, const struct plan_item *item)
{
    const char *reason =
        item->fate == PLAN_TOO_LARGE ? "more memory than the budget (--max-bytes)" : item->reason;
    add_reason(view, reason, item->time_share);
    if (view->rest++ < REST_SHOWN_MAX)
        return true;
    view->rest_share += item->time_share;
    return false;
}

static void print_remarks(const struct replay_view *view, size_t item,
                          const struct result_case *row, bool tried)
{
    /* the library itself crashed or hung, or could not be timed */
    if (is_failure(row->status) || (tried && row->status == RESULT_SKIPPED))
        print_reproducer(view, item, NULL, true);
    if (row->slowed_share > 0)
        printf("      the device was slowed down (too hot, or held back) in %.0f %% of that time, "
               "at %.0f MHz\n",
               100 * row->slowed_share, row->clock_mhz);
    print_second(row);
    const char *why_skipped = "";
    size_t skipped = 0;
    for (size_t i = 0; i < row->ncandidates; i++)
        if (row->candidates[i].status == RESULT_SKIPPED && row->candidates[i].reason[0]) {
            why_skipped = row->candidates[i].reason;
            skipped++;
        } else
            print_candidate(view, item, &row->candidates[i]);
    if (skipped)
        printf("      %zu candidate%s not tried: %s\n", skipped, skipped == 1 ? "" : "s",
               why_skipped);
}

void replay_view_case(void *context, size_t item, const struct result_case *row, bool tried)
{
    struct replay_view *view = context;
    const struct plan_item *planned = &view->plan->items[item];
    bool rest = planned->fate != PLAN_MEASURE;
    clear_line(view);
    if (rest && !count_rest(view, planned))
        return;
    print_shape(item, &row->signature, row->calls, row->time_share);
    if (!rest && planned->twin != item && !view->one_only) {
        printf("  as %zu\n", planned->twin + 1);
        add_fidelity(view, row);
        return;
    }
    if (row->status == RESULT_PASSED) {
        print_us(row->baseline_recorded_ns);
        print_us(row->baseline_best_ns);
        printf("  %s", row->baseline_best);
        add_fidelity(view, row);
    } else if (!view->check_only || row->status != RESULT_NOT_VERIFIED) {
        printf("  %s", result_status_name(row->status));
    }
    printf("%s%s\n", row->reason[0] ? "  " : "", row->reason);
    print_remarks(view, item, row, tried);
    fflush(stdout);
}

static int by_share(const void *a, const void *b)
{
    double x = ((const struct replay_view_reason *)a)->time_share;
    double y = ((const struct replay_view_reason *)b)->time_share;
    return (x < y) - (x > y);
}

/* What was not replayed, once: behind the last shape. */
static void print_rest(struct replay_view *view)
{
    size_t count = 0;
    if (view->rest > REST_SHOWN_MAX)
        printf("      and %zu more shapes with %.2f %% of the time, not replayed (all: --mode "
               "list)\n",
               view->rest - REST_SHOWN_MAX, 100 * view->rest_share);
    while (count < REPLAY_VIEW_REASONS && view->reasons[count].shapes)
        count++;
    if (count == 0)
        return;
    qsort(view->reasons, count, sizeof *view->reasons, by_share);
    printf("\nnot replayed, by reason:\n");
    for (size_t i = 0; i < count; i++)
        printf("%6zu shape%s %6.2f %%  %s\n", view->reasons[i].shapes,
               view->reasons[i].shapes == 1 ? " " : "s", 100 * view->reasons[i].time_share,
               view->reasons[i].text);
    view->rest = 0;
    memset(view->reasons, 0, sizeof view->reasons);
}

void replay_view_order(void *context, const struct result_order *row)
{
    struct replay_view *view = context;
    clear_line(view);
    print_rest(view);
    printf("\nin order  %" PRIu64 " calls and %" PRIu64 " fillers of %s, recorded %" PRIu64
           " times, %s\n",
           row->calls, row->fillers, row->source, row->repeats,
           row->in_graph ? "as a graph" : "call by call");
    if (row->traffic[0])
        printf("          fillers: %s\n", row->traffic);
    if (row->reason[0])
        printf("          %s\n", row->reason);
    if (isfinite(row->kernel_ns))
        printf("          kernels of the calls: %.2f us, recorded %.2f us: %.3f\n",
               row->kernel_ns / 1000, row->recorded_ns / 1000, row->kernel_ns / row->recorded_ns);
    if (isfinite(row->baseline_ns))
        printf("          a pass takes %.2f us, %.2f %% between two runs of the same\n",
               row->baseline_ns / 1000, 100 * expm1(row->noise));
    if (isfinite(row->chosen_ns))
        printf("          with the kernels that are faster %.2f us: %.3f [%.3f, %.3f]\n",
               row->chosen_ns / 1000, row->ratio, row->ratio_lo, row->ratio_hi);
}

void replay_view_progress(void *context, const struct replay_progress *p)
{
    struct replay_view *view = context;
    if (view->live)
        fprintf(stderr, "\r\033[K[%zu/%zu] %.60s, %.0f s left at most", p->done + 1, p->total,
                p->what, p->left_s);
}

void replay_view_end(struct replay_view *view)
{
    clear_line(view);
    print_rest(view);
    if (view->other_device && view->recorded_ns > 0)
        printf("\nfidelity  not claimed: recorded on %s\n", view->trace_device);
    else if (view->recorded_ns > 0)
        printf("\nfidelity  replayed baseline / recorded time = %.3f over the measured shapes\n",
               view->replayed_ns / view->recorded_ns);
}

void replay_view_plan(struct replay_view *view)
{
    printf("%4s  %-*s %10s %8s  %s\n", "#", SHAPE_WIDTH, "shape", "calls", "time", "plan");
    for (size_t i = 0; i < view->plan->nitems; i++) {
        const struct plan_item *item = &view->plan->items[i];
        print_shape(i, &item->signature, item->calls, item->time_share);
        printf("  %s%s%s%s%s\n", item->fate == PLAN_MEASURE ? "measure" : "not measured",
               item->reason[0] ? ": " : "", item->reason, item->entry[0] ? "  " : "", item->entry);
        if (item->fate != PLAN_MEASURE)
            count_rest(view, item);
    }
    view->rest = 0; /* all were shown */
    print_rest(view);
}
