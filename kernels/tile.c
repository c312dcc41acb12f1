/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/tile.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/blas_library.h"
#include "kernels/builtin.h"
#include "kernels/dispatch.h"

static struct {
    _Atomic int force_baseline;
    _Atomic uint32_t threads;
    _Atomic size_t scratch_limit_bytes;
} config = { .scratch_limit_bytes = SIZE_MAX };

static _Atomic uint64_t tile_calls, library_calls, portable_calls, no_memory_calls;

/* Scratch of one thread: it only grows, so a steady program allocates once. */
struct scratch {
    size_t bytes;
    void *data;
};

static pthread_key_t scratch_key;
static bool has_scratch_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_scratch(void *any)
{
    struct scratch *scratch = any;
    free(scratch->data);
    free(scratch);
}

static uint32_t count_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* Why $TILEWISE_DISPATCH is not obeyed; written once. */
static char problem[512];

static void load_named(const char *path)
{
    struct fault fault = { .text = "" };
    if (dispatch_load(path, &fault) == ST_OK)
        return;
    snprintf(problem, sizeof problem, "%s", fault.text);
    dispatch_leave_all();
}

static void start(void)
{
    const char *table = getenv("TILEWISE_DISPATCH");
    if (table != NULL && table[0])
        load_named(table);
    const char *force = getenv("TILEWISE_FORCE_BASELINE");
    if (force != NULL && strcmp(force, "1") == 0)
        atomic_store(&config.force_baseline, 1);
    atomic_store(&config.threads, count_processors());
    has_scratch_key = pthread_key_create(&scratch_key, free_scratch) == 0;
}

static struct scratch *own_scratch(void)
{
    struct scratch *scratch = has_scratch_key ? pthread_getspecific(scratch_key) : NULL;
    if (scratch != NULL || !has_scratch_key)
        return scratch;
    scratch = calloc(1, sizeof *scratch);
    if (scratch != NULL && pthread_setspecific(scratch_key, scratch) != 0) {
        free(scratch);
        scratch = NULL;
    }
    return scratch;
}

/* At least `bytes`, aligned to 64; NULL if that is over the limit or cannot be had. */
static void *get_scratch(size_t bytes)
{
    struct scratch *scratch = own_scratch();
    if (scratch == NULL || bytes > atomic_load(&config.scratch_limit_bytes))
        return NULL;
    if (scratch->bytes >= bytes)
        return scratch->data;
    size_t rounded = bytes + 63 - (bytes + 63) % 64;
    void *data = aligned_alloc(64, rounded);
    if (data == NULL)
        return NULL;
    free(scratch->data);
    *scratch = (struct scratch){ rounded, data };
    return data;
}

/* Run a kernel of ours; -ENOMEM if it wants scratch that is not to be had. */
static int run_kernel(const struct tilewise_candidate *kernel, const struct tilewise_signature *s,
                      const struct tilewise_args *args)
{
    struct tilewise_args full = *args;
    full.abi = TILEWISE_CANDIDATE_ABI;
    full.bytes = sizeof full;
    full.threads = atomic_load(&config.threads);
    size_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(kernel, s, full.threads) : 0;
    full.scratch = bytes > 0 ? get_scratch(bytes) : NULL;
    if (bytes > 0 && full.scratch == NULL) {
        atomic_fetch_add_explicit(&no_memory_calls, 1, memory_order_relaxed);
        return -ENOMEM;
    }
    return kernel->run(kernel, s, &full);
}

static int count(_Atomic uint64_t *counter, int result)
{
    if (result == 0)
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    return result;
}

/* Neither tile nor library: the portable kernel, and "ref", which needs no memory, after it. */
static int run_portable(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    const struct tilewise_candidate *kernel = dispatch_portable(s);
    if (kernel == NULL)
        return -ENOTSUP;
    int result = run_kernel(kernel, s, args);
    if (result == -ENOMEM)
        result = run_kernel(&ref_candidate, s, args);
    return count(&portable_calls, result);
}

int tilewise_tile_run(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    pthread_once(&once, start);
    bool forced = atomic_load_explicit(&config.force_baseline, memory_order_relaxed);
    const struct tilewise_candidate *kernel = forced ? NULL : dispatch_choose(s);
    if (kernel != NULL && count(&tile_calls, run_kernel(kernel, s, args)) == 0)
        return 0;
    int result = blas_library_run(s, args);
    if (result == -ENOENT || result == -ENOTSUP)
        return run_portable(s, args);
    return count(&library_calls, result);
}

int tilewise_tile_load(const char *path, char *why, size_t why_bytes)
{
    static const int errors[ST_COUNT] = { [ST_IO] = -EIO, [ST_NOMEM] = -ENOMEM };
    struct fault fault = { .text = "" };
    pthread_once(&once, start);
    enum status st = dispatch_load(path, &fault);
    if (why != NULL && why_bytes > 0)
        snprintf(why, why_bytes, "%s", fault.text);
    return st == ST_OK ? 0 : errors[st] ? errors[st] : -EINVAL;
}

const char *tilewise_tile_problem(void)
{
    pthread_once(&once, start);
    return problem;
}

void tilewise_tile_current(struct tilewise_tile_config *out)
{
    pthread_once(&once, start);
    *out = (struct tilewise_tile_config){
        .force_baseline = atomic_load(&config.force_baseline),
        .threads = atomic_load(&config.threads),
        .scratch_limit_bytes = atomic_load(&config.scratch_limit_bytes),
    };
}

void tilewise_tile_configure(const struct tilewise_tile_config *wanted)
{
    pthread_once(&once, start);
    atomic_store(&config.force_baseline, wanted->force_baseline);
    atomic_store(&config.threads, wanted->threads ? wanted->threads : count_processors());
    atomic_store(&config.scratch_limit_bytes, wanted->scratch_limit_bytes);
}

void tilewise_tile_count(struct tilewise_tile_counts *counts)
{
    *counts = (struct tilewise_tile_counts){
        .tile = atomic_load(&tile_calls),
        .library = atomic_load(&library_calls),
        .portable = atomic_load(&portable_calls),
        .no_memory = atomic_load(&no_memory_calls),
    };
}
