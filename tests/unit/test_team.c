/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/team.h"

struct tally {
    _Atomic int times[TEAM_MAX + 10];
};

static void count_part(void *work, uint32_t part)
{
    atomic_fetch_add(&((struct tally *)work)->times[part], 1);
}

static void expect_each_once(uint32_t parts)
{
    struct tally tally = { 0 };
    team_run(parts, count_part, &tally);
    for (uint32_t i = 0; i < parts; i++)
        cr_assert_eq(tally.times[i], 1, "part %u of %u", i, parts);
    cr_assert_eq(tally.times[parts], 0);
}

Test(team, every_part_runs_once)
{
    for (uint32_t parts = 0; parts <= 9; parts++)
        expect_each_once(parts);
}

Test(team, more_parts_than_threads_allowed)
{
    expect_each_once(TEAM_MAX);
    expect_each_once(TEAM_MAX + 5);
}

Test(team, many_short_works)
{
    for (int i = 0; i < 20000; i++)
        expect_each_once(2 + (uint32_t)i % 3);
}

Test(team, threads_that_slept_wake_again)
{
    for (int i = 0; i < 5; i++) {
        expect_each_once(3);
        usleep(20 * 1000);
    }
}

static void *run_often(void *unused)
{
    for (int i = 0; i < 2000; i++)
        expect_each_once(3);
    return unused;
}

Test(team, callers_at_the_same_time)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, run_often, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void nested(void *work, uint32_t part)
{
    (void)part;
    team_run(3, count_part, work);
}

Test(team, a_part_may_use_the_team)
{
    struct tally tally = { 0 };
    team_run(2, nested, &tally);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(tally.times[i], 2);
}

Test(team, a_forked_child_has_its_own, .timeout = 60)
{
    expect_each_once(4);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct tally tally = { 0 };
            for (int round = 0; round < 50; round++)
                team_run(4, count_part, &tally);
            for (int part = 0; part < 4; part++)
                if (tally.times[part] != 50)
                    _exit(1);
            _exit(0);
        }
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        expect_each_once(4);
    }
}
