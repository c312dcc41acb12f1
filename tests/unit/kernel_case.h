/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of a candidate on random data, checked against the reference. Every operand ends at a
 * page that faults, begins behind a red zone, and has NaN wherever the call has no business.
 */
#ifndef TILEWISE_TESTS_KERNEL_CASE_H
#define TILEWISE_TESTS_KERNEL_CASE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/builtin.h"

/* The same tests serve the CUDA kernels where these are emulated (tests/emulation). */
#ifndef KERNEL_TARGET
#define KERNEL_TARGET "cpu"
#endif

enum { PAGE = 4096, POISON = 0xa5 };

struct guarded {
    char *map, *data;
    size_t map_bytes, bytes;
};

static inline struct guarded guarded_make(size_t bytes)
{
    size_t whole = (bytes + 2 * PAGE - 1) / PAGE * PAGE; /* at least one page of red zone */
    char *map =
        mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(map, MAP_FAILED);
    cr_assert_eq(mprotect(map + whole, PAGE, PROT_NONE), 0);
    memset(map, POISON, whole);
    return (struct guarded){ map, map + whole - bytes, whole + PAGE, bytes };
}

static inline void guarded_free(struct guarded *g)
{
    munmap(g->map, g->map_bytes);
}

static inline bool guarded_is_intact(const struct guarded *g)
{
    for (const char *p = g->map; p < g->data; p++)
        if ((unsigned char)*p != POISON)
            return false;
    return true;
}

/* Numbers from a fixed seed: xorshift64*. */
static inline uint64_t random_bits(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dULL;
}

static inline int64_t random_below(uint64_t *state, int64_t n)
{
    return (int64_t)(random_bits(state) >> 33) % n;
}

static inline double random_value(uint64_t *state)
{
    return (double)(int64_t)random_bits(state) * 0x1p-62; /* -2 .. 2 */
}

struct kernel_case {
    struct tilewise_signature s;
    struct tilewise_args args;
    struct guarded a, b, c, before, scratch;
    double *want, *magnitude;
    double alpha, beta;
    float alpha32, beta32;
};

static inline struct tilewise_signature kernel_gemm(enum tilewise_dtype dtype, int64_t m, int64_t n,
                                                    int64_t k)
{
    return (struct tilewise_signature){ .op = TILEWISE_OP_GEMM,
                                        .dtype_a = dtype,
                                        .dtype_b = dtype,
                                        .dtype_c = dtype,
                                        .dtype_d = dtype,
                                        .compute = dtype,
                                        .scale = dtype,
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .batch = 1 };
}

static inline bool kernel_is_transposed(unsigned trans)
{
    return trans == TILEWISE_T || trans == TILEWISE_C;
}

/* Elements that are contiguous in the stored operand, and how often that repeats. */
struct stored {
    int64_t inner, outer;
};

static inline struct stored stored_of(const struct tilewise_signature *s, int64_t rows,
                                      int64_t columns, unsigned trans)
{
    bool swap = kernel_is_transposed(trans) != (s->layout == TILEWISE_ROW_MAJOR);
    return swap ? (struct stored){ columns, rows } : (struct stored){ rows, columns };
}

static inline struct stored stored_a(const struct tilewise_signature *s)
{
    if (s->op == TILEWISE_OP_GEMV)
        return stored_of(s, s->m, s->n, TILEWISE_N);
    return stored_of(s, s->m, s->k, s->trans_a);
}

static inline struct stored stored_vector(int64_t length)
{
    return (struct stored){ 1, length };
}

static inline int64_t gemv_length(const struct tilewise_signature *s, bool of_x)
{
    return kernel_is_transposed(s->trans_a) == of_x ? s->m : s->n;
}

static inline struct stored stored_b(const struct tilewise_signature *s)
{
    if (s->op == TILEWISE_OP_GEMV)
        return stored_vector(gemv_length(s, true));
    if (s->op == TILEWISE_OP_ADD)
        return s->n == 1 ? stored_vector(s->m) : stored_of(s, s->m, s->n, TILEWISE_N);
    return stored_of(s, s->k, s->n, s->trans_b);
}

static inline struct stored stored_c(const struct tilewise_signature *s)
{
    if (s->op == TILEWISE_OP_GEMV)
        return stored_vector(gemv_length(s, false));
    if (s->op == TILEWISE_OP_ADD && s->n == 1)
        return stored_vector(s->m);
    return stored_of(s, s->m, s->n, TILEWISE_N);
}

