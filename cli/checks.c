/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/checks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <netdb.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/replay_device.h"
#include "cli/shim.h"

enum { SPACE_WANTED_MIB = 256 };

const char *checks_state_name(enum check_state state)
{
    static const char *const names[] = {
        [CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_MISSING] = "missing"
    };
    return names[state];
}

static void __attribute__((format(printf, 2, 3)))
found(struct check_finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->value, sizeof f->value, format, args);
    va_end(args);
}

static void __attribute__((format(printf, 3, 4)))
advise(struct check_finding *f, enum check_state state, const char *format, ...)
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

/* The file that a loaded library came from. */
static const char *library_path(void *library)
{
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : "?";
}

/* Recording */

/* The only honest test: the loader says on stderr when it cannot preload a file, and goes on. */
static bool preloads(const char *shim, char *complaint, size_t complaint_bytes)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", shim, 1);
        dup2(fds[1], STDERR_FILENO);
        execlp("true", "true", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    ssize_t bytes = child > 0 ? read(fds[0], complaint, complaint_bytes - 1) : -1;
    close(fds[0]);
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    complaint[bytes > 0 ? bytes : 0] = '\0';
    complaint[strcspn(complaint, "\n")] = '\0';
    return bytes == 0 && status == 0;
}

static void look_shim(struct check_finding *f, const char *directory)
{
    (void)directory;
    struct fault fault;
    char path[PATH_MAX], complaint[200];
    if (shim_find(path, sizeof path, &fault) != ST_OK) {
        found(f, "not found");
        advise(f, CHECK_MISSING, "%.200s", fault.text);
    } else if (!preloads(path, complaint, sizeof complaint)) {
        found(f, "%.150s does not load", path);
        advise(f, CHECK_MISSING, "%.200s", complaint);
    } else
        found(f, "%.200s loads", path);
}

static void look_preload(struct check_finding *f, const char *directory)
{
    (void)directory;
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !*preload) {
        found(f, "not set");
        return;
    }
    found(f, "%.200s", preload);
    advise(f, CHECK_NOTE, "record keeps it and puts the shim beside it");
}

static void look_output(struct check_finding *f, const char *directory)
{
    char probe[PATH_MAX];
    snprintf(probe, sizeof probe, "%s/.tilewise-doctor.XXXXXX", directory);
    int fd = mkostemp(probe, O_CLOEXEC);
    if (fd < 0) {
        found(f, "%.150s: cannot write: %m", directory);
        advise(f, CHECK_MISSING, "choose a directory of your own: tilewise record -o DIR");
        return;
    }
    close(fd);
    unlink(probe);
    struct statvfs space;
    uint64_t free_mib = 0;
    if (statvfs(directory, &space) == 0)
        free_mib = (uint64_t)space.f_bavail * space.f_frsize >> 20;
    found(f, "%.150s: writable, %llu MiB free", directory, (unsigned long long)free_mib);
    if (free_mib < SPACE_WANTED_MIB)
        advise(f, CHECK_NOTE,
               "a full disk ends a trace early (losses are counted): free some space");
}

/* Replaying */

static void look_openblas(struct check_finding *f, const char *directory)
{
    (void)directory;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        found(f, "libopenblas.so.0 not found");
        advise(f, CHECK_MISSING, "apt-get install libopenblas0: it is the baseline of replay");
        return;
    }
    char *(*config)(void) = dlsym(library, "openblas_get_config");
    char *(*core)(void) = dlsym(library, "openblas_get_corename");
    int (*threads)(void) = dlsym(library, "openblas_get_num_threads");
    found(f, "%.120s, core %s, %d threads", config ? config() : library_path(library),
          core ? core() : "?", threads ? threads() : 0);
}

static void look_system_blas(struct check_finding *f, const char *directory)
{
    (void)directory;
    void *library = dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        found(f, "libblas.so.3 not found");
        advise(f, CHECK_NOTE, "programs with their own BLAS are recorded all the same");
        return;
    }
    char real[PATH_MAX];
    if (!realpath(library_path(library), real))
        strcpy(real, "?");
    found(f, "libblas.so.3 is %.200s", real);
    if (!strstr(real, "openblas"))
        advise(f, CHECK_NOTE, "numpy of the system uses this one; libopenblas0 is much faster");
}

static void look_caps(struct check_finding *f, const char *directory)
{
    (void)directory;
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
        advise(f, CHECK_NOTE, "the baseline is held back: unset them, or replay --uncap-baseline");
    else
        found(f, "no variable holds the BLAS library back");
}

static void look_cpu(struct check_finding *f, const char *directory)
{
    (void)directory;
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
    found(f, "%.120s, %d usable, %s", model ? model + 2 : "unknown processor", count, isa);
}

