/* SPDX-License-Identifier: Apache-2.0
 *
 * The times of gpu_kernels: cold operands by rotation, bursts in graphs, ABBA rounds.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "kernels/builtin.h"
#include "kernels/cuda/probe.h"

enum { ROTATIONS_MAX = 64, CALLS_MAX = 64 };
static const size_t cold_bytes = 512u << 20; /* several times the L2 cache */
static const size_t workspace_bytes = 64u << 20;

/* ---- cuBLAS, for the baseline ---- */

static struct {
    void *handle, *workspace;
    int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *,
                int, int, const void *, void *, int, int, int, int);
    int (*axpy)(void *, int, const void *, int, const void *, int, int, void *, int, int, int);
} blas;

static void *blas_library(void)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                         "/usr/local/cuda/lib64/libcublas.so" };
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool kernels_bench_open(void)
{
    void *library = blas_library();
    int (*create)(void **), (*set_stream)(void *, void *), (*set_workspace)(void *, void *, size_t);
    if (library == NULL)
        return false;
    *(void **)&create = dlsym(library, "cublasCreate_v2");
    *(void **)&set_stream = dlsym(library, "cublasSetStream_v2");
    *(void **)&set_workspace = dlsym(library, "cublasSetWorkspace_v2");
    *(void **)&blas.gemm = dlsym(library, "cublasGemmEx");
    *(void **)&blas.axpy = dlsym(library, "cublasAxpyEx");
    if (!create || !set_stream || !set_workspace || !blas.gemm || !blas.axpy ||
        create(&blas.handle) != 0)
        return false;
    blas.workspace = kernels_device_memory(workspace_bytes);
    return set_stream(blas.handle, kernels_stream) == 0 &&
           set_workspace(blas.handle, blas.workspace, workspace_bytes) == 0;
}

static int blas_type(uint8_t dtype)
{
    return dtype == TILEWISE_F64 ? 1 : dtype == TILEWISE_F16 ? 2 : dtype == TILEWISE_BF16 ? 14 : 0;
}

static int blas_compute(uint8_t compute)
{
    return compute == TILEWISE_F64 ? 70 : compute == TILEWISE_TF32 ? 77 : 68;
}

/* ---- time ---- */

/* One call on the operands of rotation `index`. */
struct subject {
    const struct tilewise_candidate *candidate; /* NULL: the library, or a copy */
    bool is_copy;
};

struct bench {
    struct tilewise_signature s;
    int rotations;
    char *a, *b, *c;
    size_t a_bytes, b_bytes, c_bytes; /* of one rotation */
    void *scratch;
    float alpha, beta;
    double alpha64, beta64;
};

static struct tilewise_args args_of(const struct bench *x, int index)
{
    bool is_wide = x->s.scale == TILEWISE_F64;
    return (struct tilewise_args){ .abi = TILEWISE_CANDIDATE_ABI,
                                   .bytes = sizeof(struct tilewise_args),
                                   .a = x->a + (size_t)index * x->a_bytes,
                                   .b = x->b + (size_t)index * x->b_bytes,
                                   .c = x->c + (size_t)index * x->c_bytes,
                                   .alpha = is_wide ? (const void *)&x->alpha64 : &x->alpha,
                                   .beta = is_wide ? (const void *)&x->beta64 : &x->beta,
                                   .scratch = x->scratch,
                                   .stream = kernels_stream };
}

static int call(const struct bench *x, const struct subject *who, int index)
{
    const struct tilewise_signature *s = &x->s;
    struct tilewise_args args = args_of(x, index);
    if (who->candidate)
        return who->candidate->run(who->candidate, s, &args);
    if (who->is_copy) /* reads and writes as much as an add does: three halves of y, twice */
        return (int)cudaMemcpyAsync(args.c, args.b, x->b_bytes / 2 * 3, cudaMemcpyDeviceToDevice,
                                    kernels_stream);
    if (s->op == TILEWISE_OP_ADD)
        return blas.axpy(blas.handle, (int)s->m, args.alpha, blas_type(s->scale), args.b,
                         blas_type(s->dtype_b), (int)s->ldb, args.c, blas_type(s->dtype_c),
                         (int)s->ldc, blas_type(s->scale));
    return blas.gemm(blas.handle, s->trans_a, s->trans_b, (int)s->m, (int)s->n, (int)s->k,
                     args.alpha, args.a, blas_type(s->dtype_a), (int)s->lda, args.b,
                     blas_type(s->dtype_b), (int)s->ldb, args.beta, args.c, blas_type(s->dtype_c),
                     (int)s->ldc, blas_compute(s->compute), -1);
}

