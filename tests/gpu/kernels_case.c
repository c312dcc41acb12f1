/* SPDX-License-Identifier: Apache-2.0
 *
 * One shape of gpu_kernels: operands behind guards of NaN, the fp64 reference once, then any number
 * of kernels on it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "kernels/cuda/ref.h"
#include "replayer/compare.h"
#include "traces/number.h"

enum { GUARD = 4096 };

/* ---- random numbers ---- */

static uint64_t random_state = 1;

/* splitmix64: neighbouring seeds have nothing in common. */
void kernels_seed(uint64_t seed)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    seed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    seed = (seed ^ seed >> 27) * UINT64_C(0x94d049bb133111eb);
    random_state = (seed ^ seed >> 31) | 1;
}

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
    kernels_copy(b.device, b.host, b.bytes);
    b.operand = b.device + head;
    return b;
}

static void buffer_free(struct buffer *b)
{
    cudaFree(b->device);
    free(b->host);
}

/* ---- signatures ---- */

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

static int64_t padded(int64_t size, int64_t grain)
{
    return (size + below(20) + grain - 1) / grain * grain;
}

static void random_gemm(struct tilewise_signature *s)
{
    bool is_aligned = below(2), row = s->layout == TILEWISE_ROW_MAJOR;
    int64_t grain = is_aligned ? 16 : 1;
    bool a_in_k = row != (s->trans_a != TILEWISE_N), b_in_n = row != (s->trans_b != TILEWISE_N);
    s->lda = padded(a_in_k ? s->k : s->m, grain);
    s->ldb = padded(b_in_n ? s->n : s->k, grain);
    s->ldc = (row ? s->n : s->m) + below(3);
    s->align_a = s->align_b = is_aligned ? 4 : 0;
    s->stride_a = s->lda * (a_in_k ? s->m : s->k);
    s->stride_b = s->ldb * (b_in_n ? s->k : s->n);
    s->stride_c = s->ldc * (row ? s->m : s->n) + below(2);
}

/* As a decoding step has it: weights [m, k] in rows times a few tokens. */
static void random_linear(struct tilewise_signature *s)
{
    s->layout = TILEWISE_COL_MAJOR;
    s->trans_a = TILEWISE_T;
    s->trans_b = TILEWISE_N;
    s->m = 1 + below(2 * (int64_t)kernels_options.largest);
    s->n = 1 + below(16);
    s->k = 8 * (1 + below(kernels_options.largest / 2 + 1));
    s->lda = s->k + 8 * below(3);
    s->ldb = s->k + 8 * below(3);
    s->ldc = s->m + below(3);
    s->align_a = s->align_b = 4;
    s->stride_a = s->lda * s->m;
    s->stride_b = s->ldb * s->n;
    s->stride_c = s->ldc * s->n + below(2);
}

/* y = A x: m x n is A as it lies there, ldb and ldc are the increments. */
static void random_gemv(struct tilewise_signature *s)
{
    bool row = s->layout == TILEWISE_ROW_MAJOR, is_transposed = s->trans_a != TILEWISE_N;
    s->op = TILEWISE_OP_GEMV;
    s->k = 1;
    s->trans_b = TILEWISE_N;
    s->lda = padded(row ? s->n : s->m, 1);
    s->ldb = 1 + below(3) / 2;
    s->ldc = 1 + below(3) / 2;
    s->stride_a = s->lda * (row ? s->m : s->n);
    s->stride_b = s->ldb * (is_transposed ? s->m : s->n);
    s->stride_c = s->ldc * (is_transposed ? s->n : s->m);
}

