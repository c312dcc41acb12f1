/* SPDX-License-Identifier: Apache-2.0
 *
 * Host programs with CUDA graphs: `host_graph SCENARIO`; prints what the fake GPU executed. Here:
 * captures, launches and updates.
 */
#include "host_graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern fake_rows fake_cublas_rows;

static void refuse(const char *symbol, int status)
{
    struct fake_row *r = fake_gpu_rows();
    while (strcmp(r->symbol, symbol) != 0)
        r++;
    r->status = status;
}

static void one(void)
{
    struct fake_stream *s = fake_stream();
    void *graph = captured(s, 5, 2), *exec = instantiated(graph);
    cudaGraphDestroy(graph); /* as PyTorch does */
    launch(exec, s, 100);
    sgemm(handle_on(s), 3); /* and outside of a graph */
    cudaGraphExecDestroy(exec);
}

/* A call that is expected as work is captured, and the other way. */
static void expected(void)
{
    struct fake_stream *s = fake_stream();
    cublasHandle_t h = handle_on(s);
    for (int i = 0; i < 3; i++) {
        sgemm(h, 6);
        cudaStreamBeginCapture(s, 0);
        sgemm(h, 4);
        launch(instantiated(end(s)), s, 10);
    }
    sgemm(h, 5);
}

static void never_launched(void)
{
    struct fake_stream *s = fake_stream();
    instantiated(captured(s, 5, 2));
    sgemm(handle_on(s), 1);
}

/* A launch into a capture is a part of it, and no work yet. */
static void launch_in_capture(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream();
    void *inner = instantiated(captured(s, 2, 1));
    cudaStreamBeginCapture(t, 0);
    launch(inner, t, 3);
    sgemm(handle_on(t), 1);
    launch(instantiated(end(t)), s, 10);
}

static void update(void)
{
    struct fake_stream *s = fake_stream();
    void *exec = instantiated(captured(s, 5, 0));
    launch(exec, s, 3);
    cudaGraphExecUpdate(exec, captured(s, 0, 2), NULL, NULL);
    launch(exec, s, 4);
}

static void update_refused(void)
{
    struct fake_stream *s = fake_stream();
    void *exec = instantiated(captured(s, 5, 1));
    refuse("cudaGraphExecUpdate", 910);
    cudaGraphExecUpdate(exec, captured(s, 0, 2), NULL, NULL);
    launch(exec, s, 4);
}

/* In each mode, with another thread's work and the null stream beside the capture. */
static void *beside(void *stream)
{
    cublasHandle_t h;
    cublasCreate_v2(&h);
    sgemm(h, 3);
    sgemm(handle_on(stream), 2);
    return NULL;
}

static void modes(void)
{
    for (int mode = 0; mode < 3; mode++) {
        struct fake_stream *s = fake_stream();
        cublasHandle_t h = handle_on(s);
        pthread_t t;
        cudaStreamBeginCapture(s, mode);
        sgemm(h, 1);
        pthread_create(&t, NULL, beside, fake_stream());
        pthread_join(t, NULL);
        dgemm(h, 1);
        launch(instantiated(end(s)), s, 4);
    }
}

/* Two streams in one capture that is invalidated: no work of either. */
static void invalid_joined(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream();
    cublasHandle_t hs = handle_on(s), ht = handle_on(t);
    cudaStreamBeginCapture(s, 0);
    fake_join(t, s);
    dgemm(ht, 2);
    fake_invalidate(s);
    sgemm(hs, 3);
    end(s);
    sgemm(hs, 1);
}

static void cloned(void)
{
    struct fake_stream *s = fake_stream();
    void *graph = captured(s, 3, 1), *copy;
    cudaGraphClone(&copy, graph);
    cudaGraphDestroy(graph);
    launch(instantiated(copy), s, 6);
}

/* Addresses of destroyed graphs are used again at once by malloc. */
static void reuse(void)
{
    struct fake_stream *s = fake_stream();
    for (int i = 0; i < 50; i++) {
        void *graph = captured(s, i % 5, i % 3), *exec = instantiated(graph);
        cudaGraphDestroy(graph);
        launch(exec, s, i % 7);
        cudaGraphExecDestroy(exec);
    }
}

static void into_existing(void)
{
    struct fake_stream *s = fake_stream();
    void *graph = captured(s, 2, 0), *same = NULL;
    cudaStreamBeginCaptureToGraph(s, graph, NULL, NULL, 0, 0);
    dgemm(handle_on(s), 4);
    cudaStreamEndCapture(s, &same);
    launch(instantiated(graph), s, 5);
}

/* A second stream takes part in the capture of the first; a third works on its own meanwhile. */
static void joined(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream(), *u = fake_stream();
    cublasHandle_t hs = handle_on(s), ht = handle_on(t), hu = handle_on(u);
    cudaStreamBeginCapture(s, 0);
    sgemm(hs, 1);
    fake_join(t, s);
    dgemm(ht, 2);
    sgemm(hu, 10);
    launch(instantiated(end(s)), u, 20);
}

static void invalid(void)
{
    struct fake_stream *s = fake_stream();
    cublasHandle_t h = handle_on(s);
    cudaStreamBeginCapture(s, 0);
    sgemm(h, 2);
    fake_invalidate(s);
    sgemm(h, 3);
    end(s);
    sgemm(h, 1); /* work again */
    void *graph;
    cudaStreamEndCapture(s, &graph); /* of a stream that is not captured */
    launch(instantiated(captured(s, 1, 1)), s, 2);
}

