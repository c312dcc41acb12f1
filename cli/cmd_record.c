/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/shim.h"
#include "traces/reader.h"

/* As env(1), nice(1) and timeout(1): the child's status, or these for failures of our own. */
enum { EXIT_OWN_FAILURE = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static const char *out, *events = "on", *allow, *gpu_time = "off";
static uint64_t size_cap_bytes = (uint64_t)1 << 30;
static bool with_cmdline, nvtx;

static const struct option_row rows[] = {
    { "out", 'o', OPTION_TEXT, "DIR", "where the traces go (default: tilewise-DATE-PID)", &out,
      NULL },
    { "size-cap", 0, OPTION_BYTES, "BYTES", "largest size of one trace file (default: 1G)",
      &size_cap_bytes, NULL },
    { "events", 0, OPTION_CHOICE, "on|off", "record when each call began, or counts alone", &events,
      "on|off" },
    { "gpu-time", 0, OPTION_CHOICE, "off|windows|full",
      "time GPU kernels in short windows, or all of them; see docs/attaching.md for the cost",
      &gpu_time, "off|windows|full" },
    { "nvtx", 0, OPTION_FLAG, NULL,
      "keep phases apart: ranges and marks that the program names by NVTX", &nvtx, NULL },
    { "allow", 0, OPTION_TEXT, "LIST", "record these programs only (comma list of names)", &allow,
      NULL },
    { "with-cmdline", 0, OPTION_FLAG, NULL, "store the command line in the trace", &with_cmdline,
      NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "record",
    .args = "-- CMD [ARG...]",
    .doc = "Run a program and record the matrix work that it does."
           "\vTraces hold shapes, types and times, never data. Every process that CMD starts and "
           "that calls BLAS writes one file. Exit status: that of CMD; 125 record itself failed, "
           "126 CMD cannot be run, 127 CMD was not found, 128+N CMD died of signal N.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
    .stop_at_first_arg = true,
};

static int own_failure(const struct fault *fault)
{
    command_fault("record", fault);
    return EXIT_OWN_FAILURE;
}

/* The shim only writes where nobody else can plant or read files. */
static enum status check_directory(const char *path, struct fault *fault)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return fault_set(fault, ST_IO, "%s: %m", path);
    if (!S_ISDIR(st.st_mode))
        return fault_set(fault, ST_IO, "%s: not a directory; choose another with -o", path);
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return fault_set(fault, ST_IO,
                         "%s: must belong to you and be writable by nobody else (chmod 700)", path);
    if (access(path, W_OK | X_OK) != 0)
        return fault_set(fault, ST_IO, "%s: %m; choose another with -o", path);
    return ST_OK;
}

/* Make the directory unless it is there; `full` becomes its absolute path. */
static enum status make_directory(char full[PATH_MAX], bool *made, struct fault *fault)
{
    static char name[64];
    if (!out) {
        time_t now = time(NULL);
        struct tm local;
        char date[32];
        strftime(date, sizeof date, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
        snprintf(name, sizeof name, "tilewise-%s-%d", date, (int)getpid());
        out = name;
    }
    *made = mkdir(out, 0700) == 0;
    if (!*made && errno != EEXIST)
        return fault_set(fault, ST_IO, "%s: %m; choose another directory with -o", out);
    enum status st = check_directory(out, fault);
    if (st == ST_OK && !realpath(out, full))
        st = fault_set(fault, ST_IO, "%s: %m", out);
    return st;
}

/* The driver's door for tools opens before the first kernel; it is one tool's. */
static void set_injection(const char *shim)
{
    if (strcmp(gpu_time, "off") != 0)
        setenv("CUDA_INJECTION64_PATH", shim, 0);
}

/* NVTX lets one tool in; one that is announced already was there first. */
static void set_nvtx(const char *shim)
{
    const char *taken = getenv("NVTX_INJECTION64_PATH");
    if (nvtx && taken && *taken && strcmp(taken, shim) != 0)
        fprintf(stderr,
                "tilewise record: no phases: NVTX_INJECTION64_PATH is set to %s; unset it "
                "to record them\n",
                taken);
    else if (nvtx)
        setenv("NVTX_INJECTION64_PATH", shim, 1);
}

/* Behind what is preloaded already, never instead of it. */
static enum status preload(struct fault *fault)
{
    char shim[PATH_MAX];
    enum status st = shim_find(shim, sizeof shim, fault);
    if (st != ST_OK)
        return st;
    if (strpbrk(shim, " :"))
        return fault_set(fault, ST_INVALID,
                         "%s: LD_PRELOAD cannot hold a path with a space or colon; set "
                         "TILEWISE_SHIM to a copy elsewhere",
                         shim);
    set_injection(shim);
    set_nvtx(shim);
    const char *before = getenv("LD_PRELOAD");
    if (!before || !before[0]) {
        setenv("LD_PRELOAD", shim, 1);
        return ST_OK;
    }
    if (strstr(before, shim))
        return ST_OK;
    char *both = NULL;
    if (asprintf(&both, "%s:%s", before, shim) < 0)
        return fault_set(fault, ST_NOMEM, "out of memory");
    setenv("LD_PRELOAD", both, 1);
    free(both);
    return ST_OK;
}

static void set_environment(const char *directory)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, size_cap_bytes);
    setenv("TILEWISE_OUT", directory, 1);
    setenv("TILEWISE_SIZE_CAP", text, 1);
    setenv("TILEWISE_EVENTS", events, 1);
    setenv("TILEWISE_GPU_TIME", gpu_time, 1);
    setenv("TILEWISE_NVTX", nvtx ? "1" : "0", 1);
    setenv("TILEWISE_WITH_CMDLINE", with_cmdline ? "1" : "0", 1);
    if (allow)
        setenv("TILEWISE_ALLOW", allow, 1);
    else
        unsetenv("TILEWISE_ALLOW");
}

