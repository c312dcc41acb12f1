/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REAP_TRIES = 100 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Relative to what is mapped already: a sanitizer alone maps terabytes. */
static void limit_memory(uint64_t more_bytes)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return;
    if (fscanf(file, "%llu", &pages) == 1) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more_bytes;
        setrlimit(RLIMIT_AS, &(struct rlimit){ most, most });
    }
    fclose(file);
}

/* Nothing of the parent's own crash handling may answer for the child. */
static void reset_signals(void)
{
    const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
}

static void write_whole(int fd, const void *bytes, size_t count)
{
    while (count) {
        ssize_t done = write(fd, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            _exit(EXIT_FAILURE);
        bytes = (const char *)bytes + done;
        count -= (size_t)done;
    }
}

static _Noreturn void be_child(void (*job)(void *, void *), void *context, void *message,
                               size_t bytes, const struct isolate_limits *limits, int fd)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    reset_signals();
    if (nowhere >= 0)
        dup2(nowhere, STDOUT_FILENO);
    if (limits->memory_bytes)
        limit_memory(limits->memory_bytes);
    job(context, message);
    write_whole(fd, message, bytes);
    _exit(EXIT_SUCCESS);
}

/* Bytes of the message that arrived before the child closed the pipe or the time was up. */
static size_t read_message(int fd, void *message, size_t bytes, double deadline_s, bool *late)
{
    size_t got = 0;
    while (got < bytes) {
        double left_s = deadline_s - now_s();
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int ready = deadline_s > 0 && left_s <= 0
                        ? 0
                        : poll(&wait, 1, deadline_s > 0 ? (int)(left_s * 1000) + 1 : -1);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            *late = true;
        ssize_t done = ready > 0 ? read(fd, (char *)message + got, bytes - got) : 0;
        if (done <= 0)
            break;
        got += (size_t)done;
    }
    return got;
}

/* A child that closed its pipe without an answer is about to end. If it does not, it is ended. */
static int reap(pid_t child, bool kill_now)
{
    int wait_status = 0;
    const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
    for (int i = 0; i < REAP_TRIES && !kill_now; i++) {
        if (waitpid(child, &wait_status, WNOHANG) == child)
            return wait_status;
        nanosleep(&pause, NULL);
    }
    kill(child, SIGKILL);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    return wait_status;
}

static void explain(int wait_status, bool whole, bool late, const struct isolate_limits *limits,
                    struct isolate_end *end)
{
    end->status = RESULT_CRASHED;
    if (whole)
        *end = (struct isolate_end){ .status = RESULT_PASSED };
    else if (late) {
        end->status = RESULT_TIMEOUT;
        snprintf(end->reason, sizeof end->reason, "no answer within %.0f s; killed",
                 limits->seconds);
    } else if (WIFSIGNALED(wait_status))
        snprintf(end->reason, sizeof end->reason, "%s (signal %d)",
                 strsignal(WTERMSIG(wait_status)), WTERMSIG(wait_status));
    else
        snprintf(end->reason, sizeof end->reason, "the process ended with exit status %d",
                 WEXITSTATUS(wait_status));
}

void isolate_run(void (*job)(void *context, void *message), void *context, void *message,
                 size_t bytes, const struct isolate_limits *limits, struct isolate_end *end)
{
    int fds[2];
    bool late = false;
    *end = (struct isolate_end){ .status = RESULT_SKIPPED };
    memset(message, 0, bytes);
    fflush(NULL);
    if (pipe2(fds, O_CLOEXEC) < 0) {
        snprintf(end->reason, sizeof end->reason, "no pipe: %s", strerror(errno));
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        be_child(job, context, message, bytes, limits, fds[1]);
    }
    close(fds[1]);
    if (child < 0) {
        snprintf(end->reason, sizeof end->reason, "no process: %s", strerror(errno));
        close(fds[0]);
        return;
    }
    double deadline_s = limits->seconds > 0 ? now_s() + limits->seconds : 0;
    bool whole = read_message(fds[0], message, bytes, deadline_s, &late) == bytes;
    close(fds[0]);
    explain(reap(child, whole || late), whole, late, limits, end);
}
