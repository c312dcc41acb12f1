/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "replayer/stats.h"
#include "traces/number.h"

enum { SAMPLES_PER_SIDE = 3, SAMPLED_BATCHES = 4, REFERENCE_ROWS_MIN = 256 };
static const double full_reference_steps_max = 1 << 26;
/* A sum of n errors with random signs exceeds 7 times its deviation once in 10^11 rows. */
static const double projection_deviations = 7;

/* Steps of a short sum before it is added to the long one, in fp8 products on tensor cores. */
static const double promotion_steps = 128;

/* What the arithmetic inside may lose, in parts of E. */
static double sum_error(const struct tilewise_signature *s, double kappa)
{
    double depth = (double)operand_depth(s), ordinary = 2 * sqrt(depth) + kappa * depth;
    double steps = s->flags & TILEWISE_FAST_ACCUM ? depth : fmin(depth, promotion_steps);
    bool is_fp8 = s->dtype_b == TILEWISE_E4M3 || s->dtype_b == TILEWISE_E5M2;
    if (s->compute == TILEWISE_I32)
        return 0;
    if (is_fp8 && kappa > 0)
        return (steps + 64) * 0x1p-19 + ordinary * 0x1p-24;
    if (s->compute == TILEWISE_F16)
        return ordinary * 0x1p-11;
    return ordinary * (s->dtype_c == TILEWISE_F64 ? 0x1p-53 : 0x1p-24);
}

/* What rounding the inputs to a shorter type loses, in parts of E. */
static double input_error(const struct tilewise_signature *s)
{
    enum { FAST_16F = 74, FAST_16BF = 75 }; /* of the compute types in the high byte */
    unsigned compute = s->math_mode >> 8;
    if (s->dtype_b != TILEWISE_F32)
        return 0;
    if (compute == FAST_16BF)
        return 0x1p-7;
    return s->compute == TILEWISE_TF32 || compute == FAST_16F ? 0x1p-10 : 0;
}

struct compare_bound compare_bound_of(const struct tilewise_signature *s, double kappa)
{
    uint8_t result = operand_result_dtype(s);
    return (struct compare_bound){
        .out = 1.01 * number_unit(result),
        .sum = sum_error(s, kappa) + input_error(s),
        .tiny = fmax(number_tiny(result), 0x1p-1074),
        .largest = number_largest(result),
    };
}

static void note(struct compare_outcome *out, double error, const char *format, int64_t b,
                 int64_t r, int64_t c, double got, double want)
{
    if (error > out->worst)
        out->worst = error;
    if (error <= 1)
        return;
    if (out->equal)
        snprintf(out->where, sizeof out->where, format, (long long)b, (long long)r, (long long)c,
                 got, want);
    out->equal = false;
}

static const char element_text[] = "batch %lld, element (%lld, %lld): %.9g, should be %.9g";
static const char row_text[] = "batch %lld, row %lld of %lld: projection %.9g, should be %.9g";

/* Part of the result that the reference computes at once. */
struct region {
    int64_t batch, row, rows, column, columns;
};

/* The product that yields this region alone, as a problem of its own. The reference works on long
 * columns, so wide regions are handed over as their transpose: the other layout, operands
 * exchanged. */
struct problem {
    struct tilewise_signature s;
    struct tilewise_args args;
    bool transposed;
};

static const void *address(const struct data_image *image, int64_t b, int64_t r, int64_t c)
{
    return image->bytes + image->first_byte +
           (size_t)operand_index(&image->shape, b, r, c) * image->shape.element_bytes;
}

/* Lowest address of the operand in this batch: what BLAS wants, whatever the sign of a step. */
static const void *base_of(const struct data_image *image, int64_t batch)
{
    return image->bytes + image->first_byte +
           (size_t)(batch * image->shape.stride) * image->shape.element_bytes;
}