/* Tight leading dimensions plus this padding (for gemv and add: of matrices). */
static inline void kernel_set_ld(struct tilewise_signature *s, int64_t pad)
{
    int64_t a = stored_a(s).inner + pad, b = stored_b(s).inner + pad, c = stored_c(s).inner + pad;
    s->lda = s->op == TILEWISE_OP_ADD ? 0 : a > 0 ? a : 1;
    s->ldb = b > 0 ? b : 1;
    s->ldc = s->ldd = c > 0 ? c : 1;
}

static inline void fill(struct guarded *g, struct stored shape, int64_t ld, unsigned dtype,
                        uint64_t *seed)
{
    int64_t step = ld < 0 ? -ld : ld;
    memset(g->data, 0xff, g->bytes); /* NaN in every type */
    for (int64_t o = 0; o < shape.outer; o++)
        for (int64_t i = 0; i < shape.inner; i++) {
            double value = random_value(seed);
            if (dtype == TILEWISE_F64)
                ((double *)g->data)[o * step + i] = value;
            else
                ((float *)g->data)[o * step + i] = (float)value;
        }
}

static inline struct guarded operand(struct stored shape, int64_t ld, int64_t batches,
                                     int64_t stride, unsigned dtype, uint64_t *seed)
{
    int64_t step = ld < 0 ? -ld : ld;
    size_t size = tilewise_dtype_bits(dtype) / 8;
    bool empty = shape.inner == 0 || shape.outer == 0;
    int64_t one = empty ? 0 : (shape.outer - 1) * step + shape.inner;
    struct guarded g = guarded_make((size_t)(one + (batches - 1) * stride) * size);
    memset(g.data, 0xff, g.bytes);
    for (int64_t i = 0; i < batches; i++) {
        struct guarded part = { .data = g.data + (size_t)(i * stride) * size,
                                .bytes = (size_t)one * size };
        fill(&part, shape, ld, dtype, seed);
    }
    return g;
}

static inline int64_t kernel_elements(const struct kernel_case *k)
{
    struct stored c = stored_c(&k->s);
    return c.inner * c.outer * (k->s.batch_kind == TILEWISE_BATCH_NONE ? 1 : k->s.batch);
}

static inline void kernel_case_make(struct kernel_case *k, const struct tilewise_signature *s,
                                    double alpha, double beta, uint64_t seed)
{
    int64_t batches = s->batch_kind == TILEWISE_BATCH_NONE ? 1 : s->batch;
    *k = (struct kernel_case){
        .s = *s, .alpha = alpha, .beta = beta, .alpha32 = (float)alpha, .beta32 = (float)beta
    };
    bool wide = s->scale == TILEWISE_F64;
    k->a = operand(stored_a(s), s->lda, batches, s->stride_a, s->dtype_b, &seed);
    k->b = operand(stored_b(s), s->ldb, batches, s->stride_b, s->dtype_b, &seed);
    k->c = operand(stored_c(s), s->ldc, batches, s->stride_c, s->dtype_c, &seed);
    if (beta == 0 && s->op != TILEWISE_OP_ADD)
        memset(k->c.data, 0xff, k->c.bytes);
    k->before = guarded_make(k->c.bytes);
    memcpy(k->before.data, k->c.data, k->c.bytes);
    k->args = (struct tilewise_args){ .abi = TILEWISE_CANDIDATE_ABI,
                                      .bytes = sizeof k->args,
                                      .a = k->a.data,
                                      .b = k->b.data,
                                      .c = k->c.data,
                                      .alpha = wide ? (void *)&k->alpha : (void *)&k->alpha32,
                                      .beta = wide ? (void *)&k->beta : (void *)&k->beta32,
                                      .threads = 1 };
    size_t results = (size_t)kernel_elements(k) + 1;
    k->want = calloc(results, sizeof *k->want);
    k->magnitude = calloc(results, sizeof *k->magnitude);
    cr_assert_eq(ref_compute(s, &k->args, k->want, k->magnitude), 0);
}

static inline void kernel_case_free(struct kernel_case *k)
{
    guarded_free(&k->a);
    guarded_free(&k->b);
    guarded_free(&k->c);
    guarded_free(&k->before);
    free(k->want);
    free(k->magnitude);
}

