/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls cublasLtMatmul with every kind of descriptor and prints the rows that a trace must hold;
 * for a call that cannot be replayed without the hash that tells it from others. The descriptors
 * live on the stack, at the same addresses for every call. `host_lt old`: as a program would that
 * was built with an older header. `host_lt asked`: prints how many getters the shim asked for 1000
 * calls.
 */
#include <string.h>

#include "fake_cublaslt.h"
#include "rowtext.h"

/* cublasLt's numbers of what is set here. */
enum { POINTER_MODE = 2, TRANS_A, TRANS_B, TRANS_C, FILL_MODE, EPILOGUE, AUX_LD = 12 };
enum { SM_COUNT = 15, A_SCALE = 17, B_SCALE = 18, AMAX = 21, FAST_ACCUM = 25, BIAS_TYPE = 26 };
enum { A_MODE = 31, B_MODE = 32, ORDER = 1, BATCH = 5, STRIDE = 6, PLANE = 7, BATCH_MODE = 8 };
enum { F32 = 0, F16 = 2, I8 = 3, I32 = 10, BF16 = 14, E4M3 = 28, E5M2 = 29, E2M1 = 33 };
enum { COMPUTE_F16 = 64, COMPUTE_F32 = 68, COMPUTE_I32 = 72, COMPUTE_TF32 = 77 };
enum { M = 70, N = 50, K = 30, LD = 100, ROUNDS = 3 };

struct problem {
    _Alignas(16) uint8_t desc[FAKE_LT_BYTES], layout[4][FAKE_LT_BYTES];
    const void *c;
    struct tilewise_signature expected;
};

static size_t desc_bytes = FAKE_LT_BYTES;

static void set(struct problem *p, int number, int value)
{
    cublasLtMatmulDescSetAttribute(p->desc, number, &value, number == FAST_ACCUM ? 1 : 4);
}

static void set_wide(struct problem *p, int number, int64_t value)
{
    cublasLtMatmulDescSetAttribute(p->desc, number, &value, 8);
}

static void set_layouts(struct problem *p, int number, int64_t value)
{
    for (int i = 0; i < 4; i++)
        cublasLtMatrixLayoutSetAttribute(p->layout[i], number, &value,
                                         number == STRIDE || number == PLANE ? 8 : 4);
}

/* A(T) by B, types as given. */
static struct problem start(int in, int out, int compute, int scale)
{
    struct problem p = { .c = (void *)0x30000002 };
    memset(p.desc, 0xee, sizeof p.desc);
    memset(p.layout, 0xee, sizeof p.layout);
    cublasLtMatmulDescInit_internal(p.desc, desc_bytes, compute, scale);
    cublasLtMatrixLayoutInit_internal(p.layout[0], 64, in, K, M, LD);
    cublasLtMatrixLayoutInit_internal(p.layout[1], 64, in, K, N, LD + 1);
    cublasLtMatrixLayoutInit_internal(p.layout[2], 64, out, M, N, LD + 2);
    cublasLtMatrixLayoutInit_internal(p.layout[3], 64, out, M, N, LD + 3);
    set(&p, TRANS_A, 1);
    p.expected = (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .trans_a = TILEWISE_T,
        .dtype_a = TILEWISE_F32,
        .dtype_b = TILEWISE_F32,
        .dtype_c = TILEWISE_F32,
        .dtype_d = TILEWISE_F32,
        .compute = TILEWISE_F32,
        .scale = TILEWISE_F32,
        .alpha = TILEWISE_SCALAR_UNREAD,
        .beta = TILEWISE_SCALAR_UNREAD,
        .align_a = 4,
        .align_b = 4,
        .align_c = 1,
        .align_d = 3,
        .math_mode = (uint16_t)(compute << 8),
        .m = M,
        .n = N,
        .k = K,
        .batch = 1,
        .lda = LD,
        .ldb = LD + 1,
        .ldc = LD + 2,
        .ldd = LD + 3,
    };
    return p;
}

static struct problem plain(void)
{
    return start(F32, F32, COMPUTE_F32, F32);
}

static void types(struct problem *p, int in, int out, int compute)
{
    p->expected.dtype_a = p->expected.dtype_b = (uint8_t)in;
    p->expected.dtype_c = p->expected.dtype_d = (uint8_t)out;
    p->expected.compute = (uint8_t)compute;
}

/* Of each row, from the second round on, the recorder has what it says. */
static int round_number;

static void run(struct problem *p)
{
    cublasLtMatmul(NULL, (void *)p->desc, NULL, (void *)0x10000100, (void *)p->layout[0],
                   (void *)0x20000010, (void *)p->layout[1], NULL, p->c, (void *)p->layout[2],
                   (void *)0x40000008, (void *)p->layout[3], NULL, NULL, 0, NULL);
    if (round_number == 0)
        rowtext_print("cublasLtMatmul", &p->expected, ROUNDS);
}

static void run_strange(struct problem *p)
{
    p->expected.flags |= TILEWISE_NOT_REPLAYABLE;
    run(p);
}