static void exchange(struct problem *p)
{
    struct tilewise_signature t = p->s;
    const void *a = p->args.a;
    p->s.layout = t.layout == TILEWISE_ROW_MAJOR ? TILEWISE_COL_MAJOR : TILEWISE_ROW_MAJOR;
    p->s.m = t.n, p->s.n = t.m;
    p->s.trans_a = t.trans_b, p->s.trans_b = t.trans_a;
    p->s.dtype_a = t.dtype_b, p->s.dtype_b = t.dtype_a;
    p->s.lda = t.ldb, p->s.ldb = t.lda;
    p->args.a = p->args.b, p->args.b = a;
    p->transposed = true;
}

struct tilewise_signature compare_plain(const struct tilewise_signature *s, uint8_t result_dtype)
{
    struct tilewise_signature plain = *s;
    /* What changes how it is computed, but not what. */
    plain.math_mode = plain.flags = 0;
    plain.scale_a = plain.scale_b = plain.scale_c = plain.scale_d = 0;
    plain.ldc = operand_result_ld(s);
    plain.ldd = 0;
    plain.dtype_c = plain.dtype_d = result_dtype;
    plain.scale = TILEWISE_F64;
    return plain;
}

static struct problem problem_of(const struct compare_job *job, const struct region *g)
{
    struct problem p = { .s = compare_plain(job->signature, job->after->shape.dtype) };
    const struct data_image *b = job->b->bytes ? job->b : job->a;
    p.args = (struct tilewise_args){
        .abi = TILEWISE_CANDIDATE_ABI,
        .bytes = sizeof p.args,
        .a = base_of(job->a, g->batch),
        .b = base_of(b, g->batch),
        .c = (void *)base_of(job->before, g->batch),
        .alpha = &job->alpha,
        .beta = &job->beta,
        .threads = 1,
    };
    p.s.batch_kind = TILEWISE_BATCH_NONE;
    p.s.batch = 1;
    if (p.s.op != TILEWISE_OP_GEMM)
        return p;
    if (p.s.uplo != TILEWISE_FULL) {
        p.s.uplo = TILEWISE_FULL;
        p.s.trans_b = p.s.trans_a == TILEWISE_N ? TILEWISE_T : TILEWISE_N;
        p.s.dtype_b = p.s.dtype_a;
        p.s.ldb = p.s.lda;
        p.args.b = address(job->a, g->batch, g->column, 0);
    } else {
        p.args.b = address(job->b, g->batch, 0, g->column);
    }
    p.args.a = address(job->a, g->batch, g->row, 0);
    p.args.c = (void *)address(job->before, g->batch, g->row, g->column);
    p.s.m = g->rows;
    p.s.n = g->columns;
    if (g->columns > g->rows)
        exchange(&p);
    return p;
}

struct compare_bound compare_bound_for(const struct compare_job *job)
{
    struct compare_bound bound = compare_bound_of(job->signature, job->kappa);
    if (job->exact)
        bound.sum = bound.out = 0;
    return bound;
}

void compare_describe(const struct judge_outcome *found, struct compare_outcome *out)
{
    *out = (struct compare_outcome){ .equal = found->bad == 0, .worst = found->worst };
    if (found->bad)
        snprintf(out->where, sizeof out->where, element_text, (long long)found->at[0],
                 (long long)found->at[1], (long long)found->at[2], found->got, found->want);
}

/* `at`: batch, row, column. */
static void note_element(const struct compare_job *job, const struct compare_bound *bound,
                         const int64_t at[3], double ref, double magnitude,
                         struct compare_outcome *out)
{
    const struct operand *o = &job->after->shape;
    if (!operand_holds(o, at[1], at[2]))
        return;
    double got = data_get(job->after, operand_index(o, at[0], at[1], at[2]));
    double want = job->exact ? judge_rounded(o->dtype, ref) : ref;
    note(out, compare_error(bound, got, want, magnitude), element_text, at[0], at[1], at[2], got,
         want);
}

