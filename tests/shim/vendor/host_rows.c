/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls every row of cublas.def: once refused, then three times accepted; prints what the trace
 * must hold. A family without a case here does not compile.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "rowtext.h"
#include "tracer/cublas.h"

enum { CALLS = 3, GROUPS = 2 };

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
#define ROW(family, symbol, I, E) cublasStatus_t symbol(family##_PARAMS(I, E));
#include "tracer/cublas.def"
#undef ROW
extern fake_rows fake_cublas_rows;

/* Aligned to 256, 8 and 2 bytes: the classes are 4, 3, 1. Nothing is there. */
#define PA ((void *)0x10000100)
#define PB ((void *)0x20000008)
#define PC ((void *)0x30000002)
enum { M = 70, N = 50, K = 30, LDA = 100, LDB = 101, LDC = 102, BATCH = 4 };
enum { STRIDE_A = 10000, STRIDE_B = 20000, STRIDE_C = 30000, INCX = 2, INCY = -3 };
#define BF16 ((cudaDataType)14)
#define F32  ((cudaDataType)0)
enum { COMPUTE_32F = 68, RIGHT = 1, UPPER = 1, UNIT = 1 };

static const cublasOperation_t group_trans_a[GROUPS] = { 1, 0 }, group_trans_b[GROUPS] = { 0, 1 };
#define GROUP(name, first, second)                                                                 \
    static const int name##_int[GROUPS] = { first, second };                                       \
    static const int64_t name##_int64_t[GROUPS] = { first, second };
GROUP(group_m, M, M + 1)
GROUP(group_n, N, N + 1)
GROUP(group_k, K, K + 1)
GROUP(group_lda, LDA, LDA + 1)
GROUP(group_ldb, LDB, LDB + 1)
GROUP(group_ldc, LDC, LDC + 1)
GROUP(group_size, BATCH, BATCH + 1)

/* What the calls with named types name. */
static const struct cublas_element types_element = { TILEWISE_BF16, TILEWISE_F32, TILEWISE_F32,
                                                     TILEWISE_F32 };
/* SgemmEx and CgemmEx name their operands' types and keep the scalars of their letter. */
static struct cublas_element with_types(struct cublas_element e)
{
    return (struct cublas_element){ TILEWISE_BF16, TILEWISE_F32, e.compute, e.scale };
}

#define CUBLAS_GEMM_TYPES_ELEMENT(E)      with_types(cublas_element_##E)
#define OF_LETTER(E)                      cublas_element_##E
#define OF_TYPES(E)                       types_element
#define CUBLAS_GEMM_ELEMENT(E)            OF_LETTER(E)
#define CUBLAS_GEMM_STRIDED_ELEMENT(E)    OF_LETTER(E)
#define CUBLAS_GEMM_BATCHED_ELEMENT(E)    OF_LETTER(E)
#define CUBLAS_GEMM_GROUPED_ELEMENT(E)    OF_LETTER(E)
#define CUBLAS_GEMM_EX_ELEMENT(E)         OF_TYPES(E)
#define CUBLAS_GEMM_STRIDED_EX_ELEMENT(E) OF_TYPES(E)
#define CUBLAS_GEMM_BATCHED_EX_ELEMENT(E) OF_TYPES(E)
#define CUBLAS_GEMM_GROUPED_EX_ELEMENT(E) OF_TYPES(E)
#define CUBLAS_GEMV_ELEMENT(E)            OF_LETTER(E)
#define CUBLAS_GEMV_BATCHED_ELEMENT(E)    OF_LETTER(E)
#define CUBLAS_GEMV_STRIDED_ELEMENT(E)    OF_LETTER(E)
#define CUBLAS_SYRK_ELEMENT(E)            OF_LETTER(E)
#define CUBLAS_HERK_ELEMENT(E)            OF_LETTER(E)
#define CUBLAS_SYRKX_ELEMENT(E)           OF_LETTER(E)
#define CUBLAS_SYR2K_ELEMENT(E)           OF_LETTER(E)
#define CUBLAS_HERKX_ELEMENT(E)           OF_LETTER(E)
#define CUBLAS_HER2K_ELEMENT(E)           OF_LETTER(E)
#define CUBLAS_SYMM_ELEMENT(E)            OF_LETTER(E)
#define CUBLAS_TRSM_ELEMENT(E)            OF_LETTER(E)
#define CUBLAS_TRSM_BATCHED_ELEMENT(E)    OF_LETTER(E)
#define CUBLAS_TRMM_ELEMENT(E)            OF_LETTER(E)

