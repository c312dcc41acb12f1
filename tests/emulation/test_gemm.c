/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA gemm kernels, emulated, through the replayer's own verification: every tile, all
 * layouts and transposes, ragged sizes, any alignment, batches, alpha and beta, and split k.
 */
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/operand.h"
#include "kernels/cuda/swizzle.h"
#include "tests/emulation/fault.h"
#include "verify_fixture.h"

static struct verify_report verify_gemm(const struct tilewise_candidate *c,
                                        const struct tilewise_signature *s)
{
    struct verify_job job = {
        .signature = s,
        .kappa = strstr(c->name, "_mma") ? 1. / 16 : 0,
        .seed = 11,
    };
    return verify_candidate(job, c);
}

static void expect_right(const struct tilewise_candidate *c, const struct tilewise_signature *s)
{
    struct verify_report report = verify_gemm(c, s);
    char text[160];
    cr_assert_eq(report.status, RESULT_PASSED, "%s, %s (lda %ld, ldb %ld, batch %ld): %s", c->name,
                 signature_describe(s, text, sizeof text), (long)s->lda, (long)s->ldb,
                 (long)s->batch, report.reason);
    cr_assert(report.deterministic, "%s", c->name);
}

static const struct tilewise_candidate *find(const char *name)
{
    size_t count, i = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    while (i < count && strcmp(all[i]->name, name) != 0)
        i++;
    cr_assert_lt(i, count, "no %s", name);
    return all[i];
}

struct types {
    uint8_t in, out, compute;
};

static struct tilewise_signature random_signature(struct types t, uint64_t *state, int64_t most)
{
    struct tilewise_signature s = fixture_random_gemm(t.in, state, most);
    uint64_t bits = *state >> 16;
    bool row = s.layout == TILEWISE_ROW_MAJOR;
    s.dtype_c = s.dtype_d = t.out;
    s.compute = t.compute;
    s.scale = t.in == TILEWISE_F64 ? TILEWISE_F64 : TILEWISE_F32;
    if (bits & 1) { /* lines that begin at multiples of 16 bytes */
        s.lda = (s.lda + 7) / 8 * 8;
        s.ldb = (s.ldb + 7) / 8 * 8;
    } else {
        s.align_a = bits & 2 ? 2 : 1;
        s.align_b = bits & 4 ? 2 : 1;
        if (t.in == TILEWISE_F32 || t.in == TILEWISE_F64)
            s.align_a = s.align_b = t.in == TILEWISE_F32 ? 2 : 3;
    }
    if (bits & 8) {
        s.batch_kind = TILEWISE_BATCH_STRIDED;
        s.batch = 2;
        s.stride_a = s.lda * (row != (s.trans_a != 0) ? s.m : s.k);
        s.stride_b = s.ldb * (row != (s.trans_b != 0) ? s.k : s.n);
        s.stride_c = s.ldc * (row ? s.m : s.n);
    }
    return s;
}

static void check_random(struct types t, const char *name, int cases, int64_t most)
{
    size_t count, done = 0;
    uint64_t state = 5;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i < count; i++) {
        bool is_one = strncmp(all[i]->name, name, strlen(name)) == 0 &&
                      strstr(all[i]->name, "skinny") == NULL;
        for (int n = 0; is_one && n < cases; n++) {
            struct tilewise_signature s = random_signature(t, &state, most);
            if (n % 3 == 0)
                s.k += 500; /* k is split */
            bool row = s.layout == TILEWISE_ROW_MAJOR;
            s.lda += row != (s.trans_a != 0) && n % 3 == 0 ? 504 : 0;
            s.ldb += row == (s.trans_b != 0) && n % 3 == 0 ? 504 : 0;
            s.stride_a = s.batch > 1 ? s.lda * (row != (s.trans_a != 0) ? s.m : s.k) : 0;
            s.stride_b = s.batch > 1 ? s.ldb * (row != (s.trans_b != 0) ? s.k : s.n) : 0;
            cr_assert_eq(all[i]->supports(all[i], &s), 1);
            expect_right(all[i], &s);
            done++;
        }
    }
    cr_assert_gt(done, 0);
}

