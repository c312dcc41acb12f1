/* SPDX-License-Identifier: Apache-2.0
 *
 * What a manifest's names stand for, which calls a candidate takes, and the numbers of a launch.
 */
#include "cubin_fixture.h"
#include "replay_fixture.h"
#include "replayer/cubin_call.h"

static struct manifest *manifest;

static void tear_down(void)
{
    manifest_free(manifest);
    manifest = NULL;
    cubin_tear_down();
}

TestSuite(cubin_call, .init = cubin_set_up, .fini = tear_down);

#define CUBIN  "fake cubin sm_90\nkernel f PPPiii nothing\n"
#define LAUNCH "    launches: [ { module: k, entry: f, grid: [m], args: [] } ]\n"

static const struct cubin_candidate *candidate(const char *text)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "  - name: one\n    summary: s\n%s", text);
    manifest_free(manifest);
    cubin_manifest(CUBIN, whole);
    manifest = cubin_read();
    return manifest->candidates[0];
}

static struct cubin_call read_call(const struct tilewise_signature *s)
{
    struct cubin_call call;
    cr_assert(cubin_call_read(s, &call));
    return call;
}

static void expect_names(const struct cubin_call *call, const int64_t *want)
{
    static const char *const words[] = {
#define X(id, word) word,
        EXPR_NAME_LIST(X)
#undef X
    };
    for (int i = 0; i < EXPR_ARCH; i++)
        cr_expect_eq(call->names[i], want[i], "%s is %lld, not %lld", words[i],
                     (long long)call->names[i], (long long)want[i]);
}

/* A gemm whose every number is another one. */
static struct tilewise_signature gemm(void)
{
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .trans_a = TILEWISE_T,
        .dtype_a = TILEWISE_F16,
        .dtype_b = TILEWISE_BF16,
        .dtype_c = TILEWISE_F32,
        .dtype_d = TILEWISE_F32,
        .compute = TILEWISE_F32,
        .scale = TILEWISE_F32,
        .alpha = TILEWISE_SCALAR_ONE,
        .beta = TILEWISE_SCALAR_ONE,
        .align_a = 4,
        .align_b = 3,
        .align_c = 2,
        .align_d = 2,
        .batch_kind = TILEWISE_BATCH_STRIDED,
        .m = 10,
        .n = 20,
        .k = 30,
        .batch = 4,
        .lda = 31,
        .ldb = 32,
        .ldc = 33,
        .ldd = 33,
        .stride_a = 1000,
        .stride_b = 2000,
        .stride_c = 3000,
        .stride_d = 3000,
    };
}

/* ---- names ---- */

Test(cubin_call, names_of_a_call_in_columns)
{
    struct tilewise_signature s = gemm();
    struct cubin_call call = read_call(&s);
    expect_names(&call, (int64_t[]){ 10, 20, 30, 4, 31, 32, 33, 1000, 2000, 3000, 16, 8, 4 });
    cr_expect(call.transposed_a && !call.transposed_b && !call.is_swapped);
    cr_expect(call.type_a == TILEWISE_F16 && call.type_b == TILEWISE_BF16);
    cr_expect_eq(call.type_c, TILEWISE_F32);
}

Test(cubin_call, a_call_in_rows_is_swapped)
{
    struct tilewise_signature s = gemm();
    s.layout = TILEWISE_ROW_MAJOR;
    struct cubin_call call = read_call(&s);
    expect_names(&call, (int64_t[]){ 20, 10, 30, 4, 32, 31, 33, 2000, 1000, 3000, 8, 16, 4 });
    cr_expect(!call.transposed_a && call.transposed_b && call.is_swapped);
    cr_expect(call.type_a == TILEWISE_BF16 && call.type_b == TILEWISE_F16);
}

Test(cubin_call, without_a_batch_there_are_no_strides)
{
    struct tilewise_signature s = gemm();
    s.batch_kind = TILEWISE_BATCH_NONE;
    s.batch = 1;
    struct cubin_call call = read_call(&s);
    expect_names(&call, (int64_t[]){ 10, 20, 30, 1, 31, 32, 33, 0, 0, 0, 16, 8, 4 });
}

