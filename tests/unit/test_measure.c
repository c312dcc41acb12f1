/* SPDX-License-Identifier: Apache-2.0
 *
 * Which process serves a case: the same one as before where opening is slow and nothing went wrong.
 * The simulated library names its routines after the process that it runs in.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <unistd.h>

#include "replay_fixture.h"
#include "replayer/isolate.h"
#include "replayer/measure.h"

static enum status name_process(struct backend_session *session, const struct tilewise_signature *s,
                                struct backend_routines *out)
{
    session->signature = *s;
    *out = (struct backend_routines){ .count = 1 };
    snprintf(out->name[0], sizeof out->name[0], "%d", (int)getpid());
    return ST_OK;
}

static struct backend backend;
static struct measure_setup setup;
static struct tilewise_signature signature;
static struct isolate_worker worker;
static const struct isolate_limits limits = { .seconds = 30 };

static void set_up(void)
{
    backend = fixture_backend;
    backend.prepare = name_process;
    backend.opens_slowly = true;
    setup = (struct measure_setup){ .backend = &backend,
                                    .reference = ref_compute,
                                    .max_bytes = 1 << 26,
                                    .level = 0.95,
                                    .seed = 1 };
    signature = fixture_gemm(TILEWISE_F32, 4, 4, 4);
}

static void tear_down(void)
{
    isolate_close(&worker);
}

TestSuite(measure, .init = set_up, .fini = tear_down);

/* The process that timed the baseline. */
static int baseline(void)
{
    struct measure_baseline_job job = { .setup = &setup, .signature = &signature, .budget_ns = 1 };
    struct measure_baseline out;
    struct isolate_end end;
    isolate_call(&worker,
                 &(struct isolate_job){ measure_baseline, &job, sizeof job, &out, sizeof out },
                 &limits, &end);
    cr_assert_eq(end.status, RESULT_PASSED, "%s", end.reason);
    cr_assert_eq(out.status, RESULT_PASSED, "%s", out.reason);
    return atoi(out.best_name);
}

static int any(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    (void)self;
    (void)s;
    return 1;
}

static int run_right(const struct tilewise_candidate *self, const struct tilewise_signature *s,
                     const struct tilewise_args *args)
{
    (void)self;
    fixture_session.clock_ns += 500;
    return ref_candidate.run(&ref_candidate, s, args);
}

static int run_wrong(const struct tilewise_candidate *self, const struct tilewise_signature *s,
                     const struct tilewise_args *args)
{
    int error = run_right(self, s, args);
    *(float *)args->c += 1;
    return error;
}

static int run_crash(const struct tilewise_candidate *self, const struct tilewise_signature *s,
                     const struct tilewise_args *args)
{
    (void)self;
    (void)s;
    (void)args;
    return raise(SIGSEGV);
}

static const struct tilewise_candidate kernels[] = {
#define KERNEL(id)                                                                                 \
    {                                                                                              \
        .abi = TILEWISE_CANDIDATE_ABI, .bytes = sizeof(struct tilewise_candidate), .name = #id,    \
        .target = "cpu", .summary = "test", .supports = any, .run = run_##id                       \
    }
    KERNEL(right),
    KERNEL(wrong),
    KERNEL(crash),
#undef KERNEL
};
enum { RIGHT, WRONG, CRASH };

static enum result_status candidate(int which)
{
    struct measure_candidate_job job = {
        .setup = &setup, .signature = &signature, .candidate = &kernels[which], .budget_ns = 1
    };
    struct measure_candidate out;
    struct isolate_end end;
    isolate_call(&worker,
                 &(struct isolate_job){ measure_candidate, &job, sizeof job, &out, sizeof out },
                 &limits, &end);
    return end.status == RESULT_PASSED ? out.status : end.status;
}

Test(measure, one_process_serves_many_cases_where_opening_is_slow)
{
    int first = baseline();
    cr_assert_eq(candidate(RIGHT), RESULT_PASSED);
    cr_assert_eq(baseline(), first);
}

Test(measure, every_case_has_its_own_process_elsewhere)
{
    backend.opens_slowly = false;
    int first = baseline();
    cr_assert_neq(baseline(), first);
}

Test(measure, nothing_follows_a_wrong_kernel_that_could_be_timed_wrongly)
{
    int first = baseline();
    cr_assert_eq(candidate(WRONG), RESULT_FAILED);
    cr_assert_neq(baseline(), first);
}

Test(measure, a_check_goes_on_in_its_process)
{
    int first = baseline();
    setup.check_only = true; /* the process of before has not seen this: it asks its own copy */
    isolate_close(&worker);
    cr_assert_eq(candidate(WRONG), RESULT_FAILED);
    int second = baseline();
    cr_assert_neq(second, first);
    cr_assert_eq(candidate(WRONG), RESULT_FAILED);
    cr_assert_eq(candidate(RIGHT), RESULT_PASSED);
    cr_assert_eq(baseline(), second);
}

Test(measure, a_crash_is_survived)
{
    int first = baseline();
    cr_assert_eq(candidate(CRASH), RESULT_CRASHED);
    cr_assert_neq(baseline(), first);
    cr_assert_eq(candidate(RIGHT), RESULT_PASSED);
}

static void *no_memory(struct backend_session *session, size_t bytes)
{
    (void)session;
    (void)bytes;
    return NULL;
}

Test(measure, a_device_that_does_not_work_any_more_is_left)
{
    int first = baseline();
    backend.alloc = no_memory;
    isolate_close(&worker);
    struct measure_baseline_job job = { .setup = &setup, .signature = &signature, .budget_ns = 1 };
    struct measure_baseline out;
    struct isolate_end end;
    isolate_call(&worker,
                 &(struct isolate_job){ measure_baseline, &job, sizeof job, &out, sizeof out },
                 &limits, &end);
    cr_assert_eq(out.status, RESULT_SKIPPED);
    cr_assert_eq(worker.child, 0, "it is still there");
    cr_assert_gt(first, 0);
}
