/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/product.h"

#include "kernels/cpu/team.h"

enum way { WAY_THIN, WAY_DIRECT, WAY_PACKED };

/* Work of one thread that is worth waking it for, in multiply-adds; for a thin call in elements of
 * A, which come from memory. */
static const double work_per_thread[] = {
    [WAY_THIN] = 512e3,
    [WAY_DIRECT] = 1e6,
    [WAY_PACKED] = 1e6,
};

static struct blas_matrix turned(struct blas_matrix x)
{
    return (struct blas_matrix){ x.base, x.column, x.row };
}

/* C^T = B^T A^T */
static void transpose(struct blas_call *call)
{
    struct blas_matrix a = call->a;
    int64_t m = call->m;
    call->m = call->n;
    call->n = m;
    call->a = turned(call->b);
    call->b = turned(a);
    call->c = turned(call->c);
}

/* Bytes of A that stay near between two calls (L2 and a little more): no need to stream it. */
enum { RESIDENT_BYTES = 1280 << 10 };

/* A thin product streams A once, in order. The register tile is better where A is near and both A
 * and C lie along the long side as the tile reads them. */
static bool is_thin(const struct isa *isa, const struct blas_call *call)
{
    bool few_columns = call->n < call->m || (call->n == call->m && call->c.row == 1);
    int64_t thin = few_columns ? call->n : call->m, fat = few_columns ? call->m : call->n;
    if (thin > ISA_THIN)
        return false;
    bool a_fits = few_columns ? call->a.row == 1 : call->b.column == 1;
    bool c_fits = few_columns ? call->c.row == 1 : call->c.column == 1;
    int64_t bytes = fat * call->k * (isa->dtype == TILEWISE_F64 ? 8 : 4);
    return !c_fits || (!a_fits && call->k >= 16) || bytes > RESIDENT_BYTES;
}

static enum way choose_way(const struct isa *isa, const struct blas_call *call)
{
    double volume = (double)call->m * (double)call->n * (double)call->k;
    if (is_thin(isa, call))
        return WAY_THIN;
    return volume <= 96. * 96 * 96 ? WAY_DIRECT : WAY_PACKED;
}

/* Turn the call as its way wants it: few columns for thin, the rows of C side by side otherwise. */
static void orient(struct blas_call *call, enum way way)
{
    if (way == WAY_THIN ? call->n > call->m : call->c.row != 1)
        transpose(call);
}

static size_t way_bytes(const struct isa *isa, const struct blas_call *call, enum way way)
{
    size_t bytes = way == WAY_THIN     ? isa->thin_bytes(call->n, call->k)
                   : way == WAY_DIRECT ? isa->direct_bytes(call->k)
                                       : isa->packed_bytes(call->m, call->n, call->k);
    return (bytes + 63) / 64 * 64;
}

static uint32_t worth_threads(const struct blas_call *call, enum way way, uint32_t threads)
{
    double work = (double)call->m * (double)call->k;
    if (way != WAY_THIN)
        work *= (double)call->n;
    double most = work / work_per_thread[way];
    threads = threads < TEAM_MAX ? threads : TEAM_MAX;
    return most < 2 ? 1 : most < threads ? (uint32_t)most : threads;
}

/* C as a grid of parts. */
struct cut {
    const struct isa *isa;
    const struct blas_call *call;
    enum way way;
    uint32_t rows, columns;
    char *scratch;
    size_t scratch_bytes; /* of one part */
};

/* The grid whose parts read the least of A and B: near squares, whole register tiles. */
static void choose_grid(struct cut *cut, uint32_t threads)
{
    double best = 0;
    cut->rows = cut->columns = 1;
    for (uint32_t rows = 1; rows <= threads; rows++) {
        uint32_t columns = cut->way == WAY_THIN ? 1 : threads / rows;
        double m = (double)cut->call->m / rows, n = (double)cut->call->n / columns;
        bool fits = (rows == 1 || m >= (double)cut->isa->tile_rows) &&
                    (columns == 1 || n >= (double)cut->isa->tile_columns);
        double worth = rows * columns / (m + n);
        if (fits && worth > best) {
            best = worth;
            cut->rows = rows;
            cut->columns = columns;
        }
    }
}

