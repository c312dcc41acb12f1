/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that name what they do: `host_nvtx SCENARIO [DIRECTORY OF THE PLUGINS]`. Prints the
 * phases that the trace must hold, as `vendor_dump phases` does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "nvtx_client.h"
#include "tracer/cublas.h"
#include "tracer/graph_calls.h"

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));

static const char *plugins;

static void calls(int times)
{
    static __thread cublasHandle_t h;
    if (!h)
        cublasCreate_v2(&h);
    for (int i = 0; i < times; i++)
        cublasSgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static void in(const char *phase, int times)
{
    nvtxRangePushA(phase);
    calls(times);
    nvtxRangePop();
}

/* The first phase is open before anything is recorded. */
static void phases(void)
{
    in("prefill", 3);
    for (int i = 0; i < 10; i++)
        in("decode", 2);
    calls(5);
    puts("phase decode 10 10 20\nphase prefill 1 1 3\nwithout 5");
}

/* A call that is expected outside of phases comes in one, and the other way. */
static void expected(void)
{
    for (int i = 0; i < 10; i++) {
        calls(3);
        in("a", 2);
    }
    calls(4);
    puts("phase a 10 10 20\nwithout 34");
}

static void nested(void)
{
    nvtxRangePushA("outer");
    calls(1);
    in("inner", 2);
    calls(4);
    nvtxRangePushA("stays open");
    calls(8);
    puts("phase inner 1 1 2\nphase outer 1 0 5\nphase stays open 1 0 8\nwithout 0");
}

static void unbalanced(void)
{
    for (int i = 0; i < 5; i++)
        nvtxRangePop();
    in("a", 1);
    nvtxRangePop();
    in("a", 1);
    calls(1);
    puts("phase a 2 2 2\nwithout 1");
}

/* More than are kept apart: what is beyond belongs to the deepest one that is known. */
static void deep(void)
{
    for (int i = 0; i < 200; i++)
        nvtxRangePushA(i == 0 ? "first" : "deeper");
    calls(1);
    for (int i = 0; i < 199; i++)
        nvtxRangePop();
    calls(2);
    nvtxRangePop();
    calls(4);
    puts("lost 136\nphase deeper 63 63 1\nphase first 1 1 2\nwithout 4");
}

static void names(void)
{
    static char long_name[10241];
    memset(long_name, 'x', sizeof long_name - 1);
    in("tab\there, bell\a, \xff\xfe, \xe2\x82\xac", 1);
    in("", 1);
    in(long_name, 1);
    nvtxRangePushW(L"d\u00e9code");
    calls(1);
    nvtxRangePop();
    for (int i = 0; i < 3; i++) {
        char step[32];
        snprintf(step, sizeof step, "step %d", i);
        in(step, 1);
    }
    long_name[119] = '\0';
    printf("phase (unnamed) 1 1 1\nphase d\u00e9code 1 1 1\nphase step # 3 3 3\n"
           "phase tab\there, bell\a, \xff\xfe, \xe2\x82\xac 1 1 1\nphase %s 1 1 1\nwithout 0\n",
           long_name);
}

/* More names than there is room for. */
static void many_names(void)
{
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "phase %d x", i);
        in(name, 1);
    }
    puts("lost 36\nphases 64\nwithout 36");
}

static nvtxEventAttributes_t attributes(void)
{
    return (nvtxEventAttributes_t){ .version = NVTX_VERSION,
                                    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE };
}

static void push_ex(nvtxDomainHandle_t domain, const char *text, int registered)
{
    nvtxEventAttributes_t e = attributes();
    e.messageType = registered ? NVTX_MESSAGE_TYPE_REGISTERED : NVTX_MESSAGE_TYPE_ASCII;
    if (registered)
        e.message.registered = nvtxDomainRegisterStringA(domain, text);
    else
        e.message.ascii = text;
    if (domain)
        nvtxDomainRangePushEx(domain, &e);
    else
        nvtxRangePushEx(&e);
}

/* Ranges of two domains end in any order; those of NCCL are its own. */
static void domains(void)
{
    nvtxDomainHandle_t mine = nvtxDomainCreateA("server"), nccl = nvtxDomainCreateA("NCCL");
    push_ex(mine, "mine", 1);
    push_ex(NULL, "plain", 0);
    push_ex(nccl, "ncclAllReduce", 1);
    calls(1);
    nvtxDomainRangePop(mine);
    calls(2);
    nvtxDomainRangePop(nccl);
    nvtxRangePop();
    nvtxDomainRangePop(mine);
    calls(4);
    push_ex(NULL, "registered by default", 1);
    calls(8);
    nvtxRangePop();
    nvtxEventAttributes_t e = attributes(), none = { 0 };
    nvtxRangePushEx(&e);
    nvtxRangePop();
    nvtxRangePushEx(&none);
    nvtxRangePop();
    nvtxRangePushEx(NULL);
    nvtxRangePop();
    puts("phase (unnamed) 3 3 0\nphase mine 1 1 0\nphase plain 1 1 3\n"
         "phase registered by default 1 1 8\nwithout 4");
}

