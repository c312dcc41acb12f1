/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/checks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/shim.h"
#include "replayer/clock.h"
#include "replayer/isolate.h"

enum { SPACE_WANTED_MIB = 256 };
static const double load_s_max = 60; /* of a library, from a cold disk */

const char *checks_state_name(const struct check *check, enum check_state state)
{
    static const char *const names[] = {
        [CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_MISSING] = "missing"
    };
    if (check->part == CHECK_CHECKLIST)
        return state == CHECK_MISSING ? "no" : "yes";
    return names[state];
}

void checks_found(struct check_finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->value, sizeof f->value, format, args);
    va_end(args);
}

void checks_advise(struct check_finding *f, enum check_state state, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    f->state = state;
    vsnprintf(f->remedy, sizeof f->remedy, format, args);
    va_end(args);
}

/* First line of a small file, without its newline; false when there is none. */
static bool first_line(const char *path, char *text, size_t text_bytes)
{
    FILE *file = fopen(path, "re");
    bool good = file && fgets(text, (int)text_bytes, file);
    if (good)
        text[strcspn(text, "\n")] = '\0';
    if (file)
        fclose(file);
    return good;
}

static bool on_path(const char *program, char path[PATH_MAX])
{
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t bytes = strcspn(list, ":");
        snprintf(path, PATH_MAX, "%.*s/%s", (int)bytes, list, program);
        if (access(path, X_OK) == 0)
            return true;
        list += bytes + (list[bytes] == ':');
    }
    return false;
}

/* A job: the file of the first of these libraries that loads. `names` ends with NULL. */
static void load_library(void *names, void *path)
{
    for (const char *const *name = names; *name; name++) {
        char real[PATH_MAX];
        struct link_map *map = NULL;
        void *library = dlopen(*name, RTLD_LAZY | RTLD_LOCAL);
        if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !realpath(map->l_name, real))
            continue;
        snprintf(path, PATH_MAX, "%s", real);
        return;
    }
}

/* In a child: some libraries start threads when they are loaded. */
static bool find_library(const char *const *names, char path[PATH_MAX])
{
    struct isolate_limits limits = { .seconds = load_s_max };
    struct isolate_end end;
    isolate_run(load_library, (void *)names, path, PATH_MAX, &limits, &end);
    return end.status == RESULT_PASSED && path[0];
}

/* Become the program, alone in its group: what it starts can be ended with it. */
static _Noreturn void become(char *const argv[], const char *preload, int stream, int output)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* Ctrl-C does not reach that group */
    if (preload)
        setenv("LD_PRELOAD", preload, 1);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(fd == stream ? output : nowhere, fd);
    execvp(argv[0], argv);
    _exit(127);
}

/* The beginning of what comes before the other side closes. False: the time is up. */
static bool read_until(double end_s, int fd, char *text, size_t text_bytes)
{
    size_t used = 0;
    for (double left_s; (left_s = end_s - clock_now_s()) > 0;) {
        char rest[256]; /* a program that is stopped from writing would not end well */
        struct pollfd input = { .fd = fd, .events = POLLIN };
        if (poll(&input, 1, (int)(left_s * 1000) + 1) <= 0)
            continue; /* interrupted, or late */
        bool keep = used + 1 < text_bytes;
        ssize_t bytes =
            read(fd, keep ? text + used : rest, keep ? text_bytes - 1 - used : sizeof rest);
        if (bytes <= 0)
            return true;
        used += keep ? (size_t)bytes : 0;
        text[used] = '\0';
    }
    return false;
}