/* Put C back, hand over exactly the scratch that was asked for, run. */
static inline void kernel_case_run(struct kernel_case *k, const struct tilewise_candidate *kernel,
                                   uint32_t threads)
{
    memcpy(k->c.data, k->before.data, k->c.bytes);
    size_t need = kernel->scratch_bytes ? kernel->scratch_bytes(kernel, &k->s, threads) : 0;
    struct guarded scratch = guarded_make((need + 63) / 64 * 64);
    k->args.scratch = scratch.data;
    k->args.threads = threads;
    cr_assert_eq(kernel->supports(kernel, &k->s), 1, "%s does not support the case", kernel->name);
    cr_assert_eq(kernel->run(kernel, &k->s, &k->args), 0);
    cr_assert(guarded_is_intact(&scratch), "%s wrote before its scratch", kernel->name);
    guarded_free(&scratch);
}

static inline double value_at(const struct guarded *g, unsigned dtype, int64_t at)
{
    return dtype == TILEWISE_F64 ? ((const double *)g->data)[at]
                                 : (double)((const float *)g->data)[at];
}

/* As docs/measuring.md has it: |c - ref| <= 1.01 u |ref| + 2 sqrt(K) u E, and equal bits for an
 * add. */
static inline bool kernel_is_close(const struct kernel_case *k, double got, int64_t index)
{
    double want = k->want[index], unit = k->s.dtype_c == TILEWISE_F64 ? 0x1p-53 : 0x1p-24;
    double depth = k->s.op == TILEWISE_OP_GEMV ? (double)gemv_length(&k->s, true) : (double)k->s.k;
    if (isnan(want))
        return isnan(got);
    if (k->s.op == TILEWISE_OP_ADD || isinf(want))
        return got == want;
    if (depth < 1)
        depth = 1;
    return fabs(got - want) <=
           1.01 * unit * fabs(want) + 2 * sqrt(depth) * unit * k->magnitude[index];
}

/* Position in C's buffer of element (i, j) of one batch entry. */
static inline int64_t kernel_c_at(const struct kernel_case *k, int64_t i, int64_t j)
{
    const struct tilewise_signature *s = &k->s;
    if (s->op == TILEWISE_OP_GEMV || (s->op == TILEWISE_OP_ADD && s->n == 1)) {
        int64_t length = stored_c(s).outer;
        return s->ldc < 0 ? (length - 1 - i) * -s->ldc : i * s->ldc;
    }
    return s->layout == TILEWISE_ROW_MAJOR ? i * s->ldc + j : i + j * s->ldc;
}

/* Every element is close, and every byte that is no element is as it was. */
static inline void kernel_case_check(struct kernel_case *k, const char *what)
{
    const struct tilewise_signature *s = &k->s;
    bool vector = s->op == TILEWISE_OP_GEMV;
    int64_t rows = vector ? stored_c(s).outer : s->m, columns = vector ? 1 : s->n;
    int64_t batches = s->batch_kind == TILEWISE_BATCH_NONE ? 1 : s->batch;
    size_t size = tilewise_dtype_bits(s->dtype_c) / 8;
    int64_t index = 0;
    for (int64_t b = 0; b < batches; b++)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++, index++) {
                int64_t at = b * s->stride_c + kernel_c_at(k, i, j);
                if (k->magnitude[index] < 0)
                    continue;
                double got = value_at(&k->c, s->dtype_c, at);
                if (!kernel_is_close(k, got, index)) /* one assertion per element is slow */
                    cr_assert_fail("%s: m=%ld n=%ld k=%ld alpha=%g beta=%g: (%ld, %ld) is %.17g, "
                                   "want %.17g",
                                   what, (long)s->m, (long)s->n, (long)s->k, k->alpha, k->beta,
                                   (long)i, (long)j, got, k->want[index]);
            }
    for (index = 0; index < batches * rows * columns; index++) {
        int64_t in = index % (rows * columns), b = index / (rows * columns);
        int64_t at = b * s->stride_c + kernel_c_at(k, in % rows, in / rows);
        if (!(k->magnitude[index] < 0))
            memcpy(k->c.data + (size_t)at * size, k->before.data + (size_t)at * size, size);
    }
    cr_assert(memcmp(k->c.data, k->before.data, k->c.bytes) == 0, "%s: wrote beside C", what);
    cr_assert(guarded_is_intact(&k->c), "%s: wrote before C", what);
}

static inline bool kernel_is_here(const struct tilewise_candidate *kernel,
                                  const struct tilewise_signature *s)
{
    return strcmp(kernel->target, KERNEL_TARGET) == 0 && kernel->supports(kernel, s) == 1;
}

#endif
