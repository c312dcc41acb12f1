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
#include "tracer/cudnn_plans.h"
#include "tracer/graph_calls.h"

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
extern fake_rows fake_cublas_rows;

/* Of a convolution with that padding; bytes, with the end. */
static int64_t text_of(int64_t pad, char *text, int64_t most)
{
    D plan = conv_plan(pad);
    int64_t bytes = 0;
    cudnnBackendGetAttribute(plan, FAKE_PLAN_JSON, FAKE_CHAR, most, &bytes, text);
    cudnnBackendDestroyDescriptor(plan);
    return bytes;
}

static void from_json(void)
{
    static char text[1 << 16];
    int64_t bytes = text_of(0, text, sizeof text);
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

static struct fake_row *at_row(const char *symbol)
{
    struct fake_row *row = fake_cudnn_rows();
    while (strcmp(row->symbol, symbol) != 0)
        row++;
    return row;
}

static void on(void *handle, D plan, int times)
{
    for (int i = 0; i < times; i++)
        if (cudnnBackendExecute((cudnnHandle_t)handle, plan, NULL) != 0)
            exit(79);
}

/* A handle is asked for its stream once. Prints the calls on each stream, as `dump streams`, and on
 * stderr how often the library was asked. */
static void streams(void)
{
    struct fake_stream *s = fake_stream(), *t = fake_stream(), *other = fake_stream();
    void *handle = s; /* on that stream, until it is told another one */
    D plan = conv_plan(0);
    on(handle, plan, 3);
    cudnnSetStream((cudnnHandle_t)handle, (cudaStream_t)(void *)t);
    on(handle, plan, 5);
    cudnnSetStream((cudnnHandle_t)handle, (cudaStream_t)(void *)t);
    on(handle, plan, 2);
    at_row("cudnnSetStream")->status = 1001;
    cudnnSetStream((cudnnHandle_t)handle, (cudaStream_t)(void *)other);
    at_row("cudnnSetStream")->status = 0;
    on(handle, plan, 4);
    cudnnDestroy((cudnnHandle_t)handle); /* the next one has its address */
    on(handle, plan, 7);
    printf("stream 1 10\nstream 2 11\n");
    fprintf(stderr, "%llu\n", (unsigned long long)fake_cudnn_asked);
}

static void call(D plan, D pack)
{
    if (cudnnBackendExecute(NULL, plan, pack) != 0)
        exit(79);
}

/* Each execution has a descriptor of its own for what it is to work on, at the address of a plan
 * that was destroyed. Nobody looks at it. */
static void packs(void)
{
    D gone = conv_plan(1), plan = conv_plan(0);
    for (int i = 0; i < 100; i++) {
        if (i % 10 == 0)
            cudnnBackendDestroyDescriptor(gone);
        D pack = create(FAKE_PACK);
        if (i % 10 == 0 && pack != gone)
            exit(80);
        call(plan, finalized(pack));
        cudnnBackendDestroyDescriptor(pack);
        if (i % 10 == 0)
            gone = conv_plan(1);
    }
    expect(conv(TILEWISE_F16), 100);
    if (fake_cudnn_reads != 0)
        exit(81);
}

/* By turns, with one that comes now and then. */
static void turns(void)
{
    D op = sdpa(NULL), first = conv_plan(0), second = plan_of(&op, 1), third = conv_plan(1);
    for (int i = 0; i < 90; i++) {
        call(first, NULL);
        if (i % 9 == 0)
            call(third, NULL);
        call(second, NULL);
    }
    expect(conv(TILEWISE_F16), 90);
    expect(attention(TILEWISE_NONE), 90);
    expect(conv(TILEWISE_F16), 10);
}

/* One address, another plan each time, executed in the same order. */
static void replaced(void)
{
    D op = sdpa(NULL), other = plan_unfinalized(&op, 1, false), last = NULL;
    static char text[2][1 << 16];
    int64_t bytes[2] = { text_of(0, text[0], sizeof text[0]), 0 };
    cudnnBackendGetAttribute(finalized(other), FAKE_PLAN_JSON, FAKE_CHAR, sizeof text[1], &bytes[1],
                             text[1]);
    for (int i = 0; i < 50; i++) {
        D plan = create(FAKE_PLAN);
        set(plan, FAKE_PLAN_JSON, FAKE_CHAR, bytes[i % 2], text[i % 2]);
        if (i > 0 && plan != last)
            exit(82);
        call(finalized(plan), NULL);
        call(plan, NULL);
        cudnnBackendDestroyDescriptor(last = plan);
    }
    expect(conv(TILEWISE_F16), 50);
    expect(attention(TILEWISE_NONE), 50);
}

/* More plans than a set of the recorder's has room for: the others are counted without a shape. */
static void crowd(void)
{
    enum { PLANS = CUDNN_PLANS_WAYS + 2, ROUNDS = 5 };
    static char text[1 << 16];
    D plan[PLANS];
    for (int i = 0; i < PLANS; i++) {
        int64_t bytes = text_of(i, text, sizeof text);
        do
            plan[i] = create(FAKE_PACK);
        while (cudnn_plans_hash(plan[i], CUDNN_PLANS_SET_BITS) !=
               cudnn_plans_hash(plan[0], CUDNN_PLANS_SET_BITS));
        cudnnBackendDestroyDescriptor(plan[i]);
        if (create(FAKE_PLAN) != plan[i])
            exit(83);
        set(plan[i], FAKE_PLAN_JSON, FAKE_CHAR, bytes, text);
        finalized(plan[i]);
    }
    for (int i = 0; i < PLANS * ROUNDS; i++)
        call(plan[i % PLANS], NULL);
    for (int i = 0; i < CUDNN_PLANS_WAYS; i++)
        expect(conv(TILEWISE_F16), ROUNDS);
    expect(shapeless, (PLANS - CUDNN_PLANS_WAYS) * ROUNDS);
}

/* More plans than are found at a glance, some of them others' heirs. */
static void many(void)
{
    enum { PLANS = 4 << PASS_PLAN_BITS, ROUNDS = 5 };
    static D plan[PLANS];
    D op = sdpa(NULL);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = round; i < PLANS; i += round ? 7 : 1) {
            if (round)
                cudnnBackendDestroyDescriptor(plan[i]);
            plan[i] = i % 2 ? conv_plan(0) : plan_of(&op, 1);
        }
        for (int i = 0; i < 2 * PLANS; i++)
            call(plan[i % PLANS], NULL);
    }
    expect(conv(TILEWISE_F16), PLANS * ROUNDS);
    expect(attention(TILEWISE_NONE), PLANS * ROUNDS);
}