static bool wait_until(double end_s, pid_t child, int *status)
{
    const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
    while (waitpid(child, status, WNOHANG) != child) {
        if (clock_now_s() >= end_s)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

int checks_run(char *const argv[], const char *preload, int stream, double seconds, char *text,
               size_t text_bytes)
{
    int fds[2], status = -1;
    double end_s = clock_now_s() + seconds;
    text[0] = '\0';
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0)
        become(argv, preload, stream, fds[1]);
    close(fds[1]);
    if (child > 0)
        setpgid(child, child); /* whoever comes first */
    bool ended = child < 0 ||
                 (read_until(end_s, fds[0], text, text_bytes) && wait_until(end_s, child, &status));
    close(fds[0]);
    text[strcspn(text, "\n")] = '\0';
    if (!ended) {
        kill(-child, SIGKILL);
        waitpid(child, &status, 0);
        return CHECKS_LATE;
    }
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Recording */

/* The only honest test: the loader says on stderr when it cannot preload a file, and goes on. */
static bool preloads(const char *shim, char *complaint, size_t complaint_bytes)
{
    char *argv[] = { "/proc/self/exe", "--version", NULL };
    int status =
        checks_run(argv, shim, STDERR_FILENO, CHECKS_RUN_S_MAX, complaint, complaint_bytes);
    if (status != 0 && complaint[0] == '\0')
        snprintf(complaint, complaint_bytes, "a program that has it preloaded does not end well");
    return status == 0 && complaint[0] == '\0';
}

static void look_shim(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    struct fault fault;
    char path[PATH_MAX], complaint[200];
    if (shim_find(path, sizeof path, &fault) != ST_OK) {
        checks_found(f, "not found");
        checks_advise(f, CHECK_MISSING, "%.200s", fault.text);
    } else if (!preloads(path, complaint, sizeof complaint)) {
        checks_found(f, "%.150s does not load", path);
        checks_advise(f, CHECK_MISSING, "%.200s", complaint);
    } else
        checks_found(f, "%.200s loads", path);
}

static void look_preload(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !*preload) {
        checks_found(f, "not set");
        return;
    }
    checks_found(f, "%.200s", preload);
    checks_advise(f, CHECK_NOTE, "record keeps it and puts the shim beside it");
}

static void look_output(struct check_finding *f, const struct check_context *c)
{
    const char *directory = c->directory;
    char probe[PATH_MAX];
    snprintf(probe, sizeof probe, "%s/.tilewise-doctor.XXXXXX", directory);
    int fd = mkostemp(probe, O_CLOEXEC);
    if (fd < 0) {
        checks_found(f, "%.150s: cannot write: %m", directory);
        checks_advise(f, CHECK_MISSING, "choose a directory of your own: tilewise record -o DIR");
        return;
    }
    close(fd);
    unlink(probe);
    struct statvfs space;
    uint64_t free_mib = 0;
    if (statvfs(directory, &space) == 0)
        free_mib = (uint64_t)space.f_bavail * space.f_frsize >> 20;
    checks_found(f, "%.150s: writable, %llu MiB free", directory, (unsigned long long)free_mib);
    if (free_mib < SPACE_WANTED_MIB)
        checks_advise(f, CHECK_NOTE,
                      "a full disk ends a trace early (losses are counted): free some space");
}

/* Replaying */

static void look_system_blas(struct check_finding *f, const struct check_context *c)
{
    static const char *const names[] = { "libblas.so.3", NULL };
    char path[PATH_MAX];
    (void)c;
    if (!find_library(names, path)) {
        checks_found(f, "%s not found", names[0]);
        checks_advise(f, CHECK_NOTE, "programs with their own BLAS are recorded all the same");
        return;
    }
    checks_found(f, "%s is %.200s", names[0], path);
    if (!strstr(path, "openblas"))
        checks_advise(f, CHECK_NOTE,
                      "numpy of the system uses this one; libopenblas0 is much faster");
}

static void look_caps(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    static const char *const names[] = {
        "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",   "MKL_CBWR",         "MKL_ENABLE_INSTRUCTIONS"
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && used < sizeof f->value; i++)
        if (getenv(names[i]))
            used += (size_t)snprintf(f->value + used, sizeof f->value - used, "%s%s=%.40s",
                                     used ? " " : "", names[i], getenv(names[i]));
    if (used)
        checks_advise(f, CHECK_NOTE,
                      "the baseline is held back: unset them, or replay --uncap-baseline");
    else
        checks_found(f, "no variable holds the BLAS library back");
}

static void look_cpu(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    char line[256] = "", *model = NULL;
    FILE *info = fopen("/proc/cpuinfo", "re");
    while (info && !model && fgets(line, sizeof line, info))
        if (strncmp(line, "model name", 10) == 0 && (model = strstr(line, ": ")))
            model[strcspn(model, "\n")] = '\0';
    if (info)
        fclose(info);
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    const char *isa = "portable C";
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        isa = __builtin_cpu_supports("avx512vnni") ? "AVX-512 (with VNNI)" : "AVX-512";
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        isa = "AVX2 and FMA";
#endif
    checks_found(f, "%.120s, %d usable, %s", model ? model + 2 : "unknown processor", count, isa);
}

static void look_caches(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    size_t used = 0;
    for (int i = 0; i < 8 && used < sizeof f->value; i++) {
        char path[96], level[8], type[24], size[24];
        const char *base = "/sys/devices/system/cpu/cpu0/cache/index";
        snprintf(path, sizeof path, "%s%d/level", base, i);
        if (!first_line(path, level, sizeof level))
            break;
        snprintf(path, sizeof path, "%s%d/type", base, i);
        bool good = first_line(path, type, sizeof type);
        snprintf(path, sizeof path, "%s%d/size", base, i);
        if (good && first_line(path, size, sizeof size) && strcmp(type, "Instruction") != 0)
            used += (size_t)snprintf(f->value + used, sizeof f->value - used, "%sL%s %s",
                                     used ? ", " : "", level, size);
    }
    if (!used) {
        checks_found(f, "not visible");
        checks_advise(f, CHECK_NOTE, "replay then assumes common sizes");
    }
}

static void look_governor(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    char governor[64];
    if (!first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
                    sizeof governor)) {
        checks_found(f, "not visible (a virtual machine?)");
        return;
    }
    checks_found(f, "%.60s", governor);
    if (strcmp(governor, "performance") != 0)
        checks_advise(f, CHECK_NOTE, "steadier timing: cpupower frequency-set -g performance");
}

