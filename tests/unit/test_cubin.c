/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates of cubins on the simulated GPU, whose driver takes only what the real one does, and
 * whose kernels work from the bytes of their parameters and do only what their grid covers.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "cubin_fixture.h"
#include "replay_fixture.h"
#include "replayer/candidates.h"
#include "replayer/verify.h"
#include "tests/gpu-fake/fake_device.h"

static const struct backend *const cuda = &backend_cuda;
static struct backend_session *session;
static struct manifest *manifest;

static void set_up(void)
{
    unsetenv("FAKE_CUDA");
    cubin_set_up();
}

static void tear_down(void)
{
    manifest_free(manifest);
    if (session)
        cuda->close(session);
    cubin_tear_down();
}

TestSuite(cubin, .init = set_up, .fini = tear_down);

static void open_device(void)
{
    struct backend_options options = { .libraries = FAKE_CUDA_DIR };
    struct fault fault = { .text = "" };
    cr_assert_eq(cuda->open(&session, &options, &fault), ST_OK, "%s", fault.text);
}

static struct fake_launches *launches(void)
{
    struct fake_launches *(*find)(void);
    *(void **)&find = dlsym(RTLD_DEFAULT, "fake_launches");
    cr_assert_not_null(find);
    return find();
}

static const struct tilewise_candidate *candidate(const char *cubin, const char *text)
{
    char whole[8192];
    snprintf(whole, sizeof whole, "  - name: one\n    summary: s\n%s", text);
    cubin_manifest(cubin, whole);
    manifest = cubin_read();
    return manifest->rows[0];
}

static void expect_complaint(const struct tilewise_candidate *c, const char *text)
{
    cr_expect_str_eq(c->complaint(c), text);
}

/* ---- bytes ---- */

/* Every type of parameter, in the bytes that a C function with this signature would find. */
Test(cubin, parameters_grid_block_and_shared_memory_are_those_of_the_manifest)
{
    open_device();
    const struct tilewise_candidate *c = candidate(
        "fake cubin sm_90\nkernel f PPPPPiiiilllfdf nothing\n",
        "    op: gemm\n    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [NN]\n"
        "    alpha: any\n    beta: any\n    scratch: 4096\n"
        "    launches:\n"
        "      - module: k\n        entry: f\n"
        "        grid: [ \"ceil_div(m, 16)\", n, 2 ]\n        block: [ 32, 2 ]\n"
        "        shared: 65536\n        cluster: [ 1, 3, 2 ]\n        clear_scratch: 256\n"
        "        args: [ { ptr: b }, { ptr: a }, { ptr: c, offset: m * 4 }, { ptr: scratch, "
        "offset: 64 },\n"
        "                { ptr: null }, { i32: m }, { i32: -n }, { u32: 4294967295 }, { i32: lda "
        "},\n"
        "                { i64: ldc * 4294967296 }, { u64: sm_count }, { i64: arch },\n"
        "                { f32: alpha }, { f64: beta }, { f32: -1.5 } ]\n");
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 33, 18, 40);
    s.alpha = s.beta = TILEWISE_SCALAR_OTHER;
    float alpha = 0.25f, beta = -3;
    char *a = (char *)0x10000, *b = (char *)0x20000, *out = (char *)0x30000;
    struct tilewise_args args = { .a = a, .b = b, .c = out, .alpha = &alpha, .beta = &beta };
    cuda->fill_args(session, &args);
    args.scratch = cuda->alloc(session, 4096);
    memset(args.scratch, 0xee, 4096);
    cr_assert_eq(c->supports(c, &s), 1);
    cr_assert_eq(c->init(c), 0, "%s", c->complaint(c));
    cr_assert_eq(c->supports(c, &s), 1);
    cr_assert_eq(c->scratch_bytes(c, &s, 1), 4096);
    cr_assert_eq(c->run(c, &s, &args), 0, "%s", c->complaint(c));

    const struct fake_launches *seen = launches();
    const struct fake_launch *l = &seen->last;
    cr_expect_str_eq(l->kernel, "f");
    cr_expect(l->grid[0] == 3 && l->grid[1] == 18 && l->grid[2] == 2);
    cr_expect(l->block[0] == 32 && l->block[1] == 2 && l->block[2] == 1);
    cr_expect(l->cluster[0] == 1 && l->cluster[1] == 3 && l->cluster[2] == 2);
    cr_expect_eq(l->shared_bytes, 65536);
    cr_expect_eq(l->stream, args.stream);
    const float minus = -1.5f;
    const double beta64 = -3;
    uint64_t want[15] = { 0x20000,
                          0x10000,
                          0x30000 + 132,
                          (uint64_t)(uintptr_t)args.scratch + 64,
                          0,
                          33,
                          (uint32_t)-18,
                          UINT32_MAX,
                          33,
                          (uint64_t)33 << 32,
                          132,
                          90 };
    memcpy(&want[12], &alpha, sizeof alpha);
    memcpy(&want[13], &beta64, sizeof beta64);
    memcpy(&want[14], &minus, sizeof minus);
    cr_assert_eq(l->nparameters, 15);
    for (int i = 0; i < 15; i++)
        cr_expect_eq(l->parameters[i], want[i], "parameter %d is %#llx, not %#llx", i,
                     (unsigned long long)l->parameters[i], (unsigned long long)want[i]);

    cr_expect(seen->clears == 1 && seen->cleared_bytes == 256 && seen->launches == 1);
    for (int i = 0; i < 4096; i++)
        cr_assert_eq(((unsigned char *)args.scratch)[i], i < 256 ? 0 : 0xee);
    cuda->release(session, args.scratch);
}

