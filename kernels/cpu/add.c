/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates add_*: y = alpha x + y for vectors with any increments and for matrices. Each element
 * is rounded once (fma), as OpenBLAS does where the processor has it: bit-exact for every alpha.
 */
#include <math.h>

#include "kernels/cpu/family.h"
#include "kernels/cpu/team.h"

/* Elements of one thread that are worth waking it for. */
static const double elements_per_thread = 64e3;

struct cut {
    const struct isa *isa;
    const struct blas_call *call; /* rows of x and y side by side, or one column */
    uint32_t parts;
};

static int supports(const struct isa *isa, const struct tilewise_signature *s)
{
    return s->op == TILEWISE_OP_ADD && blas_is_plain(s, isa->dtype);
}

static size_t scratch_bytes(const struct isa *isa, const struct tilewise_signature *s,
                            uint32_t threads)
{
    (void)isa;
    (void)s;
    (void)threads;
    return 0;
}

/* Elements apart: one after another, in order, because with incy = 0 they all meet in one. */
static void add_apart(const struct isa *isa, const struct blas_call *call, int64_t begin,
                      int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        if (isa->dtype == TILEWISE_F64) {
            double *y = (double *)call->c.base + i * call->c.row;
            *y = fma(call->alpha, ((const double *)call->b.base)[i * call->b.row], *y);
        } else {
            float *y = (float *)call->c.base + i * call->c.row;
            *y = fmaf((float)call->alpha, ((const float *)call->b.base)[i * call->b.row], *y);
        }
    }
}

/* Rows [begin, end) of one column. */
static void add_column(const struct isa *isa, const struct blas_call *call, int64_t j,
                       int64_t begin, int64_t end)
{
    int64_t bytes = isa->dtype == TILEWISE_F64 ? 8 : 4;
    const char *x = call->b.base + (j * call->b.column + begin) * bytes;
    char *y = call->c.base + (j * call->c.column + begin) * bytes;
    if (call->b.row == 1 && call->c.row == 1)
        isa->add(end - begin, call->alpha, x, y);
    else
        add_apart(isa, call, begin, end);
}

/* Part of the only column, or some of the columns. */
static void add_part(const struct isa *isa, const struct blas_call *call, int64_t begin,
                     int64_t end)
{
    if (call->n == 1)
        add_column(isa, call, 0, begin, end);
    else
        for (int64_t j = begin; j < end; j++)
            add_column(isa, call, j, 0, call->m);
}

static int64_t length_of(const struct blas_call *call)
{
    return call->n == 1 ? call->m : call->n;
}

static void run_part(void *work, uint32_t part)
{
    const struct cut *cut = work;
    int64_t length = length_of(cut->call);
    add_part(cut->isa, cut->call, length * part / cut->parts, length * (part + 1) / cut->parts);
}

/* Rows side by side, and a matrix without gaps as one column. */
static void orient(struct blas_call *call)
{
    if (call->n != 1 && call->c.row != 1) {
        struct blas_call t = *call;
        call->m = t.n, call->n = t.m;
        call->b = (struct blas_matrix){ t.b.base, t.b.column, t.b.row };
        call->c = (struct blas_matrix){ t.c.base, t.c.column, t.c.row };
    }
    if (call->n > 1 && call->b.column == call->m && call->c.column == call->m) {
        call->m *= call->n;
        call->n = 1;
    }
}

static uint32_t worth_threads(const struct blas_call *call, uint32_t threads)
{
    bool one_target = call->n == 1 && call->c.row == 0;
    if (threads < 2 || one_target)
        return 1;
    double most = (double)call->m * (double)call->n / elements_per_thread;
    threads = threads < TEAM_MAX ? threads : TEAM_MAX;
    return most < 2 ? 1 : most < threads ? (uint32_t)most : threads;
}

static int run(const struct isa *isa, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    for (int64_t index = 0; index < blas_batches(s); index++) {
        struct blas_call call = blas_read(s, args, index);
        if (call.alpha == 0)
            continue;
        orient(&call);
        struct cut cut = { isa, &call, worth_threads(&call, args->threads) };
        if (cut.parts == 1)
            add_part(isa, &call, 0, length_of(&call));
        else
            team_run(cut.parts, run_part, &cut);
    }
    return 0;
}

FAMILY(add, "fused multiply-add, one rounding")