/* The arguments of each family. */
#define CUBLAS_GEMM_CASE(I) h, 1, 0, M, N, K, PA, PA, LDA, PB, LDB, PB, PC, LDC
#define CUBLAS_GEMM_STRIDED_CASE(I)                                                                \
    h, 1, 0, M, N, K, PA, PA, LDA, STRIDE_A, PB, LDB, STRIDE_B, PB, PC, LDC, STRIDE_C, BATCH
#define CUBLAS_GEMM_BATCHED_CASE(I) CUBLAS_GEMM_CASE(I), BATCH
#define CUBLAS_GEMM_GROUPED_CASE(I)                                                                \
    h, group_trans_a, group_trans_b, group_m_##I, group_n_##I, group_k_##I, PA, PA, group_lda_##I, \
        PB, group_ldb_##I, PB, PC, group_ldc_##I, GROUPS, group_size_##I
#define CUBLAS_GEMM_TYPES_CASE(I)                                                                  \
    h, 1, 0, M, N, K, PA, PA, BF16, LDA, PB, BF16, LDB, PB, PC, F32, LDC
#define CUBLAS_GEMM_EX_CASE(I) CUBLAS_GEMM_TYPES_CASE(I), COMPUTE_32F, -1
#define CUBLAS_GEMM_STRIDED_EX_CASE(I)                                                             \
    h, 1, 0, M, N, K, PA, PA, BF16, LDA, STRIDE_A, PB, BF16, LDB, STRIDE_B, PB, PC, F32, LDC,      \
        STRIDE_C, BATCH, COMPUTE_32F, -1
#define CUBLAS_GEMM_BATCHED_EX_CASE(I) CUBLAS_GEMM_TYPES_CASE(I), BATCH, COMPUTE_32F, -1
#define CUBLAS_GEMM_GROUPED_EX_CASE(I)                                                             \
    h, group_trans_a, group_trans_b, group_m_##I, group_n_##I, group_k_##I, PA, PA, BF16,          \
        group_lda_##I, PB, BF16, group_ldb_##I, PB, PC, F32, group_ldc_##I, GROUPS,                \
        group_size_##I, COMPUTE_32F
#define CUBLAS_GEMV_CASE(I)         h, 1, M, N, PA, PA, LDA, PB, INCX, PB, PC, INCY
#define CUBLAS_GEMV_BATCHED_CASE(I) CUBLAS_GEMV_CASE(I), BATCH
#define CUBLAS_GEMV_STRIDED_CASE(I)                                                                \
    h, 1, M, N, PA, PA, LDA, STRIDE_A, PB, INCX, STRIDE_B, PB, PC, INCY, STRIDE_C, BATCH
#define CUBLAS_SYRK_CASE(I)         h, UPPER, 1, N, K, PA, PA, LDA, PB, PC, LDC
#define CUBLAS_HERK_CASE            CUBLAS_SYRK_CASE
#define CUBLAS_SYRKX_CASE(I)        h, UPPER, 1, N, K, PA, PA, LDA, PB, LDB, PB, PC, LDC
#define CUBLAS_SYR2K_CASE           CUBLAS_SYRKX_CASE
#define CUBLAS_HERKX_CASE           CUBLAS_SYRKX_CASE
#define CUBLAS_HER2K_CASE           CUBLAS_SYRKX_CASE
#define CUBLAS_SYMM_CASE(I)         h, RIGHT, UPPER, M, N, PA, PA, LDA, PB, LDB, PB, PC, LDC
#define CUBLAS_TRSM_CASE(I)         h, RIGHT, UPPER, 1, UNIT, M, N, PA, PA, LDA, PB, LDB
#define CUBLAS_TRSM_BATCHED_CASE(I) CUBLAS_TRSM_CASE(I), BATCH
#define CUBLAS_TRMM_CASE(I)         CUBLAS_TRSM_CASE(I), PC, LDC

