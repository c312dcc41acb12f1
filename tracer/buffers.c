/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/buffers.h"

#include <errno.h>
#include <sched.h>

#include "tracer/clock.h"
#include "tracer/kernels.h"
#include "tracer/pages.h"

enum { BUFFERS = 32, BUFFER_BYTES = 1 << 20, LATE = 256 };

static const struct cupti_functions *api;
static _Atomic(uint8_t *) memory[BUFFERS];
static _Atomic bool is_taken[BUFFERS];
static _Atomic uint64_t records, handling_ns;

/* Records that came before their call returned; while is_late_taken. */
static struct kernels_record late[LATE];
static struct {
    uint32_t correlation;
    uint64_t node;
} late_of[LATE];
static unsigned lates;
static _Atomic bool is_late_taken;

static uint8_t *memory_of(int i)
{
    uint8_t *at = atomic_load(&memory[i]);
    if (!at) {
        at = pages_map(BUFFER_BYTES);
        atomic_store(&memory[i], at);
    }
    return at;
}

bool buffers_start(const struct cupti_functions *functions)
{
    api = functions;
    return memory_of(0) != NULL;
}

/* Without a buffer CUPTI drops records and counts them. */
void buffers_request(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *buffer = NULL;
    *bytes = *most_records = 0;
    for (int i = 0; i < BUFFERS && !*buffer; i++) {
        if (atomic_exchange_explicit(&is_taken[i], true, memory_order_acquire))
            continue;
        *buffer = memory_of(i);
        *bytes = *buffer ? BUFFER_BYTES : 0;
        if (!*buffer)
            atomic_store_explicit(&is_taken[i], false, memory_order_release);
    }
}

static void give_back(const uint8_t *buffer)
{
    for (int i = 0; i < BUFFERS; i++)
        if (atomic_load(&memory[i]) == buffer)
            atomic_store_explicit(&is_taken[i], false, memory_order_release);
}

static void take_late(void)
{
    while (atomic_exchange_explicit(&is_late_taken, true, memory_order_acquire))
        sched_yield();
}

static void give_late(void)
{
    atomic_store_explicit(&is_late_taken, false, memory_order_release);
}

/* Every record waits once at most: a call that failed is never named. */
void buffers_settle(void)
{
    take_late();
    for (unsigned i = 0; i < lates; i++) {
        late[i].call = launches_find(late_of[i].correlation, late_of[i].node);
        kernels_add(&late[i]);
    }
    lates = 0;
    give_late();
}

static bool wait_for_call(const struct cupti_kernel *k, const struct kernels_record *r)
{
    take_late();
    bool has_room = lates < LATE;
    if (has_room) {
        late[lates] = *r;
        late_of[lates].correlation = k->correlation;
        late_of[lates].node = k->node;
        lates++;
    }
    give_late();
    return has_room;
}

static const char *direction_of(const struct cupti_move *m)
{
    static const char *const names[] = { "?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD", "DtoA", "DtoD", "HtoH", "PtoP" };
    if (m->kind == CUPTI_KIND_FILL)
        return NULL;
    return m->direction < sizeof names / sizeof *names ? names[m->direction] : names[0];
}

/* No hooked call makes one, but a graph does, which the host launches. */
static void read_move(const struct cupti_move *m)
{
    struct launches_found found = launches_find(m->correlation, 0);
    kernels_add(&(struct kernels_record){ .name = direction_of(m),
                                          .call.launch_ticks = found.launch_ticks,
                                          .start_ns = m->start,
                                          .end_ns = m->end,
                                          .device = m->device,
                                          .context = m->context,
                                          .stream = m->stream,
                                          .work = m->kind == CUPTI_KIND_COPY ? GPU_COPY : GPU_FILL,
                                          .in_graph = m->node != 0 });
}

static void read_record(const void *record)
{
    const struct cupti_kernel *k = record;
    if (k->kind == CUPTI_KIND_COPY || k->kind == CUPTI_KIND_FILL)
        read_move(record);
    if (k->kind != CUPTI_KIND_KERNEL)
        return;
    struct kernels_record r = { .name = k->name,
                                .call = launches_find(k->correlation, k->node),
                                .start_ns = k->start,
                                .end_ns = k->end,
                                .device = k->device,
                                .context = k->context,
                                .stream = k->stream,
                                .in_graph = k->node != 0 };
    for (int i = 0; i < 3; i++) {
        r.grid.grid[i] = (uint32_t)k->grid[i];
        r.grid.block[i] = (uint32_t)k->block[i];
    }
    r.grid.shared_bytes = (uint32_t)k->shared_bytes;
    if (!r.call.is_running || !wait_for_call(k, &r))
        kernels_add(&r);
    atomic_fetch_add_explicit(&records, 1, memory_order_relaxed);
}

void buffers_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    int kept = errno;
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    void *record = NULL;
    (void)context, (void)stream, (void)bytes;
    while (buffer && valid && api->ActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK)
        read_record(record);
    give_back(buffer);
    atomic_fetch_add(&handling_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
    errno = kept;
}

uint64_t buffers_records(void)
{
    return atomic_load(&records);
}

uint64_t buffers_handling_ns(void)
{
    return atomic_load(&handling_ns);
}