static void *end_of(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

/* Ranges that end on another thread have no calls; marks have times. */
static void process_ranges(void)
{
    pthread_t thread;
    nvtxRangeId_t id = nvtxRangeStartA("request 17"), other = nvtxRangeStartA("request 18");
    calls(1);
    pthread_create(&thread, NULL, end_of, &id);
    pthread_join(thread, NULL);
    nvtxRangeEnd(other);
    nvtxRangeEnd(~(nvtxRangeId_t)0);
    for (int i = 0; i < 20; i++)
        nvtxMarkA(i % 2 ? "step" : "request 5");
    puts("mark request # 10\nmark step 10\nphase request # 2 2 0\nwithout 1");
}

static void *worker(void *number)
{
    char name[32];
    snprintf(name, sizeof name, "worker %c", 'a' + *(int *)number);
    for (int i = 0; i < 100; i++)
        in(name, 3);
    return NULL;
}

static void threads(void)
{
    enum { COUNT = 8 };
    pthread_t thread[COUNT];
    int number[COUNT];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            number[i] = i;
            pthread_create(&thread[i], NULL, worker, &number[i]);
        }
        for (int i = 0; i < COUNT; i++)
            pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < COUNT; i++)
        printf("phase worker %c 200 200 600\n", 'a' + i);
    puts("without 0");
}

/* Copies of NVTX that come one after the other, some in threads, with ranges open across them. */
static void *use_plugin(void *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/lib%s.so", plugins, (const char *)name);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*push)(const char *), (*pop)(void);
    if (!plugin)
        exit(1);
    *(void **)&push = dlsym(plugin, "plugin_push");
    *(void **)&pop = dlsym(plugin, "plugin_pop");
    errno = 4711;
    push(name);
    if (errno != 4711)
        exit(2);
    calls(2);
    pop();
    return NULL;
}

static void copies(void)
{
    static char a[] = "nvtx_plugin_a", b[] = "nvtx_plugin_b";
    pthread_t thread;
    nvtxRangePushA("main");
    use_plugin(a);
    calls(1);
    pthread_create(&thread, NULL, use_plugin, b);
    pthread_join(thread, NULL);
    nvtxRangePop();
    puts("phase main 1 1 1\nphase nvtx_plugin_a 1 1 2\nphase nvtx_plugin_b 1 1 2\nwithout 0");
}

static void op(const char *text, int inner_calls)
{
    nvtxRangePushA(text);
    calls(inner_calls);
    nvtxRangePop();
}

/* As emit_nvtx(record_shapes=True) names them. What the library is called for is not counted
 * twice, views are not counted, add is counted around what it allocates. */
static void torch(void)
{
    nvtxRangePushA("forward");
    for (int i = 1; i <= 50; i++) {
        char text[128];
        snprintf(text, sizeof text, "aten::linear, op_id = %d, sizes = [[8, 8], [8, 8], []]", i);
        nvtxRangePushA(text);
        op("aten::t, op_id = 7, sizes = [[8, 8]]", 0);
        op("aten::addmm, op_id = 8, sizes = [[8], [8, 8], [8, 8], [], []]", 1);
        nvtxRangePop();
        snprintf(text, sizeof text,
                 "aten::add_, seq = %d, op_id = %d, sizes = [[8, 8], [8, 8], []]", i, i + 1);
        nvtxRangePushA(text);
        op("aten::empty_like, op_id = 7, sizes = [[8, 8], []]", 0);
        nvtxRangePop();
        op("aten::_softmax, op_id = 9, sizes = [[8, 8], [], []]", 0);
    }
    op("_C::rms_norm, op_id = 2, sizes = [[8, 8], [8]]", 0);
    op("_C::gemm_in_disguise, op_id = 2, sizes = [[8, 8], [8]]", 1);
    nvtxRangePop();
    puts("phase forward 1 1 152\nwithout 0");
}

/* A process that never calls a library but names its operators. */
static void operators_alone(void)
{
    for (int i = 0; i < 10; i++)
        op("aten::mul, op_id = 3, sizes = [[128, 256], [128, 256]]", 0);
    puts("without 10");
}

static void forked(void)
{
    nvtxRangePushA("before");
    calls(1);
    pid_t child = fork();
    if (child == 0) {
        calls(2);
        nvtxRangePop();
        in("child", 3);
        exit(0);
    }
    waitpid(child, NULL, 0);
    nvtxRangePop();
    in("parent", 4);
    puts(
        "phase before 1 1 1\nphase before 1 1 2\nphase child 1 1 3\nphase parent 1 1 4\nwithout 0\n"
        "without 0");
}

