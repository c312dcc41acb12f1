/* SPDX-License-Identifier: Apache-2.0
 *
 * A host program that is linked to the fake BLAS: host MODE [NUMBER...]. Each mode is one way in
 * which real programs live and die. What it calls, the fake library counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_blas.h"
#include "pattern.h"
#include "rows.h"

#define ROW(family, symbol, integer, element) void symbol(family##_PARAMS(integer, element));
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW

static void call(uint64_t i)
{
    cblas_sgemm(101, 111, 111, (int)pattern_m(i), (int)pattern_n(i), 4, 1, ROWS_A, 4, ROWS_B, 13, 0,
                ROWS_C, 13);
}

static void calls(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        call(i);
}

/* Make calls and, if asked to, wait for SIGUSR1 then: the script has seen them in the trace. */
static void calls_and_wait(uint64_t count, bool wait)
{
    sigset_t signals;
    int number;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before the recorder makes its thread */
    calls(count);
    if (wait)
        sigwait(&signals, &number);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* The row of slot i is called 1 + i % 3 times. */
static int rows(const long *number)
{
    (void)number;
    int good = 1;
#define ROW(family, symbol, integer, element)                                                      \
    for (int i = 0; i < 1 + SLOT_##symbol % 3; i++) {                                              \
        errno = 0;                                                                                 \
        family##_CALL(symbol, integer, element);                                                   \
        good &= errno == 4711;                                                                     \
    }
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
    return good && fake_counts()->received == fake_counts()->total ? 0 : 1;
}

static int mode_calls(const long *number)
{
    calls((uint64_t)number[0]);
    return 0;
}

static void *thread_calls(void *count)
{
    calls(*(uint64_t *)count);
    return NULL;
}

static int threads(const long *number)
{
    pthread_t thread[64];
    uint64_t count = (uint64_t)number[1];
    for (long i = 0; i < number[0] && i < 64; i++)
        pthread_create(&thread[i], NULL, thread_calls, &count);
    for (long i = 0; i < number[0] && i < 64; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

static long status_kb(const char *key)
{
    char line[256];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = atol(line + strlen(key) + 1);
    if (file)
        fclose(file);
    return kb;
}

/* Short-lived threads: memory must follow those that live at once, not those that ever lived. */
static int churn(const long *number)
{
    uint64_t count = 3;
    pthread_t thread;
    long before = 0;
    for (long i = 0; i < number[0]; i++) {
        if (i == number[0] / 10)
            before = status_kb("VmRSS");
        if (pthread_create(&thread, NULL, thread_calls, &count) != 0)
            return 2;
        pthread_join(thread, NULL);
    }
    long grown = status_kb("VmRSS") - before;
    fprintf(stderr, "grown by %ld KiB\n", grown);
    return grown < 8192 ? 0 : 1;
}

static void *wait_for_all(void *all)
{
    calls(2);
    pthread_barrier_wait(all);
    return NULL;
}

/* All alive at once. */
static int crowd(const long *number)
{
    static pthread_t thread[8192];
    pthread_attr_t small;
    pthread_barrier_t all;
    long count = number[0] < 8192 ? number[0] : 8192;
    pthread_barrier_init(&all, NULL, (unsigned)count);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (long i = 0; i < count; i++)
        if (pthread_create(&thread[i], &small, wait_for_all, &all) != 0)
            exit(2); /* the others wait for ever */
    for (long i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

static int many_shapes(const long *number)
{
    for (int i = 0; i < number[0]; i++)
        cblas_sgemm(102, 111, 111, 1 + i, 2, 2, 1, ROWS_A, 1 << 30, ROWS_B, 2, 0, ROWS_C, 1 << 30);
    return 0;
}

static int paced(const long *number)
{
    for (uint64_t i = 0; number[0] == 0 || i < (uint64_t)number[0]; i++) {
        call(i);
        if (i % 20 == 19)
            pause_ms(1);
    }
    return 0;
}

static int fork_children(const long *number)
{
    calls(10);
    for (long i = 0; i < number[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            calls((uint64_t)(i % 3) * 5); /* some make no call, and no file */
            exit(0);
        }
        calls(1);
        waitpid(child, NULL, 0);
    }
    return 0;
}

static void *endless(void *stop)
{
    for (uint64_t i = 0; !*(atomic_bool *)stop; i++)
        call(i);
    return NULL;
}

static int fork_busy(const long *number)
{
    static atomic_bool stop;
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, endless, &stop);
    for (long i = 0; i < number[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            calls(3);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

static int double_fork(const long *number)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 2;
    calls(4);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            calls((uint64_t)number[0]);
            exit(0);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    char byte;
    close(ends[1]);
    return read(ends[0], &byte, 1) == 0 ? 0 : 1; /* once the grandchild has ended */
}

static bool vfork_once(void)
{
    static char *const argv[] = { "/bin/true", NULL };
    int status;
    pid_t child = vfork();
    if (child == 0) {
        execv(argv[0], argv);
        _exit(1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static int vfork_exec(const long *number)
{
    bool good = true;
    for (long i = 0; i < number[0]; i++) {
        calls(2);
        good &= vfork_once();
    }
    return good ? 0 : 1;
}

static int exec_again(const long *number)
{
    (void)number;
    calls_and_wait(7, true);
    execl("/proc/self/exe", "host", "calls", "5", (char *)NULL);
    return 1;
}

/* A fork without the C library: no handler runs in the child. */
static int bare_fork(const long *number)
{
    (void)number;
    calls(6);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        exit(0);
    int status;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}

static int exit_now(const long *number)
{
    calls_and_wait(20, number[0]);
    _exit(3);
}

static int exit_quick(const long *number)
{
    (void)number;
    calls(20);
    quick_exit(3);
}

static int exit_abort(const long *number)
{
    calls_and_wait(20, number[0]);
    abort();
}

static void *thread_exits_process(void *unused)
{
    (void)unused;
    calls(20);
    exit(3);
}

static int exit_in_thread(const long *number)
{
    (void)number;
    pthread_t thread;
    pthread_create(&thread, NULL, thread_exits_process, NULL);
    pthread_join(thread, NULL);
    return 1;
}

static int exit_while_running(const long *number)
{
    static atomic_bool stop;
    (void)number;
    pthread_t thread[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, endless, &stop);
    while (fake_counts()->total < 1000)
        pause_ms(1);
    return 3;
}

static void late(void)
{
    calls(5);
}

static int exit_handler_calls(const long *number)
{
    (void)number;
    atexit(late);
    calls(20);
    return 3;
}

static int exit_main_thread(const long *number)
{
    (void)number;
    static uint64_t count = 20;
    pthread_t thread;
    pthread_create(&thread, NULL, thread_calls, &count);
    calls(20);
    pthread_exit(NULL);
}

static void on_signal(int signal)
{
    (void)signal;
    calls(1);
}

static int storm(const long *number)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    struct itimerspec period = { { 0, 50000 }, { 0, 50000 } };
    sigaction(SIGUSR1, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &period, NULL);
    calls((uint64_t)number[0]);
    timer_delete(timer);
    return 0;
}

/* Closes every descriptor as daemons do, and reuses the numbers: only our own bytes may be there.
 */
static int close_all(const long *number)
{
    char path[] = "/tmp/shim-victim-XXXXXX";
    int first = mkstemp(path), good = 1;
    close(first);
    for (long round = 0; round < number[0]; round++) {
        calls(50);
        syscall(436 /* close_range */, 3, ~0u, 0);
        int victim[200];
        for (int i = 0; i < 200; i++)
            victim[i] = open(path, O_RDWR | O_TRUNC);
        calls(50);
        pause_ms(20);
        char byte;
        for (int i = 0; i < 200; i++) {
            good &= victim[i] < 0 || pread(victim[i], &byte, 1, 0) == 0;
            close(victim[i]);
        }
    }
    unlink(path);
    return good ? 0 : 1;
}

static int refused(const long *number)
{
    (void)number;
    int one = 1, minus = -1, zero = 0, two = 2;
    float f = 1;
    calls(10);
    cblas_sgemm(101, 111, 111, -1, 4, 4, 1, ROWS_A, 4, ROWS_B, 4, 0, ROWS_C, 4);
    cblas_sgemm(101, 111, 111, 4, 4, 4, 1, ROWS_A, 3, ROWS_B, 4, 0, ROWS_C, 4);
    cblas_sgemm(99, 111, 111, 4, 4, 4, 1, ROWS_A, 4, ROWS_B, 4, 0, ROWS_C, 4);
    cblas_sgemv(102, 111, 4, 4, 1, ROWS_A, 4, ROWS_B, 0, 0, ROWS_C, 1);
    cblas_ssyrk(102, 5, 111, 4, 4, 1, ROWS_A, 4, 0, ROWS_C, 4);
    sgemm_("N", "X", &one, &one, &one, &f, ROWS_A, &one, ROWS_B, &one, &f, ROWS_C, &one, 1, 1);
    sgemm_("N", "N", &two, &minus, &one, &f, ROWS_A, &two, ROWS_B, &one, &f, ROWS_C, &two, 1, 1);
    sgemm_("N", "N", &two, &one, &one, &f, ROWS_A, &one, ROWS_B, &one, &f, ROWS_C, &two, 1, 1);
    sgemm_("N", "N", &zero, &zero, &zero, &f, ROWS_A, &one, ROWS_B, &one, &f, ROWS_C, &one, 1, 1);
    return 0;
}

static int setuid_later(const long *number)
{
    (void)number;
    calls(10);
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    calls(10);
    return 0;
}

static int masks(const long *number)
{
    (void)number;
    sigset_t before, after;
    struct sigaction old[64], new;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    for (int i = 1; i < 64; i++)
        sigaction(i, NULL, &old[i]);
    calls(5);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    int good = memcmp(&before, &after, sizeof before) == 0;
    for (int i = 1; i < 64; i++) {
        memset(&new, 0, sizeof new);
        if (sigaction(i, NULL, &new) == 0)
            good &= new.sa_handler == old[i].sa_handler;
    }
    return good ? 0 : 1;
}

static const struct {
    const char *name;
    int (*run)(const long *number);
} mode[] = {
    { "rows", rows },
    { "calls", mode_calls },
    { "threads", threads },
    { "churn", churn },
    { "crowd", crowd },
    { "many_shapes", many_shapes },
    { "paced", paced },
    { "fork", fork_children },
    { "fork_busy", fork_busy },
    { "double_fork", double_fork },
    { "vfork", vfork_exec },
    { "exec", exec_again },
    { "bare_fork", bare_fork },
    { "exit_now", exit_now },
    { "exit_quick", exit_quick },
    { "exit_abort", exit_abort },
    { "exit_in_thread", exit_in_thread },
    { "exit_while_running", exit_while_running },
    { "exit_handler_calls", exit_handler_calls },
    { "exit_main_thread", exit_main_thread },
    { "storm", storm },
    { "close_all", close_all },
    { "refused", refused },
    { "setuid_later", setuid_later },
    { "masks", masks },
};

int main(int argc, char **argv)
{
    long number[4] = { 0 };
    for (int i = 2; i < argc && i < 6; i++)
        number[i - 2] = atol(argv[i]);
    for (size_t i = 0; i < sizeof mode / sizeof *mode; i++)
        if (argc > 1 && strcmp(mode[i].name, argv[1]) == 0)
            return mode[i].run(number);
    fprintf(stderr, "host: no such mode\n");
    return 64;
}
