/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay in the recorded order, on a simulated device.
 */
#include "order_fixture.h"
#include "replayer/replay.h"

TestSuite(order, .init = set_up, .fini = tear_down);

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

static double make_calls(const struct backend_burst *burst)
{
    double start_ns = clock_ns;
    int failed = 0;
    for (uint64_t i = 0; i < burst->calls; i++)
        failed |= burst->step(burst->context);
    return failed ? NAN : clock_ns - start_ns;
}

static double own_burst(struct backend_session *session, const struct backend_burst *burst)
{
    (void)session;
    return make_calls(burst);
}

static const struct backend_kernel *own_kernels(struct backend_session *session,
                                                const struct backend_burst *burst, size_t *count)
{
    (void)session;
    nran = 0;
    double ns = make_calls(burst);
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
}

Test(order, an_attention_has_its_operands_and_the_row_says_so)
{
    struct result_set results = { 0 };
    struct writer *w = start();
    hook_attention(w, 100);
    write_window(w, repeated("sahl", 20));
    end(w, 40);
    find();
    replay(&results);
    cr_assert_eq(results.norders, 1);
    cr_assert_eq(results.orders[0].status, RESULT_PASSED, "%s", results.orders[0].reason);
    cr_assert_str_eq(results.orders[0].traffic, "1 near read of 0.0 MB, 1 operand read of 0.0 MB");
    result_free(&results);
}

/* The first stretch, in this process, with one kernel in the place of both shapes or NULL. */
static struct order_outcome measured(const struct tilewise_candidate *chosen)
{
    struct backend b = device();
    struct measure_setup setup = { .backend = &b, .reference = ref_compute, .max_bytes = 1 << 26 };
    const struct tilewise_candidate *choice[] = { chosen, chosen };
    struct order_job job = {
        .setup = &setup, .plan = plan, .sequence = sequence, .choice = choice, .budget_ns = 1e6
    };
    struct order_outcome out;
    order_measure(&job, &out);
    cr_assert_eq(out.status, RESULT_PASSED, "%s", out.reason);
    return out;
}

/* The first part had the scratch of no threads: a kernel that packs its operands wrote behind it.
 */
Test(order, scratch_is_that_of_the_devices_threads)
{
    write_events(20);
    find();
    cr_assert(isfinite(measured(&roomy).chosen_ns));
}

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
}