/* What must be recorded: alpha and beta were not read (host pointer mode). */
static struct tilewise_signature row(uint8_t op, struct cublas_element e, int batch_kind)
{
    return (struct tilewise_signature){
        .op = op,
        .trans_a = TILEWISE_T,
        .dtype_a = e.in,
        .dtype_b = e.in,
        .dtype_c = e.out,
        .dtype_d = e.out,
        .compute = e.compute,
        .scale = e.scale,
        .alpha = TILEWISE_SCALAR_UNREAD,
        .beta = TILEWISE_SCALAR_UNREAD,
        .batch_kind = (uint8_t)batch_kind,
        .batch = batch_kind == TILEWISE_BATCH_NONE ? 1 : BATCH,
        .m = M,
        .n = N,
        .k = op == TILEWISE_OP_GEMM ? K : 1,
        .lda = LDA,
        .ldb = op == TILEWISE_OP_GEMM ? LDB : INCX,
        .ldc = op == TILEWISE_OP_GEMM ? LDC : INCY,
        .ldd = op == TILEWISE_OP_GEMM ? LDC : INCY,
    };
}

static void expect(const char *entry, struct tilewise_signature s, bool with_compute)
{
    if (s.batch_kind == TILEWISE_BATCH_NONE || s.batch_kind == TILEWISE_BATCH_STRIDED) {
        s.align_a = 4;
        s.align_b = 3;
        s.align_c = s.align_d = 1;
    }
    if (s.batch_kind == TILEWISE_BATCH_STRIDED) {
        s.stride_a = STRIDE_A;
        s.stride_b = STRIDE_B;
        s.stride_c = s.stride_d = STRIDE_C;
    }
    s.math_mode = with_compute ? COMPUTE_32F << 8 : 0;
    rowtext_print(entry, &s, CALLS);
    if (s.batch_kind != TILEWISE_BATCH_GROUPED)
        return;
    s.trans_a = TILEWISE_N;
    s.trans_b = TILEWISE_T;
    s.m++, s.n++, s.k++, s.lda++, s.ldb++, s.ldc++, s.ldd++, s.batch++;
    rowtext_print(entry, &s, CALLS);
}

#define GEMM(e, kind)                            row(TILEWISE_OP_GEMM, e, TILEWISE_BATCH_##kind)
#define GEMV(e, kind)                            row(TILEWISE_OP_GEMV, e, TILEWISE_BATCH_##kind)
#define CUBLAS_GEMM_EXPECT(symbol, e)            expect(symbol, GEMM(e, NONE), false)
#define CUBLAS_GEMM_STRIDED_EXPECT(symbol, e)    expect(symbol, GEMM(e, STRIDED), false)
#define CUBLAS_GEMM_BATCHED_EXPECT(symbol, e)    expect(symbol, GEMM(e, POINTERS), false)
#define CUBLAS_GEMM_GROUPED_EXPECT(symbol, e)    expect(symbol, GEMM(e, GROUPED), false)
#define CUBLAS_GEMM_TYPES_EXPECT(symbol, e)      expect(symbol, GEMM(e, NONE), false)
#define CUBLAS_GEMM_EX_EXPECT(symbol, e)         expect(symbol, GEMM(e, NONE), true)
#define CUBLAS_GEMM_STRIDED_EX_EXPECT(symbol, e) expect(symbol, GEMM(e, STRIDED), true)
#define CUBLAS_GEMM_BATCHED_EX_EXPECT(symbol, e) expect(symbol, GEMM(e, POINTERS), true)
#define CUBLAS_GEMM_GROUPED_EX_EXPECT(symbol, e) expect(symbol, GEMM(e, GROUPED), true)
#define CUBLAS_GEMV_EXPECT(symbol, e)            expect(symbol, GEMV(e, NONE), false)
#define CUBLAS_GEMV_BATCHED_EXPECT(symbol, e)    expect(symbol, GEMV(e, POINTERS), false)
#define CUBLAS_GEMV_STRIDED_EXPECT(symbol, e)    expect(symbol, GEMV(e, STRIDED), false)