static enum status compare_region(const struct compare_job *job, const struct region *g,
                                  struct compare_outcome *out)
{
    struct compare_bound bound = compare_bound_for(job);
    struct problem p = problem_of(job, g);
    size_t count = (size_t)(g->rows * g->columns);
    double *result = calloc(count, 2 * sizeof *result);
    if (result == NULL)
        return ST_NOMEM;
    int error = job->reference(&p.s, &p.args, result, result + count);
    for (int64_t c = 0; error == 0 && c < g->columns; c++)
        for (int64_t r = 0; r < g->rows; r++) {
            const int64_t at[] = { g->batch, g->row + r, g->column + c };
            size_t i = (size_t)(p.transposed ? c + r * g->columns : r + c * g->rows);
            note_element(job, &bound, at, result[i], result[count + i], out);
        }
    free(result);
    return error == 0 ? ST_OK : error == -ENOMEM ? ST_NOMEM : ST_UNSUPPORTED;
}

static void compare_add(const struct compare_job *job, struct compare_outcome *out)
{
    struct judge_outcome found;
    struct judge j = { .kind = JUDGE_ADD,
                       .after = *job->after,
                       .other = *job->b,
                       .before = *job->before,
                       .alpha = job->alpha };
    judge_all(&j, &found);
    compare_describe(&found, out);
}

/* y += M x for one batch of an image, and row sums of squares. `flip`: M is the transpose.
 * A triangle is read as the symmetric matrix that it stands for. */
struct projection {
    const struct data_image *image;
    int64_t batch;
    bool flip;
    const long double *x;
    long double *y;
    double *squares;
};

static void project(const struct projection *p)
{
    const struct operand *o = &p->image->shape;
    bool rows_inside = o->row_step < o->col_step; /* walk memory in order */
    int64_t inner = rows_inside ? o->rows : o->cols, outer = rows_inside ? o->cols : o->rows;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) {
            int64_t r = rows_inside ? j : i, c = rows_inside ? i : j;
            bool own = operand_holds(o, r, c);
            double value = data_get(p->image, own ? operand_index(o, p->batch, r, c)
                                                  : operand_index(o, p->batch, c, r));
            int64_t to = p->flip ? c : r, from = p->flip ? r : c;
            p->y[to] += value * p->x[from];
            p->squares[to] += value * value;
        }
}

/* Vectors of one projection check: signs x, z = op(B) x, expected and found sums per row. */
struct vectors {
    long double *x, *z, *product, *old, *found;
    double *z_squares, *a_squares, *old_squares, *found_squares;
};

static void release_vectors(struct vectors *v)
{
    free(v->x);
    free(v->z_squares);
}

static bool allocate_vectors(struct vectors *v, size_t m, size_t n, size_t k)
{
    long double *wide = calloc(n + k + 3 * m, sizeof *wide);
    double *squares = calloc(k + 3 * m, sizeof *squares);
    *v = (struct vectors){ .x = wide, .z_squares = squares };
    if (wide == NULL || squares == NULL) {
        release_vectors(v);
        return false;
    }
    v->z = wide + n;
    v->product = v->z + k;
    v->old = v->product + m;
    v->found = v->old + m;
    v->a_squares = squares + k;
    v->old_squares = v->a_squares + m;
    v->found_squares = v->old_squares + m;
    return true;
}

static void judge_rows(const struct compare_job *job, int64_t batch, const struct vectors *v,
                       int64_t m, int64_t k, struct compare_outcome *out)
{
    struct compare_bound bound = compare_bound_of(job->signature, job->kappa);
    double b_norm = 0, scale = projection_deviations * (bound.out + bound.sum);
    /* A sum of rounded results is not the rounded sum. */
    bool exact_rows = job->exact && bound.out <= 0x1p-23;
    for (int64_t i = 0; i < k; i++)
        b_norm += v->z_squares[i];
    b_norm = sqrt(b_norm);
    for (int64_t i = 0; i < m; i++) {
        long double want = job->alpha * v->product[i] + job->beta * v->old[i];
        double allowed = scale * (fabs(job->alpha) * sqrt(v->a_squares[i]) * b_norm +
                                  fabs(job->beta) * sqrt(v->old_squares[i]));
        double error = (double)fabsl(v->found[i] - want);
        allowed = exact_rows ? bound.tiny : allowed + bound.tiny;
        double ratio = error <= allowed || isfinite(error) ? error / allowed : INFINITY;
        /* The ratio to this looser bound says nothing about single elements: pass or fail only. */
        note(out, ratio <= 1 ? 0 : ratio, row_text, batch, i, m, (double)v->found[i], (double)want);
    }
}

