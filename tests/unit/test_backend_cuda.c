/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend on the simulated GPU of tests/gpu-fake.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/builtin.h"
#include "replay_fixture.h"
#include "replayer/cuda_api.h"
#include "replayer/cuda_entry.h"
#include "replayer/verify.h"

static const struct backend *const cuda = &backend_cuda;

static enum status open_with(struct backend_session **session, const char *wrong,
                             struct fault *fault)
{
    struct backend_options options = { .libraries = FAKE_CUDA_DIR };
    setenv("FAKE_CUDA", wrong, 1);
    return cuda->open(session, &options, fault);
}

static struct backend_session *open_good(void)
{
    struct backend_session *session = NULL;
    struct fault fault = { .text = "" };
    enum status st = open_with(&session, "", &fault);
    cr_assert_eq(st, ST_OK, "%s", fault.text);
    return session;
}

/* ---- entry points ---- */

Test(backend_cuda, entries_have_numbers)
{
    cr_assert_eq(cuda_entry_number("cublasGemmEx"), cuda_entry_number("cublasGemmEx_64"));
    cr_assert_neq(cuda_entry_number("cublasGemmEx"), cuda_entry_number("cublasGemmBatchedEx"));
    cr_assert_eq(cuda_entry_number("cublasGemm"), 0);
    cr_assert_eq(cuda_entry_number("cblas_sgemm"), 0);
    cr_assert_eq(cuda_entry_number(""), 0);
    cr_assert_str_eq(cuda_entry_name(cuda_entry_number("cublasLtMatmul")), "cublasLtMatmul");
    cr_assert_str_eq(cuda_entry_name(UINT32_MAX), "");
    cr_assert_eq(cuda_entry_family(UINT32_MAX), CUDA_FAMILY_NONE);
}

Test(backend_cuda, attributes_are_those_of_the_recorder)
{
    enum {
#define LTATTR(kind, name, number, bytes, without) kind##_##name = number,
#include "tracer/ltattr.def"
#undef LTATTR
    };
    cr_assert_eq((int)CUBLASLT_DESC_TRANS_A, (int)DESC_TRANS_A);
    cr_assert_eq((int)CUBLASLT_DESC_TRANS_B, (int)DESC_TRANS_B);
    cr_assert_eq((int)CUBLASLT_DESC_EPILOGUE, (int)DESC_EPILOGUE);
    cr_assert_eq((int)CUBLASLT_DESC_BIAS_POINTER, (int)DESC_BIAS_POINTER);
    cr_assert_eq((int)CUBLASLT_DESC_BIAS_TYPE, (int)DESC_BIAS_TYPE);
    cr_assert_eq((int)CUBLASLT_DESC_FAST_ACCUM, (int)DESC_FAST_ACCUM);
    cr_assert_eq((int)CUBLASLT_DESC_A_SCALE_POINTER + 3, (int)DESC_D_SCALE_POINTER);
    cr_assert_eq((int)CUBLASLT_DESC_A_SCALE_MODE + 3, (int)DESC_D_SCALE_MODE);
    cr_assert_eq((int)CUBLASLT_LAYOUT_ORDER, (int)LAYOUT_ORDER);
    cr_assert_eq((int)CUBLASLT_LAYOUT_BATCH, (int)LAYOUT_BATCH);
    cr_assert_eq((int)CUBLASLT_LAYOUT_STRIDE, (int)LAYOUT_STRIDE);
}

/* ---- signatures ---- */

static struct tilewise_signature call(const char *entry, uint8_t in, uint8_t out)
{
    struct tilewise_signature s = fixture_gemm(in, 33, 18, 40);
    bool is_double = in == TILEWISE_F64, whole = in == TILEWISE_I8;
    s.dtype_c = s.dtype_d = out;
    s.compute = s.scale = is_double ? TILEWISE_F64 : whole ? TILEWISE_I32 : TILEWISE_F32;
    s.entry = cuda_entry_number(entry);
    s.ldd = s.ldc;
    s.align_d = s.align_c;
    return s;
}

static struct tilewise_signature strided(struct tilewise_signature s, int64_t batch)
{
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = batch;
    s.stride_a = s.m * s.k;
    s.stride_b = s.k * s.n;
    s.stride_c = s.stride_d = s.m * s.n;
    return s;
}

static struct tilewise_signature pointers(struct tilewise_signature s, int64_t batch)
{
    s.batch_kind = TILEWISE_BATCH_POINTERS;
    s.batch = batch;
    return s;
}

static struct tilewise_signature transposed(struct tilewise_signature s)
{
    s.trans_a = TILEWISE_T;
    s.lda = s.k + 3;
    return s;
}

