/* SPDX-License-Identifier: Apache-2.0
 *
 * The proofs of `doctor` can fail: on a backend that hides what is wrong.
 */
#include "cli/selftest.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "cli/checks.h"
#include "replay_fixture.h"

static int copy(struct backend_session *session, void *to, const void *from, size_t bytes)
{
    (void)session;
    memcpy(to, from, bytes);
    return 0;
}

static int copy_nothing(struct backend_session *session, void *to, const void *from, size_t bytes)
{
    (void)session;
    (void)to;
    (void)from;
    (void)bytes;
    return 0;
}

/* By work instead of by call. */
static double burst_by_work(struct backend_session *session, const struct backend_burst *burst)
{
    double ns = fixture_burst(session, burst);
    const struct tilewise_signature *s = &session->signature;
    return ns + (double)burst->calls * (double)s->m * (double)s->n * (double)s->k / 100;
}

static struct selftest prove(const struct backend *backend, void (*job)(void *, void *))
{
    struct measure_setup setup = { .backend = backend, .reference = ref_compute };
    struct selftest out = { .text = "" };
    job(&setup, &out);
    return out;
}

Test(selftest, every_wrong_kernel_is_refused)
{
    struct backend backend = fixture_backend;
    backend.copy = copy;
    struct selftest test = prove(&backend, selftest_verification);
    cr_assert(test.passed, "%s", test.text);
}

Test(selftest, a_wrong_kernel_that_is_not_refused_is_named)
{
    struct backend backend = fixture_backend;
    backend.copy = copy_nothing;
    struct selftest test = prove(&backend, selftest_verification);
    cr_assert_not(test.passed);
    cr_assert_str_eq(test.text, "a kernel that has its last element wrong is not refused");
}

Test(selftest, time_that_grows_with_the_work_passes)
{
    struct backend backend = fixture_backend;
    backend.burst = burst_by_work;
    struct selftest test = prove(&backend, selftest_timing);
    cr_assert(test.passed, "%s", test.text);
}

Test(selftest, time_of_the_calls_alone_does_not)
{
    struct selftest test = prove(&fixture_backend, selftest_timing);
    cr_assert_not(test.passed);
    cr_assert_not_null(strstr(test.text, "takes 1.0 times as long"), "%s", test.text);
}

static double burst_that_fails(struct backend_session *session, const struct backend_burst *burst)
{
    (void)session;
    (void)burst;
    return NAN;
}

Test(selftest, a_call_that_fails_has_no_time)
{
    struct backend backend = fixture_backend;
    backend.burst = burst_that_fails;
    struct selftest test = prove(&backend, selftest_timing);
    cr_assert_not(test.passed);
    cr_assert_str_eq(test.text, "the library's product cannot be timed");
}

static const double patient_s = 600;

Test(selftest, the_first_line_of_a_program_is_kept)
{
    char text[8];
    char *lines[] = { "sh", "-c", "echo one two three; echo four; exit 3", NULL };
    cr_assert_eq(checks_run(lines, NULL, STDOUT_FILENO, patient_s, text, sizeof text), 3);
    cr_assert_str_eq(text, "one two");
    char *complain[] = { "sh", "-c", "echo lost; echo kept >&2", NULL };
    cr_assert_eq(checks_run(complain, NULL, STDERR_FILENO, patient_s, text, sizeof text), 0);
    cr_assert_str_eq(text, "kept");
    char *dies[] = { "sh", "-c", "kill -9 $$", NULL };
    cr_assert_eq(checks_run(dies, NULL, STDOUT_FILENO, patient_s, text, sizeof text), -1);
    char *none[] = { "/no/such/program", NULL };
    cr_assert_eq(checks_run(none, NULL, STDOUT_FILENO, patient_s, text, sizeof text), 127);
}

Test(selftest, a_program_that_does_not_end_is_ended)
{
    char text[8];
    char *silent[] = { "sleep", "600", NULL };
    cr_assert_eq(checks_run(silent, NULL, STDOUT_FILENO, 0.1, text, sizeof text), CHECKS_LATE);
    char *closes[] = { "sh", "-c", "exec >&-; sleep 600", NULL };
    cr_assert_eq(checks_run(closes, NULL, STDOUT_FILENO, 0.1, text, sizeof text), CHECKS_LATE);
    char *talks[] = { "yes", NULL };
    cr_assert_eq(checks_run(talks, NULL, STDOUT_FILENO, 0.1, text, sizeof text), CHECKS_LATE);
    char *leaves[] = { "sh", "-c", "sleep 600 &", NULL };
    cr_assert_eq(checks_run(leaves, NULL, STDOUT_FILENO, 0.1, text, sizeof text), CHECKS_LATE);
}
