/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay in the recorded order: stretches found in traces, and their replay on a simulated device.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "replay_fixture.h"
#include "replayer/replay.h"
#include "replayer/sequence_cut.h"
#include "traces/summary.h"
#include "traces/writer.h"

/* ---- periods ---- */

static struct sequence_period period_of(const char *text)
{
    struct sequence_step steps[256];
    struct sequence_period p;
    size_t count = strlen(text);
    for (size_t i = 0; i < count; i++)
        steps[i].symbol = (uint64_t)text[i];
    if (!sequence_find_period(steps, count, &p))
        cr_assert_eq(p.period, 0);
    return p;
}

Test(order, the_smallest_period_that_covers_most)
{
    cr_assert_eq(period_of("abcabcabcabc").period, 3);
    cr_assert_eq(period_of("abcabcabcabc").repeats, 4);
    cr_assert_eq(period_of("xyzababababab").start, 3);
    cr_assert_eq(period_of("xyzababababab").period, 2);
    /* layers within a step are no step */
    cr_assert_eq(period_of("llllelllfllllelllfllllelllf").period, 9);
    cr_assert_eq(period_of("abcdefg").period, 0);
    cr_assert_eq(period_of("").period, 0);
    cr_assert_eq(period_of("abab").period, 0); /* not often enough */
}

/* ---- a simulated device that many signatures share ---- */

static double clock_ns;
static struct backend_kernel ran[4096];
static size_t nran;

static enum status own_open(struct backend_session **out, const struct backend_options *options,
                            struct fault *fault)
{
    (void)options;
    (void)fault;
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : ST_NOMEM;
}

static void own_close(struct backend_session *session)
{
    free(session);
}

static void takes(const char *name, double ns)
{
    if (nran < sizeof ran / sizeof *ran)
        ran[nran++] = (struct backend_kernel){ name, (uint64_t)clock_ns, ns };
    clock_ns += ns;
}

/* Shapes above 8 rows are split: a second kernel. A gap of 10 ns follows each call. */
static int own_baseline(struct backend_session *session, size_t index,
                        const struct tilewise_args *args)
{
    takes("gemm", 100.0 * (double)session->signature.m);
    if (session->signature.m > 8)
        takes("reduce", 50);
    clock_ns += 10;
    (void)index;
    /* A ceiling: only its simulated time matters. */
    return session->signature.m > 256
               ? 0
               : ref_candidate.run(&ref_candidate, &session->signature, args);
}

static double own_burst(struct backend_session *session, const struct backend_burst *burst)
{
    double start_ns = clock_ns;
    int failed = 0;
    (void)session;
    for (uint64_t i = 0; i < burst->calls; i++)
        failed |= burst->step(burst->context);
    return failed ? NAN : clock_ns - start_ns;
}

static const struct backend_kernel *own_kernels(struct backend_session *session,
                                                const struct backend_burst *burst, size_t *count)
{
    nran = 0;
    double ns = own_burst(session, burst);
    *count = nran;
    return ns > 0 ? ran : NULL;
}

/* Reads 1e9 bytes per second. */
static int own_touch(struct backend_session *session, const struct backend_touch *touch)
{
    (void)session;
    cr_assert_leq(touch->at, touch->region_bytes);
    cr_assert_eq(touch->at % 256, 0);
    takes("touch", 20 + (double)(touch->bytes + touch->hot_bytes));
    return 0;
}

static void own_describe(struct backend_session *session, struct backend_info *info)
{
    fixture_describe(session, info);
    info->cache_bytes = 1 << 20;
    info->burst_ns = 10e3;
}

static struct backend device(void)
{
    struct backend b = fixture_backend;
    b.open = own_open;
    b.close = own_close;
    b.describe = own_describe;
    b.baseline = own_baseline;
    b.burst = own_burst;
    b.kernels = own_kernels;
    b.touch = own_touch;
    return b;
}

static int supports(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    (void)self;
    return s->m == 8;
}

static int run_quick(const struct tilewise_candidate *self, const struct tilewise_signature *s,
                     const struct tilewise_args *args)
{
    (void)self;
    clock_ns += 400;
    return ref_candidate.run(&ref_candidate, s, args);
}

static const struct tilewise_candidate quick = { .abi = TILEWISE_CANDIDATE_ABI,
                                                 .bytes = sizeof quick,
                                                 .name = "quick",
                                                 .target = "cpu",
                                                 .summary = "test",
                                                 .supports = supports,
                                                 .run = run_quick };

/* Says no to less scratch than the device's threads need. */
static size_t scratch_of(const struct tilewise_candidate *self, const struct tilewise_signature *s,
                         uint32_t threads)
{
    (void)self;
    (void)s;
    cr_assert_eq(threads, 1, "asked for the scratch of %u threads", threads);
    return 64;
}

