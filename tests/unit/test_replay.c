/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole loop with a simulated machine: children, rows, result file.
 */
#include <criterion/criterion.h>
#include <unistd.h>

#include "candidates_fixture.h"
#include "replayer/replay.h"

enum { ITEMS = 4 };

static struct plan_item items[ITEMS];
static struct plan plan = { .items = items };
static struct candidates offered;
static struct result_set results;
static struct replay_outcome outcome;
static char path[64];

static void add_item(int64_t m, uint64_t time_ns, enum plan_fate fate)
{
    struct plan_item *item = &items[plan.nitems];
    *item = (struct plan_item){
        .signature = fixture_gemm(TILEWISE_F32, m, 4, 4),
        .recorded = fixture_gemm(TILEWISE_F32, m, 4, 4),
        .entry = "cblas_sgemm",
        .calls = 10,
        .time_ns = time_ns,
        .time_share = 0.5,
        .work_share = 0.5,
        .twin = plan.nitems++,
        .fate = fate,
    };
    plan.nplanned += fate == PLAN_MEASURE;
    plan.planned_time_share = 1;
}

static void offer(const struct tilewise_candidate *c)
{
    cr_assert_eq(candidates_add(&offered, &c, 1, "test", NULL), ST_OK);
}

static void set_up(void)
{
    plan.nitems = plan.nplanned = 0;
    offered = (struct candidates){ 0 };
    strcpy(path, "/tmp/tilewise-replay-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    unlink(path);
}

static void tear_down(void)
{
    result_free(&results);
    unlink(path);
}

TestSuite(replay, .init = set_up, .fini = tear_down);

static struct replay_options options_for_test(void)
{
    return (struct replay_options){
        .setup = {
            .backend = &fixture_backend,
            .reference = ref_compute,
            .cold = true,
            .max_bytes = 1 << 26,
            .level = 0.95,
            .seed = 1,
        },
        .plan = &plan,
        .candidates = &offered,
        .budget_s = 60,
        .only = REPLAY_ALL,
        .command = "tilewise replay test",
        .trace_shards = 3,
    };
}

/* Run, write, read back. */
static void run(struct replay_options options)
{
    struct fault fault = { .text = "" };
    cr_assert_eq(result_create(&options.writer, path, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(replay_run(&options, &outcome, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(result_close(options.writer), ST_OK);
    cr_assert_eq(result_read(&results, path, &fault), ST_OK, "%s", fault.text);
}

static const struct result_candidate *find(size_t item, const char *name)
{
    const struct result_case *row = &results.cases[item];
    for (size_t i = 0; i < row->ncandidates; i++)
        if (strcmp(row->candidates[i].name, name) == 0)
            return &row->candidates[i];
    return NULL;
}

Test(replay, measures_recorded_and_best_baseline)
{
    add_item(4, 100, PLAN_MEASURE);
    run(options_for_test());
    cr_assert_eq(results.ncases, 1);
    cr_assert_eq(results.cases[0].status, RESULT_PASSED);
    cr_assert_float_eq(results.cases[0].baseline_recorded_ns, 1000, 1);
    cr_assert_float_eq(results.cases[0].baseline_best_ns, 800, 1);
    cr_assert_str_eq(results.cases[0].baseline_best, "second");
    cr_assert_eq(outcome.measured, 1);
}

Test(replay, ratios_against_both_baselines)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&fast);
    run(options_for_test());
    const struct result_candidate *c = find(0, "fast");
    cr_assert_not_null(c);
    cr_assert_eq(c->status, RESULT_PASSED, "%s", c->reason);
    cr_assert_float_eq(c->ratio_recorded, 2.0, 0.01);
    cr_assert_float_eq(c->ratio_best, 1.6, 0.01);
    cr_assert(c->best_lo <= c->ratio_best && c->ratio_best <= c->best_hi);
    cr_assert_eq(c->call, RESULT_FASTER);
    cr_assert_float_eq(c->time_ns, 500, 1);
    cr_assert(c->deterministic);
}

Test(replay, a_candidate_says_itself_why_it_cannot)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&plaintive), offer(&refused), offer(&silent);
    run(options_for_test());
    cr_assert_eq(find(0, "plaintive")->status, RESULT_UNSUPPORTED);
    cr_assert_str_eq(find(0, "plaintive")->reason, "no such device");
    cr_assert_eq(find(0, "refused")->status, RESULT_FAILED);
    cr_assert_str_eq(find(0, "refused")->reason, "launch refused");
    cr_assert_not_null(strstr(find(0, "silent")->reason, "run() returned -5"));
}

Test(replay, a_candidate_that_varies_is_not_deterministic_however_it_ran)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&varying);
    run(options_for_test());
    cr_assert_eq(find(0, "varying")->status, RESULT_PASSED);
    cr_assert_not(find(0, "varying")->deterministic);
}

