/* SPDX-License-Identifier: Apache-2.0
 *
 * Host time of one cublasGemmEx and one cublasLtMatmul call. Run it with an empty preload and under
 * the shim, in turns: the difference is what a hook costs. A launch takes microseconds and varies
 * by more than that, so where the library accepts a product of no rows (m = 0: it returns at once,
 * with success) that is what is called; else a small one is.
 *
 *   cc -O2 -I$CUDA/include call_cost.c -o call_cost -L$CUDA/lib64 -lcublas -lcublasLt -lcudart
 *   call_cost [BATCHES]
 *
 * Prints {"cublasGemmEx": {"m": rows, "ns": [per call, of each batch]}, "cublasLtMatmul": ...}. A
 * batch is shorter than the launch queue, and the GPU has caught up before the next one starts.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

enum { SIZE = 16, CALLS = 400, BATCHES = 300, WARM_UP = 3 };

struct problem {
    cublasHandle_t blas;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t layout;
    cublasLtMatrixLayout_t no_rows;
    cublasLtMatmulAlgo_t algo;
    void *a, *b, *c;
};

typedef cublasStatus_t routine(struct problem *p, int m);

static void require(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "call_cost: %s failed\n", what);
        exit(2);
    }
}

#define REQUIRE(call) require((int)(call) == 0, #call)

static void choose_algorithm(struct problem *p)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference));
    REQUIRE(cublasLtMatmulAlgoGetHeuristic(p->lt, p->how, p->layout, p->layout, p->layout,
                                           p->layout, preference, 1, &result, &found));
    require(found == 1, "cublasLtMatmulAlgoGetHeuristic");
    p->algo = result.algo;
    REQUIRE(cublasLtMatmulPreferenceDestroy(preference));
}

static void prepare(struct problem *p)
{
    const size_t bytes = (size_t)SIZE * SIZE * 2;
    REQUIRE(cudaMalloc(&p->a, bytes));
    REQUIRE(cudaMalloc(&p->b, bytes));
    REQUIRE(cudaMalloc(&p->c, bytes));
    REQUIRE(cudaMemset(p->a, 0x3c, bytes));
    REQUIRE(cudaMemset(p->b, 0x3c, bytes));
    REQUIRE(cublasCreate(&p->blas));
    REQUIRE(cublasLtCreate(&p->lt));
    REQUIRE(cublasLtMatmulDescCreate(&p->how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    REQUIRE(cublasLtMatrixLayoutCreate(&p->layout, CUDA_R_16BF, SIZE, SIZE, SIZE));
    if (cublasLtMatrixLayoutCreate(&p->no_rows, CUDA_R_16BF, 0, SIZE, SIZE) != 0)
        p->no_rows = NULL;
    choose_algorithm(p);
}

static cublasStatus_t gemm_ex(struct problem *p, int m)
{
    const float one = 1, zero = 0;
    return cublasGemmEx(p->blas, CUBLAS_OP_N, CUBLAS_OP_N, m, SIZE, SIZE, &one, p->a, CUDA_R_16BF,
                        SIZE, p->b, CUDA_R_16BF, SIZE, &zero, p->c, CUDA_R_16BF, SIZE,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t lt_matmul(struct problem *p, int m)
{
    const float one = 1, zero = 0;
    cublasLtMatrixLayout_t tall = m ? p->layout : p->no_rows;
    if (!tall)
        return CUBLAS_STATUS_INVALID_VALUE;
    return cublasLtMatmul(p->lt, p->how, &one, p->a, tall, p->b, p->layout, &zero, p->c, tall, p->c,
                          tall, &p->algo, NULL, 0, NULL);
}

/* The libraries have started their threads: only this one is kept in place. */
static void stay_on_one_processor(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void measure(const char *name, routine *call, struct problem *p, int batches)
{
    int m = call(p, 0) == CUBLAS_STATUS_SUCCESS ? 0 : SIZE;
    printf("\"%s\": {\"m\": %d, \"ns\": [", name, m);
    for (int batch = -WARM_UP; batch < batches; batch++) {
        int failed = 0;
        uint64_t start_ns = now_ns();
        for (int i = 0; i < CALLS; i++)
            failed |= call(p, m) != CUBLAS_STATUS_SUCCESS;
        uint64_t end_ns = now_ns();
        REQUIRE(cudaDeviceSynchronize());
        require(!failed, name);
        if (batch >= 0)
            printf("%s%.1f", batch ? ", " : "", (double)(end_ns - start_ns) / CALLS);
    }
    printf("]}");
}

int main(int argc, char **argv)
{
    struct problem p = { 0 };
    int batches = argc > 1 ? atoi(argv[1]) : BATCHES;
    prepare(&p);
    stay_on_one_processor();
    printf("{");
    measure("cublasGemmEx", gemm_ex, &p, batches);
    printf(", ");
    measure("cublasLtMatmul", lt_matmul, &p, batches);
    printf("}\n");
    return 0;
}