/* A signature that comes again has the same numbers, but other operands and scalars. */
Test(cubin, operands_and_scalars_are_read_at_every_call)
{
    open_device();
    const struct tilewise_candidate *c = candidate(
        "fake cubin sm_90\nkernel f PPif nothing\n",
        "    op: add\n    types: { b: f32, c: f32 }\n    alpha: any\n"
        "    launches: [ { module: k, entry: f, grid: [ m ],\n"
        "                  args: [ { ptr: b }, { ptr: c }, { i32: m }, { f32: alpha } ] } ]\n");
    struct tilewise_signature s = fixture_add(TILEWISE_F32, 100);
    const struct fake_launch *l = &launches()->last;
    cr_assert_eq(c->init(c), 0);
    for (int i = 1; i < 4; i++) {
        float alpha = (float)i, got;
        struct tilewise_args args = { .b = (void *)(uintptr_t)(16 * i),
                                      .c = (void *)(uintptr_t)(4096 * i),
                                      .alpha = &alpha };
        s.m = 100 + i / 2; /* 100, 101, 101 */
        cuda->fill_args(session, &args);
        cr_assert_eq(c->run(c, &s, &args), 0);
        memcpy(&got, &l->parameters[3], sizeof got);
        cr_expect(l->parameters[0] == 16u * (unsigned)i && l->parameters[1] == 4096u * (unsigned)i);
        cr_expect(l->parameters[2] == (uint64_t)s.m && l->grid[0] == (uint32_t)s.m && got == alpha);
    }
}

Test(cubin, operands_of_a_call_in_rows_are_swapped)
{
    open_device();
    const struct tilewise_candidate *c = candidate(
        "fake cubin sm_90\nkernel f PPii nothing\n",
        "    op: gemm\n    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [NN]\n"
        "    launches: [ { module: k, entry: f, grid: [ m ],\n"
        "                  args: [ { ptr: a }, { ptr: b }, { i32: m }, { i32: n } ] } ]\n");
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 33, 18, 40);
    s.layout = TILEWISE_ROW_MAJOR, s.lda = 40, s.ldb = s.ldc = 18;
    struct tilewise_args args = { .a = (char *)0x100, .b = (char *)0x200 };
    cuda->fill_args(session, &args);
    cr_assert_eq(c->init(c), 0);
    cr_assert_eq(c->run(c, &s, &args), 0, "%s", c->complaint(c));
    const struct fake_launch *l = &launches()->last;
    cr_expect(l->parameters[0] == 0x200 && l->parameters[1] == 0x100);
    cr_expect(l->parameters[2] == 18 && l->parameters[3] == 33);
}