static void refuse(struct tilewise_signature s, const char *reason)
{
    char why[192] = "";
    cr_assert_not(cuda->supports(&s, why, sizeof why));
    cr_assert_not_null(strstr(why, reason), "'%s' is not in '%s'", reason, why);
}

Test(backend_cuda, refuses_what_cannot_be_called_again)
{
    struct tilewise_signature s = call("cublasSgemm_v2", TILEWISE_F32, TILEWISE_F32), t = s;
    char why[192];
    cr_assert(cuda->supports(&s, why, sizeof why));
    t = s, t.entry = 0;
    refuse(t, "not one of cuBLAS");
    t = s, t.flags = TILEWISE_NOT_REPLAYABLE;
    refuse(t, "did not understand");
    t = s, t.dtype_a = TILEWISE_E2M1;
    refuse(t, "element types");
    t = s, t.beta = TILEWISE_SCALAR_DEVICE;
    refuse(t, "device memory");
    t = s, t.op = TILEWISE_OP_CONV;
    refuse(t, "only gemm, gemv and adds");
    t = s, t.m = t.lda = t.ldc = t.ldd = (int64_t)1 << 33;
    refuse(t, "32-bit");
    t = s, t.lda = 1;
    refuse(t, "leading dimension");
    t = call("cublasLtMatmul", TILEWISE_BF16, TILEWISE_BF16);
    t.beta = TILEWISE_SCALAR_ONE, t.ldd += 8;
    refuse(t, "another layout");
}

/* ---- opening ---- */

static void fail_to_open(const char *folder, const char *wrong, enum status wanted,
                         const char *reason)
{
    struct backend_session *session = NULL;
    struct backend_options options = { .libraries = folder };
    struct fault fault = { .text = "" };
    setenv("FAKE_CUDA", wrong, 1);
    cr_assert_eq(cuda->open(&session, &options, &fault), wanted, "%s", fault.text);
    cr_assert_not_null(strstr(fault.text, reason), "'%s' is not in '%s'", reason, fault.text);
}

Test(backend_cuda, says_what_is_missing)
{
    fail_to_open(FAKE_CUDA_DIR, "devices=0", ST_DEVICE, "finds no GPU");
    fail_to_open(FAKE_CUDA_DIR, "start=100", ST_DEVICE, "error 100");
    fail_to_open(FAKE_CUDA_DIR, "driver=12040", ST_DEVICE, "for CUDA 12.4");
    fail_to_open(FAKE_CUDA_DIR, "capability=75", ST_UNSUPPORTED, "compute capability 7.5");
    fail_to_open(FAKE_CUDA_DIR, "memory=1000", ST_DEVICE, "no memory is left");
}

Test(backend_cuda, says_which_function_is_missing)
{
    fail_to_open(FAKE_CUDA_OLD_DIR, "", ST_UNSUPPORTED, "libcublasLt.so has no cublasLtCreate");
}

Test(backend_cuda, describes_the_device)
{
    struct backend_session *session = open_good();
    struct backend_info info;
    cuda->describe(session, &info);
    cr_assert_not_null(strstr(info.device, "Simulated GPU, 132 SMs"));
    cr_assert_str_eq(info.library, "cuBLAS 13.1.2");
    cr_assert_str_eq(info.core, "sm_90");
    cr_assert_eq(info.cache_bytes, 1 << 20);
    cr_assert_gt(info.memory_bytes, 0);
    double bandwidth = 0;
    cr_assert_eq(cuda->bandwidth(session, &bandwidth), ST_OK);
    cr_assert(bandwidth > 1e11 && bandwidth < 4e12);
    cuda->close(session);
}

/* ---- calls ---- */

struct context {
    struct backend_session *session;
    size_t routine;
    unsigned steps;
    const struct tilewise_args *args;
};

static int run(void *context, const struct tilewise_args *args)
{
    struct context *c = context;
    return cuda->baseline(c->session, c->routine, args);
}

static struct verify_report verify(struct backend_session *session,
                                   const struct tilewise_signature *s, size_t routine)
{
    struct context context = { .session = session, .routine = routine };
    struct verify_job job = {
        .backend = cuda,
        .session = session,
        .signature = s,
        .reference = ref_compute,
        .run = run,
        .context = &context,
        .kappa = cuda->kappa(s),
        .seed = 5,
    };
    struct verify_report report;
    verify_subject(&job, &report);
    return report;
}

