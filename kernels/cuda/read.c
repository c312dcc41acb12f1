/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/read.h"

#include "traces/number.h"

/* What changes how it is computed but not what, and a D of its own where C is not read (cublasLt):
 * then D is what is written. */
static struct tilewise_signature simplified(const struct tilewise_signature *s)
{
    struct tilewise_signature out = *s;
    out.math_mode = 0;
    if (s->op != TILEWISE_OP_GEMM || s->beta != TILEWISE_SCALAR_ZERO || s->ldd == 0)
        return out;
    out.ldc = s->ldd;
    out.dtype_c = s->dtype_d;
    out.stride_c = s->stride_d;
    return out;
}

uint8_t cuda_read_result_dtype(const struct tilewise_signature *s)
{
    return simplified(s).dtype_c;
}

bool cuda_read_is_plain(const struct tilewise_signature *s)
{
    struct tilewise_signature probe = simplified(s);
    bool scale = s->scale == TILEWISE_F32 || s->scale == TILEWISE_F64 || s->scale == TILEWISE_F16;
    bool result = probe.dtype_d == probe.dtype_c || probe.dtype_d == TILEWISE_NONE;
    probe.dtype_a = probe.dtype_b = probe.dtype_c = probe.dtype_d = TILEWISE_F64;
    probe.compute = probe.scale = TILEWISE_F64;
    return scale && result && blas_is_plain(&probe, TILEWISE_F64);
}

static struct cuda_matrix matrix(struct blas_matrix x, int64_t stride, uint8_t dtype)
{
    return (struct cuda_matrix){
        .base = x.base, .row = x.row, .column = x.column, .batch = stride, .dtype = dtype
    };
}

struct cuda_matrix cuda_read_transposed(struct cuda_matrix x)
{
    int64_t row = x.row;
    x.row = x.column;
    x.column = row;
    return x;
}

struct cuda_read_call cuda_read(const struct tilewise_signature *s,
                                const struct tilewise_args *args)
{
    /* blas_read knows scalars of two types; give it doubles. */
    double alpha = number_load(s->scale, args->alpha, 0);
    double beta = s->op == TILEWISE_OP_ADD ? 1 : number_load(s->scale, args->beta, 0);
    struct tilewise_signature doubles = simplified(s);
    struct tilewise_args scalars = *args;
    doubles.scale = TILEWISE_F64;
    scalars.alpha = &alpha;
    scalars.beta = &beta;
    struct cuda_read_call r = { .call = blas_read(&doubles, &scalars, 0),
                                .batches = blas_batches(s) };
    if (r.call.alpha == 0) /* BLAS does not read A and B then */
        r.call.k = 0;
    bool batched = s->batch_kind != TILEWISE_BATCH_NONE;
    r.a = matrix(r.call.a, batched ? s->stride_a : 0, s->dtype_a);
    r.b = matrix(r.call.b, batched ? s->stride_b : 0, s->dtype_b);
    r.c = matrix(r.call.c, batched ? doubles.stride_c : 0, doubles.dtype_c);
    if (s->op == TILEWISE_OP_GEMM && s->uplo != TILEWISE_FULL) { /* syrk: B is A */
        r.b.batch = r.a.batch;
        r.b.dtype = r.a.dtype;
    }
    return r;
}