/* Begin of part `index` of `parts`, in whole steps. */
static int64_t part_begin(int64_t total, uint32_t parts, uint32_t index, int64_t step)
{
    int64_t begin = (total + step - 1) / step * index / parts * step;
    return begin < total ? begin : total;
}

static void shift(struct blas_matrix *x, int64_t elements, const struct isa *isa)
{
    x->base += elements * (tilewise_dtype_bits(isa->dtype) / 8);
}

static struct blas_call part_of(const struct cut *cut, uint32_t part)
{
    struct blas_call call = *cut->call;
    uint32_t row = part % cut->rows, column = part / cut->rows;
    int64_t rows = cut->isa->tile_rows;
    int64_t i = part_begin(call.m, cut->rows, row, rows);
    int64_t j = part_begin(call.n, cut->columns, column, 1);
    call.m = part_begin(call.m, cut->rows, row + 1, rows) - i;
    call.n = part_begin(call.n, cut->columns, column + 1, 1) - j;
    shift(&call.a, i * call.a.row, cut->isa);
    shift(&call.b, j * call.b.column, cut->isa);
    shift(&call.c, i * call.c.row + j * call.c.column, cut->isa);
    return call;
}

static void run_way(const struct isa *isa, enum way way, const struct blas_call *call,
                    void *scratch)
{
    if (way == WAY_THIN)
        isa->thin(call, scratch);
    else if (way == WAY_DIRECT)
        isa->direct(call, scratch);
    else
        isa->packed(call, scratch);
}

static void run_part(void *work, uint32_t part)
{
    const struct cut *cut = work;
    struct blas_call call = part_of(cut, part);
    if (call.m > 0 && call.n > 0)
        run_way(cut->isa, cut->way, &call, cut->scratch + part * cut->scratch_bytes);
}

static void run_threads(const struct isa *isa, enum way way, const struct blas_call *call,
                        const struct tilewise_args *args, uint32_t threads)
{
    struct cut cut = { .isa = isa, .call = call, .way = way, .scratch = args->scratch };
    cut.scratch_bytes = way_bytes(isa, call, way);
    choose_grid(&cut, threads);
    team_run(cut.rows * cut.columns, run_part, &cut);
}

/* C = beta C, without reading it when beta is zero. */
static void scale_only(const struct isa *isa, const struct blas_call *call)
{
    for (int64_t j = 0; call->beta != 1 && j < call->n; j++)
        for (int64_t i = 0; i < call->m; i++) {
            int64_t at = i * call->c.row + j * call->c.column;
            if (isa->dtype == TILEWISE_F64) {
                double *c = (double *)call->c.base + at;
                *c = call->beta == 0 ? 0 : call->beta * *c;
            } else {
                float *c = (float *)call->c.base + at;
                *c = call->beta == 0 ? 0 : (float)call->beta * *c;
            }
        }
}

static void multiply(const struct isa *isa, struct blas_call *call,
                     const struct tilewise_args *args)
{
    if (call->m == 0 || call->n == 0)
        return;
    if (call->k == 0 || call->alpha == 0) {
        scale_only(isa, call);
        return;
    }
    enum way way = choose_way(isa, call);
    orient(call, way);
    uint32_t threads = args->threads < 2 ? 1 : worth_threads(call, way, args->threads);
    if (threads == 1)
        run_way(isa, way, call, args->scratch);
    else
        run_threads(isa, way, call, args, threads);
}

/* A part needs no more than the whole would. */
size_t product_scratch_bytes(const struct isa *isa, const struct tilewise_signature *s,
                             uint32_t threads)
{
    static const double one = 1; /* read as f32 or f64; only the shape matters here */
    struct tilewise_args args = { .alpha = &one, .beta = &one };
    struct blas_call call = blas_read(s, &args, 0);
    if (call.m == 0 || call.n == 0 || call.k == 0)
        return 0;
    enum way way = choose_way(isa, &call);
    orient(&call, way);
    return way_bytes(isa, &call, way) * worth_threads(&call, way, threads);
}

void product_run(const struct isa *isa, const struct tilewise_signature *s,
                 const struct tilewise_args *args)
{
    for (int64_t index = 0; index < blas_batches(s); index++) {
        struct blas_call call = blas_read(s, args, index);
        multiply(isa, &call, args);
    }
}