static const struct tilewise_candidate roomy = { .abi = TILEWISE_CANDIDATE_ABI,
                                                 .bytes = sizeof roomy,
                                                 .name = "roomy",
                                                 .target = "cpu",
                                                 .summary = "test",
                                                 .supports = supports,
                                                 .scratch_bytes = scratch_of,
                                                 .run = run_quick };

/* ---- traces ---- */

static char folder[] = "/tmp/tilewise-order-XXXXXX", trace_path[64], result_path[64];
static const char *trace = trace_path;
static uint32_t small, large, attention;

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(trace_path, sizeof trace_path, "%s/t.twt", folder);
    snprintf(result_path, sizeof result_path, "%s/r.twr", folder);
}

static void tear_down(void)
{
    unlink(trace_path);
    unlink(result_path);
    rmdir(folder);
}

TestSuite(order, .init = set_up, .fini = tear_down);

static uint32_t define(struct writer *w, int64_t m)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, m, 4, 4);
    uint32_t id;
    s.beta = TILEWISE_SCALAR_UNREAD;
    cr_assert_eq(writer_string(w, "cblas_sgemm", 11, &s.entry), ST_OK);
    cr_assert_eq(writer_signature(w, &s, &id), ST_OK);
    return id;
}

static struct writer *start(void)
{
    struct writer *w;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED, .shard = { .pid = 1000 } };
    int fd = open(trace, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_eq(writer_open(&w, fd, &options), ST_OK);
    small = define(w, 8);
    large = define(w, 16);
    cr_assert_eq(writer_string(w, "attention", 9, &attention), ST_OK);
    return w;
}

static void end(struct writer *w, uint64_t calls)
{
    struct trace_counters counters = { .seen = calls, .recorded = calls };
    struct writer_count count = { calls / 2, calls * 500, 1000, 1000, { { 0 } } };
    cr_assert_eq(writer_count(w, small, &count), ST_OK);
    cr_assert_eq(writer_count(w, large, &count), ST_OK);
    cr_assert_eq(writer_close(w, &counters, 100000000), ST_OK);
}

static bool eager; /* launched call by call; else by a graph */

/* Work of a window, in letters: s small (1 kernel), a attention, l large (2 kernels); of a graph.
 */
static void write_window(struct writer *w, const char *work)
{
    const struct gpu_source sources[] = {
        { .name = attention, .signature = small, .in_graph = !eager, .is_first = true },
        { .name = attention, .signature = GPU_NO_SIGNATURE, .in_graph = !eager },
        { .name = attention, .signature = large, .in_graph = !eager, .is_first = true },
        { .name = attention, .signature = large, .in_graph = !eager },
    };
    static const uint32_t length[] = { 832, 6400, 1600, 96 };
    static uint64_t at = 64000;
    struct gpu_interval v[400];
    uint64_t start = at;
    size_t n = 0;
    for (; *work; work++)
        for (uint32_t k = *work == 's'   ? 0
                          : *work == 'a' ? 1
                                         : 2;
             k < (*work == 's'   ? 1u
                  : *work == 'a' ? 2u
                                 : 4u);
             k++) {
            v[n++] = (struct gpu_interval){ at, 64000, length[k], k };
            at += length[k] + 320;
        }
    struct gpu_window window = { start / 2, at, at - start, n, n, 0 };
    cr_assert_eq(writer_gpu_window(w, &window), ST_OK);
    cr_assert_eq(writer_gpu_intervals(w, &(struct gpu_intervals){ .window_ns = start / 2,
                                                                  .stream = 1,
                                                                  .nsources = 4,
                                                                  .sources = sources,
                                                                  .count = n,
                                                                  .interval = v }),
                 ST_OK);
    at += 64000;
}

static const char *repeated(const char *work, unsigned times)
{
    static char text[400];
    text[0] = '\0';
    while (times--)
        strcat(text, work);
    return text;
}

static void write_windows(unsigned steps)
{
    struct writer *w = start();
    write_window(w, repeated("sal", steps));
    end(w, 2 * steps);
}

static void write_events(unsigned steps)
{
    struct writer *w = start();
    struct writer_event events[400];
    uint64_t at = 1000;
    for (unsigned i = 0; i < 2 * steps; i++, at += 3000)
        events[i] = (struct writer_event){ .signature = i % 2 ? large : small,
                                           .start_ns = at,
                                           .duration_ns = i % 2 ? 2000 : 1000 };
    cr_assert_eq(writer_events(w, 0, 0, events, 2 * steps), ST_OK);
    struct trace_counters counters = { .seen = 2 * steps, .recorded = 2 * steps };
    cr_assert_eq(writer_close(w, &counters, 100000000), ST_OK);
}