Test(cubin_call, what_is_written_is_d_where_c_is_not_read)
{
    struct tilewise_signature s = gemm();
    struct cubin_call call;
    s.ldd = 50, s.dtype_d = TILEWISE_BF16, s.stride_d = 5000, s.align_d = 1;
    cr_expect_not(cubin_call_read(&s, &call), "C is read and D lies elsewhere");
    s.beta = TILEWISE_SCALAR_ZERO;
    call = read_call(&s);
    expect_names(&call, (int64_t[]){ 10, 20, 30, 4, 31, 32, 50, 1000, 2000, 5000, 16, 8, 2 });
    cr_expect_eq(call.type_c, TILEWISE_BF16);
}

Test(cubin_call, gemv_and_add)
{
    struct tilewise_signature s = gemm();
    s.op = TILEWISE_OP_GEMV, s.k = 1, s.ldd = 0, s.layout = TILEWISE_ROW_MAJOR;
    struct cubin_call call = read_call(&s);
    expect_names(&call, (int64_t[]){ 20, 10, 1, 4, 31, 32, 33, 1000, 2000, 3000, 16, 8, 4 });
    cr_expect(!call.transposed_a && !call.is_swapped);
    s.op = TILEWISE_OP_ADD;
    call = read_call(&s);
    cr_expect(call.names[EXPR_M] == 20 && call.names[EXPR_N] == 10 && !call.is_swapped);
    s.n = 1;
    call = read_call(&s);
    cr_expect(call.names[EXPR_M] == 10 && call.names[EXPR_N] == 1);
}

Test(cubin_call, calls_that_no_manifest_has_words_for)
{
    struct cubin_call call;
    struct tilewise_signature s;
    s = gemm(), s.epilogue = 4;
    cr_expect_not(cubin_call_read(&s, &call));
    s = gemm(), s.uplo = TILEWISE_LOWER;
    cr_expect_not(cubin_call_read(&s, &call));
    s = gemm(), s.scale_a = 1;
    cr_expect_not(cubin_call_read(&s, &call));
    s = gemm(), s.batch_kind = TILEWISE_BATCH_POINTERS;
    cr_expect_not(cubin_call_read(&s, &call));
    s = gemm(), s.flags = TILEWISE_NOT_REPLAYABLE;
    cr_expect_not(cubin_call_read(&s, &call));
    s = gemm(), s.dtype_d = TILEWISE_F16;
    cr_expect_not(cubin_call_read(&s, &call));
}

/* ---- what a candidate takes ---- */

static bool fits(const struct cubin_candidate *c, struct tilewise_signature s)
{
    struct cubin_call call;
    return cubin_call_read(&s, &call) && cubin_call_fits(c, &s, &call);
}

#define GEMM                                                                                       \
    "    op: gemm\n    types: { a: f16, b: bf16, c: f32, compute: [f32] }\n    trans: [TN]\n"

Test(cubin_call, types_and_transposes)
{
    const struct cubin_candidate *c = candidate(GEMM "    batch: strided\n    beta: any\n" LAUNCH);
    struct tilewise_signature s = gemm();
    cr_expect(fits(c, s));
    s = gemm(), s.dtype_a = TILEWISE_BF16;
    cr_expect_not(fits(c, s));
    s = gemm(), s.dtype_b = TILEWISE_F16;
    cr_expect_not(fits(c, s));
    s = gemm(), s.dtype_c = s.dtype_d = TILEWISE_F16;
    cr_expect_not(fits(c, s));
    s = gemm(), s.compute = TILEWISE_TF32;
    cr_expect_not(fits(c, s));
    s = gemm(), s.compute = 255;
    cr_expect_not(fits(c, s));
    s = gemm(), s.trans_a = TILEWISE_N;
    cr_expect_not(fits(c, s));
    s = gemm(), s.trans_b = TILEWISE_T;
    cr_expect_not(fits(c, s));
    s = gemm(), s.trans_a = TILEWISE_C;
    cr_expect(fits(c, s), "the same thing for real numbers");
    s = gemm(), s.op = TILEWISE_OP_GEMV;
    cr_expect_not(fits(c, s));
}

