/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls every row of cudnn.def: once refused, once accepted, and again with another padding (or
 * number of features), which is another row; prints what the trace must hold. A family without a
 * case here does not compile.
 */
#include "fake_cudnn.h"
#include "rowtext.h"

enum { F16 = 2 };

/* Eight images of 64 channels, 3x3 filters to 128 channels in 2 groups, 28x28 pixels out. */
static struct fake_extent image_of = { F16, 4, { 8, 64, 30, 30 }, { 57600, 900, 30, 1 } };
static struct fake_extent filter_of = { F16, 4, { 128, 32, 3, 3 }, { 0 } };
static struct fake_extent result_of = { F16, 4, { 8, 128, 28, 28 }, { 100352, 784, 28, 1 } };
static struct fake_conv conv_of = { 0, 1, 2 };

#define X                  (void *)&image_of
#define W                  (void *)&filter_of
#define Y                  (void *)&result_of
#define CONV               (void *)&conv_of
#define CUDNN_FORWARD_CASE NULL, NULL, X, NULL, W, NULL, CONV, 0, NULL, 0, NULL, Y, NULL
#define CUDNN_FUSED_CASE                                                                           \
    NULL, NULL, X, NULL, W, NULL, CONV, 0, NULL, 0, NULL, Y, NULL, Y, NULL, NULL, Y, NULL
#define CUDNN_TO_DATA_CASE   NULL, NULL, W, NULL, Y, NULL, CONV, 0, NULL, 0, NULL, X, NULL
#define CUDNN_TO_FILTER_CASE NULL, NULL, X, NULL, Y, NULL, CONV, 0, NULL, 0, NULL, W, NULL
/* Four sequences of 32 queries and 48 keys, 8 heads of 64 features projected from 512. */
static struct fake_extent queries_of = { F16, 4, { 32, 4, 1, 512 }, { 0, 1, 2, 3 } };
static struct fake_extent keys_of = { F16, 4, { 48, 4, 1, 512 }, { 0, 1, 2, 3 } };
static struct fake_attention attention_of = { 8, 512, 64 };

#define Q (void *)&queries_of
#define K (void *)&keys_of
#define CUDNN_ATTENTION_CASE                                                                       \
    NULL, (void *)&attention_of, -1, NULL, NULL, NULL, NULL, Q, NULL, NULL, K, NULL, K, NULL, Q,   \
        NULL, 0, NULL, 0, NULL, 0, NULL

static void expect_conv(const char *symbol)
{
    const struct tilewise_signature s = {
        .op = TILEWISE_OP_CONV,
        .dtype_a = TILEWISE_F16,
        .dtype_b = TILEWISE_F16,
        .dtype_c = TILEWISE_F16,
        .dtype_d = TILEWISE_F16,
        .compute = TILEWISE_F32,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .batch_kind = TILEWISE_BATCH_STRIDED,
        .m = 64,
        .n = 784,
        .k = 288,
        .batch = 16,
    };
    rowtext_print(symbol, &s, 1);
    rowtext_print(symbol, &s, 1); /* the other padding */
}

static void expect_attention(const char *symbol)
{
    const struct tilewise_signature s = {
        .op = TILEWISE_OP_ATTENTION,
        .dtype_a = TILEWISE_F16,
        .dtype_b = TILEWISE_F16,
        .dtype_c = TILEWISE_F16,
        .dtype_d = TILEWISE_F16,
        .compute = TILEWISE_F32,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .batch_kind = TILEWISE_BATCH_STRIDED,
        .m = 32,
        .n = 48,
        .k = 64,
        .batch = 32,
    };
    rowtext_print(symbol, &s, 1);
    rowtext_print(symbol, &s, 1); /* the other number of features */
}

#define CUDNN_FORWARD_EXPECT   expect_conv
#define CUDNN_FUSED_EXPECT     expect_conv
#define CUDNN_TO_DATA_EXPECT   expect_conv
#define CUDNN_TO_FILTER_EXPECT expect_conv
#define CUDNN_ATTENTION_EXPECT expect_attention

int main(void)
{
    struct fake_row *row = fake_cudnn_rows();
    int wrong = 0;
#define ROW(family, symbol)                                                                        \
    row->status = 8;                                                                               \
    wrong += symbol(family##_CASE) != 8;                                                           \
    row->status = 0;                                                                               \
    attention_of.size = 512;                                                                       \
    conv_of.pad = 0;                                                                               \
    wrong += symbol(family##_CASE) != 0;                                                           \
    conv_of.pad = 1;                                                                               \
    attention_of.size = 513;                                                                       \
    wrong += symbol(family##_CASE) != 0;                                                           \
    family##_EXPECT(#symbol);                                                                      \
    row++;
#include "tracer/cudnn.def"
#undef ROW
    return wrong != 0;
}
