/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that builds cuDNN's operation graphs and executes plans: `host_cudnn_plan SCENARIO`.
 * Prints what the trace must hold.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cudnn.h"
#include "rowtext.h"
#include "tracer/cublas.h"
#include "tracer/graph_calls.h"

#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));

typedef cudnnBackendDescriptor_t D;

enum { F32 = 0, F16 = 2, FUTURE_TYPE = 77 };
enum { MOST_OPS = 12 };
#define SIZES(...) ((const int64_t[]){ __VA_ARGS__ })

static _Atomic int64_t next_uid = 100;

static D create(int type)
{
    D d = NULL;
    cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)type, &d);
    return d;
}

static void set(D d, int name, int type, int64_t count, const void *value)
{
    if (cudnnBackendSetAttribute(d, name, type, count, value) != 0)
        exit(70);
}

static void set_descriptor(D d, int name, D value)
{
    set(d, name, FAKE_DESCRIPTOR_PTR, 1, &value);
}

static D finalized(D d)
{
    if (cudnnBackendFinalize(d) != 0)
        exit(71);
    return d;
}

/* Rank 4. */
static D tensor_of(int type, const int64_t *size, bool is_virtual)
{
    D t = create(FAKE_TENSOR);
    int64_t stride[4] = { size[1] * size[2] * size[3], size[2] * size[3], size[3], 1 };
    int64_t uid = next_uid++;
    set(t, FAKE_TENSOR_TYPE, FAKE_DATA_TYPE, 1, &type);
    set(t, FAKE_TENSOR_DIMS, FAKE_INT64, 4, size);
    set(t, FAKE_TENSOR_STRIDES, FAKE_INT64, 4, stride);
    set(t, FAKE_TENSOR_UID, FAKE_INT64, 1, &uid);
    set(t, FAKE_TENSOR_VIRTUAL, FAKE_BOOLEAN, 1, &is_virtual);
    return t;
}

static D tensor(int type, const int64_t *size)
{
    return finalized(tensor_of(type, size, false));
}

static D step(const int64_t *size)
{
    return finalized(tensor_of(F32, size, true));
}

static D manner(int type, int attribute)
{
    D d = create(type);
    set(d, attribute, FAKE_DATA_TYPE, 1, &(int){ F32 });
    return d;
}

static D conv_manner(int64_t pad)
{
    D d = manner(FAKE_CONVOLUTION, FAKE_CONV_TYPE);
    set(d, FAKE_CONV_PAD, FAKE_INT64, 2, SIZES(pad, pad));
    set(d, FAKE_CONV_STRIDE, FAKE_INT64, 2, SIZES(1, 1));
    set(d, FAKE_CONV_DILATION, FAKE_INT64, 2, SIZES(1, 1));
    return finalized(d);
}

