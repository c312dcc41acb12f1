/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake cuDNN from cudnn.def. Descriptors are what fake_cudnn.h says.
 */
#include <string.h>

#include "fake_cudnn.h"

enum {
#define ROW(family, symbol) AT_##symbol,
#include "tracer/cudnn.def"
#undef ROW
    ROWS
};

static struct fake_row rows[ROWS + 1] = {
#define ROW(family, symbol) { #symbol, 0, 0, 0 },
#include "tracer/cudnn.def"
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

int cudnnGetStream(void *handle, void **stream)
{
    *stream = handle;
    return 0;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ROW(family, symbol)                                                                        \
    cudnnStatus_t symbol(family##_PARAMS)                                                          \
    {                                                                                              \
        if (rows[AT_##symbol].status)                                                              \
            return (cudnnStatus_t)rows[AT_##symbol].status;                                        \
        fake_work(handle, &rows[AT_##symbol]);                                                     \
        return 0;                                                                                  \
    }
#include "tracer/cudnn.def"
#undef ROW
