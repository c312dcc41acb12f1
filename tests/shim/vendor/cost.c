/* SPDX-License-Identifier: Apache-2.0
 *
 * ns per call of some functions of the fake libraries: the best of many short batches, so that
 * other work on the machine is seen least. `cost.sh` runs it under no preload, an empty one, and
 * the shim.
 */
#include <time.h>

#include "fake_cublaslt.h"
#include "tracer/cublas.h"
#include "tracer/graph_calls.h"

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSetStream_v2(CUBLAS_SET_STREAM_PARAMS);
cublasStatus_t cublasGemmEx(CUBLAS_GEMM_EX_PARAMS(int, ANY));
int cudaGraphLaunch(GRAPH_LAUNCH_PARAMS);
int cudaGraphInstantiate(GRAPH_INSTANTIATE_PARAMS);
int cudaStreamBeginCapture(GRAPH_BEGIN_PARAMS);
int cudaStreamEndCapture(GRAPH_END_PARAMS);

enum { BATCH = 2000, BATCHES = 400, BF16 = 14, COMPUTE_32F = 68, SHAPES = 64 };

static struct fake_stream *stream;
static cublasHandle_t handle;
static void *exec;
static uint8_t desc[FAKE_LT_BYTES], layout[4][FAKE_LT_BYTES];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void gemm_ex(int i)
{
    cublasGemmEx(handle, 1, 0, 4096, 1 + i % SHAPES, 4096, NULL, NULL, (cudaDataType)BF16, 4096,
                 NULL, (cudaDataType)BF16, 4096, NULL, NULL, (cudaDataType)BF16, 4096,
                 (cublasComputeType_t)COMPUTE_32F, -1);
}

static void matmul(int i)
{
    int64_t columns = 1 + i % SHAPES;
    cublasLtMatrixLayoutSetAttribute(layout[3], 3, &columns, 8);
    cublasLtMatmul(NULL, (void *)desc, NULL, NULL, (void *)layout[0], NULL, (void *)layout[1], NULL,
                   NULL, (void *)layout[2], NULL, (void *)layout[3], NULL, NULL, 0,
                   (cudaStream_t)(void *)stream);
}

static void set_stream(int i)
{
    (void)i;
    cublasSetStream_v2(handle, (cudaStream_t)(void *)stream);
}

static void graph_launch(int i)
{
    (void)i;
    cudaGraphLaunch(exec, stream);
}

static void prepare(void)
{
    void *graph;
    stream = fake_stream();
    cublasCreate_v2(&handle);
    set_stream(0);
    cublasLtMatmulDescInit_internal(desc, sizeof desc, COMPUTE_32F, 0);
    for (int i = 0; i < 4; i++)
        cublasLtMatrixLayoutInit_internal(layout[i], sizeof layout[i], BF16, 64, 64, 64);
    cudaStreamBeginCapture(stream, 0);
    for (int i = 0; i < 100; i++)
        gemm_ex(i);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0, 0, 0);
}

static void measure(const char *name, void (*call)(int))
{
    double best = 1e9;
    for (int b = 0; b < BATCHES; b++) {
        double start = now_ns();
        for (int i = 0; i < BATCH; i++)
            call(i);
        double each = (now_ns() - start) / BATCH;
        best = each < best ? each : best;
        /* As a host does other things between: the writer thread keeps up. */
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    printf("%s %.1f\n", name, best);
}

int main(void)
{
    prepare();
    measure("cublasGemmEx", gemm_ex);
    measure("cublasLtMatmul", matmul);
    measure("cublasSetStream", set_stream);
    measure("cudaGraphLaunch", graph_launch);
    return 0;
}
