/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cuBLAS handle was told before a call: `host_state SCENARIO` prints the rows that a trace
 * must hold, or for `calls` what was executed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cublaslt.h"
#include "rowtext.h"
#include "tracer/cublas.h"

#define ROW(family, symbol, ...) cublasStatus_t symbol(family##_PARAMS);
#include "tracer/cublas_state.def"
#undef ROW
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
cublasStatus_t cublasHgemm(CUBLAS_GEMM_PARAMS(int, H));
cublasStatus_t cublasGemmEx(CUBLAS_GEMM_EX_PARAMS(int, ANY));
cublasStatus_t cublasGemmStridedBatchedEx(CUBLAS_GEMM_STRIDED_EX_PARAMS(int, ANY));
cublasStatus_t cublasGemmStridedBatchedEx_64(CUBLAS_GEMM_STRIDED_EX_PARAMS(int64_t, ANY));
extern fake_rows fake_cublas_rows;
extern void (*fake_cublas_inner)(void *stream);
extern uint64_t fake_cublas_asked;
extern const void *fake_cublas_caller;

enum { HOST, DEVICE, MATH_DEFAULT = 0, MATH_PEDANTIC = 2, MATH_TF32 = 3, MATH_NO_REDUCTION = 16 };

static int next_m = 1;

static cublasHandle_t new_handle(void)
{
    cublasHandle_t h;
    cublasCreate_v2(&h);
    return h;
}

static struct tilewise_signature base(int dtype, int compute, int scalar, int math)
{
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .dtype_a = (uint8_t)dtype,
        .dtype_b = (uint8_t)dtype,
        .dtype_c = (uint8_t)dtype,
        .dtype_d = (uint8_t)dtype,
        .compute = (uint8_t)compute,
        .scale = (uint8_t)dtype,
        .alpha = (uint8_t)scalar,
        .beta = (uint8_t)scalar,
        .math_mode = (uint16_t)math,
        .m = next_m++,
        .n = 8,
        .k = 8,
        .batch = 1,
        .lda = 8,
        .ldb = 8,
        .ldc = 8,
        .ldd = 8,
    };
}

