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
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "replayer/clock.h"

enum { REAP_TRIES = 200, REAP_QUICK_TRIES = 20 };

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

/* A send, so that a reader who is gone is an error and not a signal. */
static bool send_whole(int fd, const void *bytes, size_t count)
{
    while (count) {
        ssize_t done = send(fd, bytes, count, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes = (const char *)bytes + done;
        count -= (size_t)done;
    }
    return true;
}

/* Bytes that arrived before the other side closed or the time was up (0: it never is). */
static size_t receive(int fd, void *to, size_t bytes, double deadline_s, bool *late)
{
    size_t got = 0;
    while (got < bytes) {
        double left_s = deadline_s - clock_now_s();
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int ready = deadline_s > 0 && left_s <= 0
                        ? 0
                        : poll(&wait, 1, deadline_s > 0 ? (int)(left_s * 1000) + 1 : -1);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            *late = true;
        ssize_t done = ready > 0 ? read(fd, (char *)to + got, bytes - got) : 0;
        if (done <= 0)
            break;
        got += (size_t)done;
    }
    return got;
}

/* ---- the child ---- */

/* How a job is handed over: parent and child are one program at the same addresses. */
struct header {
    void (*run)(void *request, void *message);
    size_t request_bytes, message_bytes;
};

static bool has_retired; /* the child's own */

void isolate_retire(void)
{
    has_retired = true;
}

static bool serve(int fd)
{
    struct header h;
    bool late = false;
    if (receive(fd, &h, sizeof h, 0, &late) != sizeof h)
        return false;
    void *request = calloc(1, h.request_bytes + 1), *message = calloc(1, h.message_bytes + 1);
    if (request == NULL || message == NULL ||
        receive(fd, request, h.request_bytes, 0, &late) != h.request_bytes)
        _exit(EXIT_FAILURE);
    h.run(request, message);
    ((unsigned char *)message)[h.message_bytes] = has_retired;
    bool sent = send_whole(fd, message, h.message_bytes + 1);
    free(request);
    free(message);
    return sent && !has_retired;
}

static _Noreturn void be_child(const struct isolate_limits *limits, int fd)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    reset_signals();
    if (nowhere >= 0)
        dup2(nowhere, STDOUT_FILENO);
    if (limits->memory_bytes)
        limit_memory(limits->memory_bytes);
    while (serve(fd))
        continue;
    _exit(EXIT_SUCCESS);
}

/* ---- the parent ---- */

static bool start(struct isolate_worker *worker, const struct isolate_limits *limits,
                  struct isolate_end *end)
{
    int fds[2];
    fflush(NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        snprintf(end->reason, sizeof end->reason, "no socket: %s", strerror(errno));
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        be_child(limits, fds[1]);
    }
    close(fds[1]);
    *worker = (struct isolate_worker){ child, fds[0] };
    if (child > 0)
        return true;
    snprintf(end->reason, sizeof end->reason, "no process: %s", strerror(errno));
    close(fds[0]);
    *worker = (struct isolate_worker){ 0 };
    return false;
}

/* A child that closed its end, or finds ours closed, is about to end, and what watches it (a
 * sanitizer, a profiler) writes its report then. If it does not end, it is ended. */
static int reap(struct isolate_worker *worker, bool kill_now)
{
    int wait_status = 0;
    pid_t child = worker->child;
    const struct timespec quick = { .tv_nsec = 1000 * 1000 },
                          pause = { .tv_nsec = 10 * 1000 * 1000 };
    close(worker->fd);
    *worker = (struct isolate_worker){ 0 };
    for (int i = 0; i < REAP_TRIES && !kill_now; i++) {
        if (waitpid(child, &wait_status, WNOHANG) == child)
            return wait_status;
        nanosleep(i < REAP_QUICK_TRIES ? &quick : &pause, NULL);
    }
    kill(child, SIGKILL);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    return wait_status;
}

static void explain(int wait_status, bool late, const struct isolate_limits *limits,
                    struct isolate_end *end)
{
    end->status = RESULT_CRASHED;
    if (late) {
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

/* False: nobody takes it. */
static bool hand_over(const struct isolate_worker *worker, const struct isolate_job *job)
{
    struct header h = { job->run, job->request_bytes, job->message_bytes };
    return send_whole(worker->fd, &h, sizeof h) &&
           send_whole(worker->fd, job->request, job->request_bytes);
}

void isolate_call(struct isolate_worker *worker, const struct isolate_job *job,
                  const struct isolate_limits *limits, struct isolate_end *end)
{
    unsigned char retired = 1;
    bool late = false;
    *end = (struct isolate_end){ .status = RESULT_SKIPPED };
    memset(job->message, 0, job->message_bytes);
    if (worker->child && !hand_over(worker, job))
        isolate_close(worker); /* it died of itself behind its last answer */
    if (worker->child == 0) {
        if (!start(worker, limits, end))
            return;
        hand_over(worker, job); /* who does not take it does not answer either */
    }
    double deadline_s = limits->seconds > 0 ? clock_now_s() + limits->seconds : 0;
    size_t got = receive(worker->fd, job->message, job->message_bytes, deadline_s, &late);
    bool whole = got == job->message_bytes &&
                 receive(worker->fd, &retired, sizeof retired, deadline_s, &late) == 1;
    if (!whole)
        explain(reap(worker, late), late, limits, end);
    else
        *end = (struct isolate_end){ .status = RESULT_PASSED };
    if (whole && retired)
        reap(worker, false);
}

void isolate_close(struct isolate_worker *worker)
{
    if (worker->child)
        reap(worker, false);
}

/* The context of isolate_run() as a request. */
struct call {
    void (*job)(void *context, void *message);
    void *context;
};

static void run_alone(void *request, void *message)
{
    const struct call *c = request;
    c->job(c->context, message);
    isolate_retire();
}

void isolate_run(void (*job)(void *context, void *message), void *context, void *message,
                 size_t bytes, const struct isolate_limits *limits, struct isolate_end *end)
{
    struct isolate_worker worker = { 0 };
    struct call call = { job, context };
    isolate_call(&worker, &(struct isolate_job){ run_alone, &call, sizeof call, message, bytes },
                 limits, end);
    isolate_close(&worker);
}
