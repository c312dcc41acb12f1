/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "fake_device.h"
#include "traces/number.h"

enum { ILLEGAL_ACCESS = 700, TERMS_MAX = 1 << 24 };
static const double flops_per_ns = 200000, floor_ns = 2000;

static unsigned dtype_of(int type)
{
    switch (type) {
    case 0:
        return TILEWISE_F32;
    case 1:
        return TILEWISE_F64;
    case 2:
        return TILEWISE_F16;
    case 3:
        return TILEWISE_I8;
    case 10:
        return TILEWISE_I32;
    case 14:
        return TILEWISE_BF16;
    case 28:
        return TILEWISE_E4M3;
    case 29:
        return TILEWISE_E5M2;
    default:
        return TILEWISE_UNKNOWN;
    }
}

double fake_scalar(const void *value, int type)
{
    return number_load(dtype_of(type), value, 0);
}

/* Index of (row, column) of a stored matrix. */
static int64_t at(const struct fake_gemm *g, int64_t ld, int64_t row, int64_t column)
{
    return g->order ? row * ld + column : row + column * ld;
}

static void one(const struct fake_gemm *g, int b, int64_t row, int64_t column)
{
    const char *a = g->pa ? g->pa[b] : g->a, *x = g->pb ? g->pb[b] : g->b;
    const char *c = g->pc ? g->pc[b] : g->c;
    char *d = g->pc ? g->pc[b] : g->d;
    double sum = 0;
    for (int64_t p = 0; p < g->k; p++) {
        int64_t ia = at(g, g->lda, g->ta ? p : row, g->ta ? row : p);
        int64_t ib = at(g, g->ldb, g->tb ? column : p, g->tb ? p : column);
        sum += number_load(dtype_of(g->type_a), a, ia + b * g->stride_a) *
               number_load(dtype_of(g->type_b), x, ib + b * g->stride_b);
    }
    sum *= g->alpha;
    if (g->beta != 0)
        sum += g->beta *
               number_load(dtype_of(g->type_c), c, at(g, g->ldc, row, column) + b * g->stride_c);
    number_store(dtype_of(g->type_d), d, at(g, g->ldd, row, column) + b * g->stride_d, sum);
}

static void multiply(const void *context)
{
    const struct fake_gemm *g = context;
    bool wrong = g->algorithm == fake_setting("wrong", -1);
    int64_t columns = wrong && g->n > 1 ? g->n - 1 : g->n;
    if (g->algorithm == fake_setting("hang", -1))
        pause();
    if (g->algorithm == fake_setting("crash", -1)) {
        fake_break(ILLEGAL_ACCESS);
        return;
    }
    if ((double)g->m * (double)g->n * (double)g->k * g->batch > TERMS_MAX)
        return; /* a ceiling: only its simulated time matters */
    for (int b = 0; b < g->batch; b++)
        for (int64_t column = 0; column < columns; column++)
            for (int64_t row = 0; row < g->m; row++)
                one(g, b, row, column);
}

static void add(const void *context)
{
    const struct fake_add *a = context;
    unsigned dtype = dtype_of(a->type);
    int64_t x0 = a->x_step < 0 ? (1 - a->rows) * (int64_t)a->x_step : 0;
    int64_t y0 = a->y_step < 0 ? (1 - a->rows) * (int64_t)a->y_step : 0;
    for (int64_t c = 0; c < a->columns; c++)
        for (int64_t r = 0; r < a->rows; r++) {
            int64_t x = x0 + r * a->x_step + c * a->x_column;
            int64_t y = y0 + r * a->y_step + c * a->y_column;
            double sum = a->alpha * number_load(dtype, a->x, x) + number_load(dtype, a->y, y);
            number_store(dtype, a->y, y, sum);
        }
}

int fake_add_enqueue(void *stream, const struct fake_add *a)
{
    return fake_enqueue(stream, add, a, sizeof *a, floor_ns + 0.001 * a->rows * a->columns);
}

/* The second algorithm of the list is the quickest. */
static double price(long algorithm)
{
    static const double of[] = { 1, 1.01, 0.8, 0.9, 1.3 };
    return algorithm < 5 ? of[algorithm] : 1.5;
}

int fake_gemm_enqueue(void *stream, const struct fake_gemm *g)
{
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k * g->batch;
    return fake_enqueue(stream, multiply, g, sizeof *g,
                        (flops / flops_per_ns + floor_ns) * price(g->algorithm));
}