/* Every routine that is listed computes the signature; the first is the recorded call. */
static void all_are_right(struct tilewise_signature s, const char *first, size_t least)
{
    struct backend_session *session = open_good();
    struct backend_routines routines;
    char why[192] = "";
    cr_assert(cuda->supports(&s, why, sizeof why), "%s: %s", first, why);
    cr_assert_eq(cuda->prepare(session, &s, &routines), ST_OK, "%s", first);
    cr_assert_str_eq(routines.name[0], first);
    cr_assert_geq(routines.count, least, "%s", first);
    for (size_t i = 0; i < routines.count; i++) {
        struct verify_report report = verify(session, &s, i);
        cr_assert_eq(report.status, RESULT_PASSED, "%s as %s: %s", first, routines.name[i],
                     report.reason);
        cr_assert(report.deterministic);
    }
    cuda->close(session);
}

Test(backend_cuda, calls_again_what_was_recorded)
{
    all_are_right(call("cublasSgemm_v2", TILEWISE_F32, TILEWISE_F32), "Sgemm_v2", 7);
    all_are_right(call("cublasDgemm_v2", TILEWISE_F64, TILEWISE_F64), "Dgemm_v2", 7);
    all_are_right(transposed(call("cublasGemmEx", TILEWISE_BF16, TILEWISE_BF16)), "GemmEx", 7);
    all_are_right(call("cublasGemmEx", TILEWISE_F16, TILEWISE_F32), "GemmEx", 7);
}

Test(backend_cuda, calls_batches_again)
{
    all_are_right(strided(call("cublasSgemmStridedBatched", TILEWISE_F32, TILEWISE_F32), 3),
                  "SgemmStridedBatched", 7);
    all_are_right(strided(call("cublasGemmStridedBatchedEx", TILEWISE_BF16, TILEWISE_BF16), 3),
                  "GemmStridedBatchedEx", 7);
    all_are_right(pointers(call("cublasSgemmBatched", TILEWISE_F32, TILEWISE_F32), 5),
                  "SgemmBatched", 1);
}

static struct tilewise_signature add(const char *entry, uint8_t dtype, int64_t m, int64_t n)
{
    struct tilewise_signature s = fixture_add(dtype, m);
    s.n = n;
    s.compute = s.scale = dtype == TILEWISE_F64 ? TILEWISE_F64 : TILEWISE_F32;
    s.alpha = TILEWISE_SCALAR_OTHER;
    s.entry = cuda_entry_number(entry);
    s.ldd = s.ldc;
    return s;
}

Test(backend_cuda, calls_adds_again)
{
    struct tilewise_signature s = add("cublasAxpyEx", TILEWISE_BF16, 1000, 1);
    all_are_right(s, "AxpyEx", 1);
    s.ldb = 3, s.ldc = s.ldd = -2;
    all_are_right(s, "AxpyEx", 1);
    all_are_right(add("cublasAxpyEx", TILEWISE_F16, 77, 1), "AxpyEx", 1);
    all_are_right(add("cublasSaxpy_v2", TILEWISE_F32, 77, 1), "Saxpy_v2", 1);
    all_are_right(add("cublasDaxpy_v2", TILEWISE_F64, 77, 1), "Daxpy_v2", 1);
    s = add("cublasSgeam", TILEWISE_F32, 40, 30);
    s.ldb = 43, s.ldc = s.ldd = 41;
    all_are_right(s, "Sgeam", 1);
}

Test(backend_cuda, refuses_adds_that_no_function_makes)
{
    struct tilewise_signature s = add("cublasAxpyEx", TILEWISE_BF16, 40, 30);
    s.ldb = s.ldc = s.ldd = 40;
    refuse(s, "cannot have made");
    s = add("cublasGemmEx", TILEWISE_BF16, 40, 1);
    refuse(s, "cannot have made");
    s = call("cublasAxpyEx", TILEWISE_BF16, TILEWISE_BF16);
    refuse(s, "cannot have made");
    s = add("cublasSgeam", TILEWISE_F32, 40, 30);
    s.ldb = s.ldc = s.ldd = 40, s.layout = TILEWISE_ROW_MAJOR;
    refuse(s, "cannot have made");
}

Test(backend_cuda, calls_cublaslt_again)
{
    struct tilewise_signature s = call("cublasLtMatmul", TILEWISE_BF16, TILEWISE_BF16);
    all_are_right(s, "LtMatmul", 7);
    s.layout = TILEWISE_ROW_MAJOR, s.lda = 40, s.ldb = 18, s.ldc = s.ldd = 20;
    all_are_right(s, "LtMatmul", 7);
    s = transposed(call("cublasLtMatmul", TILEWISE_E4M3, TILEWISE_BF16));
    s.scale_a = s.scale_b = 1, s.flags = TILEWISE_FAST_ACCUM;
    all_are_right(s, "LtMatmul", 7);
    all_are_right(call("cublasLtMatmul", TILEWISE_I8, TILEWISE_I32), "LtMatmul", 7);
}

