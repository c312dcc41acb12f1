/* SPDX-License-Identifier: Apache-2.0
 *
 * How the programs build cuDNN's operation graphs and plans, and the rows of the trace that come of
 * them.
 */
#ifndef TILEWISE_TESTS_CUDNN_BUILD_H
#define TILEWISE_TESTS_CUDNN_BUILD_H

#include <stdlib.h>

#include "fake_cudnn.h"
#include "rowtext.h"

typedef cudnnBackendDescriptor_t D;

enum { F32 = 0, F16 = 2, FUTURE_TYPE = 77 };
enum { MOST_OPS = 12 };
#define SIZES(...) ((const int64_t[]){ __VA_ARGS__ })

static inline D create(int type)
{
    D d = NULL;
    cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)type, &d);
    return d;
}

static inline void set(D d, int name, int type, int64_t count, const void *value)
{
    if (cudnnBackendSetAttribute(d, name, type, count, value) != 0)
        exit(70);
}

static inline void set_descriptor(D d, int name, D value)
{
    set(d, name, FAKE_DESCRIPTOR_PTR, 1, &value);
}

static inline D finalized(D d)
{
    if (cudnnBackendFinalize(d) != 0)
        exit(71);
    return d;
}

/* Rank 4. */
static inline D tensor_of(int type, const int64_t *size, bool is_virtual)
{
    D t = create(FAKE_TENSOR);
    int64_t stride[4] = { size[1] * size[2] * size[3], size[2] * size[3], size[3], 1 };
    static _Atomic int64_t next_uid = 100;
    int64_t uid = next_uid++;
    set(t, FAKE_TENSOR_TYPE, FAKE_DATA_TYPE, 1, &type);
    set(t, FAKE_TENSOR_DIMS, FAKE_INT64, 4, size);
    set(t, FAKE_TENSOR_STRIDES, FAKE_INT64, 4, stride);
    set(t, FAKE_TENSOR_UID, FAKE_INT64, 1, &uid);
    set(t, FAKE_TENSOR_VIRTUAL, FAKE_BOOLEAN, 1, &is_virtual);
    return t;
}

static inline D tensor(int type, const int64_t *size)
{
    return finalized(tensor_of(type, size, false));
}

static inline D step(const int64_t *size)
{
    return finalized(tensor_of(F32, size, true));
}

static inline D manner(int type, int attribute)
{
    D d = create(type);
    set(d, attribute, FAKE_DATA_TYPE, 1, &(int){ F32 });
    return d;
}

static inline D conv_manner(int64_t pad)
{
    D d = manner(FAKE_CONVOLUTION, FAKE_CONV_TYPE);
    set(d, FAKE_CONV_PAD, FAKE_INT64, 2, SIZES(pad, pad));
    set(d, FAKE_CONV_STRIDE, FAKE_INT64, 2, SIZES(1, 1));
    set(d, FAKE_CONV_DILATION, FAKE_INT64, 2, SIZES(1, 1));
    return finalized(d);
}

