/* SPDX-License-Identifier: Apache-2.0
 *
 * The times of gpu_kernels: cold operands by rotation, bursts in graphs, ABBA rounds.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/builtin.h"
#include "kernels/cuda/probe.h"
#include "kernels_bench.h"

enum { ROTATIONS_MAX = 64, CALLS_MAX = 256, SHORT_ROUNDS = 6 };
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

struct tilewise_args kernels_bench_args(const struct kernels_bench *x, int index)
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

static int call_candidate(const struct kernels_bench *x, const struct kernels_subject *me,
                          int index)
{
    struct tilewise_args args = kernels_bench_args(x, index);
    return me->candidate->run(me->candidate, &x->s, &args);
}

static int call_blas_add(const struct kernels_bench *x, const struct tilewise_args *args)
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

static int call_blas(const struct kernels_bench *x, const struct kernels_subject *me, int index)
{
    const struct tilewise_signature *s = &x->s;
    struct tilewise_args args = kernels_bench_args(x, index);
    (void)me;
    if (s->op == TILEWISE_OP_ADD)
        return call_blas_add(x, &args);
    return blas.gemm(blas.handle, s->trans_a, s->trans_b, (int)s->m, (int)s->n, (int)s->k,
                     args.alpha, args.a, blas_type(s->dtype_a), (int)s->lda, args.b,
                     blas_type(s->dtype_b), (int)s->ldb, args.beta, args.c, blas_type(s->dtype_c),
                     (int)s->ldc, blas_compute(s->compute), -1);
}

static cudaGraphExec_t record(const struct kernels_bench *x, const struct kernels_subject *who,
                              int calls)
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
static int calls_for(const struct kernels_bench *x, const struct kernels_subject *who)
{
    cudaGraphExec_t exec = record(x, who, x->rotations);
    if (exec == NULL)
        return 0;
    graph_us(exec, 1);
    double us = graph_us(exec, x->rotations);
    cudaGraphExecDestroy(exec);
    int calls = (int)(1500 / us) + 1;
    calls = calls < x->rotations ? x->rotations : calls;
    return calls > CALLS_MAX ? CALLS_MAX : calls;
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

double kernels_bench_compare(const struct kernels_bench *x, const struct kernels_subject *base,
                             const struct kernels_subject *ours)
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
static void make_operands(struct kernels_bench *x)
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

/* With --short only the kernels that choose their tile, not those that have one: "_128x64". */
static bool is_timed(const struct kernels_bench *x, const struct tilewise_candidate *c)
{
    bool has_tile = x->s.op == TILEWISE_OP_GEMM && strchr(c->name, 'x') != NULL;
    return kernels_is_wanted(c) && c->supports(c, &x->s) && !(kernels_options.is_short && has_tile);
}

/* On this very shape, where that is cheap. */
static void check_first(const struct kernels_bench *x)
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

bool kernels_bench_begin(struct kernels_bench *x)
{
    size_t count, timed = 0;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i < count; i++)
        timed += is_timed(x, all[i]);
    if (timed == 0)
        return false;
    check_first(x);
    make_operands(x);
    return true;
}

void kernels_bench_end(struct kernels_bench *x)
{
    cudaFree(x->a);
    cudaFree(x->b);
    cudaFree(x->c);
}

/* The kernel that --against names, where it takes the shape. */
static const struct tilewise_candidate *rival_on(const struct kernels_bench *x)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    if (*kernels_options.against == '\0')
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, kernels_options.against) == 0)
            return all[i]->supports(all[i], &x->s) ? all[i] : NULL;
    fprintf(stderr, "gpu_kernels: no kernel is called %s\n", kernels_options.against);
    exit(64);
}

static struct kernels_subject subject_of(const struct tilewise_candidate *c)
{
    return (struct kernels_subject){ .name = c->name, .call = call_candidate, .candidate = c };
}

static size_t scratch_for(const struct kernels_bench *x, const struct tilewise_candidate *c)
{
    return c && c->scratch_bytes ? c->scratch_bytes(c, &x->s, 1) : 0;
}

/* One scratch does for both: the calls of a stream follow each other. */
static void bench_candidate(struct kernels_bench *x, const struct tilewise_candidate *c,
                            const struct kernels_subject *const *others)
{
    static const struct kernels_subject library = { .name = "cublas", .call = call_blas };
    const struct tilewise_candidate *rival = rival_on(x);
    size_t mine = scratch_for(x, c), its = scratch_for(x, rival), scratch = mine > its ? mine : its;
    struct kernels_subject ours = subject_of(c);
    x->scratch = scratch ? kernels_device_memory(scratch) : NULL;
    if (blas.handle)
        kernels_bench_compare(x, &library, &ours);
    for (size_t k = 0; others[k]; k++)
        kernels_bench_compare(x, others[k], &ours);
    if (rival && rival != c) {
        struct kernels_subject base = subject_of(rival);
        kernels_bench_compare(x, &base, &ours);
    }
    cudaFree(x->scratch);
}

void kernels_bench_candidates(struct kernels_bench *x, const struct kernels_subject *const *others)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i < count; i++)
        if (is_timed(x, all[i]))
            bench_candidate(x, all[i], others);
}