Test(cubin_call, batches_only_where_they_are_offered)
{
    struct tilewise_signature s = gemm();
    const struct cubin_candidate *c = candidate(GEMM "    beta: any\n" LAUNCH);
    cr_expect_not(fits(c, s));
    s.batch = 1;
    cr_expect(fits(c, s));
}

Test(cubin_call, scalars)
{
    static const struct {
        const char *text;
        uint8_t takes; /* bits by class: zero, one, other, device, unread */
    } betas[] = { { "zero", 1 }, { "one", 2 }, { "zero-or-one", 3 }, { "any", 7 } },
      alphas[] = { { "one", 2 }, { "any", 7 } };
    char text[512];
    for (size_t i = 0; i < 4; i++)
        for (uint8_t class = 0; class <= TILEWISE_SCALAR_UNREAD; class ++) {
            struct tilewise_signature s = gemm();
            s.beta = class;
            snprintf(text, sizeof text, GEMM "    batch: strided\n    beta: %s\n" LAUNCH,
                     betas[i].text);
            cr_expect_eq(fits(candidate(text), s), betas[i].takes >> class & 1, "beta: %s and %d",
                         betas[i].text, class);
        }
    for (size_t i = 0; i < 2; i++)
        for (uint8_t class = 0; class <= TILEWISE_SCALAR_UNREAD; class ++) {
            struct tilewise_signature s = gemm();
            s.alpha = class;
            snprintf(text, sizeof text,
                     GEMM "    batch: strided\n    beta: any\n    alpha: %s\n" LAUNCH,
                     alphas[i].text);
            cr_expect_eq(fits(candidate(text), s), alphas[i].takes >> class & 1, "alpha: %s and %d",
                         alphas[i].text, class);
        }
}

Test(cubin_call, conditions)
{
    struct tilewise_signature s = gemm();
    const struct cubin_candidate *c = candidate(
        GEMM "    batch: strided\n    beta: any\n"
             "    when: [ m % 5 == 0, align_a >= 16 && lda >= k, \"1000 / (n - 21)\" ]\n" LAUNCH);
    cr_expect(fits(c, s));
    s.m = 11;
    cr_expect_not(fits(c, s));
    s = gemm(), s.align_a = 3;
    cr_expect_not(fits(c, s));
    s = gemm(), s.n = 21;
    cr_expect_not(fits(c, s), "a condition without a value does not hold");
}

/* ---- numbers ---- */

static const char *launch_of(const struct cubin_candidate *c, struct tilewise_signature s,
                             struct cubin_launch_numbers *out)
{
    struct cubin_call call = read_call(&s);
    return cubin_call_launch(&c->launches[0], &call, out);
}

#define ONE_LAUNCH(text) GEMM "    launches: [ { module: k, entry: f, " text " } ]\n"

Test(cubin_call, numbers_of_a_launch)
{
    struct cubin_launch_numbers n;
    const struct cubin_candidate *c =
        candidate(ONE_LAUNCH("grid: [ m, n + 1, batch ], block: [ 32, 4 ], cluster: [ 2 ], shared: "
                             "4 * m, clear_scratch: "
                             "k, args: [ { i32: m }, { ptr: a, offset: -8 }, { i64: lda * "
                             "4294967296 }, { i8: -128 } ]"));
    cr_expect_null(launch_of(c, gemm(), &n));
    cr_expect(n.grid[0] == 10 && n.grid[1] == 21 && n.grid[2] == 4);
    cr_expect(n.block[0] == 32 && n.block[1] == 4 && n.block[2] == 1);
    cr_expect(n.cluster[0] == 2 && n.cluster[1] == 1 && n.cluster[2] == 1);
    cr_expect(n.shared_bytes == 40 && n.clear_bytes == 30);
    cr_expect(n.value[0] == 10 && n.value[1] == -8 && n.value[3] == -128);
    cr_expect_eq(n.value[2], (int64_t)31 << 32);
}

