/* SPDX-License-Identifier: Apache-2.0
 *
 * Host time of one call of cublasGemmEx, cublasLtMatmul and cublasSetStream. A launch takes
 * microseconds, and processes differ by as much, so:
 *   - where the library accepts a product of no rows (m = 0: it returns at once, with success) that
 *     is what is called; else a small one is;
 *   - under the shim, recording is switched off and on between the batches of one process, by the
 *     two functions that `tilewise ctl` leads to (switch.py says where they are): on less off is
 *     the price of recording, off less an empty preload that of being hooked at all.
 *
 *   cc -O2 -I$CUDA/include call_cost.c -o call_cost -L$CUDA/lib64 -lcublas -lcublasLt -lcudart
 *   call_cost BATCHES [PAUSE,RESUME]
 *
 * Prints {"cublasGemmEx": {"m": rows, "off": [ns per call, of each batch], "on": [...]}, ...};
 * without places in the shim all is "off". A batch is shorter than the launch queue, and the GPU
 * has caught up before the next one starts.
 */
#include <link.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

enum { SIZE = 16, CALLS = 400, BATCHES_MAX = 1000, WARM_UP = 4 };

struct problem {
    cublasHandle_t blas;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t layout;
    cublasLtMatrixLayout_t no_rows;
    cublasLtMatmulAlgo_t algo;
    void *a, *b, *c;
};

/* Of the shim; NULL: it is not here. */
static void (*pause_recording)(void), (*resume_recording)(void);

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

static cublasStatus_t set_stream(struct problem *p, int m)
{
    (void)m;
    return cublasSetStream(p->blas, NULL);
}

static int find_shim(struct dl_phdr_info *object, size_t bytes, void *places)
{
    const unsigned long *place = places;
    (void)bytes;
    if (!strstr(object->dlpi_name, "/libtilewise-tracer.so"))
        return 0;
    pause_recording = (void (*)(void))(object->dlpi_addr + place[0]);
    resume_recording = (void (*)(void))(object->dlpi_addr + place[1]);
    return 1;
}

static void learn_places(const char *text)
{
    unsigned long place[2];
    require(sscanf(text, "%lx,%lx", &place[0], &place[1]) == 2, "PAUSE,RESUME");
    require(dl_iterate_phdr(find_shim, place) == 1, "the shim's being here");
}

/* On, off, off, on: what drifts meets both alike. */
static int switched(int batch)
{
    int on = resume_recording && ((batch & 3) == 0 || (batch & 3) == 3);
    if (resume_recording)
        on ? resume_recording() : pause_recording();
    return on;
}

static double time_batch(const char *name, routine *call, struct problem *p, int m)
{
    int failed = 0;
    uint64_t start_ns = now_ns();
    for (int i = 0; i < CALLS; i++)
        failed |= call(p, m) != CUBLAS_STATUS_SUCCESS;
    uint64_t end_ns = now_ns();
    REQUIRE(cudaDeviceSynchronize());
    require(!failed, name);
    return (double)(end_ns - start_ns) / CALLS;
}

static void print(const char *name, const double *ns, int count)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.1f", i ? ", " : "", ns[i]);
    printf("]");
}

static void measure(const char *name, routine *call, struct problem *p, int batches)
{
    static double ns[2][BATCHES_MAX];
    int count[2] = { 0 }, m = call(p, 0) == CUBLAS_STATUS_SUCCESS ? 0 : SIZE;
    for (int batch = -WARM_UP; batch < batches; batch++) {
        int on = switched(batch);
        double took_ns = time_batch(name, call, p, m);
        if (batch >= 0)
            ns[on][count[on]++] = took_ns;
    }
    printf("\"%s\": {\"m\": %d, ", name, m);
    print("off", ns[0], count[0]);
    printf(", ");
    print("on", ns[1], count[1]);
    printf("}");
}

int main(int argc, char **argv)
{
    struct problem p = { 0 };
    int batches = argc > 1 ? atoi(argv[1]) : 0;
    require(batches > 0 && batches <= BATCHES_MAX, "BATCHES");
    prepare(&p);
    if (argc > 2)
        learn_places(argv[2]);
    stay_on_one_processor();
    printf("{");
    measure("cublasGemmEx", gemm_ex, &p, batches);
    printf(", ");
    measure("cublasLtMatmul", lt_matmul, &p, batches);
    printf(", ");
    measure("cublasSetStream", set_stream, &p, batches);
    printf("}\n");
    return 0;
}
