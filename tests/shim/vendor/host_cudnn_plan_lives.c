/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenarios of host_cudnn_plan: how plans come, are used and go, and what is called meanwhile.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cudnn_build.h"
#include "host_cudnn_plan.h"
#include "tracer/cublas.h"
#include "tracer/graph_calls.h"

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
extern fake_rows fake_cublas_rows;

static void from_json(void)
{
    static char text[1 << 16];
    int64_t bytes = 0;
    cudnnBackendGetAttribute(conv_plan(0), FAKE_PLAN_JSON, FAKE_CHAR, sizeof text, &bytes, text);
    D plan = create(FAKE_PLAN), broken = create(FAKE_PLAN);
    set(plan, FAKE_PLAN_JSON, FAKE_CHAR, bytes, text);
    execute(finalized(plan), 3);
    expect(conv(TILEWISE_F16), 3);
    text[bytes / 4] = '\0';
    set(broken, FAKE_PLAN_JSON, FAKE_CHAR, bytes / 4 + 1, text);
    execute(finalized(broken), 2);
    expect(shapeless, 2);
}

/* The address of a plan that was destroyed: another plan has it, or one that never became final,
 * or nothing at all that we saw. */
static void reuse(void)
{
    D op = sdpa(NULL), other = plan_unfinalized(&op, 1, false), plan = conv_plan(0);
    execute(plan, 2);
    expect(conv(TILEWISE_F16), 2);
    cudnnBackendDestroyDescriptor(other);
    cudnnBackendDestroyDescriptor(plan);
    D again = create(FAKE_PLAN);
    if (again != plan || cudnnBackendFinalize(again) == 0 ||
        cudnnBackendExecute(NULL, again, NULL) == 0)
        exit(73);
    cudnnBackendDestroyDescriptor(again);
    again = plan_of(&op, 1); /* its graph takes the address */
    execute(again, 3);
    expect(attention(TILEWISE_NONE), 3);
    cudnnBackendDestroyDescriptor(again);
    D graph = create(FAKE_GRAPH);
    if (graph != again || cudnnBackendExecute(NULL, graph, NULL) == 0)
        exit(74);
}

static void *build_and_execute(void *unused)
{
    (void)unused;
    for (int i = 0; i < 300; i++) {
        D op = sdpa(NULL), plan = i % 2 ? conv_plan(0) : plan_of(&op, 1);
        execute(plan, 2);
        cudnnBackendDestroyDescriptor(plan);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];
    execute(conv_plan(0), 1); /* a thread does not wait long for a recorder that is starting */
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, build_and_execute, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    expect(conv(TILEWISE_F16), 601);
    expect(attention(TILEWISE_NONE), 600);
}

static void open_engine(void)
{
    void *engine = dlopen("libcudnn_engines_fake.so", RTLD_NOW | RTLD_LOCAL);
    *(void **)&fake_cudnn_engine = engine ? dlsym(engine, "fake_engine_run") : NULL;
    if (!fake_cudnn_engine)
        exit(75);
}

/* An engine's library calls cuBLASLt. */
static void inner(void)
{
    open_engine();
    execute(conv_plan(0), 100);
    expect(conv(TILEWISE_F16), 100);
}

/* It does so in a call that nobody hooks, and is refused: it tries what there is. */
static void refused(void)
{
    open_engine();
    fake_rows *lt = (fake_rows *)(uintptr_t)dlsym(RTLD_DEFAULT, "fake_cublaslt_rows");
    if (!lt)
        *(void **)&lt =
            dlsym(dlopen("libfake_cublaslt.so", RTLD_LAZY | RTLD_NOLOAD), "fake_cublaslt_rows");
    lt()->status = 15;
    for (int i = 0; i < 20; i++)
        fake_cudnn_engine(NULL);
    lt()->status = 0;
    execute(conv_plan(0), 100);
    expect(conv(TILEWISE_F16), 100);
}

/* The host tries products that are refused, most of them while another thread holds the loader's
 * lock: they must not wait for it. */
static _Atomic int step_of_attempts;

static void reach(int step_reached)
{
    step_of_attempts = step_reached;
}

static bool wait_for(int awaited)
{
    for (int ms = 0; step_of_attempts < awaited && ms < 60000; ms++)
        usleep(1000);
    return step_of_attempts >= awaited;
}

static void attempts(int times)
{
    for (int i = 0; i < times; i++)
        cublasSgemm_v2(NULL, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static void *try_products(void *unused)
{
    attempts(1); /* what is looked up once */
    reach(1);
    if (wait_for(2))
        attempts(20);
    reach(3);
    return unused;
}

static int hold_the_lock(struct dl_phdr_info *object, size_t bytes, void *met)
{
    (void)object, (void)bytes;
    reach(2);
    *(bool *)met = wait_for(3);
    return 1;
}

static void host_refused(void)
{
    pthread_t thread;
    bool met = false;
    struct fake_row *row = fake_cublas_rows();
    while (strcmp(row->symbol, "cublasSgemm_v2") != 0)
        row++;
    row->status = 15;
    pthread_create(&thread, NULL, try_products, NULL);
    if (!wait_for(1))
        exit(77);
    dl_iterate_phdr(hold_the_lock, &met);
    if (!met)
        exit(78);
    pthread_join(thread, NULL);
    execute(conv_plan(0), 100);
    expect(conv(TILEWISE_F16), 100);
}

static cublasHandle_t handle;

static void from_handler(void *stream)
{
    (void)stream;
    cublasSgemm_v2(handle, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

/* The host's own call in the middle of an execution, as from a signal handler. */
static void handler(void)
{
    cublasCreate_v2(&handle);
    fake_cudnn_engine = from_handler;
    execute(conv_plan(0), 10);
    expect(conv(TILEWISE_F16), 10);
}

/* A plan that becomes part of a graph: counted by the launches. Prints calls. */
static void populate(void)
{
    struct fake_stream *s = fake_stream();
    void *graph = NULL, *exec = NULL;
    cudaStreamBeginCapture(s, 0);
    cudaStreamEndCapture(s, &graph);
    D plan = conv_plan(0);
    if (cudnnBackendPopulateCudaGraph(NULL, plan, NULL, (cudaGraph_t)graph) != 0 ||
        cudnnBackendPopulateCudaGraph(NULL, create(FAKE_PLAN), NULL, (cudaGraph_t)graph) == 0)
        exit(76);
    cudaGraphInstantiate(&exec, graph, 0, 0, 0);
    for (int i = 0; i < 50; i++)
        cudaGraphLaunch(exec, NULL);
    execute(plan, 7);
    for (struct fake_row *r = fake_cudnn_rows(); r->symbol; r++)
        if (r->executed != 0 && strcmp(r->symbol, "cudnnBackendExecute") == 0)
            printf("cudnnBackendExecute 7\ncudnnBackendPopulateCudaGraph %llu\n",
                   (unsigned long long)r->executed - 7);
}

const struct scenario host_cudnn_plan_lives[] = {
    SCENARIO(from_json), SCENARIO(reuse),    SCENARIO(threads),
    SCENARIO(inner),     SCENARIO(refused),  SCENARIO(host_refused),
    SCENARIO(handler),   SCENARIO(populate), SCENARIO_END,
};