static void sgemm(cublasHandle_t h, int compute, int scalar, int math)
{
    struct tilewise_signature s = base(TILEWISE_F32, compute, scalar, math);
    cublasSgemm_v2(h, 0, 0, (int)s.m, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    rowtext_print("cublasSgemm_v2", &s, 1);
}

static void hgemm(cublasHandle_t h, int math)
{
    struct tilewise_signature s = base(TILEWISE_F16, TILEWISE_F16, TILEWISE_SCALAR_UNREAD, math);
    cublasHgemm(h, 0, 0, (int)s.m, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    rowtext_print("cublasHgemm", &s, 1);
}

static void usual(cublasHandle_t h)
{
    sgemm(h, TILEWISE_F32, TILEWISE_SCALAR_UNREAD, 0);
}

static void modes(void)
{
    cublasHandle_t h = new_handle();
    usual(h);
    cublasSetPointerMode_v2(h, (cublasPointerMode_t)DEVICE);
    sgemm(h, TILEWISE_F32, TILEWISE_SCALAR_DEVICE, 0);
    cublasSetPointerMode_v2(h, (cublasPointerMode_t)HOST);
    cublasSetMathMode(h, (cublasMath_t)MATH_TF32);
    sgemm(h, TILEWISE_TF32, TILEWISE_SCALAR_UNREAD, MATH_TF32);
    hgemm(h, 0); /* means nothing to half */
    cublasSetMathMode(h, (cublasMath_t)(MATH_DEFAULT | MATH_NO_REDUCTION));
    hgemm(h, MATH_NO_REDUCTION);
    cublasSetMathMode(h, (cublasMath_t)MATH_PEDANTIC);
    sgemm(h, TILEWISE_F32, TILEWISE_SCALAR_UNREAD, MATH_PEDANTIC);
}

/* Told before the first call, when the shim does not know the handle yet. */
static void told_before(void)
{
    cublasHandle_t h = new_handle();
    cublasSetMathMode(h, (cublasMath_t)MATH_TF32);
    cublasSetPointerMode_v2(h, (cublasPointerMode_t)DEVICE);
    sgemm(h, TILEWISE_TF32, TILEWISE_SCALAR_DEVICE, MATH_TF32);
}

static void set_status(const char *symbol, int status)
{
    struct fake_row *r = fake_cublas_rows();
    while (strcmp(r->symbol, symbol) != 0)
        r++;
    r->status = status;
}

/* A setter that the library refuses changes nothing, whether it says what is there or not. */
static void setter_refused(void)
{
    cublasHandle_t h = new_handle();
    usual(h);
    for (int mode = MATH_DEFAULT; mode <= MATH_TF32; mode += MATH_TF32) {
        set_status("cublasSetMathMode", 7);
        if (cublasSetMathMode(h, (cublasMath_t)mode) != (cublasStatus_t)7)
            exit(1);
        set_status("cublasSetMathMode", 0);
        usual(h);
    }
    for (int mode = HOST; mode <= DEVICE; mode++) {
        set_status("cublasSetPointerMode_v2", 7);
        if (cublasSetPointerMode_v2(h, (cublasPointerMode_t)mode) != (cublasStatus_t)7)
            exit(1);
        set_status("cublasSetPointerMode_v2", 0);
        usual(h);
    }
}

/* The same of the stream, as `streams`. */
static void stream_refused(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream();
    cublasHandle_t h = new_handle();
    for (int i = 0; i < 100; i++) {
        cublasSetStream_v2(h, (cudaStream_t)(void *)s);
        set_status("cublasSetStream_v2", 7);
        if (cublasSetStream_v2(h, (cudaStream_t)(void *)(i % 2 ? s : t)) != (cublasStatus_t)7)
            exit(1);
        set_status("cublasSetStream_v2", 0);
        cublasSgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    }
    puts("stream 1 100");
}

/* The next handle gets the address of the destroyed one and none of its modes. */
static void destroyed(void)
{
    cublasHandle_t h = new_handle();
    cublasSetMathMode(h, (cublasMath_t)MATH_TF32);
    sgemm(h, TILEWISE_TF32, TILEWISE_SCALAR_UNREAD, MATH_TF32);
    cublasHandle_t before = h;
    cublasDestroy_v2(h);
    h = new_handle();
    if (h != before)
        exit(77);
    usual(h);
}

/* More handles than are remembered at a time. */
static void many(void)
{
    static cublasHandle_t h[5000];
    for (int i = 0; i < 5000; i++) {
        h[i] = new_handle();
        cublasSetMathMode(h[i], (cublasMath_t)(i % 2 ? MATH_TF32 : MATH_DEFAULT));
    }
    for (int i = 0; i < 5000; i++)
        sgemm(h[i], i % 2 ? TILEWISE_TF32 : TILEWISE_F32, TILEWISE_SCALAR_UNREAD,
              i % 2 ? MATH_TF32 : 0);
}

/* Types and modes that a future library may have. */
static void unknown(void)
{
    cublasHandle_t h = new_handle();
    for (int type = 90; type < 92; type++) {
        struct tilewise_signature s =
            base(TILEWISE_UNKNOWN, TILEWISE_F32, TILEWISE_SCALAR_UNREAD, 68 << 8);
        s.scale = TILEWISE_F32;
        s.flags = TILEWISE_NOT_REPLAYABLE;
        s.m = 3;
        cublasGemmEx(h, 0, 0, 3, 8, 8, NULL, NULL, (cudaDataType)type, 8, NULL, (cudaDataType)type,
                     8, NULL, NULL, (cudaDataType)type, 8, (cublasComputeType_t)68, -1);
        rowtext_print("cublasGemmEx", &s, 1);
    }
}

/* The arguments of a call, and what a handle was told before it. */
enum thing {
    TRANS_A,
    TRANS_B,
    M,
    N,
    K,
    LDA,
    LDB,
    LDC,
    BATCH,
    STRIDE_A,
    STRIDE_B,
    STRIDE_C,
    TYPE_A,
    TYPE_B,
    TYPE_C,
    COMPUTE,
    A,
    B,
    C,
    MATH,
    POINTER_MODE,
    WIDE, /* the 64-bit name */
    THINGS
};
enum { R_32F = 0, R_16BF = 14, COMPUTE_32F = 68, COMPUTE_TF32 = 77 };

enum { BURST = 15000 };
static struct fake_stream *burst_streams[2];

/* Usually, and else. */
static const int64_t value_of[THINGS][2] = {
    [TRANS_A] = { 0, 1 },
    [TRANS_B] = { 0, 1 },
    [M] = { 8, 9 },
    [N] = { 16, 17 },
    [K] = { 32, 33 },
    [LDA] = { 64, 65 },
    [LDB] = { 64, 65 },
    [LDC] = { 64, 65 },
    [BATCH] = { 4, 5 },
    [STRIDE_A] = { 4096, 4097 },
    [STRIDE_B] = { 4096, 4097 },
    [STRIDE_C] = { 4096, 4097 },
    [TYPE_A] = { R_32F, R_16BF },
    [TYPE_B] = { R_32F, R_16BF },
    [TYPE_C] = { R_32F, R_16BF },
    [COMPUTE] = { COMPUTE_32F, COMPUTE_TF32 },
    [A] = { 0x1000, 0x1008 },
    [B] = { 0x1000, 0x1008 },
    [C] = { 0x1000, 0x1008 },
    [MATH] = { MATH_DEFAULT, MATH_NO_REDUCTION },
    [POINTER_MODE] = { HOST, DEVICE },
    [WIDE] = { 0, 1 },
};

static struct tilewise_signature signature_of(const int64_t v[THINGS])
{
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .trans_a = (uint8_t)v[TRANS_A],
        .trans_b = (uint8_t)v[TRANS_B],
        .dtype_a = v[TYPE_A] == R_16BF ? TILEWISE_BF16 : TILEWISE_F32,
        .dtype_b = v[TYPE_B] == R_16BF ? TILEWISE_BF16 : TILEWISE_F32,
        .dtype_c = v[TYPE_C] == R_16BF ? TILEWISE_BF16 : TILEWISE_F32,
        .dtype_d = v[TYPE_C] == R_16BF ? TILEWISE_BF16 : TILEWISE_F32,
        .compute = v[COMPUTE] == COMPUTE_TF32 ? TILEWISE_TF32 : TILEWISE_F32,
        .scale = TILEWISE_F32,
        .alpha = v[POINTER_MODE] ? TILEWISE_SCALAR_DEVICE : TILEWISE_SCALAR_UNREAD,
        .beta = v[POINTER_MODE] ? TILEWISE_SCALAR_DEVICE : TILEWISE_SCALAR_UNREAD,
        .align_a = v[A] % 16 ? 3 : 4,
        .align_b = v[B] % 16 ? 3 : 4,
        .align_c = v[C] % 16 ? 3 : 4,
        .align_d = v[C] % 16 ? 3 : 4,
        .batch_kind = TILEWISE_BATCH_STRIDED,
        .math_mode = (uint16_t)(v[MATH] | v[COMPUTE] << 8),
        .m = v[M],
        .n = v[N],
        .k = v[K],
        .batch = v[BATCH],
        .lda = v[LDA],
        .ldb = v[LDB],
        .ldc = v[LDC],
        .ldd = v[LDC],
        .stride_a = v[STRIDE_A],
        .stride_b = v[STRIDE_B],
        .stride_c = v[STRIDE_C],
        .stride_d = v[STRIDE_C],
    };
}

#define CALL(symbol, I)                                                                            \
    symbol(h, (cublasOperation_t)v[TRANS_A], (cublasOperation_t)v[TRANS_B], (I)v[M], (I)v[N],      \
           (I)v[K], NULL, (void *)v[A], (cudaDataType)v[TYPE_A], (I)v[LDA], v[STRIDE_A],           \
           (void *)v[B], (cudaDataType)v[TYPE_B], (I)v[LDB], v[STRIDE_B], NULL, (void *)v[C],      \
           (cudaDataType)v[TYPE_C], (I)v[LDC], v[STRIDE_C], (I)v[BATCH],                           \
           (cublasComputeType_t)v[COMPUTE], -1)

static void call_strided(cublasHandle_t h, const int64_t v[THINGS], int times)
{
    for (int i = 0; i < times; i++) {
        cublasSetMathMode(h, (cublasMath_t)v[MATH]);
        cublasSetPointerMode_v2(h, (cublasPointerMode_t)v[POINTER_MODE]);
        if (v[WIDE])
            CALL(cublasGemmStridedBatchedEx_64, int64_t);
        else
            CALL(cublasGemmStridedBatchedEx, int);
    }
}
#undef CALL

/* A call that is expected, and in its place one that differs in one thing. */
static void one_thing(void)
{
    cublasHandle_t h = new_handle();
    int64_t usual[THINGS], other[THINGS];
    for (int i = 0; i < THINGS; i++)
        usual[i] = value_of[i][0];
    struct tilewise_signature s = signature_of(usual);
    rowtext_print("cublasGemmStridedBatchedEx", &s, 7 * THINGS);
    for (int thing = 0; thing < THINGS; thing++) {
        memcpy(other, usual, sizeof other);
        other[thing] = value_of[thing][1];
        call_strided(h, usual, 5);
        call_strided(h, other, 3);
        call_strided(h, usual, 2);
        s = signature_of(other);
        rowtext_print(other[WIDE] ? "cublasGemmStridedBatchedEx_64" : "cublasGemmStridedBatchedEx",
                      &s, 3);
    }
}

/* As PyTorch does: the stream before every call. Prints the calls on each stream, as `dump
 * streams`, and on stderr how often the library was asked. */
static void streams(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream();
    cublasHandle_t h = new_handle();
    for (int i = 0; i < 1000; i++) {
        cublasSetStream_v2(h, (cudaStream_t)(void *)(i % 4 ? s : t));
        cublasSgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    }
    printf("stream 1 250\nstream 2 750\n");
    fprintf(stderr, "%llu\n", (unsigned long long)fake_cublas_asked);
}

/* More calls than the recorder takes at once, in threads that end, among calls of another kind. */
static void *burst_of_calls(void *unused)
{
    (void)unused;
    cublasHandle_t h = new_handle();
    int64_t v[THINGS];
    for (int i = 0; i < THINGS; i++)
        v[i] = value_of[i][0];
    for (int i = 0; i < BURST; i++) {
        v[M] = i % 3 + 1;
        cublasSetStream_v2(h, (cudaStream_t)(void *)burst_streams[i % 2]);
        call_strided(h, v, 1);
        if (i % 5 == 0)
            cublasSgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    }
    return NULL;
}

static void burst(void)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    int64_t v[THINGS];
    for (int i = 0; i < 2; i++)
        burst_streams[i] = fake_stream();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, burst_of_calls, NULL) != 0)
            exit(72);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THINGS; i++)
        v[i] = value_of[i][0];
    for (v[M] = 1; v[M] <= 3; v[M]++) {
        struct tilewise_signature s = signature_of(v);
        rowtext_print("cublasGemmStridedBatchedEx", &s, THREADS * (BURST / 3));
    }
    struct tilewise_signature s = base(TILEWISE_F32, TILEWISE_F32, TILEWISE_SCALAR_UNREAD, 0);
    s.m = s.n;
    rowtext_print("cublasSgemm_v2", &s, THREADS * (BURST / 5));
}