/* Eight images of 64 channels, 3x3 filters to 128 channels in 2 groups, 28x28 pixels out. */
#define CONV(id, type, y, pad)                                                                     \
    conv_of(FAKE_OP_##id,                                                                          \
            (const int[]){ FAKE_##id##_X, FAKE_##id##_W, FAKE_##id##_Y, FAKE_##id##_MANNER },      \
            type, y, pad)
static inline D conv_of(int operation, const int *port, int type, D y, int64_t pad)
{
    D op = create(operation);
    set_descriptor(op, port[0], tensor(type, SIZES(8, 64, 30, 30)));
    set_descriptor(op, port[1], tensor(type, SIZES(128, 32, 3, 3)));
    set_descriptor(op, port[2], y);
    set_descriptor(op, port[3], conv_manner(pad));
    return finalized(op);
}

static inline D pointwise(int mode, D x, D b, D y)
{
    D op = create(FAKE_OP_POINTWISE), how = manner(FAKE_POINTWISE, FAKE_POINTWISE_TYPE);
    set(how, FAKE_POINTWISE_HOW, FAKE_POINTWISE_MODE, 1, &mode);
    set_descriptor(op, FAKE_POINTWISE_MANNER, finalized(how));
    set_descriptor(op, FAKE_POINTWISE_X, x);
    if (b)
        set_descriptor(op, FAKE_POINTWISE_B, b);
    set_descriptor(op, FAKE_POINTWISE_Y, y);
    return finalized(op);
}

static inline D reduction(D x, D y)
{
    D op = create(FAKE_OP_REDUCTION);
    set_descriptor(op, FAKE_REDUCTION_MANNER,
                   finalized(manner(FAKE_REDUCTION, FAKE_REDUCTION_TYPE)));
    set_descriptor(op, FAKE_REDUCTION_X, x);
    set_descriptor(op, FAKE_REDUCTION_Y, y);
    return finalized(op);
}

static inline D matmul(D a, D b, D c)
{
    D op = create(FAKE_OP_MATMUL);
    set_descriptor(op, FAKE_MATMUL_MANNER, finalized(manner(FAKE_MATMUL, FAKE_MATMUL_TYPE)));
    set_descriptor(op, FAKE_MATMUL_A, a);
    set_descriptor(op, FAKE_MATMUL_B, b);
    set_descriptor(op, FAKE_MATMUL_C, c);
    return finalized(op);
}

/* Four sequences, 16 heads of 64, 4 heads of keys, 256 queries, 512 keys. */
static inline D sdpa(D pages)
{
    D op = create(FAKE_OP_SDPA);
    set_descriptor(op, FAKE_SDPA_Q, tensor(F16, SIZES(4, 16, 256, 64)));
    set_descriptor(op, FAKE_SDPA_K, tensor(F16, SIZES(4, 4, 512, 64)));
    set_descriptor(op, FAKE_SDPA_V, tensor(F16, SIZES(4, 4, 512, 64)));
    set_descriptor(op, FAKE_SDPA_O, tensor(F16, SIZES(4, 16, 256, 64)));
    if (pages)
        set_descriptor(op, FAKE_SDPA_PAGES, pages);
    return finalized(op);
}

/* The same as products with a softmax between them. */
static inline int products(D *op)
{
    const int64_t *scores = SIZES(4, 16, 256, 512), *rows = SIZES(4, 16, 256, 1);
    D s = step(scores), most = step(rows), less = step(scores), power = step(scores);
    D sum = step(rows), p = step(scores);
    op[0] = matmul(tensor(F16, SIZES(4, 16, 256, 64)), tensor(F16, SIZES(4, 4, 64, 512)), s);
    op[1] = reduction(s, most);
    op[2] = pointwise(FAKE_SUB, s, most, less);
    op[3] = pointwise(FAKE_EXP, less, NULL, power);
    op[4] = reduction(power, sum);
    op[5] = pointwise(FAKE_DIV, power, sum, p);
    op[6] = matmul(p, tensor(F16, SIZES(4, 4, 512, 64)), tensor(F16, SIZES(4, 16, 256, 64)));
    return 7;
}

static inline D plan_unfinalized(const D *op, int count, bool is_dynamic)
{
    D graph = create(FAKE_GRAPH), engine = create(FAKE_ENGINE), config = create(FAKE_CONFIG);
    D plan = create(FAKE_PLAN);
    set(graph, FAKE_GRAPH_OPS, FAKE_DESCRIPTOR_PTR, count, op);
    if (is_dynamic)
        set(graph, FAKE_GRAPH_DYNAMIC, FAKE_BOOLEAN, 1, &is_dynamic);
    set_descriptor(engine, FAKE_ENGINE_GRAPH, finalized(graph));
    set_descriptor(config, FAKE_CONFIG_ENGINE, finalized(engine));
    set_descriptor(plan, FAKE_PLAN_CONFIG, finalized(config));
    return plan;
}

static inline D plan_of(const D *op, int count)
{
    return finalized(plan_unfinalized(op, count, false));
}

static inline D conv_y(int type)
{
    return tensor(type, SIZES(8, 128, 28, 28));
}

static inline D conv_plan(int64_t pad)
{
    D op = CONV(FORWARD, F16, conv_y(F16), pad);
    return plan_of(&op, 1);
}

static inline void execute(D plan, int times)
{
    for (int i = 0; i < times; i++)
        if (cudnnBackendExecute(NULL, plan, NULL) != 0)
            exit(72);
}

static inline struct tilewise_signature conv(int type)
{
    uint8_t t = (uint8_t)type;
    return (struct tilewise_signature){
        .op = TILEWISE_OP_CONV,
        .dtype_a = t,
        .dtype_b = t,
        .dtype_c = t,
        .dtype_d = t,
        .compute = TILEWISE_F32,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .batch_kind = TILEWISE_BATCH_STRIDED,
        .m = 64,
        .n = 784,
        .k = 288,
        .batch = 16,
    };
}

static inline struct tilewise_signature attention(int compute)
{
    struct tilewise_signature s = conv(TILEWISE_F16);
    s.op = TILEWISE_OP_ATTENTION;
    s.compute = (uint8_t)compute;
    s.m = 256;
    s.n = 512;
    s.k = 64;
    s.batch = 64;
    return s;
}

static const struct tilewise_signature shapeless = { .flags = TILEWISE_NOT_REPLAYABLE, .batch = 1 };

static inline void expect(struct tilewise_signature s, int times)
{
    rowtext_print("cudnnBackendExecute", &s, (unsigned long long)times);
}

#endif