static cudaGraphExec_t record(const struct bench *x, const struct subject *who, int calls)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int failed = call(x, who, 0); /* loads what is loaded at a first call */
    kernels_must(cudaStreamSynchronize(kernels_stream), "first call");
    kernels_must(cudaStreamBeginCapture(kernels_stream, cudaStreamCaptureModeRelaxed), "capture");
    for (int i = 0; i < calls; i++)
        failed |= call(x, who, i % x->rotations);
    kernels_must(cudaStreamEndCapture(kernels_stream, &graph), "capture");
    if (failed) {
        cudaGraphDestroy(graph);
        return NULL;
    }
    kernels_must(cudaGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    cudaGraphDestroy(graph);
    return exec;
}

static double graph_us(cudaGraphExec_t exec, int calls)
{
    static cudaEvent_t start, stop;
    float ms = 0;
    if (start == NULL) {
        kernels_must(cudaEventCreate(&start), "event");
        kernels_must(cudaEventCreate(&stop), "event");
    }
    kernels_must(cudaEventRecord(start, kernels_stream), "event");
    kernels_must(cudaGraphLaunch(exec, kernels_stream), "graph");
    kernels_must(cudaEventRecord(stop, kernels_stream), "event");
    kernels_must(cudaStreamSynchronize(kernels_stream), "graph");
    kernels_must(cudaEventElapsedTime(&ms, start, stop), "event");
    return (double)ms * 1e3 / calls;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *sorted, int count, double q)
{
    return sorted[(int)(q * (count - 1) + 0.5)];
}

static double sm_mhz(void)
{
    static struct cuda_probe_clock *clock_read; /* pinned */
    if (clock_read == NULL)
        kernels_must(cudaMallocHost((void **)&clock_read, sizeof *clock_read), "pinned memory");
    cuda_probe_read_clock(clock_read, 20000, kernels_stream);
    kernels_must(cudaStreamSynchronize(kernels_stream), "clock");
    return 1e3 * (double)clock_read->cycles / (double)clock_read->ns;
}

/* A graph is at least a millisecond or so, so that its start does not count. */
static int calls_for(const struct bench *x, const struct subject *who)
{
    cudaGraphExec_t exec = record(x, who, x->rotations);
    if (exec == NULL)
        return 0;
    graph_us(exec, 1);
    double us = graph_us(exec, x->rotations);
    cudaGraphExecDestroy(exec);
    int calls = (int)(1500 / us) + 1;
    calls = calls < x->rotations ? x->rotations : calls;
    return calls > 4 * CALLS_MAX ? 4 * CALLS_MAX : calls;
}

/* ABBA: theirs, ours, ours, theirs. */
static void compare_times(const struct bench *x, const struct subject *base,
                          const struct subject *ours, const char *base_name, double bytes,
                          double flops)
{
    double ratio[KERNELS_ROUNDS_MAX], us[2][KERNELS_ROUNDS_MAX];
    int calls = calls_for(x, base);
    cudaGraphExec_t exec[2] = { calls ? record(x, base, calls) : NULL,
                                calls ? record(x, ours, calls) : NULL };
    char text[160];
    signature_describe(&x->s, text, sizeof text);
    if (exec[0] == NULL || exec[1] == NULL) {
        printf("{\"skipped\":\"%s\",\"case\":\"%s\",\"base\":\"%s\"}\n", ours->candidate->name,
               text, base_name);
        if (exec[0])
            cudaGraphExecDestroy(exec[0]);
        return;
    }
    double before_mhz = sm_mhz();
    for (int r = -2; r < kernels_options.rounds; r++) {
        double t0 = graph_us(exec[0], calls), t1 = graph_us(exec[1], calls);
        t1 += graph_us(exec[1], calls);
        t0 += graph_us(exec[0], calls);
        if (r < 0)
            continue;
        us[0][r] = t0 / 2;
        us[1][r] = t1 / 2;
        ratio[r] = t0 / t1;
    }
    double after_mhz = sm_mhz();
    for (int i = 0; i < 2; i++) {
        cudaGraphExecDestroy(exec[i]);
        qsort(us[i], (size_t)kernels_options.rounds, sizeof(double), ascending);
    }
    qsort(ratio, (size_t)kernels_options.rounds, sizeof(double), ascending);
    double our_us = quantile(us[1], kernels_options.rounds, 0.5);
    printf("{\"case\":\"%s\",\"kernel\":\"%s\",\"base\":\"%s\",\"ratio\":%.4f,\"low\":%.4f,"
           "\"high\":%.4f,\"us\":%.2f,\"base_us\":%.2f,\"tb_per_s\":%.3f,\"tflop_per_s\":%.1f,"
           "\"calls\":%d,\"rotations\":%d,\"sm_mhz\":[%.0f,%.0f]}\n",
           text, ours->candidate->name, base_name, quantile(ratio, kernels_options.rounds, 0.5),
           quantile(ratio, kernels_options.rounds, 0.1),
           quantile(ratio, kernels_options.rounds, 0.9), our_us,
           quantile(us[0], kernels_options.rounds, 0.5), bytes / our_us * 1e-6,
           flops / our_us * 1e-6, calls, x->rotations, before_mhz, after_mhz);
    fflush(stdout);
}