Test(replay, call_is_against_the_best_not_the_recorded)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&between), offer(&equal);
    run(options_for_test());
    cr_assert_gt(find(0, "between")->ratio_recorded, 1.1);
    cr_assert_eq(find(0, "between")->call, RESULT_SLOWER);
    cr_assert_eq(find(0, "equal")->call, RESULT_SAME);
}

Test(replay, wrong_candidate_is_a_finding_and_never_timed)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&wrong);
    run(options_for_test());
    const struct result_candidate *c = find(0, "wrong");
    cr_assert_eq(c->status, RESULT_FAILED);
    cr_assert_eq(c->rounds, 0);
    cr_assert_eq(c->call, RESULT_CALL_NONE);
    cr_assert(isnan(c->time_ns));
    cr_assert_neq(c->reason[0], '\0');
    cr_assert_eq(outcome.findings, 1);
}

Test(replay, crash_is_a_row_and_the_run_goes_on)
{
    add_item(4, 100, PLAN_MEASURE), add_item(5, 50, PLAN_MEASURE);
    offer(&crash), offer(&fast);
    run(options_for_test());
    for (size_t item = 0; item < 2; item++) {
        cr_assert_eq(find(item, "crash")->status, RESULT_CRASHED);
        cr_assert_not_null(strstr(find(item, "crash")->reason, "signal 11"));
        cr_assert_eq(find(item, "fast")->status, RESULT_PASSED);
    }
    cr_assert_eq(outcome.findings, 2);
}

Test(replay, candidates_that_are_no_offer_are_left_out)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&unable), offer(&elsewhere);
    run(options_for_test());
    cr_assert_eq(results.cases[0].ncandidates, 0);
    cr_assert_eq(outcome.findings, 0);
}

Test(replay, refusing_init_is_said)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&unwilling);
    run(options_for_test());
    cr_assert_eq(find(0, "unwilling")->status, RESULT_UNSUPPORTED);
    cr_assert_not_null(strstr(find(0, "unwilling")->reason, "init()"));
}

Test(replay, unplanned_rows_are_in_the_file_with_their_reason)
{
    add_item(4, 100, PLAN_MEASURE), add_item(5, 50, PLAN_REST), add_item(6, 9, PLAN_UNSUPPORTED);
    snprintf(items[1].reason, sizeof items[1].reason, "behind");
    run(options_for_test());
    cr_assert_eq(results.ncases, 3);
    cr_assert_eq(results.cases[1].status, RESULT_SKIPPED);
    cr_assert_str_eq(results.cases[1].reason, "behind");
    cr_assert_eq(results.cases[2].status, RESULT_UNSUPPORTED);
    cr_assert(isnan(results.cases[1].baseline_recorded_ns));
    cr_assert_eq(results.cases[1].time_ns, 50);
}

Test(replay, twin_shows_the_same_numbers_in_a_row_of_its_own)
{
    add_item(4, 100, PLAN_MEASURE), add_item(4, 50, PLAN_MEASURE);
    items[1].twin = 0;
    items[1].entry = "sgemm_";
    offer(&fast);
    run(options_for_test());
    cr_assert_eq(outcome.measured, 1);
    cr_assert_str_eq(results.cases[1].entry, "sgemm_");
    cr_assert_eq(results.cases[1].baseline_best_ns, results.cases[0].baseline_best_ns);
    cr_assert_eq(find(1, "fast")->ratio_best, find(0, "fast")->ratio_best);
}

Test(replay, only_one_item)
{
    add_item(4, 100, PLAN_MEASURE), add_item(5, 50, PLAN_MEASURE);
    struct replay_options options = options_for_test();
    options.only = 1;
    run(options);
    cr_assert_eq(results.ncases, 1);
    cr_assert_eq(results.cases[0].signature.m, 5);
}

Test(replay, only_a_twin_measures_it)
{
    add_item(4, 100, PLAN_MEASURE), add_item(4, 50, PLAN_MEASURE);
    items[1].twin = 0;
    struct replay_options options = options_for_test();
    options.only = 1;
    run(options);
    cr_assert_eq(results.cases[0].status, RESULT_PASSED);
}

Test(replay, no_such_item_is_an_error)
{
    add_item(4, 100, PLAN_MEASURE);
    struct fault fault;
    struct replay_options options = options_for_test();
    options.only = 7;
    cr_assert_eq(replay_run(&options, &outcome, &fault), ST_INVALID);
    cr_assert_not_null(strstr(fault.text, "no shape 8"));
}

Test(replay, check_times_nothing)
{
    add_item(4, 100, PLAN_MEASURE);
    offer(&fast), offer(&wrong);
    struct replay_options options = options_for_test();
    options.setup.check_only = true;
    run(options);
    cr_assert_eq(find(0, "fast")->status, RESULT_PASSED);
    cr_assert_eq(find(0, "fast")->rounds, 0);
    cr_assert_eq(find(0, "wrong")->status, RESULT_FAILED);
    cr_assert(isnan(results.cases[0].baseline_recorded_ns));
}

