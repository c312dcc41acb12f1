/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake NCCL from nccl.def; a communicator is its number of ranks.
 */
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

fake_rows fake_nccl_rows;
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);

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
        fake_work(stream, &rows[AT_##symbol]);                                                     \
        return 0;                                                                                  \
    }
#include "tracer/nccl.def"
#undef ROW
