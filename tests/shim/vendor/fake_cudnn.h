/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake cuDNN's descriptors; a handle is its stream.
 */
#ifndef TILEWISE_TESTS_FAKE_CUDNN_H
#define TILEWISE_TESTS_FAKE_CUDNN_H

#include <stdbool.h>

#include "fake.h"
#include "tracer/cudnn.h"

struct fake_extent {
    int type, count, size[8], other[8]; /* other: strides, a filter's format, a sequence's axes */
};

struct fake_conv {
    int pad, stride, groups;
};

struct fake_attention {
    int heads, size, projected;
};

/* The backend's numbers that are used here. */
enum { FAKE_CONVOLUTION = 1, FAKE_ENGINE, FAKE_CONFIG, FAKE_PLAN = 5, FAKE_GRAPH = 15 };
enum { FAKE_PACK = 16 };
enum { FAKE_POINTWISE = 0, FAKE_TENSOR = 17, FAKE_MATMUL = 18, FAKE_REDUCTION = 21 };
enum { FAKE_DATA_TYPE = 1, FAKE_BOOLEAN, FAKE_INT64, FAKE_FLOAT, FAKE_POINTWISE_MODE = 14 };
enum { FAKE_DESCRIPTOR_PTR = 15, FAKE_CHAR = 24 };
enum { FAKE_ADD = 0, FAKE_DIV = 6, FAKE_SUB = 9, FAKE_EXP = 13, FAKE_RELU = 100 };
enum {
    FAKE_POINTWISE_HOW = 0,
    FAKE_POINTWISE_TYPE = 1,
    FAKE_CONV_TYPE = 100,
    FAKE_CONV_DILATION = 102,
    FAKE_CONV_STRIDE = 103,
    FAKE_CONV_PAD = 105,
    FAKE_CONFIG_ENGINE = 300,
    FAKE_PLAN_CONFIG = 401,
    FAKE_PLAN_JSON = 405,
    FAKE_GRAPH_OPS = 801,
    FAKE_GRAPH_DYNAMIC = 803,
    FAKE_TENSOR_TYPE = 901,
    FAKE_TENSOR_DIMS = 902,
    FAKE_TENSOR_STRIDES = 903,
    FAKE_TENSOR_VECTOR = 904,
    FAKE_TENSOR_UID = 906,
    FAKE_TENSOR_VIRTUAL = 907,
    FAKE_ENGINE_GRAPH = 1300,
    FAKE_MATMUL_TYPE = 1500,
    FAKE_REDUCTION_TYPE = 1601,
};

/* X(id, number of the descriptor, name in JSON); the last is of a cuDNN of the future. */
#define FAKE_OPERATION_LIST(X)                                                                     \
    X(FORWARD, 10, "CONVOLUTION_FORWARD")                                                          \
    X(TO_FILTER, 11, "CONVOLUTION_BACKWARD_FILTER")                                                \
    X(TO_DATA, 12, "CONVOLUTION_BACKWARD_DATA")                                                    \
    X(POINTWISE, 13, "POINTWISE")                                                                  \
    X(MATMUL, 19, "MATMUL")                                                                        \
    X(REDUCTION, 22, "REDUCTION")                                                                  \
    X(SDPA, 41, "SDPA_FWD")                                                                        \
    X(FUTURE, 99, "OF_THE_FUTURE")

