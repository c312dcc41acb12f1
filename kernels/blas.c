/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/blas.h"

static bool dtypes_are(const struct tilewise_signature *s, enum tilewise_dtype dtype)
{
    bool a = s->op == TILEWISE_OP_ADD || s->dtype_a == dtype; /* an add has no A */
    bool d = s->dtype_d == dtype || s->dtype_d == TILEWISE_NONE;
    bool compute = s->compute == dtype || s->compute == TILEWISE_NONE;
    return a && s->dtype_b == dtype && s->dtype_c == dtype && d && compute && s->scale == dtype;
}

bool blas_is_plain(const struct tilewise_signature *s, enum tilewise_dtype dtype)
{
    bool op = s->op == TILEWISE_OP_GEMM || s->op == TILEWISE_OP_GEMV || s->op == TILEWISE_OP_ADD;
    bool batch = s->batch_kind == TILEWISE_BATCH_NONE || s->batch_kind == TILEWISE_BATCH_STRIDED;
    bool scaled = s->scale_a || s->scale_b || s->scale_c || s->scale_d;
    bool in_place = s->ldd == 0 || s->ldd == s->ldc;
    return op && batch && in_place && !scaled && s->epilogue == 0 && signature_is_plain_math(s) &&
           (s->flags & TILEWISE_NOT_REPLAYABLE) == 0 && dtypes_are(s, dtype);
}

int64_t blas_batches(const struct tilewise_signature *s)
{
    return s->batch_kind == TILEWISE_BATCH_NONE ? 1 : s->batch;
}

static struct blas_matrix matrix(const void *base, int64_t ld, const struct tilewise_signature *s,
                                 unsigned trans)
{
    bool transposed = trans == TILEWISE_T || trans == TILEWISE_C;
    bool rows_apart = (s->layout == TILEWISE_ROW_MAJOR) != transposed;
    return (struct blas_matrix){
        .base = (char *)base,
        .row = rows_apart ? ld : 1,
        .column = rows_apart ? 1 : ld,
    };
}

/* BLAS hands over the lowest address; with a negative increment the first element is the last. */
static struct blas_matrix vector(const void *base, int64_t length, int64_t increment,
                                 unsigned dtype)
{
    int64_t first = increment < 0 && length > 0 ? (1 - length) * increment : 0;
    return (struct blas_matrix){
        .base = (char *)base + first * (tilewise_dtype_bits(dtype) / 8),
        .row = increment,
    };
}

static double scalar(const void *value, unsigned dtype)
{
    return dtype == TILEWISE_F64 ? *(const double *)value : (double)*(const float *)value;
}

static const void *batch_base(const void *base, unsigned dtype, int64_t stride, int64_t index)
{
    return (const char *)base + index * stride * (tilewise_dtype_bits(dtype) / 8);
}

struct blas_call blas_read(const struct tilewise_signature *s, const struct tilewise_args *args,
                           int64_t index)
{
    const void *a = args->a, *b = args->b, *c = args->c;
    if (index > 0) {
        a = batch_base(a, s->dtype_a, s->stride_a, index);
        b = batch_base(b, s->dtype_b, s->stride_b, index);
        c = batch_base(c, s->dtype_c, s->stride_c, index);
    }
    struct blas_call call = {
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .alpha = scalar(args->alpha, s->scale),
        .beta = s->op == TILEWISE_OP_ADD ? 1 : scalar(args->beta, s->scale),
        .uplo = s->uplo,
    };
    if (s->op == TILEWISE_OP_GEMV) {
        bool transposed = s->trans_a == TILEWISE_T || s->trans_a == TILEWISE_C;
        call.m = transposed ? s->n : s->m;
        call.k = transposed ? s->m : s->n;
        call.n = 1;
        call.a = matrix(a, s->lda, s, s->trans_a);
        call.b = vector(b, call.k, s->ldb, s->dtype_b);
        call.c = vector(c, call.m, s->ldc, s->dtype_c);
    } else if (s->op == TILEWISE_OP_ADD && s->n == 1) {
        call.b = vector(b, s->m, s->ldb, s->dtype_b);
        call.c = vector(c, s->m, s->ldc, s->dtype_c);
    } else {
        call.a = matrix(a, s->lda, s, s->trans_a);
        call.b = matrix(b, s->ldb, s, s->trans_b);
        call.c = matrix(c, s->ldc, s, TILEWISE_N);
        if (s->uplo != TILEWISE_FULL) /* syrk names A once: B is its transpose */
            call.b = (struct blas_matrix){ call.a.base, call.a.column, call.a.row };
    }
    return call;
}