/* ---- results ---- */

struct subject {
    const struct tilewise_candidate *c;
    const struct tilewise_signature *s;
};

static int run_subject(void *context, const struct tilewise_args *args)
{
    const struct subject *subject = context;
    return subject->c->run(subject->c, subject->s, args);
}

static void expect(const struct tilewise_candidate *c, struct tilewise_signature s,
                   enum result_status want)
{
    struct subject subject = { c, &s };
    struct verify_report report;
    char text[160];
    cr_assert_eq(c->supports(c, &s), 1);
    cr_assert_eq(c->init(c), 0, "%s", c->complaint(c));
    struct verify_job job = {
        .backend = cuda,
        .session = session,
        .signature = &s,
        .reference = ref_compute,
        .run = run_subject,
        .context = &subject,
        .scratch_bytes = c->scratch_bytes(c, &s, 1),
        .seed = 5,
    };
    verify_subject(&job, &report);
    cr_expect_eq(report.status, want, "%s: %s", signature_describe(&s, text, sizeof text),
                 report.reason);
}

/* A cuTile matmul: Z = Y X in rows is C in columns. */
#define MATMUL "fake cubin sm_90\nkernel f PiiiiPiiiiPiiii matmul:%s\nkernel g PPiiii reduce:%s\n"
#define ROWS(scratch, grid, z)                                                                     \
    "    op: gemm\n    types: { a: %s, b: %s, c: %s, compute: [f32] }\n    trans: [NN]\n" scratch  \
    "    launches:\n      - module: k\n        entry: f\n        grid: [ " grid " ]\n"             \
    "        args: [ { ptr: b }, { i32: n }, { i32: k }, { i32: ldb }, { i32: 1 },\n"              \
    "                { ptr: a }, { i32: k }, { i32: m }, { i32: lda }, { i32: 1 }, " z " ]\n"
#define TILES "\"ceil_div(n, 16) * ceil_div(m, 16)\""

static const struct tilewise_candidate *matmul(const char *text, const char *type)
{
    char cubin[256], whole[4096];
    snprintf(cubin, sizeof cubin, MATMUL, type, type);
    snprintf(whole, sizeof whole, text, type, type, type);
    return candidate(cubin, whole);
}

static struct tilewise_signature call_of(uint8_t type, int64_t m, int64_t n, int64_t k)
{
    struct tilewise_signature s = fixture_gemm(type, m, n, k);
    s.compute = s.scale = TILEWISE_F32;
    s.lda += 3, s.ldb += 5, s.ldc += 2;
    return s;
}

#define INTO_C "{ ptr: c }, { i32: n }, { i32: m }, { i32: ldc }, { i32: 1 }"

Test(cubin, a_row_major_kernel_serves_a_call_in_columns)
{
    open_device();
    const struct tilewise_candidate *c = matmul(ROWS("", TILES, INTO_C), "f32");
    expect(c, call_of(TILEWISE_F32, 33, 18, 40), RESULT_PASSED);
    expect(c, call_of(TILEWISE_F32, 1, 50, 7), RESULT_PASSED);
    expect(c, call_of(TILEWISE_F32, 64, 16, 16), RESULT_PASSED);
}

Test(cubin, types_are_those_of_the_call)
{
    open_device();
    expect(matmul(ROWS("", TILES, INTO_C), "bf16"), call_of(TILEWISE_BF16, 20, 37, 24),
           RESULT_PASSED);
}

