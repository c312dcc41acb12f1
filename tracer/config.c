/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/config.h"

#include <string.h>
#include <sys/auxv.h>

#include "traces/list.h"

enum { DEFAULT_SIZE_CAP_BYTES = 1 << 30 };

static const double DEFAULT_GPU_BUDGET = 0.01;

struct config config;

/* The variables we know. */
struct settings {
    const char *out, *disable, *allow, *size_cap, *events, *with_cmdline, *gpu_time, *gpu_budget,
        *nvtx;
};

static const char *value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static struct settings read_environment(char **environment)
{
    struct settings s = { 0 };
    const struct {
        const char *name, **value;
    } row[] = {
        { "TILEWISE_OUT", &s.out },           { "TILEWISE_DISABLE", &s.disable },
        { "TILEWISE_ALLOW", &s.allow },       { "TILEWISE_SIZE_CAP", &s.size_cap },
        { "TILEWISE_EVENTS", &s.events },     { "TILEWISE_WITH_CMDLINE", &s.with_cmdline },
        { "TILEWISE_GPU_TIME", &s.gpu_time }, { "TILEWISE_GPU_BUDGET", &s.gpu_budget },
        { "TILEWISE_NVTX", &s.nvtx },
    };
    for (char **e = environment; e && *e; e++) {
        if (strncmp(*e, "TILEWISE_", 9) != 0)
            continue;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
            if (value_of(*e, row[i].name))
                *row[i].value = value_of(*e, row[i].name);
    }
    return s;
}

static bool is_on(const char *text)
{
    return text && (strcmp(text, "1") == 0 || strcmp(text, "on") == 0 || strcmp(text, "yes") == 0 ||
                    strcmp(text, "true") == 0);
}

bool config_bytes(const char *text, uint64_t *bytes)
{
    static const char suffix[] = "KMGT";
    uint64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    if (p == text)
        return false;
    const char *unit = *p ? strchr(suffix, *p & ~0x20) : NULL;
    if (*p && (!unit || !*unit || p[1]))
        return false;
    unsigned shift = unit ? 10 * (unsigned)(unit - suffix + 1) : 0;
    if (value >> (64 - shift - (shift == 0)) >> (shift == 0))
        return false;
    *bytes = value << shift;
    return true;
}

bool config_share(const char *text, double *share)
{
    double value = 0, place = 1;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (*p - '0');
    if (p == text)
        return false;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++)
            value += (*p - '0') * (place /= 10);
    if (*p || value <= 0 || value > 0.5)
        return false;
    *share = value;
    return true;
}

static bool is_denied(const char *program)
{
    static const char *const deny[] = {
#define ROW(name) name,
#include "tracer/deny.def"
#undef ROW
    };
    for (size_t i = 0; i < sizeof deny / sizeof *deny; i++)
        if (strcmp(program, deny[i]) == 0)
            return true;
    return false;
}

bool config_allows(const char *program, const char *allow)
{
    const char *slash = strrchr(program, '/');
    program = slash ? slash + 1 : program;
    program += *program == '-'; /* a login shell */
    return allow && *allow ? list_holds(allow, ',', program) : !is_denied(program);
}

static enum config_gpu gpu_time_of(const char *text)
{
    if (text && strcmp(text, "full") == 0)
        return CONFIG_GPU_FULL;
    return text && strcmp(text, "windows") == 0 ? CONFIG_GPU_WINDOWS : CONFIG_GPU_OFF;
}

/* The value of a variable, or "". */
static const char *find_value(char **environment, const char *name)
{
    for (char **e = environment; e && *e; e++)
        if (value_of(*e, name))
            return value_of(*e, name);
    return "";
}

/* Does a variable that announces one tool name another than us? `record` announces ourselves, by
 * the path that is preloaded too; where nothing can be preloaded, that door is the only one. */
static bool names_another(char **environment, const char *variable)
{
    const char *path = find_value(environment, variable);
    return *path && !strstr(path, "libtilewise-tracer.so") &&
           !strstr(find_value(environment, "LD_PRELOAD"), path);
}

/* Is a tool that uses CUPTI to come into this process? */
static bool is_gpu_taken(char **environment)
{
    /* Nsight Systems; Kineto (PyTorch's profiler), switched on from outside or by a file. */
    static const char *const tools[] = { "NSYS_PROFILING_SESSION_ID", "KINETO_USE_DAEMON",
                                         "KINETO_CONFIG" };
    bool is_taken = names_another(environment, "CUDA_INJECTION64_PATH");
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        is_taken |= *find_value(environment, tools[i]) != '\0';
    return is_taken;
}

bool config_load(char **environment, const char *argv0)
{
    struct settings s = read_environment(environment);
    if (is_on(s.disable) || !s.out || !*s.out || getauxval(AT_SECURE))
        return false;
    if (strlen(s.out) >= sizeof config.out || !config_allows(argv0 ? argv0 : "", s.allow))
        return false;
    strcpy(config.out, s.out);
    config.events = !s.events || strcmp(s.events, "off") != 0;
    config.gpu_time = gpu_time_of(s.gpu_time);
    config.gpu_budget = DEFAULT_GPU_BUDGET;
    if (s.gpu_budget)
        config_share(s.gpu_budget, &config.gpu_budget);
    config.gpu_taken = config.gpu_time != CONFIG_GPU_OFF && is_gpu_taken(environment);
    config.nvtx = is_on(s.nvtx);
    config.nvtx_taken = config.nvtx && names_another(environment, "NVTX_INJECTION64_PATH");
    config.cmdline = is_on(s.with_cmdline);
    config.size_cap_bytes = DEFAULT_SIZE_CAP_BYTES;
    if (s.size_cap)
        config_bytes(s.size_cap, &config.size_cap_bytes);
    return true;
}
