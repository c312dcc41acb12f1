/* SPDX-License-Identifier: Apache-2.0
 *
 * The products that gpu_kernels times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels_bench.h"

static void bench_product(struct kernels_bench *x)
{
    if (!kernels_bench_begin(x))
        return;
    kernels_bench_candidates(x, (const struct kernels_subject *const[]){ NULL });
    kernels_bench_end(x);
}

struct size {
    int64_t tokens, n, k;
};

/* Weights [n, k] in rows times activations [tokens, k], as PyTorch calls cuBLAS: T N. */
static void bench_linear(uint8_t dtype, uint8_t compute, const struct size *z)
{
    struct kernels_bench x = { .s = kernels_signature(dtype, compute, dtype) };
    x.s.trans_a = TILEWISE_T;
    x.s.m = z->n;
    x.s.n = z->tokens;
    x.s.k = z->k;
    x.s.lda = x.s.ldb = z->k;
    x.s.ldc = z->n;
    x.s.align_a = x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_ONE;
    bench_product(&x);
}

static void bench_square(uint8_t dtype, uint8_t compute, int64_t size, unsigned trans)
{
    struct kernels_bench x = { .s = kernels_signature(dtype, compute, dtype) };
    x.s.trans_a = trans & 1;
    x.s.trans_b = trans >> 1 & 1;
    x.s.m = x.s.n = x.s.k = x.s.lda = x.s.ldb = x.s.ldc = size;
    x.s.align_a = x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_ONE;
    bench_product(&x);
}

/* What --linear lists, of every type that a kernel is wanted for. */
static void bench_listed(const char *list)
{
    static const uint8_t types[][2] = { { TILEWISE_BF16, TILEWISE_F32 },
                                        { TILEWISE_F16, TILEWISE_F32 },
                                        { TILEWISE_F32, TILEWISE_TF32 },
                                        { TILEWISE_F32, TILEWISE_F32 } };
    struct size z;
    for (int length = 0;
         sscanf(list, "%" SCNd64 "x%" SCNd64 "x%" SCNd64 "%n", &z.tokens, &z.n, &z.k, &length) == 3;
         list += length + (list[length] == ','))
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
            bench_linear(types[i][0], types[i][1], &z);
    if (*list == '\0')
        return;
    fprintf(stderr, "gpu_kernels: --linear wants TOKENSxNxK,... and not '%s'\n", list);
    exit(64);
}

void kernels_products_time(void)
{
    /* The shapes of the first measurement of cuBLAS on an H200. */
    static const struct size linear[] = {
        { 1, 4096, 4096 },     { 1, 28672, 4096 },    { 4, 4096, 14336 },   { 8, 6144, 4096 },
        { 16, 4096, 4096 },    { 16, 28672, 4096 },   { 32, 4096, 14336 },  { 64, 6144, 4096 },
        { 64, 28672, 4096 },   { 128, 4096, 4096 },   { 256, 4096, 14336 }, { 512, 6144, 4096 },
        { 1024, 4096, 4096 },  { 100, 4096, 4096 },   { 333, 5120, 5120 },  { 1000, 1000, 1000 },
        { 2048, 28672, 4096 }, { 4096, 4096, 14336 }, { 128, 128, 128 },    { 512, 512, 512 },
        { 8192, 8192, 8192 },
    };
    size_t count = sizeof linear / sizeof linear[0];
    if (*kernels_options.linear) {
        bench_listed(kernels_options.linear);
        return;
    }
    for (size_t i = 0; i < count; i++)
        bench_linear(TILEWISE_BF16, TILEWISE_F32, &linear[i]);
    for (size_t i = 4; i < count; i += 3)
        bench_linear(TILEWISE_F16, TILEWISE_F32, &linear[i]);
    for (size_t i = 4; i < count; i += 4) {
        bench_linear(TILEWISE_F32, TILEWISE_TF32, &linear[i]);
        bench_linear(TILEWISE_F32, TILEWISE_F32, &linear[i]);
    }
    for (unsigned trans = 0; trans < 4 && !kernels_options.is_short; trans++) {
        bench_square(TILEWISE_BF16, TILEWISE_F32, 4096, trans);
        bench_square(TILEWISE_F32, TILEWISE_TF32, 2048, trans);
        bench_square(TILEWISE_F32, TILEWISE_F32, 2048, trans);
    }
    if (!kernels_options.is_short)
        bench_square(TILEWISE_F64, TILEWISE_F64, 1024, 0);
}
