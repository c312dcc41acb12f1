/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's activity records of the simulated kernels, all of one name.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"

enum { KERNELS = 10, RECORDS_MAX = 1 << 16, INVALID = 1, AT_THE_END = 12 };

/* The beginning of CUpti_ActivityKernel9, as long as one record is here. */
struct record {
    uint32_t kind;
    char unused_a[12];
    uint64_t start, end;
    char unused_b[72];
    const char *name;
    char unused_c[40];
};

typedef void request_fn(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void completed_fn(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                          size_t valid);

int cuptiActivityRegisterCallbacks(request_fn *request, completed_fn *completed);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count);

static request_fn *on_request;
static completed_fn *on_completed;
static bool is_on;
static struct record kept[RECORDS_MAX];
static size_t nkept;

void fake_kernel(double start_ns, double ns)
{
    if (is_on && nkept < RECORDS_MAX)
        kept[nkept++] = (struct record){ .kind = KERNELS,
                                         .start = (uint64_t)start_ns + 1,
                                         .end = (uint64_t)(start_ns + ns) + 1,
                                         .name = "simulated_kernel" };
}

int cuptiActivityRegisterCallbacks(request_fn *request, completed_fn *completed)
{
    on_request = request;
    on_completed = completed;
    return 0;
}

int cuptiActivityEnable(int kind)
{
    is_on = kind == KERNELS;
    return is_on ? 0 : INVALID;
}

int cuptiActivityDisable(int kind)
{
    is_on = is_on && kind != KERNELS;
    return 0;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    for (size_t at = 0; at < nkept;) {
        uint8_t *buffer;
        size_t bytes, records;
        on_request(&buffer, &bytes, &records);
        size_t count = bytes / sizeof *kept < nkept - at ? bytes / sizeof *kept : nkept - at;
        memcpy(buffer, kept + at, count * sizeof *kept);
        on_completed(NULL, 0, buffer, bytes, count * sizeof *kept);
        at += count;
    }
    nkept = 0;
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record)
{
    struct record *next = *record ? (struct record *)*record + 1 : (struct record *)buffer;
    if ((uint8_t *)(next + 1) > buffer + valid_bytes)
        return AT_THE_END;
    *record = next;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context;
    (void)stream;
    *count = 0;
    return 0;
}
