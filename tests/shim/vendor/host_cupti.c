/* SPDX-License-Identifier: Apache-2.0
 *
 * Host programs whose cuBLAS launches kernels: `host_cupti SCENARIO`.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "fake_cupti.h"
#include "tracer/cublas.h"
#include "tracer/cupti_abi.h"
#include "tracer/graph_calls.h"

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
int cuptiSubscribe(void **subscriber, cupti_callback *callback, void *own);
extern void (*fake_cublas_inner)(void *stream);

enum { MAIN_NS = 3000, REDUCE_NS = 500, OTHER_NS = 7000, COPY_NS = 2000, FILL_NS = 600 };

static bool capturing;
static cublasHandle_t handle;
static struct fake_stream *stream;

/* Two kernels for each call. */
static void launch(void *unused)
{
    (void)unused;
    void (*work)(const char *, uint64_t) = capturing ? fake_node : fake_kernel;
    work("sgemm_main", MAIN_NS);
    work("splitKreduce", REDUCE_NS);
}

static void sgemm(int times, int m)
{
    for (int i = 0; i < times; i++)
        cublasSgemm_v2(handle, 0, 0, m, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static void eager(void)
{
    sgemm(100, 8);
    for (int i = 0; i < 30; i++)
        fake_kernel("flash_attention", OTHER_NS);
}

static void *capture(void)
{
    void *made = NULL, *exec = NULL;
    sgemm(1, 8);
    cudaStreamBeginCapture(stream, 0);
    capturing = true;
    sgemm(3, 16);
    fake_node("layer_norm", OTHER_NS);
    capturing = false;
    cudaStreamEndCapture(stream, &made);
    cudaGraphInstantiate(&exec, made, 0, 0, 0);
    fake_instantiate(exec);
    return exec;
}

static void replay(int launches, const struct timespec *pause)
{
    void *exec = capture();
    for (int i = 0; i < launches; i++) {
        cudaGraphLaunch(exec, stream);
        fake_graph_launch(exec);
        if (pause)
            nanosleep(pause, NULL);
    }
}

static void graph(void)
{
    replay(50, NULL);
}

static void decode(void)
{
    replay(1800, &(struct timespec){ 0, 1000000 });
}

/* Two streams in turn, copies in between, and one kernel with two grids. */
static void streams(void)
{
    const struct fake_launch on[] = {
        { .stream = 7, .grid = { 16, 2, 1 }, .block = { 256, 1, 1 }, .shared_bytes = 4096 },
        { .stream = 13, .grid = { 32, 2, 1 }, .block = { 128, 1, 1 } },
    };
    for (int i = 0; i < 40; i++) {
        fake_how(&on[i % 2]);
        sgemm(1, 8);
        fake_kernel("flash_attention", OTHER_NS);
        if (i % 4 == 0)
            fake_move(1, COPY_NS);
        if (i % 8 == 0)
            fake_move(0, FILL_NS);
    }
}

/* More at once than a window has room for on its timeline, and than a frame of the trace holds. */
static void many(void)
{
    for (int i = 0; i < 40000; i++) {
        fake_how(&(struct fake_launch){ .stream = 1 + (uint32_t)i % 50 });
        sgemm(1, 8);
    }
}

static void paced(int calls)
{
    const struct timespec pause = { 0, 1000000 };
    for (int i = 0; i < calls; i++) {
        sgemm(1, 8);
        nanosleep(&pause, NULL);
    }
}

static void slowly(void)
{
    paced(1800);
}

static void longer(void)
{
    paced(5000);
}

static void on_callback(void *own, uint32_t domain, uint32_t id, const void *data)
{
    (void)own, (void)domain, (void)id, (void)data;
}

static void profiler(void)
{
    void *subscriber;
    sgemm(50, 8);
    printf("subscribe %d\n", cuptiSubscribe(&subscriber, on_callback, NULL));
    sgemm(50, 8);
}

static void forked(void)
{
    sgemm(10, 8);
    pid_t child = fork();
    if (child)
        waitpid(child, NULL, 0);
    sgemm(child ? 10 : 5, 8);
}

static void *one_thread(void *m)
{
    cublasHandle_t own;
    cublasCreate_v2(&own);
    for (int i = 0; i < 500; i++)
        cublasSgemm_v2(own, 0, 0, *(int *)m, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 4 };
    static int m[THREADS] = { 8, 16, 24, 32 };
    pthread_t thread[THREADS];
    sgemm(1, 8);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, one_thread, &m[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = { { "eager", eager },   { "graph", graph },     { "streams", streams },
                      { "slowly", slowly }, { "long", longer },     { "profiler", profiler },
                      { "forked", forked }, { "threads", threads }, { "many", many },
                      { "decode", decode } };
    fake_cublas_inner = launch;
    stream = fake_stream();
    cublasCreate_v2(&handle);
    cublasSetStream_v2(handle, (cudaStream_t)(void *)stream);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (argc == 2 && strcmp(argv[1], scenarios[i].name) == 0)
            return scenarios[i].run(), 0;
    return 2;
}
