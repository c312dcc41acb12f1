/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of cuDNN's calls for one convolution or attention. A convolution is recorded as an
 * implicit gemm, with a hash of what that leaves out (padding, strides, dilation, layout).
 */
#include "tracer/cudnn.h"
#include "tracer/cudnn_dtype.h"
#include "tracer/cudnn_graph.h"
#include "tracer/cudnn_handle.h"
#include "tracer/gpu.h"
#include "tracer/hook.h"
#include "tracer/sibling.h"

#define SUCCESS ((cudnnStatus_t)0)

enum { NOT_INITIALIZED = 1, DIMENSIONS = 8 };

static cudnnStatus_t missing(void)
{
    return (cudnnStatus_t)NOT_INITIALIZED;
}

enum { IMAGE, FILTER, QUERIES = IMAGE, KEYS = FILTER, RESULT, MANNER, DESCRIPTORS };

struct work {
    const void *real, *handle;
    uint32_t entry;
    int step; /* the one that an attention does, negative for all */
    const void *descriptor[DESCRIPTORS];
};

/* A tensor's or a filter's: for both, images or output channels first, then channels. */
struct extent {
    int type, count, size[DIMENSIONS];
};

static uint8_t dtype(int type)
{
    switch (type) {
#define X(number, name, word)                                                                      \
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
    if (!ask || ask(w->descriptor[FILTER], DIMENSIONS, &e->type, &format, &e->count, e->size) != 0)
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
    if (!ask || ask(w->descriptor[MANNER], DIMENSIONS - 2, &count, pad, stride, dilation, &mode,
                    compute) != 0)
        return false;
    mix(hash, pad, count);
    mix(hash, stride, count);
    mix(hash, dilation, count);
    mix(hash, &mode, 1);
    return ask_groups && ask_groups(w->descriptor[MANNER], groups) == 0 && *groups > 0;
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
    if (!read_tensor(w, w->descriptor[IMAGE], &image, &hash) || !read_filter(w, &filter, &hash) ||
        !read_tensor(w, w->descriptor[RESULT], &result, &hash) ||
        !read_conv(w, &groups, &compute, &hash))
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

/* The first axes of a sequence; the last is the vector. */
enum { TIME, BATCH, BEAM, AXES = 4 };

static bool read_sequence(const struct work *w, int which, struct extent *e, uint32_t *hash)
{
    static struct sibling known;
    int (*ask)(const void *, int *, int *, int, int *, int *, size_t *, size_t, int *, void *) =
        sibling_find(&known, w->real, "cudnnGetSeqDataDescriptor");
    int axis[AXES] = { 0 }, unused = 0;
    size_t lengths = 0;
    if (!ask || ask(w->descriptor[which], &e->type, &e->count, AXES, e->size, axis, &lengths, 0,
                    &unused, NULL) != 0)
        return false;
    mix(hash, axis, AXES);
    mix(hash, e->size, AXES);
    return e->count == AXES;
}

struct heads {
    int count, width, compute;
};

static bool read_heads(const struct work *w, struct heads *heads, uint32_t *hash)
{
    static struct sibling known;
    int (*ask)(const void *, unsigned *, int *, double *, int *, int *, int *, void **, void **,
               int *, int *, int *, int *, int *, int *, int *, int *, int *, int *, int *) =
        sibling_find(&known, w->real, "cudnnGetAttnDescriptor");
    enum { Q, K, V, Q_PROJECTED, K_PROJECTED, V_PROJECTED, O_PROJECTED, SIZES };
    int size[SIZES] = { 0 }, type = 0, math = 0, most[4] = { 0 };
    unsigned mode = 0;
    double scaler = 0;
    void *dropout[2];
    if (!ask || ask(w->descriptor[MANNER], &mode, &heads->count, &scaler, &type, &heads->compute,
                    &math, &dropout[0], &dropout[1], &size[Q], &size[K], &size[V],
                    &size[Q_PROJECTED], &size[K_PROJECTED], &size[V_PROJECTED], &size[O_PROJECTED],
                    &most[0], &most[1], &most[2], &most[3]) != 0)
        return false;
    mix(hash, size, SIZES);
    mix(hash, (int[]){ (int)mode, math }, 2);
    heads->width = size[Q_PROJECTED] ? size[Q_PROJECTED] : size[Q];
    return heads->count > 0;
}

static void set_attention(struct tilewise_signature *key, const struct work *w)
{
    struct extent q, k, result;
    struct heads heads;
    uint32_t hash = 0x811c9dc5u;
    if (!read_sequence(w, QUERIES, &q, &hash) || !read_sequence(w, KEYS, &k, &hash) ||
        !read_sequence(w, RESULT, &result, &hash) || !read_heads(w, &heads, &hash))
        return;
    mix(&hash, (int[]){ w->step >= 0 }, 1);
    key->op = TILEWISE_OP_ATTENTION;
    key->m = w->step < 0 ? q.size[TIME] : 1;
    key->n = k.size[TIME];
    key->k = heads.width;
    key->batch = (int64_t)q.size[BATCH] * q.size[BEAM] * heads.count;
    key->batch_kind = key->batch == 1 ? TILEWISE_BATCH_NONE : TILEWISE_BATCH_STRIDED;
    key->dtype_a = dtype(q.type);
    key->dtype_b = key->dtype_c = dtype(k.type);
    key->dtype_d = dtype(result.type);
    key->compute = dtype(heads.compute);
    key->flags |= (uint16_t)((hash >> 13 & 0xff) << TILEWISE_OTHER_SHIFT);
}

typedef void set_shape(struct tilewise_signature *key, const struct work *w);

static __attribute__((noinline)) void leave(const struct gpu_call *call, const struct work *w,
                                            set_shape *set)
{
    struct handle_state handle = cudnn_handle_state(w->handle, w->real);
    struct tilewise_signature key = cudnn_graph_shapeless;
    key.entry = w->entry;
    set(&key, w);
    gpu_leave(call, handle.stream, handle.stream_number, &key);
}

#define CUDNN_FORWARD_LEAVE   -1, set_conv
#define CUDNN_FUSED_LEAVE     -1, set_conv
#define CUDNN_TO_DATA_LEAVE   -1, set_conv
#define CUDNN_TO_FILTER_LEAVE -1, set_conv
#define CUDNN_ATTENTION_LEAVE step, set_attention
#define LEAVE(entry, step, set, ...)                                                               \
    leave(&call,                                                                                   \
          &(struct work){ (const void *)(uintptr_t)real, handle, entry, step, { __VA_ARGS__ } },   \
          set)
#define LEAVE_WITH(...) LEAVE(__VA_ARGS__)

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
            LEAVE_WITH(SLOT_##symbol, family##_LEAVE, family##_SHAPE);                             \
        else                                                                                       \
            gpu_fail(&call);                                                                       \
        return status;                                                                             \
    }                                                                                              \
    HOOK_DEFINE(cudnnStatus_t, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/cudnn.def"
#undef ROW

HOOK_TABLE(wrap_cudnn_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/cudnn.def"
#undef ROW
HOOK_TABLE_END