static char *noise(uint8_t dtype, size_t bytes)
{
    size_t pattern = bytes < (4u << 20) ? bytes : 4u << 20;
    char *device = kernels_device_memory(bytes), *host = malloc(pattern + 16);
    kernels_fill_random(host, dtype, (int64_t)(pattern / kernels_element_bytes(dtype)));
    for (size_t at = 0; at < bytes; at += pattern)
        kernels_must(cudaMemcpy(device + at, host, bytes - at < pattern ? bytes - at : pattern,
                                cudaMemcpyHostToDevice),
                     "copy");
    free(host);
    return device;
}

static size_t rounded_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Buffers for as many rotations as push each other out of the cache. */
static void bench_open(struct bench *x)
{
    int64_t count[3];
    size_t extra = x->s.op == TILEWISE_OP_ADD ? 2 : 1; /* room for what a copy moves */
    kernels_element_counts(&x->s, count);
    x->a_bytes = rounded_up((size_t)count[0] * kernels_element_bytes(x->s.dtype_a));
    x->b_bytes = rounded_up((size_t)count[1] * kernels_element_bytes(x->s.dtype_b));
    x->c_bytes = rounded_up((size_t)count[2] * kernels_element_bytes(x->s.dtype_c));
    double rotations = ceil((double)cold_bytes / (double)(x->a_bytes + x->b_bytes + x->c_bytes));
    x->rotations = rotations < 2 ? 2 : rotations > ROTATIONS_MAX ? ROTATIONS_MAX : (int)rotations;
    x->a = noise(TILEWISE_F32, x->a_bytes * (size_t)x->rotations + 256);
    x->b = noise(x->s.dtype_b, x->b_bytes * ((size_t)x->rotations + extra));
    x->c = noise(x->s.dtype_c, x->c_bytes * ((size_t)x->rotations + extra));
    if (x->a_bytes) {
        cudaFree(x->a);
        x->a = noise(x->s.dtype_a, x->a_bytes * (size_t)x->rotations);
    }
    x->alpha = x->s.op == TILEWISE_OP_ADD ? 0.5f : 1;
    x->beta = 0;
    x->alpha64 = (double)x->alpha;
    x->beta64 = 0;
}

static void bench_close(struct bench *x)
{
    cudaFree(x->a);
    cudaFree(x->b);
    cudaFree(x->c);
}

/* Every candidate that takes it, after a check on this very shape where that is cheap. */
static void bench_all(struct bench *x)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    bench_open(x);
    for (size_t i = 0; i < count; i++) {
        const struct tilewise_candidate *c = all[i];
        if (strcmp(c->target, "cuda") != 0 || !strstr(c->name, kernels_options.only) ||
            !c->supports(c, &x->s))
            continue;
        if (x->s.m * x->s.n <= 1 << 21) {
            struct kernels_checked one = kernels_check(c, &x->s);
            char text[160];
            kernels_failures += !(one.worst <= 1);
            if (!(one.worst <= 1))
                printf("{\"wrong\":\"%s\",\"case\":\"%s\",\"what\":\"%s\"}\n", c->name,
                       signature_describe(&x->s, text, sizeof text), one.what);
        }
        size_t scratch = c->scratch_bytes ? c->scratch_bytes(c, &x->s, 1) : 0;
        x->scratch = scratch ? kernels_device_memory(scratch) : NULL;
        struct subject base = { NULL, false }, copy = { NULL, true }, ours = { c, false };
        double bytes = signature_bytes(&x->s), flops = signature_flops(&x->s);
        if (blas.handle)
            compare_times(x, &base, &ours, "cublas", bytes, flops);
        if (x->s.op == TILEWISE_OP_ADD)
            compare_times(x, &copy, &ours, "copy", bytes, flops);
        cudaFree(x->scratch);
    }
    bench_close(x);
}