/* Vectors with any increments, and matrices with gaps. */
static void random_add(struct tilewise_signature *s)
{
    bool row = s->layout == TILEWISE_ROW_MAJOR, is_vector = s->n == 1 || below(2);
    s->op = TILEWISE_OP_ADD;
    s->dtype_a = TILEWISE_NONE;
    s->dtype_c = s->dtype_d = s->dtype_b;
    s->compute = s->scale;
    s->k = 1;
    s->trans_a = s->trans_b = TILEWISE_N;
    s->m *= is_vector ? 1 + below(50) : 1;
    s->n = is_vector ? 1 : s->n;
    int64_t line = row ? s->n : s->m, lines = row ? s->m : s->n;
    s->ldb = is_vector ? 1 + below(3) / 2 : line + below(3);
    s->ldc = is_vector ? 1 + below(3) / 2 : line + below(3);
    s->stride_b = s->ldb * (is_vector ? s->m : lines) + below(2);
    s->stride_c = s->ldc * (is_vector ? s->m : lines) + below(2);
    if (is_vector && below(4) == 0)
        s->ldb = -s->ldb;
    s->beta = TILEWISE_SCALAR_ONE;
}

struct tilewise_signature kernels_random_signature(void)
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
    static const uint8_t transposes[] = { TILEWISE_N, TILEWISE_T, TILEWISE_C };
    const uint8_t *t = types[below(sizeof types / sizeof types[0])];
    struct tilewise_signature s = kernels_signature(t[0], t[1], t[2]);
    int64_t most = kernels_options.largest, small = 1 + below(40), kind = below(8);
    s.layout = (uint8_t)below(2);
    s.trans_a = transposes[below(3)];
    s.trans_b = transposes[below(3)];
    s.m = below(3) ? 1 + below(most) : small;
    s.n = below(3) ? 1 + below(most) : small;
    s.k = below(4) ? 1 + below(2 * most) : 1 + below(16);
    if (kind == 0)
        random_gemv(&s);
    else if (kind == 1)
        random_add(&s);
    else if (kind == 2)
        random_linear(&s);
    else
        random_gemm(&s);
    if (below(3) == 0) {
        s.batch_kind = TILEWISE_BATCH_STRIDED;
        s.batch = 1 + below(4);
    } else {
        s.stride_a = s.stride_b = s.stride_c = 0;
    }
    return s;
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

/* ---- one shape ---- */

struct kernels_case {
    struct tilewise_signature s;
    struct operand shape; /* of C */
    struct buffer a, b, c;
    double *want, *magnitude;
    unsigned char alpha[8], beta[8]; /* values of s.scale */
    char *after, *again;             /* C read back */
};

static struct tilewise_args args_of(const struct kernels_case *x, void *scratch)
{
    return (struct tilewise_args){ .abi = TILEWISE_CANDIDATE_ABI,
                                   .bytes = sizeof(struct tilewise_args),
                                   .a = x->a.operand,
                                   .b = x->b.operand,
                                   .c = x->c.operand,
                                   .alpha = x->alpha,
                                   .beta = x->beta,
                                   .scratch = scratch,
                                   .stream = kernels_stream };
}

static int64_t results(const struct kernels_case *x)
{
    return x->shape.rows * x->shape.cols * x->shape.batch;
}

static void refer(struct kernels_case *x)
{
    size_t bytes = (size_t)results(x) * sizeof *x->want;
    double *device = kernels_device_memory(2 * bytes);
    struct tilewise_args args = args_of(x, NULL);
    if (cuda_ref_compute(&x->s, &args, device, device + results(x)) != 0)
        kernels_must(cudaErrorNotSupported, "the reference");
    kernels_must(cudaStreamSynchronize(kernels_stream), "the reference");
    x->want = malloc(2 * bytes);
    x->magnitude = x->want + results(x);
    kernels_copy(x->want, device, 2 * bytes);
    cudaFree(device);
}

struct kernels_case *kernels_case_open(const struct tilewise_signature *s)
{
    static const double alphas[] = { 1, -0.75 }, betas[] = { 0, 1, 0.5 };
    struct kernels_case *x = calloc(1, sizeof *x);
    struct operand shapes[OPERAND_COUNT];
    int64_t count[3];
    double alpha = alphas[below(2)], beta = betas[below(3)];
    bool reads_c = s->op == TILEWISE_OP_ADD || beta != 0;
    kernels_element_counts(s, count);
    operand_layout(s, shapes, &(struct fault){ 0 });
    x->s = *s;
    x->shape = shapes[OPERAND_C];
    number_store(s->scale, x->alpha, 0, alpha);
    number_store(s->scale, x->beta, 0, beta);
    x->a = buffer_make(s->dtype_a ? s->dtype_a : TILEWISE_F32, count[0], s->align_a ? 0 : below(3),
                       false);
    x->b = buffer_make(s->dtype_b, count[1], s->align_b ? 0 : below(3), false);
    x->c = buffer_make(s->dtype_c, count[2], below(2), !reads_c);
    x->after = malloc(x->c.bytes);
    x->again = malloc(x->c.bytes);
    refer(x);
    return x;
}

