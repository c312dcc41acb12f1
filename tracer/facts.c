/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tracer/bypass.h"
#include "tracer/cards.h"
#include "tracer/clock.h"
#include "tracer/cupti.h"
#include "tracer/elf.h"
#include "tracer/graph.h"
#include "tracer/host.h"
#include "tracer/nvtx.h"
#include "tracer/slot.h"
#include "tracer/statics.h"
#include "traces/fnv.h"
#include "traces/signature.h"

enum { TEXT_BYTES = 1024 };

/* First bytes of a small file, terminated; "" when it cannot be read. */
static size_t read_text(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, bytes - 1);
    if (fd >= 0)
        close(fd);
    got = got < 0 ? 0 : got;
    text[got] = '\0';
    return (size_t)got;
}

static void read_boot_id(uint64_t id[2])
{
    char text[64];
    unsigned digits = 0;
    read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
    for (const char *c = text; *c && digits < 32; c++) {
        static const char hex[] = "0123456789abcdef";
        const char *at = strchr(hex, *c);
        if (!at)
            continue;
        id[digits / 16] = id[digits / 16] << 4 | (uint64_t)(at - hex);
        digits++;
    }
}

void facts_shard(struct shard_id *shard)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    *shard = (struct shard_id){
        .host_hash = fnv_text(FNV_START, host),
        .start_unix_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - clock_start_ns()),
        .pid = (uint32_t)getpid(),
    };
    read_boot_id(shard->boot_id);
}

static void add_line(struct writer *w, const char *key, char *text)
{
    text[strcspn(text, "\n")] = '\0';
    if (*text)
        writer_fact(w, key, text);
}

static void add_cpu(struct writer *w)
{
    char text[4096];
    read_text("/proc/cpuinfo", text, sizeof text);
    char *model = strstr(text, "model name");
    char *colon = model ? strchr(model, ':') : NULL;
    if (colon)
        add_line(w, "device", colon + 1 + strspn(colon + 1, " "));
    snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    add_line(w, "cpus", text);
}

static void add_cmdline(struct writer *w)
{
    char text[TEXT_BYTES];
    size_t bytes = read_text("/proc/self/cmdline", text, sizeof text);
    for (size_t i = 0; i + 1 < bytes; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    add_line(w, "cmdline", text);
}

void facts_process(struct writer *w, bool with_cmdline)
{
    char text[TEXT_BYTES];
    struct utsname system;
    read_text("/proc/self/comm", text, sizeof text);
    add_line(w, "program", text);
    add_cpu(w);
    if (uname(&system) == 0) {
        snprintf(text, sizeof text, "%s %s %s", system.sysname, system.release, system.machine);
        add_line(w, "system", text);
    }
    if (with_cmdline)
        add_cmdline(w);
}

/* The ways that builds of OpenBLAS decorate their names. */
static void *find_decorated(const struct elf_object *object, const char *name)
{
    static const char *const form[] = { "%s", "%s64_", "scipy_%s", "scipy_%s64_" };
    char text[128];
    void *found = NULL;
    for (size_t i = 0; i < sizeof form / sizeof *form && !found; i++) {
        const char *percent = strstr(form[i], "%s");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(percent - form[i]), form[i], name,
                 percent + 2);
        found = elf_symbol(object, text);
    }
    return found;
}

static void add_result(struct writer *w, const char *key, void *function)
{
    char *(*get)(void) = (char *(*)(void))(uintptr_t)function;
    const char *text = get ? get() : NULL;
    if (text)
        writer_fact(w, key, text);
}

/* A library that a hooked function lives in, or the OpenBLAS behind it. Called under the loader's
 * lock: the library cannot leave while its functions are called. */
static bool add_library(const struct elf_object *object, void *context)
{
    struct writer *w = context;
    void *config = find_decorated(object, "openblas_get_config");
    if (!config && !slot_is_library((const void *)object->low))
        return false;
    const char *name = elf_file_name(object->name);
    writer_fact(w, "library", *name ? name : "the program itself");
    add_result(w, "library_config", config);
    add_result(w, "core", find_decorated(object, "openblas_get_corename"));
    int (*threads)(void) =
        (int (*)(void))(uintptr_t)find_decorated(object, "openblas_get_num_threads");
    if (threads) {
        char text[16];
        snprintf(text, sizeof text, "%d", threads());
        writer_fact(w, "library_threads", text);
    }
    return false;
}

/* The cards that the process sees, and what they are. The driver is asked outside of any walk over
 * the objects: it has locks of its own, and never leaves. */
static void add_cards(struct writer *w)
{
    int (*count)(int *) = elf_next(&host_get()->self, false, "cuDeviceGetCount");
    char text[256];
    int cards = 0;
    if (!count || count(&cards) != 0 || cards < 1)
        return; /* not initialised either */
    if (cards_model(CARDS_FOLDER, text, sizeof text))
        add_line(w, "gpu", text);
    snprintf(text, sizeof text, "%d", cards);
    add_line(w, "gpus", text);
}

void facts_libraries(struct writer *w)
{
    elf_each(add_library, w);
    add_cards(w);
}

static void add_bypass(const char *library, void *w)
{
    writer_fact(w, "bypassed_by", *library ? library : "the program itself");
}

static void add_static(const char *object, void *w)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s (calls in it are not seen)", object);
    writer_fact(w, "static_library", text);
}

void facts_notes(struct writer *w, bool last)
{
    bypass_each(last, add_bypass, w);
    statics_each(last, add_static, w);
    if (*cupti_state())
        writer_fact(w, "cupti", cupti_state());
    char cost[TEXT_BYTES] = "";
    if (last)
        cupti_cost(cost, sizeof cost);
    if (*cost)
        writer_fact(w, "gpu_time_cost", cost);
    if (*nvtx_state())
        writer_fact(w, "nvtx", nvtx_state());
    struct graph_gaps gaps = graph_gaps();
    if (gaps.unclear_launches)
        writer_fact(w, "note",
                    "CUDA graphs with conditional or replaced nodes were launched: calls in those "
                    "nodes are not counted");
    if (gaps.device_graphs)
        writer_fact(w, "note",
                    "CUDA graphs that kernels may launch: such launches are not counted");
    if (gaps.unknown_launches)
        writer_fact(w, "note", "CUDA graphs of unknown content were launched: not counted");
}