static void look_caches(struct check_finding *f, const char *directory)
{
    (void)directory;
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
        found(f, "not visible");
        advise(f, CHECK_NOTE, "replay then assumes common sizes");
    }
}

static void look_governor(struct check_finding *f, const char *directory)
{
    (void)directory;
    char governor[64];
    if (!first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
                    sizeof governor)) {
        found(f, "not visible (a virtual machine?)");
        return;
    }
    found(f, "%.60s", governor);
    if (strcmp(governor, "performance") != 0)
        advise(f, CHECK_NOTE, "steadier timing: cpupower frequency-set -g performance");
}

/* Reporting */

static void look_gnuplot(struct check_finding *f, const char *directory)
{
    (void)directory;
    char path[PATH_MAX];
    if (on_path("gnuplot", path)) {
        found(f, "%.200s", path);
        return;
    }
    found(f, "not found");
    advise(f, CHECK_MISSING, "apt-get install gnuplot-nox: tilewise histogram draws with it");
}

/* The GPU */

static void look_cuda_driver(struct check_finding *f, const char *directory)
{
    (void)directory;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = driver ? dlsym(driver, "cuInit") : NULL;
    int (*devices)(int *) = driver ? dlsym(driver, "cuDeviceGetCount") : NULL;
    int (*version)(int *) = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    int (*name)(char *, int, int) = driver ? dlsym(driver, "cuDeviceGetName") : NULL;
    int count = 0, number = 0;
    char model[100] = "";
    if (!init || !devices || !version || !name || init(0) != 0 || devices(&count) != 0 || !count) {
        found(f, driver ? "driver without a usable GPU" : "no driver (libcuda.so.1)");
        advise(f, CHECK_MISSING, "CPU work is recorded and replayed without it");
        return;
    }
    version(&number);
    name(model, sizeof model, 0);
    found(f, "%d x %.90s, driver for CUDA %d.%d", count, model, number / 1000, number % 1000 / 10);
}

static void look_cuda_toolkit(struct check_finding *f, const char *directory)
{
    (void)directory;
    char path[PATH_MAX];
    if (on_path("nvcc", path) || access(strcpy(path, "/usr/local/cuda/bin/nvcc"), X_OK) == 0) {
        found(f, "%.200s", path);
        return;
    }
    found(f, "nvcc not found");
    advise(f, CHECK_MISSING, "only building the CUDA tile kernels needs it");
}

static void look_cuda_replay(struct check_finding *f, const char *directory)
{
    (void)directory;
    struct backend_options options = { .libraries = NULL };
    struct backend_info info;
    struct fault fault = { .text = "" };
    if (replay_device_probe(&options, &info, &fault) == ST_OK) {
        found(f, "%.60s, %.60s, %.1f GiB free", info.library, info.core,
              (double)info.memory_bytes / 0x1p30);
        return;
    }
    found(f, "not possible");
    advise(f, CHECK_MISSING, "%.180s; replay --device cpu works", fault.text);
}

static void look_cupti(struct check_finding *f, const char *directory)
{
    (void)directory;
    static const char *const names[] = { "libcupti.so", "libcupti.so.13", "libcupti.so.12",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                         "/usr/local/cuda/lib64/libcupti.so" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (library) {
            found(f, "%.200s", library_path(library));
            return;
        }
    }
    found(f, "libcupti.so not found");
    advise(f, CHECK_MISSING, "only GPU time in traces will need it");
}

/* Many machines */

static void look_host_name(struct check_finding *f, const char *directory)
{
    (void)directory;
    char name[HOST_NAME_MAX + 1] = "";
    struct addrinfo *list = NULL;
    gethostname(name, sizeof name - 1);
    if (getaddrinfo(name, NULL, NULL, &list) == 0) {
        found(f, "%s resolves", name);
        freeaddrinfo(list);
        return;
    }
    found(f, "%s does not resolve", name);
    advise(f, CHECK_NOTE, "put it into /etc/hosts: programs that start many processes wait for it");
}

const struct check checks[] = {
    { "shim", true, look_shim },
    { "preload", false, look_preload },
    { "output", true, look_output },
    { "openblas", true, look_openblas },
    { "system blas", false, look_system_blas },
    { "blas limits", false, look_caps },
    { "processor", false, look_cpu },
    { "caches", false, look_caches },
    { "governor", false, look_governor },
    { "gnuplot", false, look_gnuplot },
    { "gpu", false, look_cuda_driver },
    { "cuda toolkit", false, look_cuda_toolkit },
    { "gpu replay", false, look_cuda_replay },
    { "cupti", false, look_cupti },
    { "host name", false, look_host_name },
    { NULL, false, NULL },
};