Test(emulated_gemm, f16)
{
    check_random((struct types){ TILEWISE_F16, TILEWISE_F16, TILEWISE_F32 }, "gemm_f16", 4, 70);
}

Test(emulated_gemm, f16_to_f32)
{
    check_random((struct types){ TILEWISE_F16, TILEWISE_F32, TILEWISE_F32 }, "gemm_f16", 3, 140);
}

Test(emulated_gemm, bf16)
{
    check_random((struct types){ TILEWISE_BF16, TILEWISE_BF16, TILEWISE_F32 }, "gemm_bf16", 4, 70);
}

Test(emulated_gemm, tf32)
{
    check_random((struct types){ TILEWISE_F32, TILEWISE_F32, TILEWISE_TF32 }, "gemm_tf32", 5, 70);
}

Test(emulated_gemm, f32)
{
    check_random((struct types){ TILEWISE_F32, TILEWISE_F32, TILEWISE_F32 }, "gemm_f32_simt", 6,
                 100);
}

Test(emulated_gemm, f64)
{
    check_random((struct types){ TILEWISE_F64, TILEWISE_F64, TILEWISE_F64 }, "gemm_f64_simt", 12,
                 100);
}

/* Weights [n, k] in rows times a few tokens: all numbers of tokens, ragged n, k in parts. */
static struct tilewise_signature linear(struct types t, int64_t tokens, int64_t n, int64_t k)
{
    struct tilewise_signature s = fixture_gemm(t.in, n, tokens, k);
    s.dtype_c = s.dtype_d = t.out;
    s.compute = t.compute;
    s.scale = TILEWISE_F32;
    s.trans_a = TILEWISE_T;
    s.lda = k + 8;
    s.ldb = k;
    s.beta = (uint8_t)(tokens % 3);
    return s;
}

static void check_skinny(struct types t, const char *name)
{
    const struct tilewise_candidate *c = find(name);
    for (int64_t tokens = 1; tokens <= 16; tokens++) {
        static const int64_t ks[] = { 8, 24, 256, 264, 2072, 4200 };
        struct tilewise_signature s = linear(t, tokens, 1 + tokens * 5, ks[tokens % 6]);
        if (tokens % 4 == 0) {
            s.batch_kind = TILEWISE_BATCH_STRIDED;
            s.batch = 2;
            s.stride_a = s.lda * s.m;
            s.stride_b = s.ldb * s.n;
            s.stride_c = s.ldc * s.n;
        }
        cr_assert(c->supports(c, &s));
        expect_right(c, &s);
        s.align_a = 1; /* not in whole chunks after all: another tile steps in */
        expect_right(c, &s);
    }
    struct tilewise_signature s = linear(t, 17, 40, 64);
    cr_expect_not(c->supports(c, &s), "17 tokens");
    s = linear(t, 4, 40, 60);
    cr_expect_not(c->supports(c, &s), "k is no multiple of 8");
    s = linear(t, 4, 40, 64);
    s.trans_a = TILEWISE_N, s.lda = 40;
    cr_expect_not(c->supports(c, &s), "weights across k");
}

Test(emulated_gemm, skinny_f16)
{
    check_skinny((struct types){ TILEWISE_F16, TILEWISE_F32, TILEWISE_F32 }, "gemm_f16_mma_skinny");
}

Test(emulated_gemm, skinny_bf16)
{
    check_skinny((struct types){ TILEWISE_BF16, TILEWISE_BF16, TILEWISE_F32 },
                 "gemm_bf16_mma_skinny");
}