/* A product with half of a matrix, or with half of a result: counted, never replayed. */
static void expect_other(const char *entry, struct tilewise_signature s)
{
    s.flags = TILEWISE_NOT_REPLAYABLE;
    rowtext_print(entry, &s, CALLS);
}

static struct tilewise_signature square(struct cublas_element e, int uplo)
{
    struct tilewise_signature s = row(TILEWISE_OP_GEMM, e, TILEWISE_BATCH_NONE);
    s.m = N;
    s.uplo = (uint8_t)uplo;
    s.align_a = 4;
    s.align_b = 3;
    s.align_c = s.align_d = 1;
    return s;
}

static void expect_syrk(const char *entry, struct cublas_element e, int flags)
{
    struct tilewise_signature s = square(e, TILEWISE_UPPER);
    s.align_b = s.align_a;
    s.ldb = s.lda;
    s.flags = (uint16_t)flags;
    rowtext_print(entry, &s, CALLS);
}

/* B symm(A): the matrix with two halves stands right. */
static void expect_symm(const char *entry, struct cublas_element e)
{
    struct tilewise_signature s = square(e, TILEWISE_FULL);
    s.m = M;
    s.k = N;
    s.trans_a = TILEWISE_N;
    s.lda = LDB;
    s.ldb = LDA;
    s.align_a = 3;
    s.align_b = 4;
    expect_other(entry, s);
}

static void expect_triangle(const char *entry, struct cublas_element e, int kind, bool in_place)
{
    struct tilewise_signature s = row(TILEWISE_OP_OTHER, e, kind);
    s.k = N;
    s.beta = 0;
    s.ldb = LDB;
    s.ldc = s.ldd = in_place ? LDB : LDC;
    if (kind == TILEWISE_BATCH_NONE) {
        s.align_a = 4;
        s.align_b = 3;
        s.align_c = s.align_d = in_place ? 3 : 1;
    }
    expect_other(entry, s);
}

#define CUBLAS_SYRK_EXPECT(symbol, e)  expect_syrk(symbol, e, 0)
#define CUBLAS_HERK_EXPECT(symbol, e)  expect_syrk(symbol, e, TILEWISE_NOT_REPLAYABLE)
#define CUBLAS_SYRKX_EXPECT(symbol, e) expect_other(symbol, square(e, TILEWISE_UPPER))
#define CUBLAS_SYR2K_EXPECT(symbol, e) expect_other(symbol, square(e, TILEWISE_FULL))
#define CUBLAS_HERKX_EXPECT            CUBLAS_SYRKX_EXPECT
#define CUBLAS_HER2K_EXPECT            CUBLAS_SYR2K_EXPECT
#define CUBLAS_SYMM_EXPECT             expect_symm
#define CUBLAS_TRSM_EXPECT(symbol, e)  expect_triangle(symbol, e, TILEWISE_BATCH_NONE, true)
#define CUBLAS_TRSM_BATCHED_EXPECT(symbol, e)                                                      \
    expect_triangle(symbol, e, TILEWISE_BATCH_POINTERS, true)
#define CUBLAS_TRMM_EXPECT(symbol, e) expect_triangle(symbol, e, TILEWISE_BATCH_NONE, false)

static struct fake_row *find(const char *symbol)
{
    struct fake_row *r = fake_cublas_rows();
    while (r->symbol && strcmp(r->symbol, symbol) != 0)
        r++;
    return r;
}

int main(void)
{
    cublasHandle_t h;
    int refused = 14, wrong = 0;
    cublasCreate_v2(&h);
#define ROW(family, symbol, I, E)                                                                  \
    find(#symbol)->status = refused;                                                               \
    wrong += symbol(family##_CASE(I)) != (cublasStatus_t)refused;                                  \
    find(#symbol)->status = 0;                                                                     \
    for (int i = 0; i < CALLS; i++)                                                                \
        wrong += symbol(family##_CASE(I)) != 0;                                                    \
    wrong += find(#symbol)->called != CALLS;                                                       \
    family##_EXPECT(#symbol, family##_ELEMENT(E));
#include "tracer/cublas.def"
#undef ROW
    return wrong != 0;
}