Test(backend_cuda, knows_that_one_column_is_a_vector)
{
    struct tilewise_signature s = call("cublasGemmEx", TILEWISE_BF16, TILEWISE_BF16);
    s.n = 1;
    all_are_right(s, "GemmEx", 8);
    s = call("cublasGemmEx", TILEWISE_BF16, TILEWISE_BF16);
    s.m = 1, s.lda = 1, s.ldc = s.ldd = 1;
    all_are_right(s, "GemmEx", 8);
}

Test(backend_cuda, finds_a_wrong_algorithm)
{
    struct tilewise_signature s = call("cublasGemmEx", TILEWISE_BF16, TILEWISE_BF16);
    struct backend_session *session = open_good();
    struct backend_routines routines;
    setenv("FAKE_CUDA", "wrong=2", 1);
    cr_assert_eq(cuda->prepare(session, &s, &routines), ST_OK);
    for (size_t i = 0; i < routines.count; i++) {
        bool wrong = strcmp(routines.name[i], "lt#2") == 0;
        cr_assert_eq(verify(session, &s, i).status, wrong ? RESULT_FAILED : RESULT_PASSED);
    }
}

Test(backend_cuda, an_illegal_access_is_named)
{
    struct tilewise_signature s = call("cublasGemmEx", TILEWISE_BF16, TILEWISE_BF16);
    struct backend_session *session = open_good();
    struct backend_routines routines;
    setenv("FAKE_CUDA", "crash=1", 1);
    cr_assert_eq(cuda->prepare(session, &s, &routines), ST_OK);
    struct verify_report report = verify(session, &s, 1);
    cr_assert_eq(report.status, RESULT_FAILED);
    cr_assert_not_null(strstr(report.reason, "illegal memory access"), "%s", report.reason);
}

Test(backend_cuda, lack_of_memory_is_an_answer)
{
    struct backend_session *session = open_good();
    cr_assert_null(cuda->alloc(session, (size_t)1 << 40));
    void *memory = cuda->alloc(session, 1000);
    cr_assert_not_null(memory);
    cr_assert_eq((uintptr_t)memory % 256, 0);
    cuda->release(session, memory);
    cuda->release(session, NULL);
}

/* ---- bursts ---- */

static int step(void *context)
{
    struct context *c = context;
    c->steps++;
    return cuda->baseline(c->session, c->routine, c->args);
}

Test(backend_cuda, a_burst_is_recorded_once)
{
    struct tilewise_signature s = call("cublasSgemm_v2", TILEWISE_F32, TILEWISE_F32);
    struct backend_session *session = open_good();
    struct backend_routines routines;
    float one = 1, zero = 0;
    struct tilewise_args args = { .alpha = &one, .beta = &zero };
    args.a = cuda->alloc(session, 40000);
    args.b = cuda->alloc(session, 40000);
    args.c = cuda->alloc(session, 40000);
    cr_assert_eq(cuda->prepare(session, &s, &routines), ST_OK);
    struct context context = { .session = session, .args = &args };
    struct backend_burst hot = { step, &context, 10, 0, false, BACKEND_AS_BEST }, cold = hot;
    double ns = cuda->burst(session, &hot);
    cr_assert_eq(context.steps, 10);
    cr_assert(fabs(ns / 10 - 2000) < 10, "%g", ns);
    cold.cold = true;
    cr_assert_float_eq(cuda->burst(session, &cold), ns, 1); /* emptying the cache is not in it */
    cr_assert_eq(context.steps, 10);
    hot.arm = 1;
    cuda->burst(session, &hot);
    cr_assert_eq(context.steps, 20);
    cuda->release(session, cuda->alloc(session, 100)); /* pointers may be stale now */
    cuda->burst(session, &hot);
    cr_assert_eq(context.steps, 30);
    cuda->close(session);
}

static int failing(void *context)
{
    (void)context;
    return -EIO;
}

Test(backend_cuda, a_burst_that_fails_is_no_number)
{
    struct backend_session *session = open_good();
    struct backend_burst burst = { failing, NULL, 10, 0, false, BACKEND_AS_BEST };
    cr_assert(isnan(cuda->burst(session, &burst)));
    burst.calls = 1;
    cr_assert(isnan(cuda->burst(session, &burst)));
}