/* What is not created leaves the address as it was: here another plan's. */
static void uncreated(void)
{
    D plan = conv_plan(0), same = plan;
    struct fake_row *row = fake_cudnn_rows();
    while (strcmp(row->symbol, "cudnnBackendCreateDescriptor") != 0)
        row++;
    for (int type = FAKE_PLAN; type <= FAKE_PACK; type += FAKE_PACK - FAKE_PLAN) {
        row->status = 3000;
        if (cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)type, &same) != 3000)
            exit(84);
        row->status = 0;
        execute(plan, 2);
    }
    expect(conv(TILEWISE_F16), 4);
}

/* Plans come and go while recording is off: from one line of stdin to the next. Says when. */
static void switched(void)
{
    D op = sdpa(NULL), gone = conv_plan(0);
    execute(gone, 1);
    getchar();
    cudnnBackendDestroyDescriptor(gone);
    D plan = plan_of(&op, 1), other = conv_plan(1);
    execute(plan, 5);
    execute(other, 5);
    fputs("done\n", stderr);
    getchar();
    execute(plan, 2);
    execute(other, 3);
    expect(conv(TILEWISE_F16), 1);
    expect(attention(TILEWISE_NONE), 2);
    expect(conv(TILEWISE_F16), 3);
}

/* Executed into a graph, between executions that are none of it. Prints calls. */
static void captured(void)
{
    struct fake_stream *s = fake_stream();
    void *graph = NULL, *exec = NULL;
    D plan = conv_plan(0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++)
            cudnnBackendExecute((cudnnHandle_t)(void *)s, plan, NULL);
        if (round == 1)
            cudaStreamEndCapture(s, &graph);
        if (round == 0)
            cudaStreamBeginCapture(s, 0);
    }
    cudaGraphInstantiate(&exec, graph, 0, 0, 0);
    for (int i = 0; i < 20; i++)
        cudaGraphLaunch(exec, NULL);
    for (struct fake_row *r = fake_cudnn_rows(); r->symbol; r++)
        if (r->executed != 0)
            printf("%s %llu\n", r->symbol, (unsigned long long)r->executed);
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
    SCENARIO(from_json),    SCENARIO(reuse),    SCENARIO(packs),    SCENARIO(turns),
    SCENARIO(many),         SCENARIO(replaced), SCENARIO(crowd),    SCENARIO(captured),
    SCENARIO(uncreated),    SCENARIO(threads),  SCENARIO(inner),    SCENARIO(refused),
    SCENARIO(host_refused), SCENARIO(handler),  SCENARIO(switched), SCENARIO(populate),
    SCENARIO(streams),      SCENARIO_END,
};