/* Eight images of 64 channels, 3x3 filters to 128 channels in 2 groups, 28x28 pixels out. */
#define CONV(id, type, y, pad)                                                                     \
    conv_of(FAKE_OP_##id,                                                                          \
            (const int[]){ FAKE_##id##_X, FAKE_##id##_W, FAKE_##id##_Y, FAKE_##id##_MANNER },      \
            type, y, pad)
static D conv_of(int operation, const int *port, int type, D y, int64_t pad)
{
    D op = create(operation);
    set_descriptor(op, port[0], tensor(type, SIZES(8, 64, 30, 30)));
    set_descriptor(op, port[1], tensor(type, SIZES(128, 32, 3, 3)));
    set_descriptor(op, port[2], y);
    set_descriptor(op, port[3], conv_manner(pad));
    return finalized(op);
}

static D pointwise(int mode, D x, D b, D y)
{
    D op = create(FAKE_OP_POINTWISE), how = manner(FAKE_POINTWISE, FAKE_POINTWISE_TYPE);
    set(how, FAKE_POINTWISE_HOW, FAKE_POINTWISE_MODE, 1, &mode);
    set_descriptor(op, FAKE_POINTWISE_MANNER, finalized(how));
    set_descriptor(op, FAKE_POINTWISE_X, x);
    if (b)
        set_descriptor(op, FAKE_POINTWISE_B, b);
    set_descriptor(op, FAKE_POINTWISE_Y, y);
    return finalized(op);
}

static D reduction(D x, D y)
{
    D op = create(FAKE_OP_REDUCTION);
    set_descriptor(op, FAKE_REDUCTION_MANNER,
                   finalized(manner(FAKE_REDUCTION, FAKE_REDUCTION_TYPE)));
    set_descriptor(op, FAKE_REDUCTION_X, x);
    set_descriptor(op, FAKE_REDUCTION_Y, y);
    return finalized(op);
}

static D matmul(D a, D b, D c)
{
    D op = create(FAKE_OP_MATMUL);
    set_descriptor(op, FAKE_MATMUL_MANNER, finalized(manner(FAKE_MATMUL, FAKE_MATMUL_TYPE)));
    set_descriptor(op, FAKE_MATMUL_A, a);
    set_descriptor(op, FAKE_MATMUL_B, b);
    set_descriptor(op, FAKE_MATMUL_C, c);
    return finalized(op);
}

/* Four sequences, 16 heads of 64, 4 heads of keys, 256 queries, 512 keys. */
static D sdpa(D pages)
{
    D op = create(FAKE_OP_SDPA);
    set_descriptor(op, FAKE_SDPA_Q, tensor(F16, SIZES(4, 16, 256, 64)));
    set_descriptor(op, FAKE_SDPA_K, tensor(F16, SIZES(4, 4, 512, 64)));
    set_descriptor(op, FAKE_SDPA_V, tensor(F16, SIZES(4, 4, 512, 64)));
    set_descriptor(op, FAKE_SDPA_O, tensor(F16, SIZES(4, 16, 256, 64)));
    if (pages)
        set_descriptor(op, FAKE_SDPA_PAGES, pages);
    return finalized(op);
}

/* The same as products with a softmax between them. */
static int products(D *op)
{
    const int64_t *scores = SIZES(4, 16, 256, 512), *rows = SIZES(4, 16, 256, 1);
    D s = step(scores), most = step(rows), less = step(scores), power = step(scores);
    D sum = step(rows), p = step(scores);
    op[0] = matmul(tensor(F16, SIZES(4, 16, 256, 64)), tensor(F16, SIZES(4, 4, 64, 512)), s);
    op[1] = reduction(s, most);
    op[2] = pointwise(FAKE_SUB, s, most, less);
    op[3] = pointwise(FAKE_EXP, less, NULL, power);
    op[4] = reduction(power, sum);
    op[5] = pointwise(FAKE_DIV, power, sum, p);
    op[6] = matmul(p, tensor(F16, SIZES(4, 4, 512, 64)), tensor(F16, SIZES(4, 16, 256, 64)));
    return 7;
}

static D plan_unfinalized(const D *op, int count, bool is_dynamic)
{
    D graph = create(FAKE_GRAPH), engine = create(FAKE_ENGINE), config = create(FAKE_CONFIG);
    D plan = create(FAKE_PLAN);
    set(graph, FAKE_GRAPH_OPS, FAKE_DESCRIPTOR_PTR, count, op);
    if (is_dynamic)
        set(graph, FAKE_GRAPH_DYNAMIC, FAKE_BOOLEAN, 1, &is_dynamic);
    set_descriptor(engine, FAKE_ENGINE_GRAPH, finalized(graph));
    set_descriptor(config, FAKE_CONFIG_ENGINE, finalized(engine));
    set_descriptor(plan, FAKE_PLAN_CONFIG, finalized(config));
    return plan;
}

static D plan_of(const D *op, int count)
{
    return finalized(plan_unfinalized(op, count, false));
}

static D conv_y(int type)
{
    return tensor(type, SIZES(8, 128, 28, 28));
}

static D conv_plan(int64_t pad)
{
    D op = CONV(FORWARD, F16, conv_y(F16), pad);
    return plan_of(&op, 1);
}

static void execute(D plan, int times)
{
    for (int i = 0; i < times; i++)
        if (cudnnBackendExecute(NULL, plan, NULL) != 0)
            exit(72);
}

static struct tilewise_signature conv(int type)
{
    uint8_t t = (uint8_t)type;
    return (struct tilewise_signature){
        .op = TILEWISE_OP_CONV,
        .dtype_a = t,
        .dtype_b = t,
        .dtype_c = t,
        .dtype_d = t,
        .compute = TILEWISE_F32,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .batch_kind = TILEWISE_BATCH_STRIDED,
        .m = 64,
        .n = 784,
        .k = 288,
        .batch = 16,
    };
}

static struct tilewise_signature attention(int compute)
{
    struct tilewise_signature s = conv(TILEWISE_F16);
    s.op = TILEWISE_OP_ATTENTION;
    s.compute = (uint8_t)compute;
    s.m = 256;
    s.n = 512;
    s.k = 64;
    s.batch = 64;
    return s;
}

static const struct tilewise_signature shapeless = { .flags = TILEWISE_NOT_REPLAYABLE, .batch = 1 };

static void expect(struct tilewise_signature s, int times)
{
    rowtext_print("cudnnBackendExecute", &s, (unsigned long long)times);
}

static void convolutions(void)
{
    D op[] = { CONV(FORWARD, F16, conv_y(F16), 0), CONV(TO_DATA, F16, conv_y(F16), 0),
               CONV(TO_FILTER, F32, conv_y(F32), 0), CONV(FORWARD, F16, conv_y(F16), 1) };
    static const int type[] = { TILEWISE_F16, TILEWISE_F16, TILEWISE_F32, TILEWISE_F16 };
    for (int i = 0; i < 4; i++) { /* rows of their own: each direction, each padding */
        execute(plan_of(&op[i], 1), i + 1);
        expect(conv(type[i]), i + 1);
    }
}

/* One graph built twice is one row, whatever its identifiers are. */
static void twice(void)
{
    execute(conv_plan(0), 3);
    execute(conv_plan(0), 4);
    expect(conv(TILEWISE_F16), 7);
}

static void attentions(void)
{
    D op[MOST_OPS] = { sdpa(NULL) };
    execute(plan_of(op, 1), 3);
    expect(attention(TILEWISE_NONE), 3);
    execute(plan_of(op, products(op)), 4);
    expect(attention(TILEWISE_F32), 4);
}

/* Heads of values of `width`. */
static int gradient(D *op, int64_t width)
{
    const int64_t *scores = SIZES(4, 16, 256, 512), *turned = SIZES(4, 16, 512, 256);
    D q = tensor(F16, SIZES(4, 16, 256, 64)), k = tensor(F16, SIZES(4, 16, 64, 512));
    D dy = tensor(F16, SIZES(4, 16, 256, width)), s = step(scores), p = step(scores);
    op[0] = matmul(q, k, s);
    op[1] = pointwise(FAKE_EXP, s, NULL, p);
    op[2] = matmul(dy, tensor(F16, SIZES(4, 16, width, 512)), step(scores));
    op[3] = matmul(step(turned), dy, tensor(F16, SIZES(4, 16, 512, width)));
    op[4] = matmul(step(scores), tensor(F16, SIZES(4, 16, 512, 64)), step(SIZES(4, 16, 256, 64)));
    op[5] = matmul(step(turned), q, tensor(F16, SIZES(4, 16, 512, 64)));
    return 6;
}

static void gradients(void)
{
    D op[MOST_OPS];
    execute(plan_of(op, gradient(op, 64)), 3);
    expect(attention(TILEWISE_F32), 3);
    execute(plan_of(op, gradient(op, 32)), 2);
    expect(shapeless, 2);
}

static void products_alone(void)
{
    D op = matmul(tensor(F16, SIZES(1, 4, 128, 64)), tensor(F16, SIZES(1, 4, 64, 256)),
                  tensor(F32, SIZES(1, 4, 128, 256)));
    execute(plan_of(&op, 1), 5);
    struct tilewise_signature s = conv(TILEWISE_F16);
    s.op = TILEWISE_OP_GEMM;
    s.layout = TILEWISE_ROW_MAJOR;
    s.dtype_c = s.dtype_d = TILEWISE_F32;
    s.alpha = TILEWISE_SCALAR_ONE;
    s.m = 128;
    s.n = 256;
    s.k = 64;
    s.batch = 4;
    s.lda = 64;
    s.ldb = s.ldc = s.ldd = 256;
    s.stride_a = 8192;
    s.stride_b = 16384;
    s.stride_c = s.stride_d = 32768;
    expect(s, 5);
}

/* With a bias and an activation at its end, and without the latter. */
static void fused(void)
{
    const int64_t *size = SIZES(8, 128, 28, 28);
    for (int ops = 3; ops > 1; ops--) {
        D y = step(size), z = ops == 3 ? step(size) : conv_y(F16);
        D op[] = { CONV(FORWARD, F16, y, 0),
                   pointwise(FAKE_ADD, y, tensor(F16, SIZES(1, 128, 1, 1)), z),
                   pointwise(FAKE_RELU, z, NULL, conv_y(F16)) };
        execute(plan_of(op, ops), ops);
        expect(conv(TILEWISE_F16), ops);
    }
}

/* What has no shape: counted, each graph apart. */
static void shapes_unknown(void)
{
    D x = conv_y(F16), op[2] = { pointwise(FAKE_EXP, x, NULL, conv_y(F16)) };
    execute(plan_of(op, 1), 1);
    expect(shapeless, 1);
    op[0] = CONV(FORWARD, F16, x, 0);
    op[1] = create(FAKE_OP_FUTURE);
    set_descriptor(op[1], FAKE_FUTURE_X, x);
    set_descriptor(op[1], FAKE_FUTURE_Y, conv_y(F16));
    finalized(op[1]);
    execute(plan_of(op, 2), 2);
    expect(shapeless, 2);
    execute(finalized(plan_unfinalized(op, 1, true)), 3); /* sizes come with each call */
    expect(shapeless, 3);
    op[0] = sdpa(tensor(F32, SIZES(4, 1, 8, 1)));
    execute(plan_of(op, 1), 4);
    expect(shapeless, 4);
    op[0] = CONV(FORWARD, F16, x, 1); /* two products that are no attention */
    op[1] = CONV(FORWARD, F16, x, 2);
    execute(plan_of(op, 2), 5);
    expect(shapeless, 5);
    D packed = tensor_of(F16, SIZES(8, 128, 28, 28), false);
    set(packed, FAKE_TENSOR_VECTOR, FAKE_INT64, 1, SIZES(4));
    op[0] = CONV(FORWARD, F16, finalized(packed), 0);
    execute(plan_of(op, 1), 6);
    expect(shapeless, 6);
}

static void types_unknown(void)
{
    D op = CONV(FORWARD, FUTURE_TYPE, conv_y(FUTURE_TYPE), 0);
    execute(plan_of(&op, 1), 1);
    expect(conv(TILEWISE_UNKNOWN), 1);
}

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
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, build_and_execute, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    expect(conv(TILEWISE_F16), 600);
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

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenario[] = {
#define RUN(name) { #name, name }
        RUN(convolutions),   RUN(twice),   RUN(attentions),     RUN(gradients),
        RUN(products_alone), RUN(fused),   RUN(shapes_unknown), RUN(types_unknown),
        RUN(from_json),      RUN(reuse),   RUN(threads),        RUN(inner),
        RUN(refused),        RUN(handler), RUN(populate),
    };
    for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++)
        if (argc == 2 && strcmp(argv[1], scenario[i].name) == 0) {
            scenario[i].run();
            return 0;
        }
    return 64;
}
