/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cuBLAS handle was told before a call: `host_state SCENARIO` prints the rows that a trace
 * must hold, or for `calls` what was executed.
 */
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
extern fake_rows fake_cublas_rows;
extern void (*fake_cublas_inner)(void *stream);
extern uint64_t fake_cublas_asked;

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

/* A setter that the library refuses changes nothing. */
static void setter_refused(void)
{
    cublasHandle_t h = new_handle();
    usual(h);
    struct fake_row *r = fake_cublas_rows();
    while (strcmp(r->symbol, "cublasSetMathMode") != 0)
        r++;
    r->status = 7;
    cublasSetMathMode(h, (cublasMath_t)MATH_TF32);
    r->status = 0;
    usual(h);
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
        { "many", many },
        { "destroyed", destroyed },
        { "unknown", unknown },
        { "streams", streams },
        { "inner", inner },
    };
    for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++)
        if (argc == 2 && strcmp(argv[1], scenario[i].name) == 0) {
            scenario[i].run();
            return 0;
        }
    return 64;
}
