/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls every row of nccl.def: once refused, then accepted once on each of two communicators;
 * prints what the trace must hold. A family without a case here does not compile.
 * `host_nccl group`: nested groups, on a communicator and on one split off.
 */
#include <string.h>

#include "fake.h"
#include "rowtext.h"
#include "tracer/nccl.h"

#define ROW(family, symbol) ncclResult_t symbol(family##_PARAMS);
#include "tracer/nccl.def"
#undef ROW
extern fake_rows fake_nccl_rows;
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made, void *config);

enum { COUNT = 12345, BF16 = 9, MAX = 2 };

#define NCCL_REDUCED_CASE      NULL, NULL, COUNT, BF16, MAX, c, NULL
#define NCCL_REDUCED_ROOT_CASE NULL, NULL, COUNT, BF16, MAX, 0, c, NULL
#define NCCL_MOVED_CASE        NULL, NULL, COUNT, BF16, c, NULL
#define NCCL_MOVED_ROOT_CASE   NULL, NULL, COUNT, BF16, 0, c, NULL
#define NCCL_IN_PLACE_CASE     NULL, COUNT, BF16, 0, c, NULL
#define NCCL_RECEIVED_CASE     NULL, COUNT, BF16, 1, c, NULL
#define NCCL_SENT_CASE         NULL, COUNT, BF16, 1, c, NULL
#define NCCL_REDUCED_MATH      (MAX + 1)
#define NCCL_REDUCED_ROOT_MATH (MAX + 1)
#define NCCL_MOVED_MATH        0
#define NCCL_MOVED_ROOT_MATH   0
#define NCCL_IN_PLACE_MATH     0
#define NCCL_RECEIVED_MATH     0
#define NCCL_SENT_MATH         0

static void expect(const char *symbol, int ranks, int math, unsigned calls)
{
    const struct tilewise_signature s = {
        .op = TILEWISE_OP_COLLECTIVE,
        .dtype_a = TILEWISE_BF16,
        .dtype_d = TILEWISE_BF16,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .math_mode = (uint16_t)math,
        .m = COUNT,
        .n = ranks,
        .k = 1,
        .batch = 1,
    };
    rowtext_print(symbol, &s, calls);
}

static unsigned long long executed(void)
{
    unsigned long long sum = 0;
    for (struct fake_row *r = fake_nccl_rows(); r->symbol; r++)
        sum += r->executed;
    return sum;
}

static int group(void)
{
    enum { EXCHANGES = 3 };
    int all = 8;
    ncclComm_t c = (ncclComm_t)(void *)&all, half;
    ncclCommSplit(c, 0, 0, &half, NULL);
    ncclGroupStart();
    for (int i = 0; i < EXCHANGES; i++) {
        ncclGroupStart();
        ncclSend(NCCL_SENT_CASE);
        ncclRecv(NCCL_RECEIVED_CASE);
        ncclGroupEnd();
    }
    ncclAllReduce(NULL, NULL, COUNT, BF16, MAX, half, NULL);
    int wrong = executed() != 0;
    ncclGroupEnd();
    ncclAllReduce(NCCL_REDUCED_CASE);
    expect("ncclSend", all, NCCL_SENT_MATH, EXCHANGES);
    expect("ncclRecv", all, NCCL_RECEIVED_MATH, EXCHANGES);
    expect("ncclAllReduce", all / 2, NCCL_REDUCED_MATH, 1);
    expect("ncclAllReduce", all, NCCL_REDUCED_MATH, 1);
    return wrong || executed() != 2 * EXCHANGES + 2;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return strcmp(argv[1], "group") == 0 ? group() : 64;
    int ranks[2] = { 8, 2 }, wrong = 0;
    struct fake_row *row = fake_nccl_rows();
    for (int i = 0; i < 2; i++) {
        ncclComm_t c = (ncclComm_t)(void *)&ranks[i];
        row = fake_nccl_rows();
#define ROW(family, symbol)                                                                        \
    row->status = i ? 0 : 5;                                                                       \
    wrong += !i && symbol(family##_CASE) != 5;                                                     \
    row->status = 0;                                                                               \
    wrong += symbol(family##_CASE) != 0;                                                           \
    expect(#symbol, ranks[i], family##_MATH, 1);                                                   \
    row++;
#include "tracer/nccl.def"
#undef ROW
    }
    return wrong != 0;
}