/* Reporting */

static void look_gnuplot(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    char path[PATH_MAX];
    if (on_path("gnuplot", path)) {
        checks_found(f, "%.200s", path);
        return;
    }
    checks_found(f, "not found");
    checks_advise(f, CHECK_MISSING,
                  "apt-get install gnuplot-nox: tilewise histogram draws with it");
}

/* The GPU */

static void look_nvcc(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    char path[PATH_MAX];
    if (on_path("nvcc", path) || access(strcpy(path, "/usr/local/cuda/bin/nvcc"), X_OK) == 0) {
        checks_found(f, "%.200s", path);
        return;
    }
    checks_found(f, "not found");
    checks_advise(f, CHECK_MISSING, "only building the CUDA tile kernels needs it");
}

static void look_cupti(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    static const char *const names[] = { "libcupti.so",
                                         "libcupti.so.13",
                                         "libcupti.so.12",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                         "/usr/local/cuda/lib64/libcupti.so",
                                         NULL };
    char path[PATH_MAX];
    if (find_library(names, path)) {
        checks_found(f, "%.200s", path);
        return;
    }
    checks_found(f, "libcupti.so not found");
    checks_advise(f, CHECK_MISSING, "only GPU time in traces will need it");
}

/* Many machines */

static void look_host_name(struct check_finding *f, const struct check_context *c)
{
    (void)c;
    char name[HOST_NAME_MAX + 1] = "";
    struct addrinfo *list = NULL;
    gethostname(name, sizeof name - 1);
    if (getaddrinfo(name, NULL, NULL, &list) == 0) {
        checks_found(f, "%s resolves", name);
        freeaddrinfo(list);
        return;
    }
    checks_found(f, "%s does not resolve", name);
    checks_advise(f, CHECK_NOTE,
                  "put it into /etc/hosts: programs that start many processes wait for it");
}

const struct check checks[] = {
#define X(name, need) { #name, CHECK_CHECKLIST, need, checklist_##name },
    CHECKLIST(X)
#undef X
        { "shim", CHECK_MACHINE, CHECK_FOR_ALL, look_shim },
    { "preload", CHECK_MACHINE, CHECK_FOR_NOTHING, look_preload },
    { "output", CHECK_MACHINE, CHECK_FOR_ALL, look_output },
    { "system blas", CHECK_MACHINE, CHECK_FOR_NOTHING, look_system_blas },
    { "blas limits", CHECK_MACHINE, CHECK_FOR_NOTHING, look_caps },
    { "processor", CHECK_MACHINE, CHECK_FOR_NOTHING, look_cpu },
    { "caches", CHECK_MACHINE, CHECK_FOR_NOTHING, look_caches },
    { "governor", CHECK_MACHINE, CHECK_FOR_NOTHING, look_governor },
    { "gnuplot", CHECK_MACHINE, CHECK_FOR_NOTHING, look_gnuplot },
    { "nvcc", CHECK_MACHINE, CHECK_FOR_NOTHING, look_nvcc },
    { "cupti", CHECK_MACHINE, CHECK_FOR_NOTHING, look_cupti },
    { "host name", CHECK_MACHINE, CHECK_FOR_NOTHING, look_host_name },
    { NULL, CHECK_MACHINE, CHECK_FOR_NOTHING, NULL },
};