/* The checks can fail: one tile too few, a wrong stride, a wrong scalar. */
Test(cubin, a_grid_that_is_too_small_is_found_out)
{
    open_device();
    expect(matmul(ROWS("", "\"ceil_div(n, 16) * ceil_div(m, 16) - 1\"", INTO_C), "f32"),
           call_of(TILEWISE_F32, 33, 18, 40), RESULT_FAILED);
}

Test(cubin, a_wrong_argument_is_found_out)
{
    open_device();
    expect(matmul(ROWS("", TILES, "{ ptr: c }, { i32: n }, { i32: m }, { i32: m }, { i32: 1 }"),
                  "f32"),
           call_of(TILEWISE_F32, 33, 18, 40), RESULT_FAILED);
}

#define SPLIT                                                                                      \
    ROWS("    scratch: 3 * m * n * 4\n", TILES ", 3",                                              \
         "{ ptr: scratch }, { i32: n }, { i32: m }, { i32: m }, { i32: 1 }")                       \
    "      - module: k\n        entry: g\n        grid: [ \"ceil_div(m * n, 256)\" ]\n"            \
    "        args: [ { ptr: scratch }, { ptr: c }, { i32: n }, { i32: m }, { i32: ldc }, { i32: "  \
    "3 } ]\n"

Test(cubin, two_launches_split_k_through_the_scratch)
{
    open_device();
    const struct tilewise_candidate *c = matmul(SPLIT, "f32");
    expect(c, call_of(TILEWISE_F32, 33, 18, 40), RESULT_PASSED);
    cr_expect_str_eq(launches()->last.kernel, "g");
}

Test(cubin, scalars_and_batches)
{
    open_device();
    const struct tilewise_candidate *c = candidate(
        "fake cubin sm_90\nkernel f PPPiiillldfiii columns:f32\n",
        "    op: gemm\n    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [NN]\n"
        "    alpha: any\n    beta: any\n    batch: strided\n"
        "    launches:\n"
        "      - { module: k, entry: f, grid: [ \"ceil_div(m, 16)\", \"ceil_div(n, 16)\", batch "
        "],\n"
        "          block: [ 16, 16 ],\n"
        "          args: [ { ptr: a }, { ptr: b }, { ptr: c }, { i32: m }, { i32: n }, { i32: k "
        "},\n"
        "                  { i64: lda }, { i64: ldb }, { i64: ldc }, { f64: alpha }, { f32: beta "
        "},\n"
        "                  { i32: stride_a }, { i32: stride_b }, { i32: stride_c } ] }\n");
    struct tilewise_signature s = call_of(TILEWISE_F32, 33, 18, 20);
    s.alpha = s.beta = TILEWISE_SCALAR_OTHER;
    expect(c, s, RESULT_PASSED);
    s.batch_kind = TILEWISE_BATCH_STRIDED, s.batch = 3;
    s.stride_a = s.lda * s.k, s.stride_b = s.ldb * s.n + 4, s.stride_c = s.ldc * s.n;
    expect(c, s, RESULT_PASSED);
}

Test(cubin, vectors_are_added)
{
    open_device();
    const struct tilewise_candidate *c = candidate(
        "fake cubin sm_90\nkernel f PPif axpy:f16\n",
        "    op: add\n    types: { b: f16, c: f16 }\n    alpha: any\n    when: [ n == 1 && incx == "
        "1 && incy == 1 ]\n"
        "    launches: [ { module: k, entry: f, grid: [ \"ceil_div(m, 128)\" ], block: [ 128 ],\n"
        "                  args: [ { ptr: b }, { ptr: c }, { i32: m }, { f32: alpha } ] } ]\n");
    struct tilewise_signature s = fixture_add(TILEWISE_F16, 1000);
    s.compute = s.scale = TILEWISE_F32;
    expect(c, s, RESULT_PASSED);
    s.alpha = TILEWISE_SCALAR_OTHER;
    expect(c, s, RESULT_PASSED);
    s.ldc = 2;
    cr_expect_eq(c->supports(c, &s), 0);
}

/* ---- what can go wrong ---- */

