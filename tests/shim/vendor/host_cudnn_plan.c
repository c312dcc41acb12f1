/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that builds cuDNN's operation graphs and executes plans: `host_cudnn_plan SCENARIO`.
 * Prints what the trace must hold. Here: what is in a graph.
 */
#include "host_cudnn_plan.h"

#include "cudnn_build.h"

static void convolutions(void)
{
    D op[] = { CONV(FORWARD, F16, conv_y(F16), 0), CONV(TO_DATA, F16, conv_y(F16), 0),
               CONV(TO_FILTER, F32, conv_y(F32), 0), CONV(FORWARD, F16, conv_y(F16), 1) };
    static const int type[] = { TILEWISE_F16, TILEWISE_F16, TILEWISE_F32, TILEWISE_F16 };
    for (int i = 0; i < 4; i++) { /* rows of their own: each direction, each padding */
        execute(plan_of(&op[i], 1), i + 1);
        expect(conv(type[i]), i + 1);
    }
}

/* One graph built twice is one row, whatever its identifiers are. */
static void twice(void)
{
    execute(conv_plan(0), 3);
    execute(conv_plan(0), 4);
    expect(conv(TILEWISE_F16), 7);
}

static void attentions(void)
{
    D op[MOST_OPS] = { sdpa(NULL) };
    execute(plan_of(op, 1), 3);
    expect(attention(TILEWISE_NONE), 3);
    execute(plan_of(op, products(op)), 4);
    expect(attention(TILEWISE_F32), 4);
}

/* Heads of values of `width`. */
static int gradient(D *op, int64_t width)
{
    const int64_t *scores = SIZES(4, 16, 256, 512), *turned = SIZES(4, 16, 512, 256);
    D q = tensor(F16, SIZES(4, 16, 256, 64)), k = tensor(F16, SIZES(4, 16, 64, 512));
    D dy = tensor(F16, SIZES(4, 16, 256, width)), s = step(scores), p = step(scores);
    op[0] = matmul(q, k, s);
    op[1] = pointwise(FAKE_EXP, s, NULL, p);
    op[2] = matmul(dy, tensor(F16, SIZES(4, 16, width, 512)), step(scores));
    op[3] = matmul(step(turned), dy, tensor(F16, SIZES(4, 16, 512, width)));
    op[4] = matmul(step(scores), tensor(F16, SIZES(4, 16, 512, 64)), step(SIZES(4, 16, 256, 64)));
    op[5] = matmul(step(turned), q, tensor(F16, SIZES(4, 16, 512, 64)));
    return 6;
}

static void gradients(void)
{
    D op[MOST_OPS];
    execute(plan_of(op, gradient(op, 64)), 3);
    expect(attention(TILEWISE_F32), 3);
    execute(plan_of(op, gradient(op, 32)), 2);
    expect(shapeless, 2);
}

static void products_alone(void)
{
    D op = matmul(tensor(F16, SIZES(1, 4, 128, 64)), tensor(F16, SIZES(1, 4, 64, 256)),
                  tensor(F32, SIZES(1, 4, 128, 256)));
    execute(plan_of(&op, 1), 5);
    struct tilewise_signature s = conv(TILEWISE_F16);
    s.op = TILEWISE_OP_GEMM;
    s.layout = TILEWISE_ROW_MAJOR;
    s.dtype_c = s.dtype_d = TILEWISE_F32;
    s.alpha = TILEWISE_SCALAR_ONE;
    s.m = 128;
    s.n = 256;
    s.k = 64;
    s.batch = 4;
    s.lda = 64;
    s.ldb = s.ldc = s.ldd = 256;
    s.stride_a = 8192;
    s.stride_b = 16384;
    s.stride_c = s.stride_d = 32768;
    expect(s, 5);
}

/* With a bias and an activation at its end, and without the latter. */
static void fused(void)
{
    const int64_t *size = SIZES(8, 128, 28, 28);
    for (int ops = 3; ops > 1; ops--) {
        D y = step(size), z = ops == 3 ? step(size) : conv_y(F16);
        D op[] = { CONV(FORWARD, F16, y, 0),
                   pointwise(FAKE_ADD, y, tensor(F16, SIZES(1, 128, 1, 1)), z),
                   pointwise(FAKE_RELU, z, NULL, conv_y(F16)) };
        execute(plan_of(op, ops), ops);
        expect(conv(TILEWISE_F16), ops);
    }
}

/* What has no shape: counted, each graph apart. */
static void shapes_unknown(void)
{
    D x = conv_y(F16), op[2] = { pointwise(FAKE_EXP, x, NULL, conv_y(F16)) };
    execute(plan_of(op, 1), 1);
    expect(shapeless, 1);
    op[0] = CONV(FORWARD, F16, x, 0);
    op[1] = create(FAKE_OP_FUTURE);
    set_descriptor(op[1], FAKE_FUTURE_X, x);
    set_descriptor(op[1], FAKE_FUTURE_Y, conv_y(F16));
    finalized(op[1]);
    execute(plan_of(op, 2), 2);
    expect(shapeless, 2);
    execute(finalized(plan_unfinalized(op, 1, true)), 3); /* sizes come with each call */
    expect(shapeless, 3);
    op[0] = sdpa(tensor(F32, SIZES(4, 1, 8, 1)));
    execute(plan_of(op, 1), 4);
    expect(shapeless, 4);
    op[0] = CONV(FORWARD, F16, x, 1); /* two products that are no attention */
    op[1] = CONV(FORWARD, F16, x, 2);
    execute(plan_of(op, 2), 5);
    expect(shapeless, 5);
    D packed = tensor_of(F16, SIZES(8, 128, 28, 28), false);
    set(packed, FAKE_TENSOR_VECTOR, FAKE_INT64, 1, SIZES(4));
    op[0] = CONV(FORWARD, F16, finalized(packed), 0);
    execute(plan_of(op, 1), 6);
    expect(shapeless, 6);
}

static void types_unknown(void)
{
    D op = CONV(FORWARD, FUTURE_TYPE, conv_y(FUTURE_TYPE), 0);
    execute(plan_of(&op, 1), 1);
    expect(conv(TILEWISE_UNKNOWN), 1);
}

static const struct scenario graphs[] = {
    SCENARIO(convolutions),   SCENARIO(twice),          SCENARIO(attentions),
    SCENARIO(gradients),      SCENARIO(products_alone), SCENARIO(fused),
    SCENARIO(shapes_unknown), SCENARIO(types_unknown),  SCENARIO_END,
};

int main(int argc, char **argv)
{
    if (argc != 2 ||
        (!scenario_run(graphs, argv[1]) && !scenario_run(host_cudnn_plan_lives, argv[1])))
        return 64;
    return 0;
}