Test(replay, spent_budget_skips_the_rest_and_says_so)
{
    add_item(4, 100, PLAN_MEASURE), add_item(5, 50, PLAN_MEASURE);
    struct replay_options options = options_for_test();
    options.budget_s = 1e-9;
    run(options);
    cr_assert_eq(results.cases[0].status, RESULT_PASSED, "the heaviest is always measured");
    cr_assert_eq(results.cases[1].status, RESULT_SKIPPED);
    cr_assert_not_null(strstr(results.cases[1].reason, "--budget"));
}

Test(replay, run_says_where_and_how)
{
    add_item(4, 100, PLAN_MEASURE), add_item(5, 50, PLAN_REST);
    run(options_for_test());
    cr_assert_eq(results.nruns, 1);
    const struct result_run *r = &results.runs[0];
    cr_assert_str_eq(r->backend, "cpu");
    cr_assert_str_eq(r->device, "simulated");
    cr_assert_str_eq(r->command, "tilewise replay test");
    cr_assert_eq(r->trace_shards, 3);
    cr_assert_eq(r->planned_cases, 1);
    cr_assert_eq(r->unplanned_cases, 1);
    cr_assert_not(r->baseline_capped);
    cr_assert(r->noise_floor < 1e-6, "a simulated clock has no noise");
    cr_assert_eq(results.nceilings, 1);
    cr_assert_eq(results.ceilings[0].dtype, TILEWISE_F32);
    cr_assert_float_eq(results.ceilings[0].floor_ns, 1000, 1);
    cr_assert_float_eq(results.ceilings[0].bandwidth_bytes_per_s, 1e9, 1);
}

/* The library's product of 4 x 4 x 4 takes as long as one of 16 x 16 x 16 here, so half of the time
 * for a larger product than the survey's is faster than the survey's rate. */
static enum result_status status_above_the_ceiling(bool is_hard)
{
    static const int64_t small_cubes[] = { 4, 0 };
    struct backend backend = fixture_backend;
    backend.cubes = small_cubes;
    backend.ceiling_is_hard = is_hard;
    struct replay_options options = options_for_test();
    options.setup.backend = &backend;
    add_item(64, 100, PLAN_MEASURE);
    offer(&fast);
    run(options);
    cr_assert_eq(results.cases[0].ncandidates, 1);
    return results.cases[0].candidates[0].status;
}

Test(replay, faster_than_the_hardware_is_a_failure)
{
    cr_assert_eq(status_above_the_ceiling(true), RESULT_FAILED);
    cr_assert_not_null(strstr(results.cases[0].candidates[0].reason, "faster than the device"));
    cr_assert_eq(outcome.findings, 1);
}

Test(replay, faster_than_the_library_was_on_a_processor_is_none)
{
    cr_assert_eq(status_above_the_ceiling(false), RESULT_PASSED);
    cr_assert_eq(outcome.findings, 0);
}

Test(replay, capped_baseline_is_flagged)
{
    add_item(4, 100, PLAN_MEASURE);
    fixture_capped = "a variable is set";
    run(options_for_test());
    cr_assert(results.runs[0].baseline_capped);
    cr_assert(outcome.capped);
}

static enum status no_device(struct backend_session **out, const struct backend_options *options,
                             struct fault *fault)
{
    (void)out;
    (void)options;
    return fault_set(fault, ST_DEVICE, "no device; plug one in");
}

Test(replay, backend_that_does_not_open_is_an_error_with_its_remedy)
{
    add_item(4, 100, PLAN_MEASURE);
    struct fault fault;
    struct backend broken = fixture_backend;
    struct replay_options options = options_for_test();
    broken.open = no_device;
    options.setup.backend = &broken;
    cr_assert_eq(replay_run(&options, &outcome, &fault), ST_DEVICE);
    cr_assert_str_eq(fault.text, "no device; plug one in");
}

static size_t seen_cases, seen_steps, last_total;
static bool was_tried[2];

static void count_case(void *context, size_t item, const struct result_case *row, bool tried)
{
    (void)context;
    seen_cases += row->calls == 10;
    was_tried[item] = tried;
}

static void count_step(void *context, const struct replay_progress *progress)
{
    (void)context;
    cr_assert_lt(progress->done, progress->total);
    last_total = progress->total;
    seen_steps++;
}

Test(replay, tells_progress_and_rows)
{
    add_item(4, 100, PLAN_MEASURE), add_item(5, 50, PLAN_MEASURE);
    offer(&fast), offer(&equal);
    struct replay_options options = options_for_test();
    options.on_case = count_case;
    options.on_progress = count_step;
    run(options);
    cr_assert_eq(seen_cases, 2);
    cr_assert_eq(seen_steps, 6);
    cr_assert_eq(last_total, 6);
    cr_assert(was_tried[0] && was_tried[1]);
}

Test(replay, what_the_budget_leaves_out_was_not_tried)
{
    add_item(4, 100, PLAN_MEASURE), add_item(5, 50, PLAN_MEASURE);
    struct replay_options options = options_for_test();
    options.on_case = count_case;
    options.budget_s = 1e-9;
    run(options);
    cr_assert(was_tried[0] && !was_tried[1]);
}