static struct plan *plan;
static struct sequences sequences;
static const struct sequence *sequence; /* the first */

static void find(void)
{
    struct summary *s;
    struct fault fault = { .text = "" };
    struct plan_options options = { .time_share = 1,
                                    .max_bytes = 1 << 26,
                                    .supports = fixture_supports };
    cr_assert_eq(summary_build(&s, &trace, 1, 0, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(plan_build(&plan, s, &options, &fault), ST_OK, "%s", fault.text);
    summary_free(s);
    cr_assert_eq(sequences_find(&sequences, plan, &trace, 1, &fault), ST_OK, "%s", fault.text);
    sequence = sequences.count ? sequences.row[0] : NULL;
}

static int64_t rows_of(size_t step)
{
    int64_t item = sequence->steps[step].item;
    return item == SEQUENCE_FILLER ? 0 : plan->items[item].signature.m;
}

Test(order, a_step_of_a_graph_is_found_in_windows)
{
    write_windows(20);
    find();
    cr_assert_not_null(sequence);
    cr_assert_eq(sequence->count, 3);
    cr_assert_eq(sequence->fillers, 1);
    cr_assert_eq(sequence->repeats, 20);
    cr_assert(sequence->in_graph && sequence->is_kernel_time);
    cr_assert_eq(rows_of(0), 8);
    cr_assert_eq(rows_of(1), 0);
    cr_assert_eq(rows_of(2), 16);
    cr_assert_float_eq(sequence->steps[2].ns, 1696, 1e-6); /* both kernels */
    cr_assert_float_eq(sequence->filler_ns, 6400, 1e-6);
    cr_assert_float_eq(sequence->steps[1].gap_ns, 320, 1e-6);
    cr_assert_float_eq(sequence->steps[2].gap_ns, 320, 1e-6);
    cr_assert_float_eq(sequence->least_filler_ns, 6400, 1e-6);
    cr_assert(sequence->steps[1].reads); /* by its name */
    cr_assert_str_eq(sequence->source, "stream 1 of process 1000");
    sequences_free(&sequences);
    plan_free(plan);
}

Test(order, one_stretch_is_counted_through_the_windows)
{
    struct writer *w = start();
    write_window(w, repeated("sal", 20));
    write_window(w, repeated("als", 10)); /* entered elsewhere */
    end(w, 60);
    find();
    cr_assert_eq(sequences.count, 1);
    cr_assert_eq(sequence->count, 3);
    cr_assert_eq(sequence->repeats, 30);
    cr_assert_float_eq(sequence->filler_ns, 6400, 1e-6);
    cr_assert_float_eq(sequence->time_share, 1, 1e-9);
    sequences_free(&sequences);
    plan_free(plan);
}

Test(order, phases_are_stretches_of_their_own)
{
    struct writer *w = start();
    char both[400];
    snprintf(both, sizeof both, "%s", repeated("llls", 10));
    strcat(both, repeated("sal", 20));
    write_window(w, both);
    end(w, 80);
    find();
    cr_assert_eq(sequences.count, 2);
    cr_assert_eq(sequences.row[0]->count, 3); /* the larger one first */
    cr_assert_eq(sequences.row[0]->repeats, 20);
    cr_assert_eq(sequences.row[1]->count, 4);
    cr_assert_float_eq(sequences.row[0]->time_share + sequences.row[1]->time_share, 1, 0.02);
    cr_assert_gt(sequences.row[0]->time_share, 0.7);
    sequences_free(&sequences);
    plan_free(plan);
}

Test(order, what_stands_for_most_is_enough)
{
    struct writer *w = start();
    char both[400];
    snprintf(both, sizeof both, "%s", repeated("sal", 30));
    strcat(both, repeated("lls", 3));
    write_window(w, both);
    end(w, 80);
    find();
    cr_assert_eq(sequences.count, 1);
    cr_assert_gt(sequence->time_share, 0.8);
    sequences_free(&sequences);
    plan_free(plan);
}

Test(order, calls_stand_in_where_no_stream_was_seen)
{
    write_events(20);
    find();
    cr_assert_not_null(sequence);
    cr_assert_eq(sequence->count, 2);
    cr_assert_not(sequence->in_graph || sequence->is_kernel_time);
    cr_assert_float_eq(sequence->call_ns, 3000, 300); /* whole ticks */
    sequences_free(&sequences);
    plan_free(plan);
}

Test(order, a_trace_of_counts_has_no_order)
{
    end(start(), 10);
    find();
    cr_assert_null(sequence);
    plan_free(plan);
}

/* ---- replay ---- */

static void replay(struct result_set *results)
{
    static struct backend simulated;
    struct candidates offered = { 0 };
    const struct tilewise_candidate *one = &quick;
    struct fault fault = { .text = "" };
    struct replay_outcome outcome;
    simulated = device();
    cr_assert_eq(candidates_add(&offered, &one, 1, "test", NULL), ST_OK);
    struct replay_options options = {
        .setup = { .backend = &simulated,
                   .reference = ref_compute,
                   .max_bytes = 1 << 26,
                   .level = 0.95,
                   .seed = 1 },
        .plan = plan,
        .candidates = &offered,
        .budget_s = 20,
        .only = REPLAY_ALL,
        .sequences = &sequences,
    };
    cr_assert_eq(result_create(&options.writer, result_path, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(replay_run(&options, &outcome, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(result_close(options.writer), ST_OK);
    cr_assert_eq(result_read(results, result_path, &fault), ST_OK, "%s", fault.text);
}

Test(order, the_whole_stretch_is_replayed)
{
    struct result_set results = { 0 };
    write_windows(20);
    find();
    replay(&results);
    cr_assert_eq(results.norders, 1);
    const struct result_order *row = &results.orders[0];
    cr_assert_eq(row->status, RESULT_PASSED, "%s", row->reason);
    cr_assert_str_eq(row->reason, "");
    cr_assert_eq(row->calls, 2);
    cr_assert_eq(row->fillers, 1);
    cr_assert_float_eq(row->recorded_ns, 832 + 1696, 1e-6);
    cr_assert_float_eq(row->kernel_ns, 800 + 1650, 1e-6);
    /* Kernels, gaps, and a copy that takes what attention took. */
    cr_assert_float_eq(row->baseline_ns, 800 + 1650 + 20 + 6400, 600);
    cr_assert_lt(row->noise, 1e-6);
    cr_assert_eq(results.nparts, 2);
    cr_assert_eq(row->nparts, 2);
    cr_assert_eq(results.parts[0].signature.m, 8);
    cr_assert_eq(results.parts[0].signature.beta, TILEWISE_SCALAR_UNREAD); /* as recorded */
    cr_assert_float_eq(results.parts[0].kernel_ns, 800, 1e-6);
    cr_assert_float_eq(results.parts[1].kernel_ns, 1650, 1e-6);
    cr_assert_str_eq(results.parts[1].entry, "cblas_sgemm");
    /* The quick kernel in the place of 8 rows only. */
    cr_assert(results.parts[0].chosen && !results.parts[1].chosen);
    cr_assert_float_eq(row->baseline_ns - row->chosen_ns, 410, 1e-6);
    cr_assert_float_eq(row->ratio, row->baseline_ns / row->chosen_ns, 1e-6);
    /* The isolated regime stands beside it, by the same kernels. */
    cr_assert_eq(results.ncases, 2);
    cr_assert_str_eq(results.cases[0].kernels, "gemm");
    result_free(&results);
    sequences_free(&sequences);
    plan_free(plan);
}

/* The first part had the scratch of no threads: a kernel that packs its operands wrote behind it.
 */
Test(order, scratch_is_that_of_the_devices_threads)
{
    write_events(20);
    find();
    struct backend b = device();
    struct measure_setup setup = { .backend = &b, .reference = ref_compute, .max_bytes = 1 << 26 };
    const struct tilewise_candidate *choice[] = { &roomy, &roomy };
    struct order_job job = {
        .setup = &setup, .plan = plan, .sequence = sequence, .choice = choice, .budget_ns = 1e6
    };
    struct order_outcome out;
    order_measure(&job, &out);
    cr_assert_eq(out.status, RESULT_PASSED, "%s", out.reason);
    cr_assert(isfinite(out.chosen_ns));
    sequences_free(&sequences);
    plan_free(plan);
}

/* At the recorded pace, which is a matter of the host's clock: here it must only get through. */
Test(order, work_that_was_launched_call_by_call_is_replayed_so)
{
    struct result_set results = { 0 };
    eager = true;
    write_windows(20);
    find();
    cr_assert_not(sequence->in_graph);
    cr_assert(sequence->is_kernel_time);
    replay(&results);
    cr_assert_eq(results.norders, 1);
    cr_assert_eq(results.orders[0].status, RESULT_PASSED, "%s", results.orders[0].reason);
    cr_assert_float_eq(results.orders[0].kernel_ns, 800 + 1650, 1e-6);
    cr_assert_not(results.orders[0].in_graph);
    result_free(&results);
    sequences_free(&sequences);
    plan_free(plan);
}
