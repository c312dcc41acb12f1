/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of a burst, by CUPTI's activity records. CUPTI is optional; once it is attached,
 * launches cost the host more for the rest of the process, so this comes after all timing.
 */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/cuda_session.h"

enum { CONCURRENT_KERNELS = 10, FLUSH_FORCED = 1, BUFFER_BYTES = 4 << 20, RECORDS_MAX = 1 << 20 };

struct cupti {
    int (*register_callbacks)(void (*request)(uint8_t **, size_t *, size_t *),
                              void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t));
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush)(uint32_t flag);
    int (*next)(uint8_t *buffer, size_t valid_bytes, void **record);
    int (*dropped)(void *context, uint32_t stream, size_t *count);
};

/* The beginning of CUpti_ActivityKernel9 and 10. */
struct record {
    uint32_t kind;
    uint8_t unused_a[12];
    uint64_t start, end; /* ns; 0: unknown */
    uint8_t unused_b[72];
    const char *name;
};
_Static_assert(offsetof(struct record, name) == 104, "as CUPTI has it");

/* CUPTI calls back from a thread of its own, without a context: one user per process. */
static struct {
    struct cupti api;
    pthread_mutex_t lock;
    bool tried, works, lost;
    struct backend_kernel *rows;
    size_t count, room;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records = 0;
}

static void keep(const struct record *r)
{
    if (state.count == state.room && state.room < RECORDS_MAX) {
        size_t room = state.room ? 2 * state.room : 4096;
        struct backend_kernel *grown = realloc(state.rows, room * sizeof *grown);
        state.rows = grown ? grown : state.rows;
        state.room = grown ? room : state.room;
    }
    if (state.count == state.room || r->end <= r->start)
        state.lost = true;
    else
        state.rows[state.count++] = (struct backend_kernel){ r->name ? r->name : "", r->start,
                                                             (double)(r->end - r->start) };
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    void *record = NULL;
    size_t dropped = 0;
    (void)bytes;
    pthread_mutex_lock(&state.lock);
    while (state.api.next(buffer, valid, &record) == 0)
        if (((const struct record *)record)->kind == CONCURRENT_KERNELS)
            keep(record);
    pthread_mutex_unlock(&state.lock);
    /* Not under the lock: CUPTI takes its own here. */
    if (state.api.dropped(context, stream, &dropped) != 0 || dropped)
        state.lost = true;
    free(buffer);
}

static void *open_cupti(const char *folder)
{
    static const char *const usual[] = { "", "/usr/local/cuda/extras/CUPTI/lib64",
                                         "/usr/local/cuda/lib64" };
    static const int majors[] = { 13, 12 };
    char path[PATH_MAX];
    void *handle = NULL;
    for (size_t m = 0; handle == NULL && m < sizeof majors / sizeof *majors; m++)
        for (size_t i = 0; handle == NULL && i <= sizeof usual / sizeof *usual; i++) {
            const char *where = i ? usual[i - 1] : folder ? folder : "";
            int length = snprintf(path, sizeof path, "%s%slibcupti.so.%d", where,
                                  where[0] ? "/" : "", majors[m]);
            if (length < (int)sizeof path)
                handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    return handle;
}

static bool attach(const char *folder)
{
    static const struct {
        const char *name;
        size_t offset;
    } slots[] = {
        { "cuptiActivityRegisterCallbacks", offsetof(struct cupti, register_callbacks) },
        { "cuptiActivityEnable", offsetof(struct cupti, enable) },
        { "cuptiActivityDisable", offsetof(struct cupti, disable) },
        { "cuptiActivityFlushAll", offsetof(struct cupti, flush) },
        { "cuptiActivityGetNextRecord", offsetof(struct cupti, next) },
        { "cuptiActivityGetNumDroppedRecords", offsetof(struct cupti, dropped) },
    };
    void *handle = open_cupti(folder);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        void *symbol = handle ? dlsym(handle, slots[i].name) : NULL;
        if (symbol == NULL)
            return false;
        memcpy((char *)&state.api + slots[i].offset, &symbol, sizeof symbol);
    }
    return state.api.register_callbacks(request, completed) == 0;
}

static int by_start(const void *a, const void *b)
{
    const struct backend_kernel *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The sweep that makes a burst cold is no kernel of it: it is done before records are kept. */
const struct backend_kernel *cuda_kernels_of(struct backend_session *session,
                                             const struct backend_burst *burst, size_t *count)
{
    struct backend_burst work = *burst;
    *count = 0;
    if (!state.tried) {
        state.tried = true;
        state.works = attach(session->libraries);
        cuda_burst_forget(session); /* graphs that CUPTI did not see made */
    }
    if (!state.works || (burst->cold && cuda_burst_sweep(session) != 0) ||
        session->api.cudaStreamSynchronize(session->stream) != 0)
        return NULL;
    work.cold = false;
    state.count = 0;
    state.lost = false;
    if (state.api.enable(CONCURRENT_KERNELS) != 0)
        return NULL;
    double ns = cuda_burst_run(session, &work);
    state.works = state.api.disable(CONCURRENT_KERNELS) == 0 && state.api.flush(FLUSH_FORCED) == 0;
    if (!(ns > 0) || !state.works || state.lost || state.count == 0)
        return NULL;
    qsort(state.rows, state.count, sizeof *state.rows, by_start);
    *count = state.count;
    return state.rows;
}