/* Freivalds: C x = alpha A (B x) + beta C0 x for random signs x, in O(mk + kn + mn). */
static enum status compare_projection(const struct compare_job *job, int64_t batch,
                                      struct compare_outcome *out)
{
    int64_t m = job->after->shape.rows, n = job->after->shape.cols, k = job->a->shape.cols;
    bool has_b = job->b->bytes != NULL;
    uint64_t state = job->seed + (uint64_t)batch;
    struct vectors v;
    if (!allocate_vectors(&v, (size_t)m, (size_t)n, (size_t)k))
        return ST_NOMEM;
    for (int64_t j = 0; j < n; j++)
        v.x[j] = stats_random(&state) >> 63 ? 1 : -1;
    project(&(struct projection){ has_b ? job->b : job->a, batch, !has_b, v.x, v.z, v.z_squares });
    project(&(struct projection){ job->a, batch, false, v.z, v.product, v.a_squares });
    if (job->beta != 0)
        project(&(struct projection){ job->before, batch, false, v.x, v.old, v.old_squares });
    project(&(struct projection){ job->after, batch, false, v.x, v.found, v.found_squares });
    judge_rows(job, batch, &v, m, k, out);
    release_vectors(&v);
    return ST_OK;
}

static enum status compare_samples(const struct compare_job *job, int64_t batch,
                                   struct compare_outcome *out)
{
    int64_t m = job->after->shape.rows, n = job->after->shape.cols;
    uint64_t state = job->seed ^ (uint64_t)batch;
    enum status st = ST_OK;
    for (int i = 0; st == ST_OK && i < SAMPLES_PER_SIDE; i++) {
        /* The last ones always: that is where edge tiles are. */
        int64_t r = i ? (int64_t)(stats_random(&state) % (uint64_t)m) : m - 1;
        int64_t c = i ? (int64_t)(stats_random(&state) % (uint64_t)n) : n - 1;
        st = compare_region(job, &(struct region){ batch, r, 1, 0, n }, out);
        if (st == ST_OK)
            st = compare_region(job, &(struct region){ batch, 0, m, c, 1 }, out);
    }
    return st;
}

static double reference_steps(const struct compare_job *job)
{
    double m = (double)job->after->shape.rows, n = (double)job->after->shape.cols;
    double longer = fmax(fmax(m, n), REFERENCE_ROWS_MIN);
    return longer * fmin(m, n) * (double)operand_depth(job->signature);
}

enum status compare_result(const struct compare_job *job, struct compare_outcome *out)
{
    const struct operand *c = &job->after->shape;
    enum status st = ST_OK;
    *out = (struct compare_outcome){ .equal = true };
    if (!number_is_known(c->dtype) || job->signature->epilogue)
        return ST_UNSUPPORTED;
    if (job->signature->op == TILEWISE_OP_ADD) {
        compare_add(job, out);
        return ST_OK;
    }
    double steps = reference_steps(job) * (double)c->batch;
    bool sampled = job->signature->op == TILEWISE_OP_GEMM && steps > full_reference_steps_max;
    for (int64_t b = 0; st == ST_OK && b < c->batch; b++) {
        if (!sampled) {
            st = compare_region(job, &(struct region){ b, 0, c->rows, 0, c->cols }, out);
            continue;
        }
        st = compare_projection(job, b, out);
        if (st == ST_OK && (b < SAMPLED_BATCHES - 1 || b == c->batch - 1))
            st = compare_samples(job, b, out);
    }
    return st;
}