/* As ctl does: until the recorder says that it has followed. */
static void order(const char *word)
{
    const struct timespec pause = { 0, 20000000 };
    char path[4096], state[16] = "";
    snprintf(path, sizeof path, "%s/control", getenv("TILEWISE_OUT"));
    FILE *f;
    while (!(f = fopen(path, "w"))) /* the writer makes the directory */
        nanosleep(&pause, NULL);
    if (fprintf(f, "%s\n", word) < 0 || fclose(f) != 0)
        exit(3);
    snprintf(path, sizeof path, "%s/*.status", getenv("TILEWISE_OUT"));
    for (int i = 0; i < 500 && strcmp(state, word) != 0; i++) {
        glob_t found;
        nanosleep(&pause, NULL);
        f = glob(path, 0, NULL, &found) == 0 ? fopen(found.gl_pathv[0], "r") : NULL;
        if (f && fscanf(f, "state %15s", state) != 1)
            state[0] = '\0';
        if (f)
            fclose(f);
        globfree(&found);
    }
}

/* Ranges begin and end while recording is off, and what is recorded afterwards is in the ones that
 * are open then. */
static void paused(void)
{
    in("before", 1);
    nvtxRangePushA("ends meanwhile");
    calls(2);
    order("off");
    nvtxRangePop();
    in("meanwhile", 16);
    nvtxRangePushA("begins meanwhile");
    order("on");
    calls(4);
    nvtxRangePop();
    calls(8);
    puts("phase before 1 1 1\nphase begins meanwhile 0 0 4\nphase ends meanwhile 1 1 2\nwithout 8");
}

static void launch_in(const char *phase, void *exec, struct fake_stream *s, int times)
{
    nvtxRangePushA(phase);
    for (int i = 0; i < times; i++)
        cudaGraphLaunch(exec, s);
    nvtxRangePop();
}

/* A launch belongs to the phase that it is made in, not to that of the capture. */
static void graphs(void)
{
    struct fake_stream *s = fake_stream();
    cublasHandle_t h;
    void *graph = NULL, *exec = NULL;
    cublasCreate_v2(&h);
    cublasSetStream_v2(h, (cudaStream_t)(void *)s);
    nvtxRangePushA("capture");
    cudaStreamBeginCapture(s, 0);
    for (int i = 0; i < 5; i++)
        cublasSgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0, 0, 0);
    nvtxRangePop();
    launch_in("decode", exec, s, 10);
    launch_in("warm", exec, s, 2);
    launch_in("decode", exec, s, 10);
    cudaGraphLaunch(exec, s);
    puts("phase capture 1 1 0\nphase decode 2 2 100\nphase warm 1 1 10\nwithout 5");
}

static void one_call(void)
{
    calls(1);
}

static void one_phase(void)
{
    nvtxRangePushA("decode");
    nvtxRangePop();
}

static void one_add(void)
{
    nvtxRangePushA("aten::add, op_id = 12345, sizes = [[16, 4096], [16, 4096], []]");
    nvtxRangePop();
}

/* Best of many batches, so that other work on the machine is seen least. */
static double best_ns(void (*run)(void))
{
    enum { BATCH = 2000, BATCHES = 200 };
    double best = 1e9;
    for (int i = 0; i < BATCHES; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int j = 0; j < BATCH; j++)
            run();
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ns =
            (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        best = ns / BATCH < best ? ns / BATCH : best;
    }
    return best;
}

/* For cost_nvtx.sh. */
static void cost(void)
{
    printf("call %.1f\n", best_ns(one_call));
    nvtxRangePushA("decode");
    printf("call-in-phase %.1f\n", best_ns(one_call));
    printf("phase %.1f\n", best_ns(one_phase));
    printf("aten::add %.1f\n", best_ns(one_add));
    nvtxRangePop();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenario[] = {
        { "phases", phases },         { "nested", nested },
        { "unbalanced", unbalanced }, { "deep", deep },
        { "names", names },           { "many_names", many_names },
        { "domains", domains },       { "process_ranges", process_ranges },
        { "threads", threads },       { "copies", copies },
        { "torch", torch },           { "operators_alone", operators_alone },
        { "forked", forked },         { "paused", paused },
        { "graphs", graphs },         { "cost", cost },
        { "expected", expected },
    };
    plugins = argc > 2 ? argv[2] : ".";
    for (size_t i = 0; argc > 1 && i < sizeof scenario / sizeof *scenario; i++)
        if (strcmp(argv[1], scenario[i].name) == 0)
            return scenario[i].run(), 0;
    return 2;
}
