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
#include "traffic.h"

enum { ROTATIONS_MAX = 64, CALLS_MAX = 64, SHORT_ROUNDS = 6 };
static const size_t cold_bytes = 512u << 20; /* several times the L2 cache */
static const size_t workspace_bytes = 64u << 20;

/* ---- cuBLAS, for the baseline ---- */

static struct {
    void *handle, *workspace;
    int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *,
                int, int, const void *, void *, int, int, int, int);
    int (*axpy)(void *, int, const void *, int, const void *, int, int, void *, int, int, int);
    int (*sgeam)(void *, int, int, int, int, const float *, const float *, int, const float *,
                 const float *, int, float *, int);
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
    *(void **)&blas.sgeam = dlsym(library, "cublasSgeam");
    if (!create || !set_stream || !set_workspace || !blas.gemm || !blas.axpy || !blas.sgeam ||
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

struct bench {
    struct tilewise_signature s;
    int rotations;
    char *a, *b, *c;                  /* add: a is room for what only moves */
    size_t a_bytes, b_bytes, c_bytes; /* from one rotation to the next */
    size_t add_bytes;                 /* of x or y, without gaps */
    void *scratch;
    float alpha, beta;
    double alpha64, beta64;
};

/* What is timed: one call on the operands of rotation `index`; 0, or an error. */
struct subject {
    const char *name;
    int (*call)(const struct bench *x, const struct subject *me, int index);
    const struct tilewise_candidate *candidate;
    bool once; /* past the caches */
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

static int call_candidate(const struct bench *x, const struct subject *me, int index)
{
    struct tilewise_args args = args_of(x, index);
    return me->candidate->run(me->candidate, &x->s, &args);
}

static int call_blas_add(const struct bench *x, const struct tilewise_args *args)
{
    const struct tilewise_signature *s = &x->s;
    static const float one = 1;
    if (s->n == 1)
        return blas.axpy(blas.handle, (int)s->m, args->alpha, blas_type(s->scale), args->b,
                         blas_type(s->dtype_b), (int)s->ldb, args->c, blas_type(s->dtype_c),
                         (int)s->ldc, blas_type(s->scale));
    if (s->dtype_c != TILEWISE_F32)
        return 1;
    return blas.sgeam(blas.handle, 0, 0, (int)s->m, (int)s->n, args->alpha, args->b, (int)s->ldb,
                      &one, args->c, (int)s->ldc, args->c, (int)s->ldc);
}

static int call_blas(const struct bench *x, const struct subject *me, int index)
{
    const struct tilewise_signature *s = &x->s;
    struct tilewise_args args = args_of(x, index);
    (void)me;
    if (s->op == TILEWISE_OP_ADD)
        return call_blas_add(x, &args);
    return blas.gemm(blas.handle, s->trans_a, s->trans_b, (int)s->m, (int)s->n, (int)s->k,
                     args.alpha, args.a, blas_type(s->dtype_a), (int)s->lda, args.b,
                     blas_type(s->dtype_b), (int)s->ldb, args.beta, args.c, blas_type(s->dtype_c),
                     (int)s->ldc, blas_compute(s->compute), -1);
}

/* Three halves of y are read and as many written: as many bytes as an add moves. */
static int call_memcpy(const struct bench *x, const struct subject *me, int index)
{
    struct tilewise_args args = args_of(x, index);
    (void)me;
    return (int)cudaMemcpyAsync(args.c, args.b, x->add_bytes / 2 * 3, cudaMemcpyDeviceToDevice,
                                kernels_stream);
}

/* The same by a kernel. */
static int call_copy(const struct bench *x, const struct subject *me, int index)
{
    struct tilewise_args args = args_of(x, index);
    return traffic_move(args.b, NULL, args.c, x->add_bytes / 2 * 3, me->once, kernels_stream);
}

/* Two reads and one write elsewhere. */
static int call_triad(const struct bench *x, const struct subject *me, int index)
{
    struct tilewise_args args = args_of(x, index);
    return traffic_move(args.b, args.c, (void *)args.a, x->add_bytes, me->once, kernels_stream);
}

/* Two reads, and one of them is written: what an add does. */
static int call_update(const struct bench *x, const struct subject *me, int index)
{
    struct tilewise_args args = args_of(x, index);
    return traffic_move(args.b, args.c, args.c, x->add_bytes, me->once, kernels_stream);
}

static cudaGraphExec_t record(const struct bench *x, const struct subject *who, int calls)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int failed = who->call(x, who, 0); /* loads what is loaded at a first call */
    kernels_must(cudaStreamSynchronize(kernels_stream), "first call");
    kernels_must(cudaStreamBeginCapture(kernels_stream, cudaStreamCaptureModeRelaxed), "capture");
    for (int i = 0; i < calls; i++)
        failed |= who->call(x, who, i % x->rotations);
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

/* ABBA rounds of two graphs: microseconds for one call, sorted, and the sorted ratios. */
struct times {
    double us[2][KERNELS_ROUNDS_MAX], ratio[KERNELS_ROUNDS_MAX];
    int rounds;
};

static int rounds_wanted(void)
{
    bool less = kernels_options.is_short && kernels_options.rounds > SHORT_ROUNDS;
    return less ? SHORT_ROUNDS : kernels_options.rounds;
}

static void time_both(cudaGraphExec_t const exec[2], int calls, struct times *t)
{
    t->rounds = rounds_wanted();
    for (int r = -2; r < t->rounds; r++) {
        double t0 = graph_us(exec[0], calls), t1 = graph_us(exec[1], calls);
        t1 += graph_us(exec[1], calls);
        t0 += graph_us(exec[0], calls);
        if (r < 0)
            continue;
        t->us[0][r] = t0 / 2;
        t->us[1][r] = t1 / 2;
        t->ratio[r] = t0 / t1;
    }
    for (int i = 0; i < 2; i++)
        qsort(t->us[i], (size_t)t->rounds, sizeof(double), ascending);
    qsort(t->ratio, (size_t)t->rounds, sizeof(double), ascending);
}

/* Base first; a ratio above 1: ours is faster. Returns the base's microseconds, 0 when skipped. */
static double compare_times(const struct bench *x, const struct subject *base,
                            const struct subject *ours)
{
    struct times t;
    char text[160];
    double bytes = signature_bytes(&x->s), flops = signature_flops(&x->s);
    int calls = calls_for(x, base);
    cudaGraphExec_t exec[2] = { calls ? record(x, base, calls) : NULL,
                                calls ? record(x, ours, calls) : NULL };
    signature_describe(&x->s, text, sizeof text);
    bool is_complete = exec[0] && exec[1];
    if (is_complete) {
        double before_mhz = sm_mhz();
        time_both(exec, calls, &t);
        double after_mhz = sm_mhz();
        double us = quantile(t.us[1], t.rounds, 0.5), base_us = quantile(t.us[0], t.rounds, 0.5);
        printf("{\"case\":\"%s\",\"kernel\":\"%s\",\"base\":\"%s\",\"ratio\":%.4f,\"low\":%.4f,"
               "\"high\":%.4f,\"us\":%.2f,\"base_us\":%.2f,\"tb_per_s\":%.3f,"
               "\"base_tb_per_s\":%.3f,\"tflop_per_s\":%.1f,\"calls\":%d,\"rotations\":%d,"
               "\"sm_mhz\":[%.0f,%.0f]}\n",
               text, ours->name, base->name, quantile(t.ratio, t.rounds, 0.5),
               quantile(t.ratio, t.rounds, 0.1), quantile(t.ratio, t.rounds, 0.9), us, base_us,
               bytes / us * 1e-6, bytes / base_us * 1e-6, flops / us * 1e-6, calls, x->rotations,
               before_mhz, after_mhz);
    } else {
        printf("{\"skipped\":\"%s\",\"case\":\"%s\",\"base\":\"%s\"}\n", ours->name, text,
               base->name);
    }
    for (int i = 0; i < 2; i++)
        if (exec[i])
            cudaGraphExecDestroy(exec[i]);
    fflush(stdout);
    return is_complete ? quantile(t.us[0], t.rounds, 0.5) : 0;
}

static char *noise(uint8_t dtype, size_t bytes)
{
    size_t pattern = bytes < (4u << 20) ? bytes : 4u << 20;
    char *device = kernels_device_memory(bytes), *host = malloc(pattern + 16);
    kernels_fill_random(host, dtype, (int64_t)(pattern / kernels_element_bytes(dtype)));
    kernels_copy(device, host, pattern);
    for (size_t at = pattern; at < bytes; at += pattern)
        kernels_copy(device + at, device, bytes - at < pattern ? bytes - at : pattern);
    free(host);
    return device;
}

static size_t rounded_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Buffers for as many rotations as push each other out of the cache. Copies move half as much
 * again as x or y has, and no two of them the same bytes: what one brought into the cache would
 * serve the next. */
static void bench_open(struct bench *x)
{
    int64_t count[3];
    bool is_add = x->s.op == TILEWISE_OP_ADD;
    kernels_element_counts(&x->s, count);
    x->a_bytes = rounded_up((size_t)count[0] * kernels_element_bytes(x->s.dtype_a));
    x->b_bytes = rounded_up((size_t)count[1] * kernels_element_bytes(x->s.dtype_b));
    x->c_bytes = rounded_up((size_t)count[2] * kernels_element_bytes(x->s.dtype_c));
    double rotations = ceil((double)cold_bytes / (double)(x->a_bytes + x->b_bytes + x->c_bytes));
    x->rotations = rotations < 2 ? 2 : rotations > ROTATIONS_MAX ? ROTATIONS_MAX : (int)rotations;
    if (is_add) {
        x->add_bytes = (size_t)(x->s.m * x->s.n) * kernels_element_bytes(x->s.dtype_c) / 256 * 256;
        x->a_bytes = x->b_bytes;
        x->b_bytes = rounded_up(x->b_bytes / 2 * 3);
        x->c_bytes = rounded_up(x->c_bytes / 2 * 3);
    }
    x->a = noise(is_add ? x->s.dtype_b : x->s.dtype_a, x->a_bytes * (size_t)x->rotations);
    x->b = noise(x->s.dtype_b, x->b_bytes * (size_t)x->rotations);
    x->c = noise(x->s.dtype_c, x->c_bytes * (size_t)x->rotations);
    x->alpha = is_add ? 0.5f : 1;
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

/* With --short only the kernels that choose their tile, not those that have one: "_128x64". */
static bool is_timed(const struct bench *x, const struct tilewise_candidate *c)
{
    bool has_tile = x->s.op == TILEWISE_OP_GEMM && strchr(c->name, 'x') != NULL;
    return kernels_is_wanted(c) && c->supports(c, &x->s) && !(kernels_options.is_short && has_tile);
}

/* On this very shape, where that is cheap. */
static void check_first(const struct bench *x)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    if (x->s.m * x->s.n > 1 << 21)
        return;
    kernels_seed(kernels_options.seed);
    struct kernels_case *checked = kernels_case_open(&x->s);
    for (size_t i = 0; i < count; i++) {
        if (!is_timed(x, all[i]))
            continue;
        struct kernels_checked one = kernels_case_try(checked, all[i]);
        if (!(one.worst <= 1))
            kernels_report_wrong(all[i], &x->s, kernels_options.seed, one.what);
    }
    kernels_case_close(checked);
}

/* What moves as many bytes as the add, each against the copy that CUDA makes; the fastest that
 * reads two and writes one. */
static const struct subject *bench_traffic(const struct bench *x)
{
    static const struct subject copy = { .name = "memcpy", .call = call_memcpy };
    static const struct subject moves[] = {
        { "copy_kernel", call_copy, NULL, false },
        { "copy_kernel_once", call_copy, NULL, true },
        { "read2_write1", call_triad, NULL, false },
        { "read2_write1_once", call_triad, NULL, true },
        { "update", call_update, NULL, false },
        { "update_once", call_update, NULL, true },
    };
    const struct subject *best = NULL;
    double best_us = INFINITY;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        bool is_spared = moves[i].once || moves[i].call == call_copy;
        if (kernels_options.is_short && is_spared)
            continue;
        double us = compare_times(x, &moves[i], &copy);
        if (moves[i].call != call_copy && us > 0 && us < best_us) {
            best_us = us;
            best = &moves[i];
        }
    }
    return best;
}

/* Every candidate that takes it. */
static void bench_all(struct bench *x)
{
    static const struct subject library = { .name = "cublas", .call = call_blas };
    static const struct subject copy = { .name = "memcpy", .call = call_memcpy };
    size_t count, timed = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i < count; i++)
        timed += is_timed(x, all[i]);
    if (timed == 0)
        return;
    bool is_add = x->s.op == TILEWISE_OP_ADD;
    check_first(x);
    bench_open(x);
    const struct subject *traffic = is_add ? bench_traffic(x) : NULL;
    for (size_t i = 0; i < count; i++) {
        struct subject ours = { .name = all[i]->name, .call = call_candidate, .candidate = all[i] };
        if (!is_timed(x, all[i]))
            continue;
        size_t scratch = all[i]->scratch_bytes ? all[i]->scratch_bytes(all[i], &x->s, 1) : 0;
        x->scratch = scratch ? kernels_device_memory(scratch) : NULL;
        if (blas.handle)
            compare_times(x, &library, &ours);
        if (is_add)
            compare_times(x, &copy, &ours);
        if (traffic)
            compare_times(x, traffic, &ours);
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

/* A vector (n is 1, the steps are 1), or a matrix in columns with gaps. */
static void bench_add(uint8_t dtype, int64_t m, int64_t n, int64_t ldb, int64_t ldc)
{
    struct bench x = { .s = kernels_signature(dtype, TILEWISE_F32, dtype) };
    x.s.op = TILEWISE_OP_ADD;
    x.s.dtype_a = TILEWISE_NONE;
    x.s.m = m;
    x.s.n = n;
    x.s.k = 1;
    x.s.ldb = ldb;
    x.s.ldc = ldc;
    x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_OTHER;
    x.s.beta = TILEWISE_SCALAR_ONE;
    bench_all(&x);
}

static void bench_adds(void)
{
    static const uint8_t dtypes[] = { TILEWISE_F32, TILEWISE_F16, TILEWISE_BF16 };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        for (int64_t count = 1 << 20; count <= 1 << 27; count *= 128)
            bench_add(dtypes[i], count, 1, 1, 1);
        bench_add(dtypes[i], 1 << 24, 1, 1, 1);
        bench_add(dtypes[i], 4096, 4096, 4224, 4160);
        bench_add(dtypes[i], 1000, 16384, 1024, 1016);
    }
}

void kernels_bench_everything(void)
{
    /* The shapes of the first measurement of cuBLAS on an H200. */
    static const struct size linear[] = {
        { 1, 4096, 4096 },     { 1, 28672, 4096 },    { 4, 4096, 14336 },   { 8, 6144, 4096 },
        { 16, 4096, 4096 },    { 16, 28672, 4096 },   { 32, 4096, 14336 },  { 64, 6144, 4096 },
        { 64, 28672, 4096 },   { 128, 4096, 4096 },   { 256, 4096, 14336 }, { 512, 6144, 4096 },
        { 1024, 4096, 4096 },  { 100, 4096, 4096 },   { 333, 5120, 5120 },  { 1000, 1000, 1000 },
        { 2048, 28672, 4096 }, { 4096, 4096, 14336 }, { 128, 128, 128 },    { 512, 512, 512 },
        { 8192, 8192, 8192 },
    };
    size_t count = sizeof linear / sizeof linear[0];
    for (size_t i = 0; i < count; i++)
        bench_linear(TILEWISE_BF16, TILEWISE_F32, &linear[i]);
    for (size_t i = 4; i < count; i += 3)
        bench_linear(TILEWISE_F16, TILEWISE_F32, &linear[i]);
    for (size_t i = 4; i < count; i += 4) {
        bench_linear(TILEWISE_F32, TILEWISE_TF32, &linear[i]);
        bench_linear(TILEWISE_F32, TILEWISE_F32, &linear[i]);
    }
    for (unsigned trans = 0; trans < 4 && !kernels_options.is_short; trans++) {
        bench_square(TILEWISE_BF16, TILEWISE_F32, 4096, trans);
        bench_square(TILEWISE_F32, TILEWISE_TF32, 2048, trans);
        bench_square(TILEWISE_F32, TILEWISE_F32, 2048, trans);
    }
    if (!kernels_options.is_short)
        bench_square(TILEWISE_F64, TILEWISE_F64, 1024, 0);
    bench_adds();
}
