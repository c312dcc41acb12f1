/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/buffers.h"

#include <errno.h>

#include "tracer/clock.h"
#include "tracer/kernels.h"
#include "tracer/pages.h"

enum { BUFFERS = 32, BUFFER_BYTES = 1 << 20 };

static const struct cupti_functions *api;
static _Atomic(uint8_t *) memory[BUFFERS];
static _Atomic bool is_taken[BUFFERS];
static _Atomic uint64_t records, handling_ns;

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

static void read_record(const void *record)
{
    const struct cupti_kernel *k = record;
    if (k->kind != CUPTI_KIND_KERNEL)
        return;
    kernels_add(&(struct kernels_record){ .name = k->name,
                                          .call = launches_find(k->correlation, k->node),
                                          .start_ns = k->start,
                                          .end_ns = k->end });
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