#define SIMPLE                                                                                     \
    "    op: gemm\n    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [NN]\n"       \
    "    launches: [ { module: k, entry: f, grid: [ m ], args: [ { ptr: a } ] } ]\n"
#define NOTHING "fake cubin sm_90\nkernel f P nothing\n"

static void refused_to_load(const char *wrong, const char *cubin, const char *complaint)
{
    setenv("FAKE_CUDA", wrong, 1);
    const struct tilewise_candidate *c = candidate(cubin, SIMPLE);
    cr_assert_neq(c->init(c), 0);
    expect_complaint(c, complaint);
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 3, 4, 5);
    cr_expect_eq(c->run(c, &s, &(struct tilewise_args){ .abi = 2 }), -ENODEV);
    manifest_free(manifest);
    manifest = NULL;
}

Test(cubin, the_driver_is_quoted_when_it_refuses_to_load)
{
    open_device();
    refused_to_load("load=209", NOTHING,
                    "cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is "
                    "available for execution on the device");
    refused_to_load("load=999", NOTHING,
                    "cuModuleLoadData: unknown error (999): the driver has no text for it");
    refused_to_load("", "no cubin",
                    "cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE (200): device kernel image is "
                    "invalid");
    refused_to_load("", "fake cubin sm_90\nkernel other P nothing\n",
                    "f: CUDA_ERROR_NOT_FOUND (500): named symbol not found");
    refused_to_load("context=201", NOTHING,
                    "cuCtxGetDevice: CUDA_ERROR_INVALID_CONTEXT (201): invalid device context");
    refused_to_load("capability=100", NOTHING, "no cubin of 'k' for sm_100, only for sm_90");
}

Test(cubin, parameters_are_held_against_those_of_the_kernel)
{
    open_device();
    refused_to_load("", "fake cubin sm_90\nkernel f PP nothing\n",
                    "f takes more than the manifest's 1 parameters");
    refused_to_load("", "fake cubin sm_90\nkernel f i nothing\n",
                    "parameter 1 of f has 4 bytes, the manifest's ptr has 8");
    const struct tilewise_candidate *c = candidate(
        "fake cubin sm_90\nkernel f P nothing\n",
        "    op: gemm\n    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [NN]\n"
        "    launches: [ { module: k, entry: f, grid: [ m ], args: [ { ptr: a }, { i32: m } ] } "
        "]\n");
    cr_assert_neq(c->init(c), 0);
    expect_complaint(c, "f takes 1 parameters, the manifest has 2");
}

Test(cubin, without_a_driver_it_says_so)
{
    if (dlopen("libcuda.so.1", RTLD_NOW) != NULL)
        return; /* here is one: what it says without a context is its own affair */
    const struct tilewise_candidate *c = candidate(NOTHING, SIMPLE);
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 3, 4, 5);
    cr_expect_eq(c->supports(c, &s), 1, "what it can do is known without a device");
    cr_assert_neq(c->init(c), 0);
    expect_complaint(c, "no NVIDIA driver here (libcuda.so.1)");
}

Test(cubin, a_file_that_changed_is_not_loaded)
{
    char want[160];
    open_device();
    const struct tilewise_candidate *c = candidate(NOTHING, SIMPLE);
    cubin_write("k.cubin", "fake cubin sm_90\nkernel f P axpy\n");
    cr_assert_neq(c->init(c), 0);
    snprintf(want, sizeof want,
             "%s/k.cubin is not the file that the manifest was written for (sha256)", cubin_folder);
    expect_complaint(c, want);
    cr_expect_eq(launches()->loads, 0);
}

Test(cubin, it_is_loaded_once)
{
    open_device();
    const struct tilewise_candidate *c = candidate(NOTHING, SIMPLE);
    cr_assert_eq(c->init(c), 0);
    cr_assert_eq(c->init(c), 0);
    cr_expect_eq(launches()->loads, 1);
    expect_complaint(c, "");
}

