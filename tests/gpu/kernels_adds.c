/* SPDX-License-Identifier: Apache-2.0
 *
 * The adds that gpu_kernels times, also against traffic: what moves as many bytes and adds nothing.
 */
#include <math.h>

#include "kernels_bench.h"
#include "traffic.h"

/* Three halves of y are read and as many written: as many bytes as an add moves. */
static int call_memcpy(const struct kernels_bench *x, const struct kernels_subject *me, int index)
{
    struct tilewise_args args = kernels_bench_args(x, index);
    (void)me;
    return (int)cudaMemcpyAsync(args.c, args.b, x->add_bytes / 2 * 3, cudaMemcpyDeviceToDevice,
                                kernels_stream);
}

/* The same by a kernel. */
static int call_copy(const struct kernels_bench *x, const struct kernels_subject *me, int index)
{
    struct tilewise_args args = kernels_bench_args(x, index);
    return traffic_move(args.b, NULL, args.c, x->add_bytes / 2 * 3, me->once, kernels_stream);
}

/* Two reads and one write elsewhere. */
static int call_triad(const struct kernels_bench *x, const struct kernels_subject *me, int index)
{
    struct tilewise_args args = kernels_bench_args(x, index);
    return traffic_move(args.b, args.c, (void *)args.a, x->add_bytes, me->once, kernels_stream);
}

/* Two reads, and one of them is written: what an add does. */
static int call_update(const struct kernels_bench *x, const struct kernels_subject *me, int index)
{
    struct tilewise_args args = kernels_bench_args(x, index);
    return traffic_move(args.b, args.c, args.c, x->add_bytes, me->once, kernels_stream);
}

static const struct kernels_subject copy = { .name = "memcpy", .call = call_memcpy };

/* What moves as many bytes as the add, each against the copy that CUDA makes; the fastest that
 * reads two and writes one. */
static const struct kernels_subject *fastest_traffic(const struct kernels_bench *x)
{
    static const struct kernels_subject moves[] = {
        { "copy_kernel", call_copy, NULL, false },
        { "copy_kernel_once", call_copy, NULL, true },
        { "read2_write1", call_triad, NULL, false },
        { "read2_write1_once", call_triad, NULL, true },
        { "update", call_update, NULL, false },
        { "update_once", call_update, NULL, true },
    };
    const struct kernels_subject *best = NULL;
    double best_us = INFINITY;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        bool is_spared = moves[i].once || moves[i].call == call_copy;
        if (kernels_options.is_short && is_spared)
            continue;
        double us = kernels_bench_compare(x, &moves[i], &copy);
        if (moves[i].call != call_copy && us > 0 && us < best_us) {
            best_us = us;
            best = &moves[i];
        }
    }
    return best;
}

/* A vector (n is 1, the steps are 1), or a matrix in columns with gaps. */
static void bench_add(uint8_t dtype, int64_t m, int64_t n, int64_t ldb, int64_t ldc)
{
    struct kernels_bench x = { .s = kernels_signature(dtype, TILEWISE_F32, dtype) };
    x.s.op = TILEWISE_OP_ADD;
    x.s.dtype_a = TILEWISE_NONE;
    x.s.m = m;
    x.s.n = n;
    x.s.k = 1;
    x.s.ldb = ldb;
    x.s.ldc = ldc;
    x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_OTHER;
    x.s.beta = TILEWISE_SCALAR_ONE;
    if (!kernels_bench_begin(&x))
        return;
    kernels_bench_candidates(
        &x, (const struct kernels_subject *const[]){ &copy, fastest_traffic(&x), NULL });
    kernels_bench_end(&x);
}

void kernels_adds_time(void)
{
    static const uint8_t dtypes[] = { TILEWISE_F32, TILEWISE_F16, TILEWISE_BF16 };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        for (int64_t count = 1 << 20; count <= 1 << 27; count *= 128)
            bench_add(dtypes[i], count, 1, 1, 1);
        bench_add(dtypes[i], 1 << 24, 1, 1, 1);
        bench_add(dtypes[i], 4096, 4096, 4224, 4160);
        bench_add(dtypes[i], 1000, 16384, 1024, 1016);
    }
}
