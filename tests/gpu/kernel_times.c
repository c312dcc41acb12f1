/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference for GPU time: every kernel of a process, by name, from CUPTI activity records and
 * nothing else. It shares no code with the shim.
 *
 *   cc -shared -fPIC -O2 -I$CUDA/include kernel_times.c -o kernel_times.so -ldl -lpthread
 *   CUDA_INJECTION64_PATH=$PWD/kernel_times.so KERNEL_TIMES=DIR COMMAND...
 *
 * At exit each process that used CUDA writes DIR/kernel_times.PID.json:
 *   {"pid", "kernels", "graph_kernels", "untimed", "dropped", "time_ns",
 *    "names": [{"name", "launches", "graph_launches", "time_ns"}]}
 * `kernels` and `time_ns` are the sums over `names`; `dropped` are records that CUPTI had no room
 * for, so kernels + dropped is what was launched. A process holds one CUPTI user: never together
 * with the shim's GPU time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti.h>

enum { BUFFER_BYTES = 8 << 20, BUFFER_ALIGNMENT = 8 };

struct kernel {
    char *name;
    uint64_t launches, graph_launches, time_ns;
};

struct totals {
    uint64_t kernels, graph_kernels, untimed, dropped, time_ns;
};

static struct {
    pthread_mutex_t lock;
    void *by_name; /* tree of struct kernel */
    struct totals totals;
    pid_t owner;
    __typeof__(cuptiActivityEnable) *enable;
    __typeof__(cuptiActivityFlushAll) *flush_all;
    __typeof__(cuptiActivityGetNextRecord) *next_record;
    __typeof__(cuptiActivityGetNumDroppedRecords) *dropped_records;
    __typeof__(cuptiActivityRegisterCallbacks) *register_callbacks;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct kernel *)a)->name, ((const struct kernel *)b)->name);
}

static struct kernel *find(const char *name)
{
    struct kernel key = { .name = (char *)(name ? name : "unnamed") };
    struct kernel **found = tsearch(&key, &state.by_name, compare_names);
    if (!found)
        abort();
    if (*found == &key) {
        *found = malloc(sizeof **found);
        char *copy = strdup(key.name);
        if (!*found || !copy)
            abort();
        **found = (struct kernel){ .name = copy };
    }
    return *found;
}

/* start = end = 0 is a record that CUPTI could not time. */
static void count(const CUpti_ActivityKernel10 *record)
{
    struct kernel *kernel = find(record->name);
    uint64_t time_ns = record->end > record->start ? record->end - record->start : 0;
    kernel->launches++;
    kernel->time_ns += time_ns;
    state.totals.kernels++;
    state.totals.time_ns += time_ns;
    state.totals.untimed += time_ns == 0;
    if (record->graphId) {
        kernel->graph_launches++;
        state.totals.graph_kernels++;
    }
}

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
    *buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records_max = 0;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t bytes, size_t valid_bytes)
{
    (void)bytes;
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    pthread_mutex_lock(&state.lock);
    while (state.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            count((const CUpti_ActivityKernel10 *)record);
    pthread_mutex_unlock(&state.lock);
    /* Not under the lock: CUPTI takes its own here. */
    if (state.dropped_records(context, stream, &dropped) == CUPTI_SUCCESS)
        __atomic_fetch_add(&state.totals.dropped, dropped, __ATOMIC_RELAXED);
    free(buffer);
}

static void print_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static FILE *report;
static const char *separator = "";

static void print_kernel(const void *node, VISIT which, int depth)
{
    (void)depth;
    if (which != postorder && which != leaf)
        return;
    const struct kernel *kernel = *(struct kernel *const *)node;
    fprintf(report, "%s\n  {\"name\": ", separator);
    print_string(report, kernel->name);
    fprintf(report, ", \"launches\": %lu, \"graph_launches\": %lu, \"time_ns\": %lu}",
            kernel->launches, kernel->graph_launches, kernel->time_ns);
    separator = ",";
}

static void write_report(void)
{
    const char *folder = getenv("KERNEL_TIMES");
    char path[4096];
    if (getpid() != state.owner) /* a forked child runs its parent's handlers */
        return;
    state.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    snprintf(path, sizeof path, "%s/kernel_times.%d.json", folder ? folder : ".", (int)getpid());
    report = fopen(path, "w");
    if (!report) {
        perror(path);
        return;
    }
    pthread_mutex_lock(&state.lock);
    const struct totals *t = &state.totals;
    fprintf(report,
            "{\"pid\": %d, \"kernels\": %lu, \"graph_kernels\": %lu, \"untimed\": %lu, "
            "\"dropped\": %lu, \"time_ns\": %lu, \"names\": [",
            (int)getpid(), t->kernels, t->graph_kernels, t->untimed, t->dropped, t->time_ns);
    twalk(state.by_name, print_kernel);
    fprintf(report, "]}\n");
    pthread_mutex_unlock(&state.lock);
    if (fclose(report) != 0)
        perror(path);
}

/* The CUPTI that the process has already, or the one that the loader finds. */
static void *open_cupti(void)
{
    static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
    }
    return NULL;
}

static _Bool resolve(void *cupti)
{
    state.enable = (__typeof__(state.enable))dlsym(cupti, "cuptiActivityEnable");
    state.flush_all = (__typeof__(state.flush_all))dlsym(cupti, "cuptiActivityFlushAll");
    state.next_record = (__typeof__(state.next_record))dlsym(cupti, "cuptiActivityGetNextRecord");
    state.dropped_records =
        (__typeof__(state.dropped_records))dlsym(cupti, "cuptiActivityGetNumDroppedRecords");
    state.register_callbacks =
        (__typeof__(state.register_callbacks))dlsym(cupti, "cuptiActivityRegisterCallbacks");
    return state.enable && state.flush_all && state.next_record && state.dropped_records &&
           state.register_callbacks;
}

/* Called by the driver at cuInit, in every process that has CUDA_INJECTION64_PATH. */
int InitializeInjection(void);
int InitializeInjection(void)
{
    if (state.owner == getpid())
        return 1;
    void *cupti = open_cupti();
    if (!cupti || !resolve(cupti) ||
        state.register_callbacks(buffer_requested, buffer_completed) != CUPTI_SUCCESS ||
        state.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) {
        fprintf(stderr, "kernel_times: no usable CUPTI: %s\n", cupti ? "refused" : dlerror());
        return 0;
    }
    state.owner = getpid();
    atexit(write_report);
    return 1;
}
