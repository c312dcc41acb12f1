/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scenarios of host_graph are made of: calls, captures, launches.
 */
#ifndef TILEWISE_TESTS_HOST_GRAPH_H
#define TILEWISE_TESTS_HOST_GRAPH_H

#include "fake.h"
#include "scenario.h"
#include "tracer/cublas.h"
#include "tracer/driver_calls.h"
#include "tracer/graph_calls.h"

extern const struct scenario host_graph_nodes[]; /* graphs with nodes that were added */

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW
#define ROW(family, symbol, ...) cublasStatus_t symbol(family##_PARAMS);
#include "tracer/cublas_state.def"
#undef ROW
#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/driver.def"
#undef ROW
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
cublasStatus_t cublasDgemm_v2(CUBLAS_GEMM_PARAMS(int, D));
cublasStatus_t cublasSgemmGroupedBatched(CUBLAS_GEMM_GROUPED_PARAMS(int, S));

int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph);

static inline cublasHandle_t handle_on(struct fake_stream *stream)
{
    cublasHandle_t h;
    cublasCreate_v2(&h);
    cublasSetStream_v2(h, (cudaStream_t)(void *)stream);
    return h;
}

static inline void sgemm(cublasHandle_t h, int times)
{
    for (int i = 0; i < times; i++)
        cublasSgemm_v2(h, 0, 0, 8 + i % 2, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static inline void dgemm(cublasHandle_t h, int times)
{
    for (int i = 0; i < times; i++)
        cublasDgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static inline void *end(struct fake_stream *s)
{
    void *graph = NULL;
    cudaStreamEndCapture(s, &graph);
    return graph;
}

/* A graph of so many sgemm and dgemm. */
static inline void *captured(struct fake_stream *s, int single, int two)
{
    cublasHandle_t h = handle_on(s);
    cudaStreamBeginCapture(s, 0);
    sgemm(h, single);
    dgemm(h, two);
    cublasDestroy_v2(h);
    return end(s);
}

static inline void *instantiated(void *graph)
{
    void *exec = NULL;
    cudaGraphInstantiate(&exec, graph, 0, 0, 0);
    return exec;
}

static inline void launch(void *exec, struct fake_stream *s, int times)
{
    for (int i = 0; i < times; i++)
        cudaGraphLaunch(exec, s);
}

#endif
