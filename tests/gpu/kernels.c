/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA kernels on a GPU: right against the fp64 reference on random shapes, then timed against
 * cuBLAS (add: also against a copy of as many bytes). Prints one JSON object per line.
 *   gpu_kernels [--short] [--check-only] [--only TEXT] [--cases N] [--rounds N]
 * --short: few and small shapes, for compute-sanitizer. --only: candidates whose name contains it.
 * Exits 1 if a kernel is wrong, 77 without a GPU.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "kernels/builtin.h"
#include "kernels/cuda/ref.h"
#include "replayer/compare.h"
#include "traces/number.h"

enum { GUARD = 4096 };

struct kernels_options kernels_options = { .only = "", .cases = 60, .rounds = 12 };
cudaStream_t kernels_stream;
int kernels_failures;
static uint64_t random_state = 88172645463325252u;

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

void kernels_must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "gpu_kernels: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

void *kernels_device_memory(size_t bytes)
{
    void *memory = NULL;
    kernels_must(cudaMalloc(&memory, bytes ? bytes : 1), "cudaMalloc");
    return memory;
}

/* ---- operands ---- */

struct buffer {
    char *device, *host;
    size_t bytes;
    char *operand; /* on the device, behind a guard */
};

size_t kernels_element_bytes(uint8_t dtype)
{
    return tilewise_dtype_bits(dtype) / 8;
}

void kernels_fill_random(char *to, uint8_t dtype, int64_t count)
{
    int64_t pattern = count < 1 << 20 ? count : 1 << 20;
    size_t bytes = kernels_element_bytes(dtype);
    for (int64_t i = 0; i < pattern; i++)
        number_store(dtype, to, i, (double)(int64_t)(random_bits() >> 43) / (1 << 20) - 1);
    for (int64_t i = pattern; i < count; i += pattern)
        memcpy(to + (size_t)i * bytes, to,
               (size_t)(count - i < pattern ? count - i : pattern) * bytes);
}

/* `count` random elements (NaN when poisoned) that begin `shift` elements behind a guard of NaN. */
static struct buffer buffer_make(uint8_t dtype, int64_t count, int64_t shift, bool poisoned)
{
    size_t bytes = kernels_element_bytes(dtype), head = GUARD + (size_t)shift * bytes;
    struct buffer b = { .bytes = head + (size_t)count * bytes + GUARD };
    b.host = malloc(b.bytes);
    memset(b.host, 0xff, b.bytes);
    if (!poisoned)
        kernels_fill_random(b.host + head, dtype, count);
    b.device = kernels_device_memory(b.bytes);
    kernels_must(cudaMemcpy(b.device, b.host, b.bytes, cudaMemcpyHostToDevice),
                 "copy to the device");
    b.operand = b.device + head;
    return b;
}

static void buffer_free(struct buffer *b)
{
    cudaFree(b->device);
    free(b->host);
}

/* ---- checks ---- */

struct tilewise_signature kernels_signature(uint8_t dtype, uint8_t compute, uint8_t result)
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
    int64_t most = kernels_options.is_short ? 150 : 600, small = 1 + below(40);
    for (int tries = 0; tries < 400; tries++) {
        const uint8_t *t = types[below(7)];
        struct tilewise_signature s = kernels_signature(t[0], t[1], t[2]);
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
        if (c->supports(c, &s))
            return true;
    }
    return false;
}

/* Elements from the first to the last that may be touched. */
void kernels_element_counts(const struct tilewise_signature *s, int64_t count[3])
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

