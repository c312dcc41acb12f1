/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake NCCL from nccl.def; a communicator is its number of ranks. What is called inside a group
 * is done at its end.
 */
#include <stdlib.h>

#include "fake.h"
#include "tracer/nccl.h"

enum {
#define ROW(family, symbol) AT_##symbol,
#include "tracer/nccl.def"
#undef ROW
    ROWS
};

static struct fake_row rows[ROWS + 1] = {
#define ROW(family, symbol) { #symbol, 0, 0, 0 },
#include "tracer/nccl.def"
#undef ROW
};

enum { QUEUE = 64 };

static _Thread_local struct queued {
    void *stream;
    struct fake_row *row;
} queue[QUEUE];
static _Thread_local int depth, queued;

fake_rows fake_nccl_rows;
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made, void *config);

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return 0;
}

ncclResult_t ncclGroupEnd(void)
{
    depth--;
    for (int i = 0; depth == 0 && i < queued; i++)
        fake_work(queue[i].stream, queue[i].row);
    queued = depth == 0 ? 0 : queued;
    return 0;
}

/* Two colors, in halves. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made, void *config)
{
    (void)color, (void)key, (void)config;
    int *ranks = malloc(sizeof *ranks);
    *ranks = *(const int *)comm / 2;
    *made = (ncclComm_t)(void *)ranks;
    return 0;
}

static void work(void *stream, struct fake_row *row)
{
    if (depth)
        queue[queued++] = (struct queued){ stream, row };
    else
        fake_work(stream, row);
}

struct fake_row *fake_nccl_rows(void)
{
    return rows;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    *count = *(const int *)comm;
    return 0;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ROW(family, symbol)                                                                        \
    ncclResult_t symbol(family##_PARAMS);                                                          \
    ncclResult_t symbol(family##_PARAMS)                                                           \
    {                                                                                              \
        if (rows[AT_##symbol].status)                                                              \
            return (ncclResult_t)rows[AT_##symbol].status;                                         \
        work(stream, &rows[AT_##symbol]);                                                          \
        return 0;                                                                                  \
    }
#include "tracer/nccl.def"
#undef ROW