static void driver(void)
{
    struct fake_stream *s = fake_stream();
    void *graph, *exec, *second;
    cuStreamBeginCapture_v2(s, 0);
    sgemm(handle_on(s), 3);
    cuStreamEndCapture(s, &graph);
    cuGraphInstantiateWithFlags(&exec, graph, 0, 0, 0);
    for (int i = 0; i < 5; i++)
        cuGraphLaunch(exec, s);
    cuGraphInstantiateWithParams(&second, graph, &(const uint64_t[4]){ 0 });
    cuGraphLaunch_ptsz(second, s);
    cuGraphExecUpdate_v2(second, captured(s, 0, 1), NULL, NULL);
    cuGraphLaunch(second, s);
    cuGraphDestroy(graph);
    cuGraphExecDestroy(exec);
}

/* As a program that was compiled for streams of its threads: their functions take 0 for one. */
static void per_thread(void)
{
    struct fake_stream *own = (struct fake_stream *)(uintptr_t)FAKE_PER_THREAD;
    void *graph, *exec, *outer;
    cudaStreamBeginCapture_ptsz(NULL, 0);
    sgemm(handle_on(own), 3);
    sgemm(handle_on(NULL), 2); /* of the legacy stream: work */
    cudaStreamEndCapture_ptsz(NULL, &graph);
    exec = instantiated(graph);
    cudaGraphLaunch_ptsz(exec, NULL);
    cuStreamBeginCapture_v2_ptsz(NULL, 0);
    cudaGraphLaunch(exec, NULL); /* elsewhere */
    cuGraphLaunch_ptsz(exec, NULL);
    dgemm(handle_on(own), 1);
    cuStreamEndCapture_ptsz(NULL, &outer);
    launch(instantiated(outer), fake_stream(), 10);
    sgemm(handle_on(own), 1); /* no longer captured */
}

static void *address_of(const char *name)
{
    void *get = NULL, *found = NULL;
    /* As a runtime that is linked statically: the function itself by itself first. */
    cuGetProcAddress("cuGetProcAddress", &get, 12000, 0, NULL);
    ((int (*)(DRIVER_ADDRESS_PARAMS))get)(name, &found, 12000, 0, NULL);
    return found;
}

static void by_address(void)
{
    struct fake_stream *s = fake_stream();
    void *graph, *exec;
    ((int (*)(GRAPH_BEGIN_PARAMS))address_of("cuStreamBeginCapture"))(s, 0);
    sgemm(handle_on(s), 3);
    ((int (*)(GRAPH_END_PARAMS))address_of("cuStreamEndCapture"))(s, &graph);
    ((int (*)(GRAPH_INSTANTIATE_PARAMS))address_of("cuGraphInstantiate"))(&exec, graph, 0, 0, 0);
    for (int i = 0; i < 5; i++)
        ((int (*)(GRAPH_LAUNCH_PARAMS))address_of("cuGraphLaunch"))(exec, s);
    if (address_of("cuNoSuchFunction"))
        exit(1);
}

static bool run(const char *name);

static void nested(void)
{
    static const char *const of[] = { "one",    "child",         "update",
                                      "joined", "generic_child", "set_child" };
    fake_nested = 1;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (!run(of[i]))
            exit(1);
}

static void grouped(void)
{
    struct fake_stream *s = fake_stream();
    const cublasOperation_t n[1] = { 0 };
    const int eight[1] = { 8 };
    cudaStreamBeginCapture(s, 0);
    cublasSgemmGroupedBatched(handle_on(s), n, n, eight, eight, eight, NULL, NULL, eight, NULL,
                              eight, NULL, NULL, eight, 1, eight);
    launch(instantiated(end(s)), s, 9);
}

static void *work_alone(void *unused)
{
    struct fake_stream *s = fake_stream();
    cublasHandle_t h = handle_on(s);
    for (int i = 0; i < 300; i++) {
        void *graph = captured(s, 2, 1), *exec = instantiated(graph);
        launch(exec, s, 5);
        sgemm(h, 2);
        cudaGraphDestroy(graph);
        cudaGraphExecDestroy(exec);
    }
    return unused;
}

static void threads(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, work_alone, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

/* Captured while recording is off: launches count when it is on. $TILEWISE_OUT/disable is the
 * switch, looked at once a second. */
static void paused(void)
{
    struct fake_stream *s = fake_stream();
    char path[4096];
    snprintf(path, sizeof path, "%s/disable", getenv("TILEWISE_OUT"));
    sgemm(handle_on(s), 1);
    FILE *f = fopen(path, "w");
    if (f)
        fclose(f);
    sleep(3);
    void *exec = instantiated(captured(s, 2, 1));
    unlink(path);
    sleep(3);
    launch(exec, s, 10);
}

static void unknown(void)
{
    struct fake_stream *s = fake_stream();
    sgemm(handle_on(s), 1);
    launch(calloc(1, 1 << 20), s, 3); /* nobody saw it being made */
}

static const struct scenario captures[] = {
    SCENARIO(one),
    SCENARIO(expected),
    SCENARIO(never_launched),
    SCENARIO(launch_in_capture),
    SCENARIO(update),
    SCENARIO(update_refused),
    SCENARIO(modes),
    SCENARIO(invalid_joined),
    { "clone", cloned },
    SCENARIO(reuse),
    SCENARIO(into_existing),
    SCENARIO(joined),
    SCENARIO(invalid),
    SCENARIO(driver),
    SCENARIO(per_thread),
    SCENARIO(nested),
    SCENARIO(by_address),
    SCENARIO(grouped),
    SCENARIO(threads),
    SCENARIO(paused),
    SCENARIO(unknown),
    SCENARIO_END,
};

static bool run(const char *name)
{
    return scenario_run(captures, name) || scenario_run(host_graph_nodes, name);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !run(argv[1]))
        return 64;
    fake_print(fake_cublas_rows);
    return 0;
}