/* Once a handle is known, a hot product is called by the short hook, which writes to the journal:
 * its code begins at the exported name. */
static void journaled(void)
{
    enum { HOOK_BYTES = 512 };
    cublasHandle_t h = new_handle();
    for (int i = 0; i < 3; i++)
        cublasGemmEx(h, 0, 0, 8, 8, 8, NULL, NULL, 0, 8, NULL, 0, 8, NULL, NULL, 0, 8,
                     (cublasComputeType_t)COMPUTE_32F, -1);
#if defined(__x86_64__)
    if ((uintptr_t)fake_cublas_caller - (uintptr_t)cublasGemmEx >= HOOK_BYTES)
        exit(71);
#endif
    printf("cublasGemmEx 3\n");
}

static void call_lt(void *stream)
{
    cublasLtMatmul(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                   NULL, 0, stream);
}

/* A cuBLAS that calls cuBLASLt: one call. */
static void inner(void)
{
    fake_cublas_inner = call_lt;
    cublasHandle_t h = new_handle();
    for (int i = 0; i < 100; i++)
        cublasSgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    printf("cublasSgemm_v2 100\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenario[] = {
        { "modes", modes },
        { "told_before", told_before },
        { "setter_refused", setter_refused },
        { "stream_refused", stream_refused },
        { "many", many },
        { "destroyed", destroyed },
        { "unknown", unknown },
        { "one_thing", one_thing },
        { "streams", streams },
        { "burst", burst },
        { "journaled", journaled },
        { "inner", inner },
    };
    for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++)
        if (argc == 2 && strcmp(argv[1], scenario[i].name) == 0) {
            scenario[i].run();
            return 0;
        }
    return 64;
}
