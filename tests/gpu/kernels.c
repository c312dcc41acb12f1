/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA kernels on a GPU: right against the fp64 reference on random shapes, then timed against
 * cuBLAS (add: also against a copy of as many bytes). Prints one JSON object per line.
 *   gpu_kernels [--short] [--check-only] [--only TEXT] [--cases N] [--rounds N]
 * --short: few and small shapes, for compute-sanitizer. --only: candidates whose name contains it.
 * Exits 1 if a kernel is wrong, 77 without a GPU.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "kernels/builtin.h"
#include "kernels/cuda/probe.h"
#include "kernels/cuda/ref.h"
#include "replayer/compare.h"
#include "traces/number.h"

enum { ROTATIONS_MAX = 64, ROUNDS_MAX = 64, CALLS_MAX = 64, GUARD = 4096 };
static const size_t cold_bytes = 512u << 20; /* several times the L2 cache */
static const size_t workspace_bytes = 64u << 20;

static struct {
    bool is_short, check_only;
    const char *only;
    int cases, rounds;
} options = { .only = "", .cases = 60, .rounds = 12 };

static uint64_t random_state = 88172645463325252u;
static int failures;
static cudaStream_t stream;
static struct cuda_probe_clock *clock_read;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int64_t below(int64_t n)
{
    return (int64_t)(random_bits() >> 20) % n;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "gpu_kernels: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

static void *device_memory(size_t bytes)
{
    void *memory = NULL;
    must(cudaMalloc(&memory, bytes ? bytes : 1), "cudaMalloc");
    return memory;
}

/* ---- operands ---- */

struct buffer {
    char *device, *host;
    size_t bytes;
    char *operand; /* on the device, behind a guard */
};

static size_t element_bytes(uint8_t dtype)
{
    return tilewise_dtype_bits(dtype) / 8;
}

static void fill_random(char *to, uint8_t dtype, int64_t count)
{
    int64_t pattern = count < 1 << 20 ? count : 1 << 20;
    size_t bytes = element_bytes(dtype);
    for (int64_t i = 0; i < pattern; i++)
        number_store(dtype, to, i, (double)(int64_t)(random_bits() >> 43) / (1 << 20) - 1);
    for (int64_t i = pattern; i < count; i += pattern)
        memcpy(to + (size_t)i * bytes, to,
               (size_t)(count - i < pattern ? count - i : pattern) * bytes);
}

/* `count` random elements (NaN when poisoned) that begin `shift` elements behind a guard of NaN. */
static struct buffer buffer_make(uint8_t dtype, int64_t count, int64_t shift, bool poisoned)
{
    size_t bytes = element_bytes(dtype), head = GUARD + (size_t)shift * bytes;
    struct buffer b = { .bytes = head + (size_t)count * bytes + GUARD };
    b.host = malloc(b.bytes);
    memset(b.host, 0xff, b.bytes);
    if (!poisoned)
        fill_random(b.host + head, dtype, count);
    b.device = device_memory(b.bytes);
    must(cudaMemcpy(b.device, b.host, b.bytes, cudaMemcpyHostToDevice), "copy to the device");
    b.operand = b.device + head;
    return b;
}

static void buffer_free(struct buffer *b)
{
    cudaFree(b->device);
    free(b->host);
}

/* ---- checks ---- */

static struct tilewise_signature gemm_signature(uint8_t dtype, uint8_t compute, uint8_t result)
{
    uint8_t scale = dtype == TILEWISE_F64 ? TILEWISE_F64 : TILEWISE_F32;
    return (struct tilewise_signature){ .op = TILEWISE_OP_GEMM,
                                        .dtype_a = dtype,
                                        .dtype_b = dtype,
                                        .dtype_c = result,
                                        .dtype_d = result,
                                        .compute = compute,
                                        .scale = scale,
                                        .batch = 1 };
}

/* Any signature that this candidate takes, or false after some tries. */
static bool random_signature(const struct tilewise_candidate *c, struct tilewise_signature *out)
{
    static const uint8_t types[][3] = {
        { TILEWISE_F16, TILEWISE_F32, TILEWISE_F16 },
        { TILEWISE_F16, TILEWISE_F32, TILEWISE_F32 },
        { TILEWISE_BF16, TILEWISE_F32, TILEWISE_BF16 },
        { TILEWISE_BF16, TILEWISE_F32, TILEWISE_F32 },
        { TILEWISE_F32, TILEWISE_TF32, TILEWISE_F32 },
        { TILEWISE_F32, TILEWISE_F32, TILEWISE_F32 },
        { TILEWISE_F64, TILEWISE_F64, TILEWISE_F64 },
    };
    int64_t most = options.is_short ? 150 : 600, small = 1 + below(40);
    for (int tries = 0; tries < 400; tries++) {
        const uint8_t *t = types[below(7)];
        struct tilewise_signature s = gemm_signature(t[0], t[1], t[2]);
        s.layout = (uint8_t)below(2);
        s.trans_a = (uint8_t)below(2);
        s.trans_b = (uint8_t)below(2);
        s.m = below(3) ? 1 + below(most) : small;
        s.n = below(3) ? 1 + below(most) : small;
        s.k = below(4) ? 1 + below(2 * most) : 1 + below(16);
        int64_t grain = below(2) ? 16 : 1; /* aligned, or any */
        bool row = s.layout == TILEWISE_ROW_MAJOR;
        s.lda = ((row != (s.trans_a != 0) ? s.k : s.m) + below(20) + grain - 1) / grain * grain;
        s.ldb = ((row != (s.trans_b != 0) ? s.n : s.k) + below(20) + grain - 1) / grain * grain;
        s.ldc = (row ? s.n : s.m) + below(3);
        s.lda += grain == 16 && s.lda < (row != (s.trans_a != 0) ? s.k : s.m) ? 16 : 0;
        s.align_a = s.align_b = grain == 16 ? 4 : 0;
        if (below(3) == 0) {
            s.batch_kind = TILEWISE_BATCH_STRIDED;
            s.batch = 1 + below(4);
            s.stride_a = s.lda * (row != (s.trans_a != 0) ? s.m : s.k);
            s.stride_b = s.ldb * (row != (s.trans_b != 0) ? s.k : s.n);
            s.stride_c = s.ldc * (row ? s.m : s.n) + below(2);
        }
        if (strncmp(c->name, "add", 3) == 0) {
            s.op = TILEWISE_OP_ADD;
            s.k = 1;
            s.trans_a = s.trans_b = 0;
            s.dtype_a = 0;
            s.lda = s.stride_a = 0;
            s.compute = s.scale;
            s.n = below(2) ? 1 : s.n;
            s.m *= s.n == 1 ? 1 + below(50) : 1;
            s.ldb = s.n == 1 ? 1 + below(3) / 2 : (row ? s.n : s.m) + below(3);
            s.ldc = s.n == 1 ? 1 + below(3) / 2 : (row ? s.n : s.m) + below(3);
            if (s.n == 1 && below(4) == 0)
                s.ldb = -s.ldb;
            s.stride_b = s.batch_kind ? llabs(s.ldb) * (s.n == 1 ? s.m : row ? s.m : s.n) : 0;
            s.stride_c = s.batch_kind ? s.ldc * (s.n == 1 ? s.m : row ? s.m : s.n) : 0;
            s.beta = TILEWISE_SCALAR_ONE;
        }
        *out = s;
        if (c->supports(&s))
            return true;
    }
    return false;
}

/* Elements from the first to the last that may be touched. */
static void element_counts(const struct tilewise_signature *s, int64_t count[3])
{
    struct operand shapes[OPERAND_COUNT];
    struct fault fault;
    if (operand_layout(s, shapes, &fault) != ST_OK) {
        fprintf(stderr, "gpu_kernels: a shape of the test itself is not sane: %s\n", fault.text);
        exit(1);
    }
    for (int i = 0; i < OPERAND_COUNT; i++)
        count[i] = shapes[i].present ? (int64_t)(shapes[i].bytes / shapes[i].element_bytes) : 0;
}

static double kappa_of(const struct tilewise_candidate *c)
{
    return strstr(c->name, "mma") ? 1. / 16 : 0;
}

struct checked {
    double worst;
    char what[200];
};

/* All elements against the reference; every other byte of C as it was. */
static void compare(const struct tilewise_signature *s, const struct tilewise_candidate *c,
                    struct buffer *result, const double *ref, const double *magnitude,
                    struct checked *out)
{
    struct operand shapes[OPERAND_COUNT];
    struct fault fault;
    operand_layout(s, shapes, &fault);
    const struct operand *o = &shapes[OPERAND_C];
    char *after = malloc(result->bytes);
    must(cudaMemcpy(after, result->device, result->bytes, cudaMemcpyDeviceToHost), "copy back");
    struct compare_bound bound = compare_bound_of(s, kappa_of(c));
    size_t head = (size_t)(result->operand - result->device);
    for (int64_t b = 0, at = 0; b < o->batch; b++)
        for (int64_t j = 0; j < o->cols; j++)
            for (int64_t i = 0; i < o->rows; i++, at++) {
                int64_t index = operand_index(o, b, i, j);
                double got = number_load(o->dtype, after + head, index), want = ref[at], error;
                if (s->op == TILEWISE_OP_ADD) {
                    char room[8];
                    number_store(o->dtype, room, 0, want);
                    want = number_load(o->dtype, room, 0);
                    error = got == want ? 0 : INFINITY;
                } else {
                    error = compare_error(&bound, got, want, magnitude[at]);
                }
                if (!(error <= out->worst)) {
                    out->worst = isnan(error) ? INFINITY : error;
                    snprintf(out->what, sizeof out->what, "(%lld, %lld) of %lld: %.9g, not %.9g",
                             (long long)i, (long long)j, (long long)b, got, want);
                }
                memcpy(after + head + (size_t)index * o->element_bytes,
                       result->host + head + (size_t)index * o->element_bytes, o->element_bytes);
            }
    if (memcmp(after, result->host, result->bytes) != 0) {
        out->worst = INFINITY;
        snprintf(out->what, sizeof out->what, "wrote outside of the result");
    }
    free(after);
}

static struct checked check(const struct tilewise_candidate *c, const struct tilewise_signature *s)
{
    int64_t count[3], elements = s->m * s->n * s->batch;
    element_counts(s, count);
    float alpha = below(2) ? 1 : -0.75f, beta = below(2) ? 0 : 0.5f;
    double alpha64 = (double)alpha, beta64 = (double)beta;
    bool is_wide = s->scale == TILEWISE_F64, reads_c = s->op == TILEWISE_OP_ADD || beta != 0;
    struct buffer a = buffer_make(s->dtype_a ? s->dtype_a : TILEWISE_F32, count[0],
                                  s->align_a ? 0 : below(3), false);
    struct buffer b = buffer_make(s->dtype_b, count[1], s->align_b ? 0 : below(3), false);
    struct buffer result = buffer_make(s->dtype_c, count[2], below(2), !reads_c);
    size_t scratch_bytes = c->scratch_bytes ? c->scratch_bytes(s, 1) : 0;
    struct buffer scratch = buffer_make(TILEWISE_F32, (int64_t)(scratch_bytes + 3) / 4, 0, true);
    double *device = device_memory((size_t)elements * 16), *host = malloc((size_t)elements * 16);
    struct tilewise_args args = { .abi = TILEWISE_CANDIDATE_ABI,
                                  .bytes = sizeof args,
                                  .a = a.operand,
                                  .b = b.operand,
                                  .c = result.operand,
                                  .alpha = is_wide ? (void *)&alpha64 : (void *)&alpha,
                                  .beta = is_wide ? (void *)&beta64 : (void *)&beta,
                                  .scratch = scratch.operand,
                                  .stream = stream };
    struct checked out = { .worst = 0 };
    int error = cuda_ref_compute(s, &args, device, device + elements);
    must(cudaStreamSynchronize(stream), "the reference");
    error = error ? error : c->run(s, &args);
    must(cudaStreamSynchronize(stream), c->name);
    must(cudaMemcpy(host, device, (size_t)elements * 16, cudaMemcpyDeviceToHost), "copy back");
    if (error) {
        out.worst = INFINITY;
        snprintf(out.what, sizeof out.what, "returned %d", error);
    } else {
        compare(s, c, &result, host, host + elements, &out);
    }
    cudaFree(device);
    free(host);
    buffer_free(&a);
    buffer_free(&b);
    buffer_free(&result);
    buffer_free(&scratch);
    return out;
}

static void check_candidate(const struct tilewise_candidate *c)
{
    double worst = 0;
    int failed = 0, done = 0, cases = options.is_short ? 6 : options.cases;
    struct tilewise_signature s;
    for (; done < cases && random_signature(c, &s); done++) {
        struct checked one = check(c, &s);
        char text[160];
        if (one.worst > worst)
            worst = one.worst;
        if (one.worst <= 1)
            continue;
        if (failed++ < 3)
            printf("{\"wrong\":\"%s\",\"case\":\"%s\",\"lda\":%lld,\"ldb\":%lld,\"ldc\":%lld,"
                   "\"batch\":%lld,\"what\":\"%s\"}\n",
                   c->name, signature_describe(&s, text, sizeof text), (long long)s.lda,
                   (long long)s.ldb, (long long)s.ldc, (long long)s.batch, one.what);
    }
    failures += failed;
    printf("{\"checked\":\"%s\",\"cases\":%d,\"wrong\":%d,\"worst\":%.3f}\n", c->name, done, failed,
           worst);
    fflush(stdout);
}

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

static bool blas_open(void)
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
    blas.workspace = device_memory(workspace_bytes);
    return set_stream(blas.handle, stream) == 0 &&
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
                                   .stream = stream };
}