/* Signals that someone sends to us are meant for the program. */
static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };

static void block_signals(sigset_t *wanted, sigset_t *before)
{
    sigemptyset(wanted);
    sigaddset(wanted, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(wanted, forwarded[i]);
    sigprocmask(SIG_BLOCK, wanted, before);
}

static int wait_for(pid_t child, const sigset_t *wanted)
{
    for (;;) {
        siginfo_t info;
        int status, signal = sigwaitinfo(wanted, &info);
        if (signal == SIGCHLD && waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL + WTERMSIG(status);
        /* A terminal sends to the whole foreground group: the child has its own copy. */
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0)
            kill(child, signal);
    }
}

/* Run argv. *failed is the errno of an exec that failed, else 0; the result is the exit status. */
static int run(char **argv, int *failed, struct fault *fault)
{
    int link[2];
    sigset_t wanted, before;
    *failed = 0;
    if (pipe2(link, O_CLOEXEC) != 0)
        return fault_set(fault, ST_IO, "pipe: %m"), -1;
    block_signals(&wanted, &before);
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[0], argv);
        *failed = errno;
        if (write(link[1], failed, sizeof *failed) < 0)
            _exit(EXIT_OWN_FAILURE);
        _exit(EXIT_NOT_FOUND);
    }
    close(link[1]);
    if (child > 0 && read(link[0], failed, sizeof *failed) != sizeof *failed)
        *failed = 0;
    close(link[0]);
    int code = child < 0 ? (fault_set(fault, ST_IO, "fork: %m"), -1) : wait_for(child, &wanted);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

struct summary {
    uint64_t files, seen, recorded, failed, bytes, unreadable;
};

/* Add one trace, unless it is older than this run. */
static void add_trace(struct summary *s, const char *path, uint64_t since_unix_ns)
{
    struct reader *r;
    struct reader_frame frame;
    size_t count;
    if (reader_open(&r, path, NULL) != ST_OK) {
        s->unreadable++;
        return;
    }
    const struct reader_shard *shard = reader_shards(r, &count);
    if (count == 1 && shard->start_unix_ns >= since_unix_ns) {
        while (reader_next(r, &frame, NULL) == ST_OK)
            continue;
        shard = reader_shards(r, &count);
        s->files++;
        s->seen += shard->counters.seen;
        s->recorded += shard->counters.recorded;
        s->failed += shard->counters.failed;
        s->bytes += reader_bytes(r);
    }
    reader_close(r);
}

static struct summary summarise(const char *directory, uint64_t since_unix_ns)
{
    struct summary s = { 0 };
    DIR *dir = opendir(directory);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[PATH_MAX + NAME_MAX + 2];
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".twt") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        add_trace(&s, path, since_unix_ns);
    }
    if (dir)
        closedir(dir);
    return s;
}

static void print_summary(const char *directory, uint64_t since_unix_ns)
{
    struct summary s = summarise(directory, since_unix_ns);
    if (s.files == 0 && getenv("TILEWISE_DISABLE"))
        fprintf(stderr, "tilewise record: nothing recorded: TILEWISE_DISABLE is set\n");
    else if (s.files == 0)
        fprintf(stderr, "tilewise record: nothing recorded: no process called a BLAS that can be "
                        "intercepted (see: tilewise doctor)\n");
    else
        fprintf(stderr,
                "tilewise record: %" PRIu64 " file%s in %s, %" PRIu64 " of %" PRIu64
                " calls recorded, %" PRIu64 " failed, %" PRIu64 " bytes\n",
                s.files, s.files == 1 ? "" : "s", out, s.recorded, s.seen, s.failed, s.bytes);
    if (s.unreadable)
        fprintf(stderr, "tilewise record: %" PRIu64 " files cannot be read (see: tilewise info)\n",
                s.unreadable);
}

static uint64_t unix_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int cmd_record(int argc, char **argv)
{
    int first, failed;
    char directory[PATH_MAX];
    bool made = false;
    struct fault fault = { 0 };
    int code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    if (preload(&fault) != ST_OK || make_directory(directory, &made, &fault) != ST_OK)
        return own_failure(&fault);
    set_environment(directory);
    uint64_t since_unix_ns = unix_ns();
    code = run(argv + first, &failed, &fault);
    if (code < 0 || failed) {
        if (made)
            rmdir(directory);
        if (code < 0)
            return own_failure(&fault);
        errno = failed;
        fprintf(stderr, "tilewise record: %s: %m\n", argv[first]);
        return failed == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    }
    print_summary(directory, since_unix_ns);
    return code;
}
