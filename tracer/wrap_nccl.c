/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of NCCL: who sends how much to how many. Which peer or root is not recorded: it does
 * not change the work. Inside a group a call is queued; it counts when NCCL accepted it.
 */
#include "tracer/gpu.h"
#include "tracer/hook.h"
#include "tracer/nccl.h"
#include "tracer/sibling.h"
#include "tracer/stream.h"

#define SUCCESS ((ncclResult_t)0)

enum { SYSTEM_ERROR = 2 };

static ncclResult_t missing(void)
{
    return (ncclResult_t)SYSTEM_ERROR;
}

struct collective {
    const void *real, *comm;
    void *stream;
    uint32_t entry;
    size_t count;
    int type, reduction;
};

static int64_t ranks_of(const struct collective *c)
{
    static struct sibling known;
    int (*ask)(const void *, int *) = sibling_find(&known, c->real, "ncclCommCount");
    int ranks = 0;
    return ask && ask(c->comm, &ranks) == 0 ? ranks : 0;
}

static uint8_t dtype(int type)
{
    switch (type) {
#define X(number, name)                                                                            \
    case number:                                                                                   \
        return TILEWISE_##name;
        NCCL_DTYPE_LIST(X)
#undef X
    }
    return TILEWISE_UNKNOWN;
}

static __attribute__((noinline)) void leave(const struct gpu_call *call, const struct collective *c)
{
    uint8_t type = dtype(c->type);
    struct tilewise_signature key = {
        .op = TILEWISE_OP_COLLECTIVE,
        .dtype_a = type,
        .dtype_d = type,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .math_mode = (uint16_t)c->reduction,
        .entry = c->entry,
        .m = (int64_t)c->count,
        .n = ranks_of(c),
        .k = 1,
        .batch = 1,
    };
    if (type == TILEWISE_UNKNOWN)
        key.flags |= (uint16_t)((c->type & 0xff) << TILEWISE_OTHER_SHIFT);
    gpu_leave(call, c->stream, stream_number(c->stream), &key);
}

#define ROW(family, symbol)                                                                        \
    HOOK ncclResult_t symbol(family##_PARAMS);                                                     \
    INLINE ncclResult_t run_##symbol(const void *caller, __typeof__(&symbol) real,                 \
                                     family##_PARAMS)                                              \
    {                                                                                              \
        struct gpu_call call = gpu_enter(caller);                                                  \
        ncclResult_t status = real(family##_ARGS);                                                 \
        if (!call.mode)                                                                            \
            return status;                                                                         \
        call.end_ticks = clock_ticks();                                                            \
        if (status == SUCCESS)                                                                     \
            leave(&call,                                                                           \
                  &(struct collective){ (const void *)(uintptr_t)real, comm, stream,               \
                                        SLOT_##symbol, count, (int)type, family##_REDUCTION });    \
        else                                                                                       \
            gpu_fail(&call);                                                                       \
        return status;                                                                             \
    }                                                                                              \
    HOOK_DEFINE(ncclResult_t, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/nccl.def"
#undef ROW

HOOK_TABLE(wrap_nccl_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/nccl.def"
#undef ROW
HOOK_TABLE_END
