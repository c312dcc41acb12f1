/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/isolate.h"

struct answer {
    int value;
    char text[100000]; /* more than a pipe holds */
};

static struct answer answer;
static struct isolate_end end;

static void run(void (*job)(void *, void *), struct isolate_limits limits)
{
    int input = 20;
    isolate_run(job, &input, &answer, sizeof answer, &limits, &end);
}

static void answers(void *context, void *message)
{
    struct answer *a = message;
    a->value = *(int *)context + 1;
    memset(a->text, 'x', sizeof a->text);
}

Test(isolate, answer_comes_back_whole)
{
    run(answers, (struct isolate_limits){ .seconds = 20 });
    cr_assert_eq(end.status, RESULT_PASSED);
    cr_assert_eq(answer.value, 21);
    cr_assert_eq(answer.text[sizeof answer.text - 1], 'x');
}

Test(isolate, no_limits_work_too)
{
    run(answers, (struct isolate_limits){ 0 });
    cr_assert_eq(end.status, RESULT_PASSED);
}

static void crashes(void *context, void *message)
{
    (void)context;
    (void)message;
    raise(SIGSEGV);
}

Test(isolate, crash_names_the_signal)
{
    run(crashes, (struct isolate_limits){ .seconds = 20 });
    cr_assert_eq(end.status, RESULT_CRASHED);
    cr_assert_not_null(strstr(end.reason, "signal 11"), "%s", end.reason);
}

static void hangs(void *context, void *message)
{
    (void)context;
    (void)message;
    for (;;)
        pause();
}

Test(isolate, hang_is_killed)
{
    run(hangs, (struct isolate_limits){ .seconds = 0.2 });
    cr_assert_eq(end.status, RESULT_TIMEOUT);
}

static void exits(void *context, void *message)
{
    (void)context;
    (void)message;
    _exit(3);
}

Test(isolate, early_exit_is_a_crash_with_its_status)
{
    run(exits, (struct isolate_limits){ .seconds = 20 });
    cr_assert_eq(end.status, RESULT_CRASHED);
    cr_assert_not_null(strstr(end.reason, "exit status 3"), "%s", end.reason);
}

static void devours(void *context, void *message)
{
    (void)context;
    struct answer *a = message;
    void *memory = mmap(NULL, (size_t)1 << 34, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    a->value = memory == MAP_FAILED;
}

Test(isolate, memory_limit_holds_in_the_child)
{
    run(devours, (struct isolate_limits){ .memory_bytes = 64 << 20, .seconds = 20 });
    cr_assert_eq(end.status, RESULT_PASSED, "%s", end.reason);
    cr_assert_eq(answer.value, 1, "16 GiB were granted");
}

static void closes_the_pipe_and_stays(void *context, void *message)
{
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    hangs(context, message);
}

Test(isolate, silent_child_is_ended)
{
    run(closes_the_pipe_and_stays, (struct isolate_limits){ .seconds = 20 });
    cr_assert_eq(end.status, RESULT_CRASHED);
    cr_assert_not_null(strstr(end.reason, "signal 9"), "%s", end.reason);
}

static void changes_memory(void *context, void *message)
{
    *(int *)context = 99;
    ((struct answer *)message)->value = 1;
}

Test(isolate, memory_of_the_parent_is_untouched)
{
    int input = 7;
    struct isolate_limits limits = { .seconds = 20 };
    isolate_run(changes_memory, &input, &answer, sizeof answer, &limits, &end);
    cr_assert_eq(answer.value, 1);
    cr_assert_eq(input, 7);
}

Test(isolate, no_child_is_left_behind)
{
    run(crashes, (struct isolate_limits){ .seconds = 20 });
    run(hangs, (struct isolate_limits){ .seconds = 0.1 });
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- a worker ---- */

static struct isolate_worker worker;

enum wish { COUNT, CRASH, RETIRE, VANISH };

/* How many jobs this process has served. */
static void serves(void *request, void *message)
{
    static int served;
    const enum wish *wish = request;
    ((struct answer *)message)->value = ++served;
    if (*wish == CRASH)
        raise(SIGSEGV);
    if (*wish == RETIRE)
        isolate_retire();
    if (*wish == VANISH)
        signal(SIGALRM, SIG_DFL), alarm(1);
}

static int ask(enum wish wish)
{
    const struct isolate_limits limits = { .seconds = 20 };
    isolate_call(&worker,
                 &(struct isolate_job){ serves, &wish, sizeof wish, &answer, sizeof answer },
                 &limits, &end);
    return answer.value;
}

Test(isolate, worker_serves_one_job_after_the_other)
{
    cr_assert_eq(ask(COUNT), 1);
    cr_assert_eq(ask(COUNT), 2);
    cr_assert_eq(ask(COUNT), 3);
    isolate_close(&worker);
    cr_assert_eq(ask(COUNT), 1);
    isolate_close(&worker);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
}

Test(isolate, worker_starts_again_after_a_crash)
{
    ask(COUNT);
    ask(CRASH);
    cr_assert_eq(end.status, RESULT_CRASHED);
    cr_assert_not_null(strstr(end.reason, "signal 11"), "%s", end.reason);
    cr_assert_eq(ask(COUNT), 1);
    cr_assert_eq(end.status, RESULT_PASSED);
    isolate_close(&worker);
}

Test(isolate, worker_that_retires_still_answers)
{
    ask(COUNT);
    cr_assert_eq(ask(RETIRE), 2);
    cr_assert_eq(end.status, RESULT_PASSED);
    cr_assert_eq(ask(COUNT), 1);
    isolate_close(&worker);
}

Test(isolate, worker_that_died_behind_its_answer_is_replaced)
{
    ask(VANISH);
    cr_assert_eq(end.status, RESULT_PASSED);
    cr_assert_eq(waitid(P_PID, (id_t)worker.child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
    cr_assert_eq(ask(COUNT), 1);
    cr_assert_eq(end.status, RESULT_PASSED, "%s", end.reason);
    isolate_close(&worker);
}
