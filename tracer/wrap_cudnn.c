/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of cuDNN. A convolution is recorded as an implicit gemm, with a hash of what that
 * leaves out (padding, strides, dilation, layout). A backend plan is counted and timed without a
 * shape.
 */
#include "tracer/cudnn.h"
#include "tracer/gpu.h"
#include "tracer/hook.h"
#include "tracer/sibling.h"
#include "tracer/stream.h"

#define SUCCESS ((cudnnStatus_t)0)

enum { NOT_INITIALIZED = 1, DIMENSIONS = 8 };

static cudnnStatus_t missing(void)
{
    return (cudnnStatus_t)NOT_INITIALIZED;
}

struct work {
    const void *real, *handle;
    uint32_t entry;
    const void *image, *filter, *result, *conv; /* descriptors, NULL for a plan */
};

/* A tensor's or a filter's: for both, images or output channels first, then channels. */
struct extent {
    int type, count, size[DIMENSIONS];
};

static uint8_t dtype(int type)
{
    switch (type) {
#define X(number, name)                                                                            \
    case number:                                                                                   \
        return TILEWISE_##name;
        CUDNN_DTYPE_LIST(X)
#undef X
    }
    return TILEWISE_UNKNOWN;
}

static void mix(uint32_t *hash, const int *value, int count)
{
    for (int i = 0; i < count && i < DIMENSIONS; i++)
        *hash = (*hash ^ (uint32_t)value[i]) * 0x9e3779b1u;
}

static bool read_tensor(const struct work *w, const void *tensor, struct extent *e, uint32_t *hash)
{
    static struct sibling known;
    int (*ask)(const void *, int, int *, int *, int *, int *) =
        sibling_find(&known, w->real, "cudnnGetTensorNdDescriptor");
    int stride[DIMENSIONS] = { 0 };
    if (!ask || ask(tensor, DIMENSIONS, &e->type, &e->count, e->size, stride) != 0)
        return false;
    mix(hash, stride, e->count);
    return e->count >= 3 && e->count <= DIMENSIONS;
}

static bool read_filter(const struct work *w, struct extent *e, uint32_t *hash)
{
    static struct sibling known;
    int (*ask)(const void *, int, int *, int *, int *, int *) =
        sibling_find(&known, w->real, "cudnnGetFilterNdDescriptor");
    int format = 0;
    if (!ask || ask(w->filter, DIMENSIONS, &e->type, &format, &e->count, e->size) != 0)
        return false;
    mix(hash, &format, 1);
    return e->count >= 3 && e->count <= DIMENSIONS;
}

static bool read_conv(const struct work *w, int *groups, int *compute, uint32_t *hash)
{
    static struct sibling known, known_groups;
    int (*ask)(const void *, int, int *, int *, int *, int *, int *, int *) =
        sibling_find(&known, w->real, "cudnnGetConvolutionNdDescriptor");
    int (*ask_groups)(const void *, int *) =
        sibling_find(&known_groups, w->real, "cudnnGetConvolutionGroupCount");
    int pad[DIMENSIONS] = { 0 }, stride[DIMENSIONS] = { 0 }, dilation[DIMENSIONS] = { 0 };
    int count = 0, mode = 0;
    if (!ask || ask(w->conv, DIMENSIONS - 2, &count, pad, stride, dilation, &mode, compute) != 0)
        return false;
    mix(hash, pad, count);
    mix(hash, stride, count);
    mix(hash, dilation, count);
    mix(hash, &mode, 1);
    return ask_groups && ask_groups(w->conv, groups) == 0 && *groups > 0;
}

static int64_t product(const struct extent *e, int from)
{
    int64_t result = 1;
    for (int i = from; i < e->count; i++)
        result = e->size[i] > 0 && result < INT64_MAX / e->size[i] ? result * e->size[i] : 0;
    return result;
}

static void set_conv(struct tilewise_signature *key, const struct work *w)
{
    struct extent image, filter, result;
    uint32_t hash = 0x811c9dc5u;
    int groups = 1, compute = 0;
    if (!read_tensor(w, w->image, &image, &hash) || !read_filter(w, &filter, &hash) ||
        !read_tensor(w, w->result, &result, &hash) || !read_conv(w, &groups, &compute, &hash))
        return; /* counted without a shape */
    key->op = TILEWISE_OP_CONV;
    key->m = filter.size[0] / groups;
    key->n = product(&result, 2);
    key->k = product(&filter, 1);
    key->batch = (int64_t)result.size[0] * groups;
    key->batch_kind = key->batch == 1 ? TILEWISE_BATCH_NONE : TILEWISE_BATCH_STRIDED;
    key->dtype_a = dtype(filter.type);
    key->dtype_b = dtype(image.type);
    key->dtype_c = key->dtype_d = dtype(result.type);
    key->compute = dtype(compute);
    key->flags |= (uint16_t)((hash >> 13 & 0xff) << TILEWISE_OTHER_SHIFT);
}

static __attribute__((noinline)) void leave(const struct gpu_call *call, const struct work *w)
{
    static struct sibling known;
    int (*ask)(const void *, void **) = sibling_find(&known, w->real, "cudnnGetStream");
    void *stream = NULL;
    struct tilewise_signature key = {
        .op = TILEWISE_OP_OTHER,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .entry = w->entry,
        .batch = 1,
    };
    if (ask)
        ask(w->handle, &stream);
    if (w->conv)
        set_conv(&key, w);
    gpu_leave(call, stream, stream_number(stream), &key);
}

#define ROW(family, symbol)                                                                        \
    HOOK cudnnStatus_t symbol(family##_PARAMS);                                                    \
    INLINE cudnnStatus_t run_##symbol(const void *caller, __typeof__(&symbol) real,                \
                                      family##_PARAMS)                                             \
    {                                                                                              \
        struct gpu_call call = gpu_enter(caller);                                                  \
        cudnnStatus_t status = real(family##_ARGS);                                                \
        if (!call.mode)                                                                            \
            return status;                                                                         \
        call.end_ticks = clock_ticks();                                                            \
        if (status == SUCCESS)                                                                     \
            leave(&call, &(struct work){ (const void *)(uintptr_t)real, handle, SLOT_##symbol,     \
                                         family##_SHAPE });                                        \
        else                                                                                       \
            gpu_fail(&call);                                                                       \
        return status;                                                                             \
    }                                                                                              \
    HOOK_DEFINE(cudnnStatus_t, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/cudnn.def"
#undef ROW

HOOK_TABLE(wrap_cudnn_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, symbol, missing)
#include "tracer/cudnn.def"
#undef ROW
HOOK_TABLE_END