/* X(id, number of the attribute, name in JSON); MANNER: the descriptor of how to do it. */
#define FAKE_PORT_LIST(X)                                                                          \
    X(FORWARD_MANNER, 702, "")                                                                     \
    X(FORWARD_W, 703, "W")                                                                         \
    X(FORWARD_X, 704, "X")                                                                         \
    X(FORWARD_Y, 705, "Y")                                                                         \
    X(TO_DATA_MANNER, 708, "")                                                                     \
    X(TO_DATA_W, 709, "W")                                                                         \
    X(TO_DATA_X, 710, "dX")                                                                        \
    X(TO_DATA_Y, 711, "dY")                                                                        \
    X(TO_FILTER_MANNER, 714, "")                                                                   \
    X(TO_FILTER_W, 715, "dW")                                                                      \
    X(TO_FILTER_X, 716, "X")                                                                       \
    X(TO_FILTER_Y, 717, "dY")                                                                      \
    X(POINTWISE_MANNER, 750, "")                                                                   \
    X(POINTWISE_X, 751, "X")                                                                       \
    X(POINTWISE_B, 752, "B")                                                                       \
    X(POINTWISE_Y, 753, "Y")                                                                       \
    X(MATMUL_A, 1520, "matA")                                                                      \
    X(MATMUL_B, 1521, "matB")                                                                      \
    X(MATMUL_C, 1522, "matC")                                                                      \
    X(MATMUL_MANNER, 1523, "")                                                                     \
    X(REDUCTION_X, 1610, "X")                                                                      \
    X(REDUCTION_Y, 1611, "Y")                                                                      \
    X(REDUCTION_MANNER, 1612, "")                                                                  \
    X(SDPA_Q, 2800, "Q")                                                                           \
    X(SDPA_K, 2801, "K")                                                                           \
    X(SDPA_V, 2802, "V")                                                                           \
    X(SDPA_O, 2803, "O")                                                                           \
    X(SDPA_PAGES, 2807, "pageTableK")                                                              \
    X(FUTURE_X, 9900, "X")                                                                         \
    X(FUTURE_Y, 9901, "Y")

#define X(id, number, name) FAKE_OP_##id = number,
enum { FAKE_OPERATION_LIST(X) FAKE_NO_OPERATION };
#undef X
#define X(id, number, name) FAKE_##id = number,
enum { FAKE_PORT_LIST(X) FAKE_NO_PORT };
#undef X

#define ROW(family, symbol) cudnnStatus_t symbol(family##_PARAMS);
#include "tracer/cudnn.def"
#include "tracer/cudnn_plan.def"
#include "tracer/cudnn_state.def"
#undef ROW
int cudnnGetTensorNdDescriptor(const struct fake_extent *e, int most, int *type, int *count,
                               int *size, int *stride);
int cudnnGetFilterNdDescriptor(const struct fake_extent *e, int most, int *type, int *format,
                               int *count, int *size);
int cudnnGetConvolutionNdDescriptor(const struct fake_conv *c, int most, int *count, int *pad,
                                    int *stride, int *dilation, int *mode, int *compute);
int cudnnGetConvolutionGroupCount(const struct fake_conv *c, int *groups);
int cudnnGetSeqDataDescriptor(const struct fake_extent *e, int *type, int *count, int most,
                              int *size, int *axis, size_t *lengths, size_t most_lengths,
                              int *length, void *padding);
int cudnnGetAttnDescriptor(const struct fake_attention *a, unsigned *mode, int *heads,
                           double *scaler, int *type, int *compute, int *math, void **dropout,
                           void **post_dropout, int *q, int *k, int *v, int *q_projected,
                           int *k_projected, int *v_projected, int *o_projected, int *most_q,
                           int *most_k, int *most_batch, int *most_beam);
int cudnnGetStream(void *handle, void **stream);
extern uint64_t fake_cudnn_asked; /* calls of it */
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                             const void *value);
int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t most,
                             int64_t *count, void *value);
extern fake_rows fake_cudnn_rows;
/* What an execution calls in the middle, as engines do. */
extern void (*fake_cudnn_engine)(void *stream);

/* Behind the rows of the backend. */
int fake_cudnn_create(int type, void **out);
int fake_cudnn_finalize(void *descriptor);
int fake_cudnn_destroy(void *descriptor);
bool fake_cudnn_is_plan(const void *descriptor);
/* How often attributes of descriptors that are no plans were read. */
extern _Atomic int fake_cudnn_reads;

#endif
