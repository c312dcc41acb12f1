/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor this runs on; baseline: its BLAS.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "replayer/backend.h"
#include "replayer/clock.h"
#include "replayer/cpu_routine.h"

static const double burst_ns = 200e3, burst_threaded_ns = 1e6;
static const int64_t cubes[] = { 512, 1024, 0 };
static const uint64_t cache_bytes_default = 32u << 20;
static const char *const cap_variables[] = { "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE" };
enum { THREADS_MAX = 1024, BANDWIDTH_PASSES = 5, SETTLE_NS = 1000 * 1000 };
enum { HUGE_PAGE_BYTES = 2 << 20 };

struct backend_session {
    struct cpu_blas blas;
    struct backend_info info;
    struct tilewise_signature signature; /* of the last prepare() */
    size_t nroutines;
    float *wide; /* of the prepared signature: results on their way to bf16 */
    struct cpu_routine routines[BACKEND_ROUTINES_MAX];
};

static uint32_t usable_threads(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* From the kernel: sysconf() answers for a whole socket, of which a virtual machine has a part. */
static uint64_t largest_cache_bytes(void)
{
    uint64_t largest = 0;
    for (int i = 0; i < 8; i++) {
        char path[80], unit = 0;
        unsigned long long size = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            break;
        if (fscanf(file, "%llu%c", &size, &unit) == 2)
            size *= unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1;
        largest = size > largest ? size : largest;
        fclose(file);
    }
    return largest ? largest : cache_bytes_default;
}

static void read_model(char *text, size_t bytes)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(text, bytes, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || value == NULL)
            continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(text, bytes, "%s", value + 2);
        break;
    }
    if (file)
        fclose(file);
}

static void find_cap(struct backend_session *session)
{
    struct cpu_blas_cap cap = {
        .coretype = getenv("OPENBLAS_CORETYPE"),
        .l2_size = getenv("OPENBLAS_L2_SIZE"),
        .core = session->blas.core,
    };
#ifdef __x86_64__
    cap.has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
    cap.has_avx2 = __builtin_cpu_supports("avx2");
#endif
    cpu_blas_explain_cap(&cap, session->info.capped, sizeof session->info.capped);
}

static enum status cpu_open(struct backend_session **out, const struct backend_options *options,
                            struct fault *fault)
{
    struct backend_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return fault_set(fault, ST_NOMEM, "out of memory");
    uint32_t threads = options->threads ? options->threads : usable_threads();
    session->info.threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    for (size_t i = 0; options->uncap_baseline && i < 2; i++)
        unsetenv(cap_variables[i]);
    enum status st = cpu_blas_open(&session->blas, session->info.threads, fault);
    if (st != ST_OK) {
        free(session);
        return st;
    }
    session->info.cache_bytes = largest_cache_bytes();
    session->info.burst_ns = session->info.threads > 1 ? burst_threaded_ns : burst_ns;
    read_model(session->info.device, sizeof session->info.device);
    snprintf(session->info.library, sizeof session->info.library, "%s", session->blas.library);
    snprintf(session->info.core, sizeof session->info.core, "%s", session->blas.core);
    find_cap(session);
    *out = session;
    return ST_OK;
}

static void cpu_close(struct backend_session *session)
{
    if (session == NULL)
        return;
    cpu_blas_close(&session->blas);
    free(session->wide);
    free(session);
}

static void cpu_describe(struct backend_session *session, struct backend_info *info)
{
    *info = session->info;
}

/* Large buffers in huge pages: filling them costs less, and address translation, which differs from
 * run to run, stays out of the comparison. */