struct size {
    int64_t tokens, n, k;
};

/* Weights [n, k] in rows times activations [tokens, k], as PyTorch calls cuBLAS: T N. */
static void bench_linear(uint8_t dtype, uint8_t compute, const struct size *z)
{
    struct bench x = { .s = kernels_signature(dtype, compute, dtype) };
    x.s.trans_a = TILEWISE_T;
    x.s.m = z->n;
    x.s.n = z->tokens;
    x.s.k = z->k;
    x.s.lda = x.s.ldb = z->k;
    x.s.ldc = z->n;
    x.s.align_a = x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_ONE;
    bench_all(&x);
}

static void bench_square(uint8_t dtype, uint8_t compute, int64_t size, unsigned trans)
{
    struct bench x = { .s = kernels_signature(dtype, compute, dtype) };
    x.s.trans_a = trans & 1;
    x.s.trans_b = trans >> 1 & 1;
    x.s.m = x.s.n = x.s.k = x.s.lda = x.s.ldb = x.s.ldc = size;
    x.s.align_a = x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_ONE;
    bench_all(&x);
}

static void bench_add(uint8_t dtype, int64_t count)
{
    uint8_t scale = dtype == TILEWISE_F64 ? TILEWISE_F64 : TILEWISE_F32;
    struct bench x = { .s = kernels_signature(dtype, scale, dtype) };
    x.s.op = TILEWISE_OP_ADD;
    x.s.dtype_a = TILEWISE_NONE;
    x.s.m = count;
    x.s.n = x.s.k = x.s.ldb = x.s.ldc = 1;
    x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_OTHER;
    x.s.beta = TILEWISE_SCALAR_ONE;
    bench_all(&x);
}

void kernels_bench_everything(void)
{
    static const struct size linear[] = {
        { 1, 4096, 4096 },     { 1, 28672, 4096 },  { 4, 4096, 14336 },   { 8, 6144, 4096 },
        { 16, 4096, 4096 },    { 16, 28672, 4096 }, { 32, 4096, 14336 },  { 64, 6144, 4096 },
        { 64, 28672, 4096 },   { 128, 4096, 4096 }, { 256, 4096, 14336 }, { 512, 6144, 4096 },
        { 1024, 4096, 4096 },  { 100, 4096, 4096 }, { 333, 5120, 5120 },  { 1000, 1000, 1000 },
        { 2048, 28672, 4096 }, { 128, 128, 128 },   { 512, 512, 512 },    { 8192, 8192, 8192 },
    };
    static const int64_t adds[] = { 1 << 20, 1 << 24, 1 << 27 };
    size_t count = kernels_options.is_short ? 0 : sizeof linear / sizeof linear[0];
    for (size_t i = 0; i < count; i++)
        bench_linear(TILEWISE_BF16, TILEWISE_F32, &linear[i]);
    for (size_t i = 4; i < count; i += 3)
        bench_linear(TILEWISE_F16, TILEWISE_F32, &linear[i]);
    for (size_t i = 4; i < count; i += 4) {
        bench_linear(TILEWISE_F32, TILEWISE_TF32, &linear[i]);
        bench_linear(TILEWISE_F32, TILEWISE_F32, &linear[i]);
    }
    for (unsigned trans = 0; trans < 4 && count; trans++) {
        bench_square(TILEWISE_BF16, TILEWISE_F32, 4096, trans);
        bench_square(TILEWISE_F32, TILEWISE_TF32, 2048, trans);
        bench_square(TILEWISE_F32, TILEWISE_F32, 2048, trans);
    }
    if (count)
        bench_square(TILEWISE_F64, TILEWISE_F64, 1024, 0);
    for (size_t i = 0; i < (kernels_options.is_short ? 1 : 3); i++) {
        bench_add(TILEWISE_F32, adds[i]);
        bench_add(TILEWISE_F16, adds[i]);
        bench_add(TILEWISE_BF16, adds[i]);
    }
}
