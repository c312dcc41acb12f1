/* SPDX-License-Identifier: Apache-2.0 */
#include "cold_calls.h"

#include "cold.h"
#include "cudnn_build.h"
#include "fake_cublaslt.h"
#include "tracer/cublas.h"

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSetStream_v2(CUBLAS_SET_STREAM_PARAMS);
cublasStatus_t cublasSetMathMode(CUBLAS_SET_MATH_MODE_PARAMS);
cublasStatus_t cublasGemmEx(CUBLAS_GEMM_EX_PARAMS(int, ANY));
extern void (*fake_cublas_inner)(void *stream);
extern void (*fake_cublaslt_inner)(void *stream);
extern const struct cold_calls cold_calls;

enum {
    BF16 = 14,
    VARIANT_PACK = 16, /* of cuDNN's descriptors, what an execution is given */
    COMPUTE_32F = 68,
    SHAPES = 7,
    /* A launch takes as long, and runs through as much. */
    BUSY_NS = 10000,
    BUSY_DATA_BYTES = 96 << 10,
    BUSY_CODE_BYTES = 64 << 10,
    BUSY_PAGES = 16,
};

static struct fake_stream *stream, *other_stream;
static cublasHandle_t handle;
static cudnnHandle_t dnn;
static D plan;
static uint8_t desc[FAKE_LT_BYTES], layout[4][FAKE_LT_BYTES];
static struct cold_room room;

static void wait_until(uint64_t end_ns)
{
    while (cold_now_ns() < end_ns)
        continue;
}

static void be_busy(void *unused)
{
    uint64_t end_ns = cold_now_ns() + BUSY_NS;
    (void)unused;
    cold_walk(&room);
    wait_until(end_ns);
}

/* What PyTorch does between a handle's stream and the call for which it was told. */
static void think(uint64_t ns)
{
    wait_until(cold_now_ns() + ns);
}

static void gemm_ex(int i)
{
    cublasGemmEx(handle, 1, 0, 4096, 1 + i % SHAPES, 4096, NULL, NULL, (cudaDataType)BF16, 4096,
                 NULL, (cudaDataType)BF16, 4096, NULL, NULL, (cudaDataType)BF16, 4096,
                 (cublasComputeType_t)COMPUTE_32F, -1);
}

static void lt_matmul(int i)
{
    int64_t columns = 1 + i % SHAPES;
    cublasLtMatrixLayoutSetAttribute(layout[3], 3, &columns, 8);
    cublasLtMatmul(NULL, (void *)desc, NULL, NULL, (void *)layout[0], NULL, (void *)layout[1], NULL,
                   NULL, (void *)layout[2], NULL, (void *)layout[3], NULL, NULL, 0,
                   (cudaStream_t)(void *)stream);
}

static void same_stream(int i)
{
    (void)i;
    cublasSetStream_v2(handle, (cudaStream_t)(void *)stream);
}

static void other_streams(int i)
{
    static int calls;
    (void)i;
    cublasSetStream_v2(handle, (cudaStream_t)(void *)(calls++ & 1 ? stream : other_stream));
}

static void other_math(int i)
{
    static int calls;
    (void)i;
    cublasSetMathMode(handle, (cublasMath_t)(calls++ & 1 ? 0 : 16));
}

/* As PyTorch does. */
static void product(int i)
{
    same_stream(i);
    think(300);
    cublasSetMathMode(handle, 0);
    cublasSetMathMode(handle, (cublasMath_t)16);
    gemm_ex(i);
    cublasSetMathMode(handle, 0);
}

static void execution(int i)
{
    (void)i;
    cudnnSetStream(dnn, (cudaStream_t)(void *)stream);
    think(1000);
    D pack = create(VARIANT_PACK);
    cudnnBackendExecute(dnn, plan, finalized(pack));
    cudnnBackendDestroyDescriptor(pack);
}

static void prepare(void)
{
    stream = fake_stream();
    other_stream = fake_stream();
    cublasCreate_v2(&handle);
    same_stream(0);
    cublasLtMatmulDescInit_internal(desc, sizeof desc, COMPUTE_32F, 0);
    for (int i = 0; i < 4; i++)
        cublasLtMatrixLayoutInit_internal(layout[i], sizeof layout[i], BF16, 64, 64, 64);
    dnn = (cudnnHandle_t)(void *)&room;
    plan = conv_plan(1);
    cold_make(&room, BUSY_DATA_BYTES, BUSY_PAGES, BUSY_CODE_BYTES);
    fake_cublas_inner = fake_cublaslt_inner = fake_cudnn_engine = be_busy;
}

const struct cold_calls cold_calls = {
    prepare,
    {
        { "cublasGemmEx", gemm_ex },
        { "cublasLtMatmul", lt_matmul },
        { "SetStream, same", same_stream },
        { "SetStream, other", other_streams },
        { "SetMathMode, other", other_math },
        { "as PyTorch", product },
        { "cuDNN, as PyTorch", execution },
    },
};