void kernels_case_close(struct kernels_case *x)
{
    buffer_free(&x->a);
    buffer_free(&x->b);
    buffer_free(&x->c);
    free(x->want);
    free(x->after);
    free(x->again);
    free(x);
}

static double kappa_of(const struct tilewise_candidate *c)
{
    return strstr(c->name, "mma") ? 1. / 16 : 0;
}

/* |got - want| / bound; an add is right to the bit. */
static double error_of(const struct kernels_case *x, const struct compare_bound *bound, double got,
                       int64_t at)
{
    char room[8];
    if (x->s.op != TILEWISE_OP_ADD)
        return compare_error(bound, got, x->want[at], x->magnitude[at]);
    number_store(x->shape.dtype, room, 0, x->want[at]);
    return got == number_load(x->shape.dtype, room, 0) ? 0 : INFINITY;
}

/* All elements against the reference; every other byte of C as it was. Spoils x->after. */
static void compare(const struct kernels_case *x, double kappa, struct kernels_checked *out)
{
    const struct operand *o = &x->shape;
    struct compare_bound bound = compare_bound_of(&x->s, kappa);
    size_t head = (size_t)(x->c.operand - x->c.device);
    for (int64_t b = 0, at = 0; b < o->batch; b++)
        for (int64_t j = 0; j < o->cols; j++)
            for (int64_t i = 0; i < o->rows; i++, at++) {
                int64_t index = operand_index(o, b, i, j);
                size_t place = head + (size_t)index * o->element_bytes;
                double got = number_load(o->dtype, x->after + head, index);
                double error = error_of(x, &bound, got, at);
                if (!(error <= out->worst)) {
                    out->worst = isnan(error) ? INFINITY : error;
                    snprintf(out->what, sizeof out->what, "(%lld, %lld) of %lld: %.9g, not %.9g",
                             (long long)i, (long long)j, (long long)b, got, x->want[at]);
                }
                memcpy(x->after + place, x->c.host + place, o->element_bytes);
            }
    if (memcmp(x->after, x->c.host, x->c.bytes) != 0) {
        out->worst = INFINITY;
        snprintf(out->what, sizeof out->what, "wrote outside of the result");
    }
}

static int run_once(struct kernels_case *x, const struct tilewise_candidate *c,
                    const struct buffer *scratch, char *result)
{
    struct tilewise_args args = args_of(x, scratch->operand);
    kernels_copy(x->c.device, x->c.host, x->c.bytes);
    kernels_copy(scratch->device, scratch->host, scratch->bytes);
    int error = c->run(c, &x->s, &args);
    kernels_must(cudaStreamSynchronize(kernels_stream), c->name);
    kernels_copy(result, x->c.device, x->c.bytes);
    return error;
}

struct kernels_checked kernels_case_try(struct kernels_case *x, const struct tilewise_candidate *c)
{
    struct kernels_checked out = { .worst = 0 };
    size_t scratch_bytes = c->scratch_bytes ? c->scratch_bytes(c, &x->s, 1) : 0;
    struct buffer scratch = buffer_make(TILEWISE_F32, (int64_t)(scratch_bytes + 3) / 4, 0, true);
    int error = run_once(x, c, &scratch, x->after);
    error = error ? error : run_once(x, c, &scratch, x->again);
    bool is_repeatable = memcmp(x->after, x->again, x->c.bytes) == 0;
    compare(x, kappa_of(c), &out);
    if (error || !is_repeatable) {
        out.worst = INFINITY;
        snprintf(out.what, sizeof out.what, error ? "returned %d" : "other bits at a second run",
                 error);
    }
    buffer_free(&scratch);
    return out;
}
