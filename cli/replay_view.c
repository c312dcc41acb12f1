/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REST_SHOWN_MAX = 10, SHAPE_WIDTH = 36 };

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
    printf("\n%4s  %-*s %10s %8s %14s %14s  %s\n", "#", SHAPE_WIDTH, "shape", "calls", "time",
           "recorded call", "best routine", "");
    fflush(stdout);
}

static const char *origin_of(const struct candidates *candidates, const char *name)
{
    for (size_t i = 0; i < candidates->count; i++)
        if (strcmp(candidates->row[i]->name, name) == 0)
            return candidates->origin[i];
    return "";
}

static void print_reproducer(const struct replay_view *view, size_t item, const char *name)
{
    const char *origin = origin_of(view->candidates, name);
    printf("        reproduce: tilewise replay --mode %s --only %zu --kernel %s%s",
           view->bitwise ? "bitwise" : "check", item + 1, name, view->settings);
    if (origin[0] == '/')
        printf(" --candidate %s", origin);
    for (int i = 0; i < view->ntraces; i++)
        printf(" %s", view->traces[i]);
    putchar('\n');
}

static void print_ratio(const char *against, double ratio, double lo, double hi)
{
    printf("  vs %s %6.3f [%.3f, %.3f]", against, ratio, lo, hi);
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
    if (c->status == RESULT_FAILED || c->status == RESULT_CRASHED || c->status == RESULT_TIMEOUT)
        print_reproducer(view, item, c->name);
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

void replay_view_case(void *context, size_t item, const struct result_case *row)
{
    struct replay_view *view = context;
    bool rest = view->plan->items[item].fate == PLAN_REST;
    clear_line(view);
    if (rest && ++view->rest > REST_SHOWN_MAX) {
        view->rest_share += row->time_share;
        return;
    }
    print_shape(item, &row->signature, row->calls, row->time_share);
    size_t twin = view->plan->items[item].twin;
    if (!rest && twin != item && !view->one_only) {
        printf("  as %zu\n", twin + 1);
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
    if (row->slowed_share > 0)
        printf("      the device was slowed down (too hot, or held back) in %.0f %% of that time, "
               "at %.0f MHz\n",
               100 * row->slowed_share, row->clock_mhz);
    print_second(row);
    for (size_t i = 0; i < row->ncandidates; i++)
        print_candidate(view, item, &row->candidates[i]);
    fflush(stdout);
}

void replay_view_order(void *context, const struct result_order *row)
{
    struct replay_view *view = context;
    clear_line(view);
    printf("\nin order  %" PRIu64 " calls and %" PRIu64 " fillers of %s, recorded %" PRIu64
           " times, %s\n",
           row->calls, row->fillers, row->source, row->repeats,
           row->in_graph ? "as a graph" : "call by call");
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
    if (view->rest > REST_SHOWN_MAX)
        printf("      and %zu more shapes with %.2f %% of the time, not planned\n",
               view->rest - REST_SHOWN_MAX, 100 * view->rest_share);
    if (view->recorded_ns > 0)
        printf("\nfidelity  replayed baseline / recorded time = %.3f over the measured shapes\n",
               view->replayed_ns / view->recorded_ns);
}

void replay_view_plan(const struct plan *plan)
{
    printf("%4s  %-*s %10s %8s  %s\n", "#", SHAPE_WIDTH, "shape", "calls", "time", "plan");
    for (size_t i = 0; i < plan->nitems; i++) {
        const struct plan_item *item = &plan->items[i];
        print_shape(i, &item->signature, item->calls, item->time_share);
        printf("  %s%s%s%s%s\n", item->fate == PLAN_MEASURE ? "measure" : "not measured",
               item->reason[0] ? ": " : "", item->reason, item->entry[0] ? "  " : "", item->entry);
    }
}