static int run_once(const struct tilewise_candidate *c)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 3, 4, 5);
    struct tilewise_args args = { .a = &s };
    cuda->fill_args(session, &args);
    cr_assert_eq(c->init(c), 0, "%s", c->complaint(c));
    return c->run(c, &s, &args);
}

Test(cubin, the_driver_is_quoted_when_it_refuses_to_launch)
{
    open_device();
    const struct tilewise_candidate *c = candidate(NOTHING, SIMPLE);
    setenv("FAKE_CUDA", "launch=701", 1);
    cr_expect_eq(run_once(c), -EIO);
    expect_complaint(c, "launch 1 (f): cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): "
                        "too many resources requested for launch");
    setenv("FAKE_CUDA", "", 1);
    cr_expect_eq(run_once(c), 0);
    expect_complaint(c, "");
}

#define ONE(text)                                                                                  \
    "    op: gemm\n    types: { a: f32, b: f32, c: f32, compute: [f32] }\n    trans: [NN]\n"       \
    "    launches: [ { module: k, entry: f, grid: [ 16 ], args: [ { ptr: a } ], " text " } ]\n"

static void refused_to_launch(const char *text, const char *complaint)
{
    const struct tilewise_candidate *c = candidate(NOTHING, text);
    cr_expect_neq(run_once(c), 0, "%s", text);
    cr_expect_neq(run_once(c), 0, "%s", text); /* asked again, it says the same */
    cr_expect_not_null(strstr(c->complaint(c), complaint), "%s", c->complaint(c));
    manifest_free(manifest);
    manifest = NULL;
}

Test(cubin, limits_of_the_device)
{
    open_device();
    refused_to_launch(ONE("shared: 300000"),
                      "launch 1 (f): cuFuncSetAttribute: CUDA_ERROR_INVALID");
    refused_to_launch(ONE("cluster: [3]"), "launch 1 (f): cuLaunchKernelEx: CUDA_ERROR_INVALID");
    refused_to_launch(ONE("clear_scratch: 1"), "launch 1 (f): it clears more than its scratch");
    refused_to_launch(ONE("block: [arch - 90]"), "launch 1 (f): its block is out of range");
    cr_expect_eq(run_once(candidate(NOTHING, ONE("cluster: [16]"))), 0, "asked for first");
}

/* ---- among other candidates ---- */

Test(cubin, folders_and_files_of_manifests)
{
    struct candidates all = { 0 };
    struct fault fault;
    char other[1024];
    cubin_manifest(NOTHING, "  - name: b_one\n    summary: s\n" SIMPLE);
    cr_assert_eq(candidates_load(&all, cubin_path, &fault), ST_OK, "%s", fault.text);
    cr_assert(all.count == 1 && all.nmanifests == 1);
    cr_expect_str_eq(all.row[0]->name, "b_one");
    cr_expect_str_eq(all.origin[0], cubin_path);
    cr_expect_eq(candidates_load(&all, cubin_path, &fault), ST_INVALID);
    cr_expect_not_null(strstr(fault.text, "the name 'b_one' is taken by /tmp"), "%s", fault.text);
    candidates_close(&all);

    snprintf(other, sizeof other,
             "format: 1\nmodules:\n  - name: k\n    cubins:\n%scandidates:\n"
             "  - name: a_one\n    summary: s\n" SIMPLE,
             cubin_row("sm_90", "other.cubin", NOTHING));
    cubin_write("a.yaml", other);
    cubin_write("notes.txt", "not a manifest");
    cr_assert_eq(candidates_load(&all, cubin_folder, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(all.count, 2);
    cr_expect_str_eq(all.row[0]->name, "a_one", "by their names");
    cr_expect_str_eq(all.row[1]->name, "b_one");
    candidates_close(&all);
    cr_expect_eq(all.count, 0);
}

Test(cubin, built_in_candidates_are_not_made_of_cubins)
{
    cr_expect_null(cubin_of(&ref_candidate));
}