Test(cubin_call, numbers_out_of_range)
{
    static const struct {
        const char *text, *reason;
    } rows[] = {
        { "grid: [ m - 10 ], args: []", "its grid" },
        { "grid: [ 1, 65536 ], args: []", "its grid" },
        { "grid: [ 2147483648 ], args: []", "its grid" },
        { "grid: [ 2147483647 ], args: []", NULL },
        { "grid: [ m / (n - 20) ], args: []", "its grid" },
        { "grid: [ 1 ], block: [ 1025 ], args: []", "its block" },
        { "grid: [ 1 ], block: [ 1024 ], args: []", NULL },
        { "grid: [ 1 ], block: [ 32, 33 ], args: []", "its block" },
        { "grid: [ 1 ], block: [ 1, 1, 65 ], args: []", "its block" },
        { "grid: [ 1 ], cluster: [ 17 ], args: []", "its cluster" },
        { "grid: [ 1 ], shared: -1, args: []", "its shared memory" },
        { "grid: [ 1 ], clear_scratch: -1, args: []", "what it clears" },
        { "grid: [ 1 ], args: [ { i32: 2147483647 } ]", NULL },
        { "grid: [ 1 ], args: [ { i32: 2147483648 } ]", "an argument" },
        { "grid: [ 1 ], args: [ { i32: -2147483649 } ]", "an argument" },
        { "grid: [ 1 ], args: [ { u32: 4294967295 } ]", NULL },
        { "grid: [ 1 ], args: [ { u32: -1 } ]", "an argument" },
        { "grid: [ 1 ], args: [ { i8: 128 } ]", "an argument" },
        { "grid: [ 1 ], args: [ { i16: 32768 } ]", "an argument" },
        { "grid: [ 1 ], args: [ { u64: -1 } ]", "an argument" },
        { "grid: [ 1 ], args: [ { i64: 9223372036854775807 + m } ]", "an argument" },
    };
    char text[512];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cubin_launch_numbers n;
        snprintf(text, sizeof text, ONE_LAUNCH("%s"), rows[i].text);
        const char *wrong = launch_of(candidate(text), gemm(), &n);
        if (rows[i].reason == NULL)
            cr_expect_null(wrong, "%s: %s", rows[i].text, wrong);
        else
            cr_expect(wrong && strstr(wrong, rows[i].reason), "%s: %s", rows[i].text, wrong);
    }
}

/* Who does not know the device yet does not refuse for it. */
Test(cubin_call, device_may_be_unknown)
{
    const struct cubin_candidate *c = candidate(
        GEMM "    scratch: sm_count * 4\n"
             "    launches: [ { module: k, entry: f, grid: [ 100 / (arch - 90) ], args: [ { i32: "
             "sm_count } ] } ]\n");
    struct tilewise_signature s = gemm();
    struct cubin_call call = read_call(&s);
    struct cubin_launch_numbers n;
    uint64_t bytes;
    cr_expect_null(cubin_call_launch(&c->launches[0], &call, &n));
    cr_expect(cubin_call_scratch(c, &call, &bytes));
    call.knows_device = true;
    call.names[EXPR_ARCH] = 100;
    call.names[EXPR_SM_COUNT] = 148;
    cr_expect_null(cubin_call_launch(&c->launches[0], &call, &n));
    cr_expect(n.grid[0] == 10 && n.value[0] == 148);
    cr_expect(cubin_call_scratch(c, &call, &bytes) && bytes == 592);
    call.names[EXPR_ARCH] = 90;
    cr_expect_not_null(cubin_call_launch(&c->launches[0], &call, &n));
}

Test(cubin_call, scratch_has_a_range)
{
    struct tilewise_signature s = gemm();
    struct cubin_call call = read_call(&s);
    uint64_t bytes;
    cr_expect(cubin_call_scratch(candidate(GEMM LAUNCH), &call, &bytes) && bytes == 0);
    cr_expect(cubin_call_scratch(candidate(GEMM "    scratch: 4 * m * n\n" LAUNCH), &call, &bytes));
    cr_expect_eq(bytes, 800);
    cr_expect_not(cubin_call_scratch(candidate(GEMM "    scratch: -m\n" LAUNCH), &call, &bytes));
    cr_expect_not(cubin_call_scratch(candidate(GEMM "    scratch: m * 1099511627776\n" LAUNCH),
                                     &call, &bytes));
}