static int call(const struct bench *x, const struct subject *who, int index)
{
    const struct tilewise_signature *s = &x->s;
    struct tilewise_args args = args_of(x, index);
    if (who->candidate)
        return who->candidate->run(s, &args);
    if (who->is_copy) /* reads and writes as much as an add does: three halves of y, twice */
        return (int)cudaMemcpyAsync(args.c, args.b, x->b_bytes / 2 * 3, cudaMemcpyDeviceToDevice,
                                    stream);
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
    must(cudaStreamSynchronize(stream), "first call");
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capture");
    for (int i = 0; i < calls; i++)
        failed |= call(x, who, i % x->rotations);
    must(cudaStreamEndCapture(stream, &graph), "capture");
    if (failed) {
        cudaGraphDestroy(graph);
        return NULL;
    }
    must(cudaGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    cudaGraphDestroy(graph);
    return exec;
}

static double graph_us(cudaGraphExec_t exec, int calls)
{
    static cudaEvent_t start, stop;
    float ms = 0;
    if (start == NULL) {
        must(cudaEventCreate(&start), "event");
        must(cudaEventCreate(&stop), "event");
    }
    must(cudaEventRecord(start, stream), "event");
    must(cudaGraphLaunch(exec, stream), "graph");
    must(cudaEventRecord(stop, stream), "event");
    must(cudaStreamSynchronize(stream), "graph");
    must(cudaEventElapsedTime(&ms, start, stop), "event");
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
    cuda_probe_read_clock(clock_read, 20000, stream);
    must(cudaStreamSynchronize(stream), "clock");
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
    double ratio[ROUNDS_MAX], us[2][ROUNDS_MAX];
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
    for (int r = -2; r < options.rounds; r++) {
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
        qsort(us[i], (size_t)options.rounds, sizeof(double), ascending);
    }
    qsort(ratio, (size_t)options.rounds, sizeof(double), ascending);
    double our_us = quantile(us[1], options.rounds, 0.5);
    printf("{\"case\":\"%s\",\"kernel\":\"%s\",\"base\":\"%s\",\"ratio\":%.4f,\"low\":%.4f,"
           "\"high\":%.4f,\"us\":%.2f,\"base_us\":%.2f,\"tb_per_s\":%.3f,\"tflop_per_s\":%.1f,"
           "\"calls\":%d,\"rotations\":%d,\"sm_mhz\":[%.0f,%.0f]}\n",
           text, ours->candidate->name, base_name, quantile(ratio, options.rounds, 0.5),
           quantile(ratio, options.rounds, 0.1), quantile(ratio, options.rounds, 0.9), our_us,
           quantile(us[0], options.rounds, 0.5), bytes / our_us * 1e-6, flops / our_us * 1e-6,
           calls, x->rotations, before_mhz, after_mhz);
    fflush(stdout);
}

static char *noise(uint8_t dtype, size_t bytes)
{
    size_t pattern = bytes < (4u << 20) ? bytes : 4u << 20;
    char *device = device_memory(bytes), *host = malloc(pattern + 16);
    fill_random(host, dtype, (int64_t)(pattern / element_bytes(dtype)));
    for (size_t at = 0; at < bytes; at += pattern)
        must(cudaMemcpy(device + at, host, bytes - at < pattern ? bytes - at : pattern,
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
    element_counts(&x->s, count);
    x->a_bytes = rounded_up((size_t)count[0] * element_bytes(x->s.dtype_a));
    x->b_bytes = rounded_up((size_t)count[1] * element_bytes(x->s.dtype_b));
    x->c_bytes = rounded_up((size_t)count[2] * element_bytes(x->s.dtype_c));
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
        if (strcmp(c->target, "cuda") != 0 || !strstr(c->name, options.only) || !c->supports(&x->s))
            continue;
        if (x->s.m * x->s.n <= 1 << 21) {
            struct checked one = check(c, &x->s);
            char text[160];
            failures += !(one.worst <= 1);
            if (!(one.worst <= 1))
                printf("{\"wrong\":\"%s\",\"case\":\"%s\",\"what\":\"%s\"}\n", c->name,
                       signature_describe(&x->s, text, sizeof text), one.what);
        }
        size_t scratch = c->scratch_bytes ? c->scratch_bytes(&x->s, 1) : 0;
        x->scratch = scratch ? device_memory(scratch) : NULL;
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
    struct bench x = { .s = gemm_signature(dtype, compute, dtype) };
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
    struct bench x = { .s = gemm_signature(dtype, compute, dtype) };
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
    struct bench x = { .s = gemm_signature(dtype, scale, dtype) };
    x.s.op = TILEWISE_OP_ADD;
    x.s.dtype_a = TILEWISE_NONE;
    x.s.m = count;
    x.s.n = x.s.k = x.s.ldb = x.s.ldc = 1;
    x.s.align_b = x.s.align_c = x.s.align_d = 4;
    x.s.alpha = TILEWISE_SCALAR_OTHER;
    x.s.beta = TILEWISE_SCALAR_ONE;
    bench_all(&x);
}

static void bench_everything(void)
{
    static const struct size linear[] = {
        { 1, 4096, 4096 },     { 1, 28672, 4096 },  { 4, 4096, 14336 },   { 8, 6144, 4096 },
        { 16, 4096, 4096 },    { 16, 28672, 4096 }, { 32, 4096, 14336 },  { 64, 6144, 4096 },
        { 64, 28672, 4096 },   { 128, 4096, 4096 }, { 256, 4096, 14336 }, { 512, 6144, 4096 },
        { 1024, 4096, 4096 },  { 100, 4096, 4096 }, { 333, 5120, 5120 },  { 1000, 1000, 1000 },
        { 2048, 28672, 4096 }, { 128, 128, 128 },   { 512, 512, 512 },    { 8192, 8192, 8192 },
    };
    static const int64_t adds[] = { 1 << 20, 1 << 24, 1 << 27 };
    size_t count = options.is_short ? 0 : sizeof linear / sizeof linear[0];
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
    for (size_t i = 0; i < (options.is_short ? 1 : 3); i++) {
        bench_add(TILEWISE_F32, adds[i]);
        bench_add(TILEWISE_F16, adds[i]);
        bench_add(TILEWISE_BF16, adds[i]);
    }
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--short") == 0)
            options.is_short = true;
        else if (strcmp(argv[i], "--check-only") == 0)
            options.check_only = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            options.only = argv[++i];
        else if (strcmp(argv[i], "--cases") == 0 && i + 1 < argc)
            options.cases = atoi(argv[++i]);
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            options.rounds = atoi(argv[++i]);
        else
            exit(64);
    }
    if (options.rounds < 1 || options.rounds > ROUNDS_MAX)
        options.rounds = ROUNDS_MAX;
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp device;
    size_t count;
    parse(argc, argv);
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
        fprintf(stderr, "gpu_kernels: no GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 77;
    }
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    must(cudaMallocHost((void **)&clock_read, sizeof *clock_read), "pinned memory");
    printf("{\"device\":\"%s\",\"sm\":%d,\"cublas\":%s}\n", device.name, device.multiProcessorCount,
           blas_open() ? "true" : "false");
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->target, "cuda") == 0 && strstr(all[i]->name, options.only))
            check_candidate(all[i]);
    if (!options.check_only)
        bench_everything();
    printf("{\"failures\":%d}\n", failures);
    return failures != 0;
}
