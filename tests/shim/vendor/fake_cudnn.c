/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake cuDNN from cudnn.def, cudnn_plan.def and cudnn_state.def. Descriptors are what
 * fake_cudnn.h says.
 */
#include <string.h>

#include "fake_cudnn.h"

enum {
#define ROW(family, symbol) AT_##symbol,
#include "tracer/cudnn.def"
#include "tracer/cudnn_plan.def"
#include "tracer/cudnn_state.def"
#undef ROW
    ROWS
};

static struct fake_row rows[ROWS + 1] = {
#define ROW(family, symbol) { #symbol, 0, 0, 0 },
#include "tracer/cudnn.def"
#include "tracer/cudnn_plan.def"
#include "tracer/cudnn_state.def"
#undef ROW
};

struct fake_row *fake_cudnn_rows(void)
{
    return rows;
}

int cudnnGetTensorNdDescriptor(const struct fake_extent *e, int most, int *type, int *count,
                               int *size, int *stride)
{
    *type = e->type;
    *count = e->count;
    for (int i = 0; i < e->count && i < most; i++) {
        size[i] = e->size[i];
        stride[i] = e->other[i];
    }
    return 0;
}

int cudnnGetFilterNdDescriptor(const struct fake_extent *e, int most, int *type, int *format,
                               int *count, int *size)
{
    int unused[8];
    *format = e->other[0];
    return cudnnGetTensorNdDescriptor(e, most, type, count, size, unused);
}

int cudnnGetConvolutionNdDescriptor(const struct fake_conv *c, int most, int *count, int *pad,
                                    int *stride, int *dilation, int *mode, int *compute)
{
    *count = 2;
    for (int i = 0; i < 2 && i < most; i++) {
        pad[i] = c->pad;
        stride[i] = c->stride;
        dilation[i] = 1;
    }
    *mode = 1;
    *compute = 0;
    return 0;
}

int cudnnGetConvolutionGroupCount(const struct fake_conv *c, int *groups)
{
    *groups = c->groups;
    return 0;
}

int cudnnGetSeqDataDescriptor(const struct fake_extent *e, int *type, int *count, int most,
                              int *size, int *axis, size_t *lengths, size_t most_lengths,
                              int *length, void *padding)
{
    (void)length;
    (void)most_lengths;
    *lengths = (size_t)e->size[1];
    if (padding)
        memset(padding, 0, sizeof(float));
    return cudnnGetTensorNdDescriptor(e, most, type, count, size, axis);
}

int cudnnGetAttnDescriptor(const struct fake_attention *a, unsigned *mode, int *heads,
                           double *scaler, int *type, int *compute, int *math, void **dropout,
                           void **post_dropout, int *q, int *k, int *v, int *q_projected,
                           int *k_projected, int *v_projected, int *o_projected, int *most_q,
                           int *most_k, int *most_batch, int *most_beam)
{
    *mode = 0;
    *heads = a->heads;
    *scaler = 1;
    *type = 2;
    *compute = *math = 0;
    *dropout = *post_dropout = NULL;
    *q = *k = *v = a->size;
    *q_projected = *k_projected = *v_projected = *o_projected = a->projected;
    *most_q = *most_k = *most_batch = *most_beam = 1024;
    return 0;
}

/* A handle's stream is called as the handle, until it is told another one. */
static struct {
    void *handle, *stream;
} told[16];

uint64_t fake_cudnn_asked;

static void **told_to(void *handle, void *name)
{
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (told[i].handle == name) {
            told[i].handle = handle;
            return &told[i].stream;
        }
    return NULL;
}

static void *stream_of(void *handle)
{
    void **stream = handle ? told_to(handle, handle) : NULL;
    return stream ? *stream : handle;
}

static int set_stream(void *handle, void *stream)
{
    void **place = told_to(handle, handle);
    if (!place)
        place = told_to(handle, NULL);
    if (!place)
        return 1001;
    *place = stream;
    return 0;
}

/* Its place is free for another one. */
static int destroy_handle(void *handle)
{
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (told[i].handle == handle)
            told[i].handle = NULL;
    return 0;
}

int cudnnGetStream(void *handle, void **stream)
{
    fake_cudnn_asked++;
    *stream = stream_of(handle);
    return 0;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

void (*fake_cudnn_engine)(void *stream);

static int execute(void *handle, const void *plan, struct fake_row *row)
{
    if (plan && !fake_cudnn_is_plan(plan))
        return 1001;
    if (fake_cudnn_engine)
        fake_cudnn_engine(stream_of(handle));
    fake_work(stream_of(handle), row);
    return 0;
}

static int populate(const void *plan, void *graph)
{
    if (!fake_cudnn_is_plan(plan))
        return 1001;
    fake_graph_work(graph, &rows[AT_cudnnBackendExecute]);
    return 0;
}

#define WORK                    (fake_work(handle, row), 0)
#define CUDNN_FORWARD_DO        WORK
#define CUDNN_FUSED_DO          WORK
#define CUDNN_TO_DATA_DO        WORK
#define CUDNN_TO_FILTER_DO      WORK
#define CUDNN_ATTENTION_DO      WORK
#define CUDNN_EXECUTE_DO        execute(handle, plan, row)
#define CUDNN_POPULATE_DO       populate(plan, graph)
#define CUDNN_SET_STREAM_DO     set_stream(handle, stream)
#define CUDNN_DESTROY_HANDLE_DO destroy_handle(handle)
#define CUDNN_CREATE_DO         fake_cudnn_create((int)type, descriptor)
#define CUDNN_FINALIZE_DO       fake_cudnn_finalize(descriptor)
#define CUDNN_DESTROY_DO        fake_cudnn_destroy(descriptor)

#define ROW(family, symbol)                                                                        \
    cudnnStatus_t symbol(family##_PARAMS)                                                          \
    {                                                                                              \
        struct fake_row *row = &rows[AT_##symbol];                                                 \
        return (cudnnStatus_t)(row->status ? row->status : family##_DO);                           \
    }
#include "tracer/cudnn.def"
#include "tracer/cudnn_plan.def"
#include "tracer/cudnn_state.def"
#undef ROW
