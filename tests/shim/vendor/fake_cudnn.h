/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake cuDNN's descriptors; a handle is its stream.
 */
#ifndef TILEWISE_TESTS_FAKE_CUDNN_H
#define TILEWISE_TESTS_FAKE_CUDNN_H

#include "fake.h"
#include "tracer/cudnn.h"

struct fake_extent {
    int type, count, size[8], other[8]; /* other: strides, or the filter's format */
};

struct fake_conv {
    int pad, stride, groups;
};

#define ROW(family, symbol) cudnnStatus_t symbol(family##_PARAMS);
#include "tracer/cudnn.def"
#undef ROW
int cudnnGetTensorNdDescriptor(const struct fake_extent *e, int most, int *type, int *count,
                               int *size, int *stride);
int cudnnGetFilterNdDescriptor(const struct fake_extent *e, int most, int *type, int *format,
                               int *count, int *size);
int cudnnGetConvolutionNdDescriptor(const struct fake_conv *c, int most, int *count, int *pad,
                                    int *stride, int *dilation, int *mode, int *compute);
int cudnnGetConvolutionGroupCount(const struct fake_conv *c, int *groups);
int cudnnGetStream(void *handle, void **stream);
extern fake_rows fake_cudnn_rows;

#endif