static void replayable(void)
{
    struct problem p = plain();
    run(&p);
    p = start(BF16, BF16, COMPUTE_F32, F32); /* torch addmm with bias */
    types(&p, TILEWISE_BF16, TILEWISE_BF16, TILEWISE_F32);
    set(&p, EPILOGUE, p.expected.epilogue = 4);
    set_wide(&p, 8, 0x1234);
    run(&p);
    p = start(E4M3, BF16, COMPUTE_F32, F32); /* torch _scaled_mm */
    types(&p, TILEWISE_E4M3, TILEWISE_BF16, TILEWISE_F32);
    set(&p, FAST_ACCUM, 1);
    set_wide(&p, A_SCALE, 0x1000);
    set_wide(&p, B_SCALE, 0x2000);
    set(&p, EPILOGUE, 4);
    set(&p, BIAS_TYPE, BF16);
    p.expected.epilogue = 4 | TILEWISE_BF16 << 11;
    p.expected.flags = TILEWISE_FAST_ACCUM;
    p.expected.scale_a = p.expected.scale_b = 1;
    p.c = NULL;
    p.expected.align_c = 0;
    run(&p);
    set_wide(&p, A_SCALE, 0x3000); /* other addresses are the same row: see the count below */
    set(&p, A_MODE, 3);
    set(&p, B_MODE, 3);
    p.expected.scale_a = p.expected.scale_b = 4;
    run(&p);
    p = start(E2M1, BF16, COMPUTE_F32, F32); /* NVFP4 */
    types(&p, TILEWISE_E2M1, TILEWISE_BF16, TILEWISE_F32);
    set_wide(&p, A_SCALE, 0x1000);
    set_wide(&p, B_SCALE, 0x2000);
    set(&p, A_MODE, 1);
    set(&p, B_MODE, 1);
    p.expected.scale_a = p.expected.scale_b = 2;
    run(&p);
    p = start(I8, I32, COMPUTE_I32, I32);
    types(&p, TILEWISE_I8, TILEWISE_I32, TILEWISE_I32);
    p.expected.scale = TILEWISE_I32;
    run(&p);
    p = start(F32, F32, COMPUTE_TF32, F32);
    p.expected.compute = TILEWISE_TF32;
    run(&p);
    p = start(F16, F16, COMPUTE_F16, F16);
    types(&p, TILEWISE_F16, TILEWISE_F16, TILEWISE_F16);
    p.expected.scale = TILEWISE_F16;
    run(&p);
}

static void shapes(void)
{
    struct problem p = plain();
    set_layouts(&p, BATCH, 6);
    set_layouts(&p, STRIDE, 5000);
    p.expected.batch_kind = TILEWISE_BATCH_STRIDED;
    p.expected.batch = 6;
    p.expected.stride_a = p.expected.stride_b = p.expected.stride_c = p.expected.stride_d = 5000;
    run(&p);
    set_layouts(&p, STRIDE, 0);
    set_layouts(&p, BATCH_MODE, 1);
    p.expected.batch_kind = TILEWISE_BATCH_POINTERS;
    p.expected.stride_a = p.expected.stride_b = p.expected.stride_c = p.expected.stride_d = 0;
    run(&p);
    p = plain();
    set_layouts(&p, ORDER, 1);
    p.expected.layout = TILEWISE_ROW_MAJOR;
    run(&p);
    p = plain();
    set(&p, POINTER_MODE, 1);
    p.expected.alpha = p.expected.beta = TILEWISE_SCALAR_DEVICE;
    run(&p);
}

/* Counted, told apart, never replayed. */
static void strange(void)
{
    struct problem p = plain();
    int one = 1;
    cublasLtMatrixLayoutSetAttribute(p.layout[1], ORDER, &one, 4);
    run_strange(&p);
    p = plain();
    set(&p, POINTER_MODE, 3);
    p.expected.alpha = TILEWISE_SCALAR_DEVICE;
    p.expected.beta = TILEWISE_SCALAR_ZERO;
    run_strange(&p);
    for (int ld = 128; ld <= 256; ld += 128) {
        p = plain();
        set(&p, EPILOGUE, p.expected.epilogue = 32 | 128);
        set_wide(&p, AUX_LD, ld);
        run_strange(&p);
    }
    p = plain();
    set(&p, FAKE_LT_UNKNOWN_ATTRIBUTE, 5);
    run_strange(&p);
    p = plain();
    set(&p, SM_COUNT, 100);
    run_strange(&p);
    p = plain();
    set_wide(&p, AMAX, 0x5000);
    run_strange(&p);
    p = start(99, F32, COMPUTE_F32, F32);
    types(&p, TILEWISE_UNKNOWN, TILEWISE_F32, TILEWISE_F32);
    run_strange(&p);
    p = start(F32, F32, 99, F32);
    p.expected.compute = TILEWISE_UNKNOWN;
    run_strange(&p);
    p = plain();
    set(&p, TRANS_C, 1);
    run_strange(&p);
    p = plain();
    set(&p, FILL_MODE, 1);
    run_strange(&p);
    p = plain();
    set_layouts(&p, PLANE, 64);
    run_strange(&p);
}

/* More than the recorder keeps of one thread. */
static void many(void)
{
    for (int64_t n = 1000; n < 1600; n++) {
        struct problem p = plain();
        for (int i = 1; i < 4; i++) /* of B, C and D */
            cublasLtMatrixLayoutSetAttribute(p.layout[i], 3, &n, 8);
        p.expected.n = n;
        run(&p);
    }
}

static void refused(void)
{
    struct problem p = plain();
    fake_cublaslt_rows()->status = 15;
    cublasLtMatmul(NULL, (void *)p.desc, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                   NULL, NULL, 0, NULL);
    fake_cublaslt_rows()->status = 0;
}

static void count_questions(void)
{
    struct problem p = plain();
    run(&p);
    uint64_t before = fake_cublaslt_asked;
    for (int i = 0; i < 1000; i++)
        run(&p);
    fprintf(stderr, "%llu\n", (unsigned long long)(fake_cublaslt_asked - before));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "asked") == 0) {
        count_questions();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "old") == 0)
        desc_bytes = FAKE_LT_OLD_BYTES;
    for (; round_number < ROUNDS; round_number++) {
        replayable();
        shapes();
        strange();
        many();
    }
    refused();
    return 0;
}