/* As cublasLt is recorded: a D beside a C that is not read, and how to compute in the math mode. */
Test(emulated_gemm, result_apart_from_c)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_BF16, 33, 20, 40);
    size_t count, done = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    s.compute = s.scale = TILEWISE_F32;
    s.math_mode = 68 << 8;
    s.dtype_d = TILEWISE_F32;
    s.ldd = 35;
    s.align_d = 3;
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, "gemm_bf16_mma") == 0) {
            cr_assert(all[i]->supports(all[i], &s));
            expect_right(all[i], &s);
            s.beta = TILEWISE_SCALAR_ONE; /* C is read and D lies elsewhere: not ours */
            cr_expect_not(all[i]->supports(all[i], &s));
            done++;
        }
    cr_assert_eq(done, 1);
}

/* ---- broken ones ---- */

/* Ragged in every direction, two batches, k in parts. */
static struct tilewise_signature hard_signature(struct types t)
{
    struct tilewise_signature s = fixture_gemm(t.in, 70, 75, 1100);
    s.dtype_c = s.dtype_d = t.out;
    s.compute = t.compute;
    s.scale = TILEWISE_F32;
    s.trans_a = TILEWISE_T;
    s.lda = s.ldb = 1104;
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 2;
    s.stride_a = s.lda * s.m;
    s.stride_b = s.ldb * s.n;
    s.stride_c = s.ldc * s.n;
    return s;
}

/* Each way to break it is found in each kernel. */
static void expect_faults_found(struct types t, const char *name)
{
    const struct tilewise_candidate *c = find(name);
    struct tilewise_signature s = hard_signature(t);
    s.k = 1101; /* the last chunk of a line is not whole */
    for (int fault = FAULT_NONE + 1; fault < FAULTS; fault++) {
        emulation_fault_now = fault;
        struct verify_report report = verify_gemm(c, &s);
        emulation_fault_now = FAULT_NONE;
        cr_expect_eq(report.status, RESULT_FAILED, "%s with fault %d passed", name, fault);
    }
    expect_right(c, &s);
}

Test(emulated_gemm, faults_are_found_f16)
{
    expect_faults_found((struct types){ TILEWISE_F16, TILEWISE_F32, TILEWISE_F32 },
                        "gemm_f16_mma_64x64");
}

Test(emulated_gemm, faults_are_found_bf16)
{
    expect_faults_found((struct types){ TILEWISE_BF16, TILEWISE_F32, TILEWISE_F32 },
                        "gemm_bf16_mma_64x64");
}

Test(emulated_gemm, faults_are_found_tf32)
{
    expect_faults_found((struct types){ TILEWISE_F32, TILEWISE_F32, TILEWISE_TF32 },
                        "gemm_tf32_mma_64x64");
}

/* ---- pure arithmetic ---- */

Test(emulated_gemm, swizzle_is_a_permutation_of_every_row)
{
    for (int chunks = 2; chunks <= 32; chunks *= 2)
        for (int row = 0; row < 64; row++) {
            uint64_t rows = 0, quads = 0;
            for (int chunk = 0; chunk < chunks; chunk++) {
                rows |= UINT64_C(1) << (swizzle_rows(row, chunk, chunks) - row * chunks);
                if (chunks >= 4)
                    quads |= UINT64_C(1) << (swizzle_quads(row, chunk, chunks) - row * chunks);
            }
            cr_assert_eq(rows, (UINT64_C(1) << chunks) - 1);
            cr_assert(chunks < 4 || quads == (UINT64_C(1) << chunks) - 1);
        }
}

/* Eight rows of one chunk are what a matrix load reads at once: 128 bytes, all banks. */
Test(emulated_gemm, swizzle_spreads_eight_rows_over_all_banks)
{
    for (int chunks = 2; chunks <= 32; chunks *= 2)
        for (int row = 0; row < 64; row += 8)
            for (int chunk = 0; chunk < chunks; chunk++) {
                unsigned banks = 0;
                for (int i = 0; i < 8; i++)
                    banks |= 1u << swizzle_rows(row + i, chunk, chunks) % 8;
                cr_assert_eq(banks, 0xff, "chunks %d row %d", chunks, row);
            }
}