/* All elements against the reference; every other byte of C as it was. */
static void compare(const struct tilewise_signature *s, const struct tilewise_candidate *c,
                    struct buffer *result, const double *ref, const double *magnitude,
                    struct kernels_checked *out)
{
    struct operand shapes[OPERAND_COUNT];
    struct fault fault;
    operand_layout(s, shapes, &fault);
    const struct operand *o = &shapes[OPERAND_C];
    char *after = malloc(result->bytes);
    kernels_must(cudaMemcpy(after, result->device, result->bytes, cudaMemcpyDeviceToHost),
                 "copy back");
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

struct kernels_checked kernels_check(const struct tilewise_candidate *c,
                                     const struct tilewise_signature *s)
{
    int64_t count[3], elements = s->m * s->n * s->batch;
    kernels_element_counts(s, count);
    float alpha = below(2) ? 1 : -0.75f, beta = below(2) ? 0 : 0.5f;
    double alpha64 = (double)alpha, beta64 = (double)beta;
    bool is_wide = s->scale == TILEWISE_F64, reads_c = s->op == TILEWISE_OP_ADD || beta != 0;
    struct buffer a = buffer_make(s->dtype_a ? s->dtype_a : TILEWISE_F32, count[0],
                                  s->align_a ? 0 : below(3), false);
    struct buffer b = buffer_make(s->dtype_b, count[1], s->align_b ? 0 : below(3), false);
    struct buffer result = buffer_make(s->dtype_c, count[2], below(2), !reads_c);
    size_t scratch_bytes = c->scratch_bytes ? c->scratch_bytes(c, s, 1) : 0;
    struct buffer scratch = buffer_make(TILEWISE_F32, (int64_t)(scratch_bytes + 3) / 4, 0, true);
    double *device = kernels_device_memory((size_t)elements * 16),
           *host = malloc((size_t)elements * 16);
    struct tilewise_args args = { .abi = TILEWISE_CANDIDATE_ABI,
                                  .bytes = sizeof args,
                                  .a = a.operand,
                                  .b = b.operand,
                                  .c = result.operand,
                                  .alpha = is_wide ? (void *)&alpha64 : (void *)&alpha,
                                  .beta = is_wide ? (void *)&beta64 : (void *)&beta,
                                  .scratch = scratch.operand,
                                  .stream = kernels_stream };
    struct kernels_checked out = { .worst = 0 };
    int error = cuda_ref_compute(s, &args, device, device + elements);
    kernels_must(cudaStreamSynchronize(kernels_stream), "the reference");
    error = error ? error : c->run(c, s, &args);
    kernels_must(cudaStreamSynchronize(kernels_stream), c->name);
    kernels_must(cudaMemcpy(host, device, (size_t)elements * 16, cudaMemcpyDeviceToHost),
                 "copy back");
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
    int failed = 0, done = 0, cases = kernels_options.is_short ? 6 : kernels_options.cases;
    struct tilewise_signature s;
    for (; done < cases && random_signature(c, &s); done++) {
        struct kernels_checked one = kernels_check(c, &s);
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
    kernels_failures += failed;
    printf("{\"checked\":\"%s\",\"cases\":%d,\"wrong\":%d,\"worst\":%.3f}\n", c->name, done, failed,
           worst);
    fflush(stdout);
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--short") == 0)
            kernels_options.is_short = true;
        else if (strcmp(argv[i], "--check-only") == 0)
            kernels_options.check_only = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            kernels_options.only = argv[++i];
        else if (strcmp(argv[i], "--cases") == 0 && i + 1 < argc)
            kernels_options.cases = atoi(argv[++i]);
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            kernels_options.rounds = atoi(argv[++i]);
        else
            exit(64);
    }
    if (kernels_options.rounds < 1 || kernels_options.rounds > KERNELS_ROUNDS_MAX)
        kernels_options.rounds = KERNELS_ROUNDS_MAX;
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
    kernels_must(cudaStreamCreateWithFlags(&kernels_stream, cudaStreamNonBlocking), "stream");
    printf("{\"device\":\"%s\",\"sm\":%d,\"cublas\":%s}\n", device.name, device.multiProcessorCount,
           kernels_bench_open() ? "true" : "false");
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->target, "cuda") == 0 && strstr(all[i]->name, kernels_options.only))
            check_candidate(all[i]);
    if (!kernels_options.check_only)
        kernels_bench_everything();
    printf("{\"failures\":%d}\n", kernels_failures);
    return kernels_failures != 0;
}