static void *cpu_alloc(struct backend_session *session, size_t bytes)
{
    (void)session;
    size_t align = bytes >= 2 * HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : 256;
    size_t whole = (bytes + align - 1) / align * align;
    void *memory = aligned_alloc(align, whole);
    if (memory && align == HUGE_PAGE_BYTES)
        madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

static void cpu_release(struct backend_session *session, void *memory)
{
    (void)session;
    free(memory);
}

static enum status cpu_write(struct backend_session *session, void *device, const void *host,
                             size_t bytes)
{
    (void)session;
    memcpy(device, host, bytes);
    return ST_OK;
}

static enum status cpu_read(struct backend_session *session, void *host, const void *device,
                            size_t bytes)
{
    (void)session;
    memcpy(host, device, bytes);
    return ST_OK;
}

static enum status cpu_prepare(struct backend_session *session, const struct tilewise_signature *s,
                               struct backend_routines *out)
{
    session->signature = *s;
    size_t wide_bytes = cpu_routine_wide_bytes(s);
    free(session->wide);
    session->wide = wide_bytes ? cpu_alloc(session, wide_bytes) : NULL;
    if (wide_bytes && session->wide == NULL)
        return ST_NOMEM;
    session->nroutines = cpu_routine_list(&session->blas, s, session->routines);
    out->count = session->nroutines;
    for (size_t i = 0; i < out->count; i++)
        memcpy(out->name[i], session->routines[i].name, sizeof out->name[i]);
    return out->count ? ST_OK : ST_UNSUPPORTED;
}

static const void *batch_of(const void *base, int64_t stride, int64_t index, unsigned dtype)
{
    return base ? (const char *)base + index * stride * (tilewise_dtype_bits(dtype) / 8) : NULL;
}

static int cpu_baseline(struct backend_session *session, size_t index,
                        const struct tilewise_args *args)
{
    if (index >= session->nroutines)
        return -EINVAL;
    const struct tilewise_signature *s = &session->signature;
    const struct cpu_routine *r = &session->routines[index];
    for (int64_t i = 0; i < s->batch; i++) {
        struct cpu_call call = r->call;
        const void *a = batch_of(args->a, s->stride_a, i, s->dtype_a);
        const void *b = batch_of(args->b, s->stride_b, i, s->dtype_b);
        call.a = r->swapped ? b : a;
        call.b = r->swapped ? a : b;
        call.c = (void *)batch_of(args->c, s->stride_c, i, s->dtype_c);
        call.alpha = args->alpha;
        call.beta = args->beta;
        call.wide = session->wide;
        r->run(&session->blas, &call);
    }
    return 0;
}

/* Helper threads of the arm before may still spin on a core that this one needs: let them fall
 * asleep, and wake our own, outside the measured time. */
static int settle(const struct backend_session *session, int (*step)(void *context), void *context,
                  uint64_t calls)
{
    const struct timespec pause = { .tv_nsec = SETTLE_NS };
    if (session->info.threads < 2)
        return 0;
    nanosleep(&pause, NULL);
    return calls > 1 ? step(context) : 0;
}

/* The operands of a cold burst are out of the caches because enough of them take turns. */
static double cpu_burst(struct backend_session *session, const struct backend_burst *burst)
{
    int failed = settle(session, burst->step, burst->context, burst->calls);
    double start_ns = clock_now_ns(NULL);
    for (uint64_t i = 0; i < burst->calls; i++)
        failed |= burst->step(burst->context);
    double spent_ns = clock_now_ns(NULL) - start_ns;
    return failed ? NAN : spent_ns;
}

/* One thread's part of a = b + s c over arrays that no cache holds. */
struct triad {
    double *a, *b, *c;
    size_t count;
    pthread_barrier_t *barrier;
};

static void *run_triad(void *context)
{
    struct triad *t = context;
    for (size_t i = 0; i < t->count; i++) {
        t->a[i] = 0;
        t->b[i] = (double)i;
        t->c[i] = 1.5;
    }
    for (int pass = 0; pass < BANDWIDTH_PASSES; pass++) {
        pthread_barrier_wait(t->barrier);
        for (size_t i = 0; i < t->count; i++)
            t->a[i] = t->b[i] + 0.5 * t->c[i];
        pthread_barrier_wait(t->barrier);
    }
    return NULL;
}

/* Best pass of all threads together. The caller's thread only keeps the time. */
static double best_triad_ns(struct triad *parts, uint32_t threads)
{
    pthread_t ids[THREADS_MAX];
    pthread_barrier_t barrier;
    double best_ns = INFINITY;
    uint32_t started = 0;
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (; started < threads; started++) {
        parts[started].barrier = &barrier;
        if (pthread_create(&ids[started], NULL, run_triad, &parts[started]) != 0)
            return NAN; /* the others wait for ever; this process ends soon */
    }
    for (int pass = 0; pass < BANDWIDTH_PASSES; pass++) {
        pthread_barrier_wait(&barrier);
        double start_ns = clock_now_ns(NULL);
        pthread_barrier_wait(&barrier);
        best_ns = fmin(best_ns, clock_now_ns(NULL) - start_ns);
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&barrier);
    return best_ns;
}

static enum status cpu_bandwidth(struct backend_session *session, double *bytes_per_s)
{
    static struct triad parts[THREADS_MAX];
    uint32_t threads = session->info.threads;
    size_t count = session->info.cache_bytes * 4 / 3 / sizeof(double) / threads; /* of a part */
    double *memory = cpu_alloc(session, 3 * count * threads * sizeof(double));
    if (memory == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < threads; i++) {
        double *own = memory + (size_t)i * 3 * count;
        parts[i] = (struct triad){ own, own + count, own + 2 * count, count, NULL };
    }
    double ns = best_triad_ns(parts, threads);
    if (ns > 0)
        *bytes_per_s = 3.0 * (double)(count * threads * sizeof(double)) / (ns * 1e-9);
    free(memory);
    return ns > 0 ? ST_OK : ST_DEVICE;
}

static int cpu_copy(struct backend_session *session, void *to, const void *from, size_t bytes)
{
    (void)session;
    memcpy(to, from, bytes);
    return 0;
}

/* Sums: what nobody could use would not be read. */
static uint64_t read_words(const void *from, size_t bytes)
{
    const uint64_t *words = from;
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        sum += words[i];
    return sum;
}

/* A copy onto itself would be none. */
static void rewrite_words(void *memory, size_t bytes)
{
    volatile uint64_t *word = memory;
    for (size_t i = 0; i < bytes / sizeof *word; i++)
        word[i] = word[i];
}

static int cpu_touch(struct backend_session *session, const struct backend_touch *t)
{
    uint64_t sum = 0;
    (void)session;
    for (size_t at = t->at, left = t->bytes; left;) {
        size_t part = t->region_bytes - at < left ? t->region_bytes - at : left;
        if (t->other == t->region)
            rewrite_words((char *)t->other + at, part);
        else if (t->other)
            memcpy((char *)t->other + at, (const char *)t->region + at, part);
        else
            sum += read_words((const char *)t->region + at, part);
        left -= part;
        at = 0;
    }
    sum += read_words(t->hot, t->hot_bytes);
    __asm__ volatile("" ::"r"(sum));
    return 0;
}

static void cpu_fill_args(struct backend_session *session, struct tilewise_args *args)
{
    args->threads = session->info.threads;
    args->stream = NULL;
}

const struct backend backend_cpu = {
    .name = "cpu",
    .align_bytes = 16, /* what malloc gives, and no more */
    .slow_rate_flops = 5e8,
    .cubes = cubes,
    .supports = cpu_routine_supports,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .write = cpu_write,
    .read = cpu_read,
    .prepare = cpu_prepare,
    .baseline = cpu_baseline,
    .burst = cpu_burst,
    .bandwidth = cpu_bandwidth,
    .fill_args = cpu_fill_args,
    .copy = cpu_copy,
    .touch = cpu_touch,
};
