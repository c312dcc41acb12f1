/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/match.h"
#include "cli/command.h"
#include "cli/offers.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/replay_device.h"
#include "cli/replay_second.h"
#include "cli/replay_view.h"
#include "kernels/builtin.h"
#include "traces/list.h"
#ifdef TILEWISE_CUDA
#include "kernels/cuda/ref.h"
#endif

static const char result_default[] = "replay.twr";
enum { COMMAND_BYTES = 1024 };

static const char *out, *mode = "perf", *regime = "cold", *order = "none", *kernel, *plugins;
static const char *device = "auto", *cuda_libraries, *baseline = "library", *python = "python3";
static double time_share = 0.95, budget_s = 60;
static uint64_t threads, max_bytes, only, seed = 1;
static bool uncap_baseline;

static const struct option_row rows[] = {
    { "output", 'o', OPTION_TEXT, "FILE",
      "result file (default: replay.twr; none with list, check, bitwise and --only)", &out, NULL },
    { "time-share", 0, OPTION_REAL, "SHARE", "replay the shapes that hold this share of the time",
      &time_share, NULL },
    { "budget", 0, OPTION_SECONDS, "TIME", "wall time to spend on measuring", &budget_s, NULL },
    { "threads", 0, OPTION_COUNT, "N", "threads of baseline and candidates (default: all usable)",
      &threads, NULL },
    { "mode", 0, OPTION_CHOICE, "list|check|bitwise|perf",
      "show the plan, verify the candidates, hold their bits against the recorded call's, or "
      "verify "
      "and time them",
      &mode, "list|check|bitwise|perf" },
    { "device", 0, OPTION_CHOICE, "cpu|cuda|auto",
      "where to replay (default: where the trace was made, if this machine can)", &device,
      "cpu|cuda|auto" },
    OPTION_ROW_CUDA_LIBRARIES(&cuda_libraries),
    { "baseline", 0, OPTION_CHOICE, "library|pytorch",
      "hold the library's call against PyTorch's, too", &baseline, "library|pytorch" },
    { "python", 0, OPTION_TEXT, "PROGRAM", "the Python that has PyTorch (default: python3)",
      &python, NULL },
    { "max-bytes", 0, OPTION_BYTES, "BYTES",
      "memory for one case (default: 80 % of what is available)", &max_bytes, NULL },
    { "regime", 0, OPTION_CHOICE, "cold|hot", "operands out of the caches, or in them", &regime,
      "cold|hot" },
    { "order", 0, OPTION_CHOICE, "none|recorded",
      "behind the single shapes, replay a repeating stretch of the trace in its recorded order",
      &order, "none|recorded" },
    { OFFERS_OPTION, 0, OPTION_TEXT, "PATH", OFFERS_OPTION_DOC, &plugins, NULL },
    { "kernel", 0, OPTION_TEXT, "NAMES",
      "only these candidates (comma list; also 'ref' and 'null', the instruments)", &kernel, NULL },
    { "only", 0, OPTION_COUNT, "N", "only shape N of the plan (--mode list); 0: all", &only, NULL },
    { "seed", 0, OPTION_COUNT, "N", "of the random data", &seed, NULL },
    { "uncap-baseline", 0, OPTION_FLAG, NULL,
      "measure without OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE", &uncap_baseline, NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "replay",
    .args = "TRACE...",
    .doc = "Run the recorded shapes again, through the vendor library and through tile kernels."
           "\vEvery candidate is verified before it is timed, in a process of its own. A ratio is "
           "baseline time / candidate time: above 1 the candidate is faster. Exit status: 1 if a "
           "candidate failed, crashed or hung. See docs/measuring.md.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

/* The fp64 reference on the GPU, where the build has CUDA kernels. */
#ifdef TILEWISE_CUDA
static compare_reference *const device_reference = cuda_ref_compute;
#else
static compare_reference *const device_reference = NULL;
#endif

static bool is_mode(const char *name)
{
    return strcmp(mode, name) == 0;
}

/* `ref` and `null` measure the replayer itself: no offers, unless asked for. */
static bool is_wanted(const struct tilewise_candidate *c)
{
    if (kernel)
        return list_holds(kernel, ',', c->name);
    return c != &ref_candidate && c != &null_candidate;
}

static void keep_wanted(struct candidates *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (is_wanted(all->row[i])) {
            all->row[kept] = all->row[i];
            all->origin[kept++] = all->origin[i];
        }
    all->count = kept;
}

static enum status load_candidates(struct candidates *all, struct offers_paths *paths,
                                   struct fault *fault)
{
    enum status st = offers_load(all, paths, plugins, fault);
    if (st != ST_OK)
        return st;
    keep_wanted(all);
    if (all->count == 0 && kernel)
        return fault_set(fault, ST_INVALID, "no candidate is named '%s'; see: tilewise kernels",
                         kernel);
    return ST_OK;
}

static struct backend_options open_options(void)
{
    return (struct backend_options){
        .threads = (uint32_t)(threads < UINT32_MAX ? threads : UINT32_MAX),
        .uncap_baseline = uncap_baseline,
        .libraries = cuda_libraries,
    };
}

/* What one case may take: its buffers on the device, their images on the host. */
static uint64_t memory_budget(const struct replay_device *target)
{
    uint64_t host = plan_memory_budget(max_bytes), on_device = target->memory_bytes;
    return on_device && on_device < host ? on_device : host;
}

static enum status make_plan(const struct summary *summary, const struct replay_device *target,
                             struct plan **plan, struct fault *fault)
{
    struct plan_options options = {
        .time_share = only ? 1 : time_share, /* --only names any shape of the trace */
        .max_bytes = memory_budget(target),
        .supports = target->backend->supports,
        .entry = target->backend->entry,
        .is_on_gpu = match_is_on_gpu,
    };
    return plan_build(plan, summary, &options, fault);
}

/* Rows are written to FILE.partial, which becomes FILE when the run is complete: an older result
 * survives a run that was interrupted. */
static enum status open_result(const char *path, char *partial, struct result_writer **writer,
                               struct fault *fault)
{
    if (path == NULL)
        return ST_OK;
    if (snprintf(partial, PATH_MAX, "%s.partial", path) >= PATH_MAX)
        return fault_set(fault, ST_INVALID, "the name of the result file is too long");
    if (output_spares(path, TRACE_KIND_RESULT, fault) != ST_OK)
        return ST_INVALID;
    unlink(partial);
    return result_create(writer, partial, fault);
}

static enum status close_result(const char *path, const char *partial, struct result_writer *writer,
                                struct fault *fault)
{
    if (path == NULL)
        return ST_OK;
    bool replaces = access(path, F_OK) == 0;
    if (result_close(writer) != ST_OK) {
        fault_set(fault, ST_IO, "%s: writing the result failed: %m", path);
        unlink(partial);
        return ST_IO;
    }
    if (rename(partial, path) < 0)
        return fault_set(fault, ST_IO, "%s: %m; the result is in %s", path, partial);
    fprintf(stderr, "tilewise replay: %s %s; next: tilewise report TRACE... %s\n",
            replaces ? "replaced" : "wrote", path, path);
    return ST_OK;
}

static void join_command(int argc, char **argv, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "tilewise");
    for (int i = 0; i < argc && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, " %s", argv[i]);
}

static struct replay_options options_of(const struct plan *plan,
                                        const struct candidates *candidates,
                                        const struct replay_device *target)
{
    return (struct replay_options){
        .setup = {
            .backend = target->backend,
            .open = open_options(),
            .reference = ref_compute,
            .device_reference = target->backend == &backend_cuda ? device_reference : NULL,
            .cold = strcmp(regime, "cold") == 0,
            .check_only = is_mode("check") || is_mode("bitwise"),
            .bitwise = is_mode("bitwise"),
            .max_bytes = memory_budget(target),
            .level = timing_level(only ? 1 : plan->nworks),
            .seed = seed,
        },
        .plan = plan,
        .candidates = candidates,
        .budget_s = budget_s,
        .only = only ? (int64_t)only - 1 : REPLAY_ALL,
        .on_start = replay_view_start,
        .on_case = replay_view_case,
        .on_order = replay_view_order,
        .on_progress = replay_view_progress,
    };
}

/* The device that the traces come from; "" where they do not say, or name several. */
static void find_trace_device(const struct summary *summary, bool on_gpu, char *text, size_t bytes)
{
    size_t found = 0;
    for (size_t i = 0; i < summary->nfacts; i++)
        if (strcmp(summary->facts[i].key, on_gpu ? "gpu" : "device") == 0 && found++ == 0)
            snprintf(text, bytes, "%s", summary->facts[i].value);
    if (found > 1)
        text[0] = '\0';
}

static enum status run_plan(struct replay_view *view, const struct replay_device *target,
                            const char *command, struct replay_outcome *outcome,
                            struct fault *fault)
{
    char partial[PATH_MAX];
    struct companion companion = { 0 };
    const char *path = out ? out : is_mode("perf") && !only ? result_default : NULL;
    struct replay_options options = options_of(view->plan, view->candidates, target);
    options.command = command;
    options.trace_shards = view->nshards;
    options.trace_device = view->trace_device;
    options.sequences = &view->sequences;
    options.context = view;
    enum status st = open_result(path, partial, &options.writer, fault);
    if (st != ST_OK)
        return st;
    if (strcmp(baseline, "pytorch") == 0 && is_mode("perf") &&
        replay_second_start(&companion, python, target->backend, view->second))
        options.companion = &companion;
    st = replay_run(&options, outcome, fault);
    companion_stop(&companion);
    replay_view_end(view);
    if (st == ST_OK)
        return close_result(path, partial, options.writer, fault);
    if (options.writer) {
        struct fault cause = *fault;
        result_close(options.writer);
        unlink(partial);
        if (st == ST_IO)
            fault_set(fault, st, "%s: %.400s", path, cause.text);
    }
    return st;
}

static enum status find_sequences(struct replay_view *view, struct fault *fault)
{
    enum status st = sequences_find(&view->sequences, view->plan, (const char *const *)view->traces,
                                    (size_t)view->ntraces, fault);
    if (st == ST_OK && view->sequences.count == 0)
        fputs("tilewise replay: no order was recorded: neither streams of a GPU in windows "
              "(--gpu-time) nor single calls (--events)\n",
              stderr);
    return st;
}

static int replay_traces(struct replay_view *view, struct candidates *candidates,
                         const char *command)
{
    struct fault fault = { .text = "" };
    struct plan *plan = NULL;
    struct summary *summary = NULL;
    struct replay_outcome outcome = { 0 };
    struct replay_device target;
    struct backend_options how = open_options();
    enum status st = summary_build(&summary, (const char *const *)view->traces,
                                   (size_t)view->ntraces, 0, &fault);
    if (st == ST_OK)
        st = replay_device_choose(&target, device, is_mode("list"), &how, summary, &fault);
    if (st == ST_OK)
        st = make_plan(summary, &target, &plan, &fault);
    if (st == ST_OK)
        find_trace_device(summary, target.backend == &backend_cuda, view->trace_device,
                          sizeof view->trace_device);
    view->nshards = st == ST_OK ? summary->nshards : 0;
    summary_free(summary);
    view->plan = plan;
    view->candidates = candidates;
    if (st == ST_OK && strcmp(order, "recorded") == 0)
        st = find_sequences(view, &fault);
    if (st == ST_OK && is_mode("list"))
        replay_view_plan(view);
    else if (st == ST_OK)
        st = run_plan(view, &target, command, &outcome, &fault);
    sequences_free(&view->sequences);
    plan_free(plan);
    if (st != ST_OK)
        return command_fault("replay", &fault);
    return outcome.findings ? EXIT_FINDING : EXIT_FINE;
}

/* Options that are not as they were, for a command that does a part of this one again. */
struct words {
    size_t count;
    const char *word[16]; /* ends with NULL */
    char number[8][32];
};

static void add_words(struct words *w, const char *option, const char *value)
{
    w->word[w->count++] = option;
    if (value)
        w->word[w->count++] = value;
}

static void add_count(struct words *w, const char *option, uint64_t value)
{
    char *number = w->number[w->count / 2];
    snprintf(number, sizeof w->number[0], "%" PRIu64, value);
    add_words(w, option, number);
}

static void collect_settings(struct words *w)
{
    if (seed != 1)
        add_count(w, "--seed", seed);
    if (threads)
        add_count(w, "--threads", threads);
    if (max_bytes)
        add_count(w, "--max-bytes", max_bytes);
    if (strcmp(device, "auto") != 0)
        add_words(w, "--device", device);
    if (cuda_libraries)
        add_words(w, "--cuda-libraries", cuda_libraries);
    if (uncap_baseline)
        add_words(w, "--uncap-baseline", NULL);
}

static void collect_timing(struct words *w)
{
    snprintf(w->number[0], sizeof w->number[0], "%.9g", budget_s);
    add_words(w, "--budget", w->number[0]);
    if (strcmp(regime, "cold") != 0)
        add_words(w, "--regime", regime);
}

int cmd_replay(int argc, char **argv)
{
    char command[COMMAND_BYTES];
    struct candidates candidates = { 0 };
    struct fault fault = { .text = "" };
    int first;
    join_command(argc, argv, command, sizeof command);
    struct offers_paths paths = offers_find(argc, argv);
    int code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    if (!(time_share >= 0 && time_share <= 1) || !(budget_s > 0)) {
        fputs("tilewise replay: --time-share is 0 to 1, --budget above 0; see: tilewise help "
              "replay\n",
              stderr);
        return EXIT_BAD_USAGE;
    }
    struct words settings = { .count = 0 }, timing = { .count = 0 };
    collect_settings(&settings);
    collect_timing(&timing);
    struct replay_view view = {
        .settings = settings.word,
        .timing = timing.word,
        .traces = argv + first,
        .ntraces = argc - first,
        .live = isatty(STDERR_FILENO),
        .check_only = is_mode("check") || is_mode("bitwise"),
        .bitwise = is_mode("bitwise"),
        .one_only = only != 0,
    };
    enum status st = load_candidates(&candidates, &paths, &fault);
    code =
        st == ST_OK ? replay_traces(&view, &candidates, command) : command_fault("replay", &fault);
    candidates_close(&candidates);
    return code;
}