/* Two chunks of four rows, word by word. */
Test(emulated_gemm, swizzle_spreads_quads_over_all_banks)
{
    for (int chunks = 4; chunks <= 32; chunks *= 2)
        for (int row = 0; row < 64; row += 4)
            for (int chunk = 0; chunk < chunks; chunk += 2) {
                unsigned banks = 0;
                for (int i = 0; i < 8; i++)
                    banks |= 1u << swizzle_quads(row + i / 2, chunk + i % 2, chunks) % 8;
                cr_assert_eq(banks, 0xff, "chunks %d row %d", chunks, row);
            }
}

Test(emulated_gemm, alignment_of_lines)
{
    struct cuda_matrix x = { .base = (void *)256, .row = 8, .column = 1, .dtype = TILEWISE_F16 };
    cr_expect_eq(operand_alignment(&x, 2), 16);
    x.row = 6;
    cr_expect_eq(operand_alignment(&x, 2), 4);
    x.row = 1, x.column = 3;
    cr_expect_eq(operand_alignment(&x, 2), 2);
    x.column = 16, x.batch = 4;
    cr_expect_eq(operand_alignment(&x, 2), 8);
    x.base = (void *)250, x.batch = 0;
    cr_expect_eq(operand_alignment(&x, 2), 2);
    x.base = (void *)256, x.column = -16;
    cr_expect_eq(operand_alignment(&x, 2), 16);
}

static struct cuda_gemm_problem problem(int64_t m, int64_t n, int64_t k)
{
    return (struct cuda_gemm_problem){ .m = m, .n = n, .k = k, .batches = 1, .splits = 1 };
}

Test(emulated_gemm, plan_fits_the_sizes)
{
    struct cuda_gemm_problem large = problem(4096, 4096, 4096), few = problem(3, 4096, 4096);
    struct cuda_gemm_plan plan = cuda_gemm_plan(CUDA_GEMM_BF16, CUDA_GEMM_ANY_TILE, &large, true);
    cr_expect_eq(cuda_gemm_tile_of(CUDA_GEMM_BF16, plan.tile)->m, 128);
    cr_expect_eq(plan.splits, 1);
    plan = cuda_gemm_plan(CUDA_GEMM_BF16, CUDA_GEMM_ANY_TILE, &few, true);
    cr_expect_eq(cuda_gemm_tile_of(CUDA_GEMM_BF16, plan.tile)->m, 16);
    cr_expect_gt(plan.splits, 1);
    plan = cuda_gemm_plan(CUDA_GEMM_BF16, 0, &large, false);
    cr_expect_eq(plan.tile + 1, cuda_gemm_tile_count(CUDA_GEMM_BF16));
}

/* Against the tile that is chosen otherwise, on an H200: docs/results/h200-kernels.md. */
Test(emulated_gemm, plan_is_skinny_where_it_waits_twice_at_most)
{
    static const struct {
        int64_t m, n, k;
        bool is_skinny;
    } shapes[] = {
        { 16, 512, 2048, true },    { 16, 1024, 4096, true },   { 16, 2048, 2048, true },
        { 4, 2048, 2048, true },    { 4, 5632, 2048, true },    { 8, 4096, 4096, true },
        { 1, 4096, 4096, true },    { 16, 5632, 2048, false },  { 16, 2048, 5632, false },
        { 16, 11264, 4096, false }, { 16, 4096, 11264, false }, { 4, 4096, 14336, false },
        { 1, 28672, 4096, false },  { 17, 512, 2048, false },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int along = 0; along < 2; along++)
            for (int whole = 0; whole < 2; whole++) {
                struct cuda_gemm_problem p = problem(shapes[i].m, shapes[i].n, shapes[i].k);
                p.a.column = 1;
                p.b.row = along;
                struct cuda_gemm_plan plan =
                    cuda_gemm_plan(CUDA_GEMM_BF16, CUDA_GEMM_ANY_TILE, &p, whole);
                cr_expect_eq(cuda_gemm_tile_of(CUDA_GEMM_BF16, plan.tile)->is_skinny,
                             shapes[i].is_skinny && along && whole, "%d x %d x %d", (int)p.m,
                             (int)p.n, (int)p.k);
            }
}
