/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/operand.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A matrix as it is stored. */
struct stored {
    int64_t rows, cols, ld, stride;
    uint8_t trans, dtype, align;
};

static enum status lay_out_matrix(const struct tilewise_signature *s, const struct stored *m,
                                  struct operand *o, struct fault *fault)
{
    bool row_major = s->layout == TILEWISE_ROW_MAJOR;
    bool flipped = m->trans == TILEWISE_T || m->trans == TILEWISE_C;
    int64_t inner = row_major ? m->cols : m->rows;
    if (m->ld < inner)
        return fault_set(fault, ST_INVALID, "leading dimension %lld is below %lld",
                         (long long)m->ld, (long long)inner);
    *o = (struct operand){
        .present = true,
        .dtype = m->dtype,
        .align_log2 = m->align,
        .rows = flipped ? m->cols : m->rows,
        .cols = flipped ? m->rows : m->cols,
        .row_step = row_major != flipped ? m->ld : 1,
        .col_step = row_major != flipped ? 1 : m->ld,
        .stride = m->stride,
    };
    return ST_OK;
}

static enum status lay_out_vector(uint8_t dtype, uint8_t align, int64_t count, int64_t step,
                                  struct operand *o, struct fault *fault)
{
    if (step == 0 || step == INT64_MIN)
        return fault_set(fault, ST_INVALID, "increment of zero, or absurd");
    *o = (struct operand){
        .present = true,
        .dtype = dtype,
        .align_log2 = align,
        .rows = count,
        .cols = 1,
        .row_step = step,
        .col_step = 1,
    };
    return ST_OK;
}

/* Batches of pointers are laid out one behind the other, each as aligned as the first. */
static int64_t packed_stride(const struct operand *o)
{
    static const int64_t aligned_bytes = 256;
    int64_t last = (o->rows - 1) * llabs(o->row_step) + (o->cols - 1) * o->col_step;
    int64_t per = aligned_bytes / (int64_t)o->element_bytes;
    return (last / per + 1) * per;
}

/* Bytes between the ends of the operand, and where element 0 lies when a step is negative (BLAS:
 * the pointer is the lowest address). */
static enum status measure_extent(struct operand *o, int64_t batch, bool pointers,
                                  struct fault *fault)
{
    int64_t down = 0, across = 0, batches = 0, last = 0;
    int64_t row_step = o->row_step < 0 ? -o->row_step : o->row_step;
    unsigned bits = tilewise_dtype_bits(o->dtype);
    if (bits < 8)
        return fault_set(fault, ST_UNSUPPORTED, "element type %s has no whole bytes",
                         tilewise_dtype_name(o->dtype));
    o->element_bytes = bits / 8;
    o->batch = batch;
    if (pointers && o->rows < INT32_MAX && o->cols < INT32_MAX && row_step < INT32_MAX / 2 &&
        o->col_step < INT32_MAX / 2)
        o->stride = packed_stride(o);
    if (o->rows < 1 || o->cols < 1 || batch < 1)
        return fault_set(fault, ST_INVALID, "nothing to compute: a dimension is zero");
    if (o->stride < 0 || __builtin_mul_overflow(o->rows - 1, row_step, &down) ||
        __builtin_mul_overflow(o->cols - 1, o->col_step, &across) ||
        __builtin_mul_overflow(batch - 1, o->stride, &batches) ||
        __builtin_add_overflow(down, across, &last) ||
        __builtin_add_overflow(last, batches, &last) || last >= INT64_MAX / 32)
        return fault_set(fault, ST_INVALID, "dimensions overflow the address space");
    o->first = o->row_step < 0 ? down : 0;
    o->bytes = (size_t)(last + 1) * o->element_bytes;
    return ST_OK;
}

/* C is not read, so it has no place of its own: what is written is D. */
static bool writes_apart(const struct tilewise_signature *s)
{
    return s->op == TILEWISE_OP_GEMM && s->beta == TILEWISE_SCALAR_ZERO && s->ldd != 0;
}

uint8_t operand_result_dtype(const struct tilewise_signature *s)
{
    return writes_apart(s) ? s->dtype_d : s->dtype_c;
}

int64_t operand_result_ld(const struct tilewise_signature *s)
{
    return writes_apart(s) ? s->ldd : s->ldc;
}

static enum status lay_out_gemm(const struct tilewise_signature *s, struct operand *o,
                                struct fault *fault)
{
    bool ta = s->trans_a == TILEWISE_T || s->trans_a == TILEWISE_C;
    bool tb = s->trans_b == TILEWISE_T || s->trans_b == TILEWISE_C;
    struct stored a = { ta ? s->k : s->m, ta ? s->m : s->k, s->lda,    s->stride_a,
                        s->trans_a,       s->dtype_a,       s->align_a };
    struct stored b = { tb ? s->n : s->k, tb ? s->k : s->n, s->ldb,    s->stride_b,
                        s->trans_b,       s->dtype_b,       s->align_b };
    struct stored c = { s->m, s->n, s->ldc, s->stride_c, TILEWISE_N, s->dtype_c, s->align_c };
    if (writes_apart(s))
        c = (struct stored){ s->m, s->n, s->ldd, s->stride_d, TILEWISE_N, s->dtype_d, s->align_d };
    enum status st = lay_out_matrix(s, &a, &o[OPERAND_A], fault);
    if (st == ST_OK && s->uplo == TILEWISE_FULL)
        st = lay_out_matrix(s, &b, &o[OPERAND_B], fault);
    if (st == ST_OK)
        st = lay_out_matrix(s, &c, &o[OPERAND_C], fault);
    o[OPERAND_C].uplo = s->uplo;
    return st;
}

static enum status lay_out_gemv(const struct tilewise_signature *s, struct operand *o,
                                struct fault *fault)
{
    struct stored a = { s->m, s->n, s->lda, s->stride_a, s->trans_a, s->dtype_a, s->align_a };
    enum status st = lay_out_matrix(s, &a, &o[OPERAND_A], fault);
    if (st == ST_OK)
        st =
            lay_out_vector(s->dtype_b, s->align_b, o[OPERAND_A].cols, s->ldb, &o[OPERAND_B], fault);
    if (st == ST_OK)
        st =
            lay_out_vector(s->dtype_c, s->align_c, o[OPERAND_A].rows, s->ldc, &o[OPERAND_C], fault);
    o[OPERAND_B].stride = s->stride_b;
    o[OPERAND_C].stride = s->stride_c;
    return st;
}

static enum status lay_out_add(const struct tilewise_signature *s, struct operand *o,
                               struct fault *fault)
{
    struct stored x = { s->m, s->n, s->ldb, s->stride_b, TILEWISE_N, s->dtype_b, s->align_b };
    struct stored y = { s->m, s->n, s->ldc, s->stride_c, TILEWISE_N, s->dtype_c, s->align_c };
    enum status st;
    if (s->n != 1) {
        st = lay_out_matrix(s, &x, &o[OPERAND_B], fault);
        return st == ST_OK ? lay_out_matrix(s, &y, &o[OPERAND_C], fault) : st;
    }
    st = lay_out_vector(x.dtype, x.align, s->m, s->ldb, &o[OPERAND_B], fault);
    if (st == ST_OK)
        st = lay_out_vector(y.dtype, y.align, s->m, s->ldc, &o[OPERAND_C], fault);
    o[OPERAND_B].stride = s->stride_b;
    o[OPERAND_C].stride = s->stride_c;
    return st;
}

static enum status refuse_overlap(const struct operand *c, struct fault *fault)
{
    int64_t one = (int64_t)(c->bytes / c->element_bytes) - (c->batch - 1) * c->stride;
    if (c->batch > 1 && c->stride < one)
        return fault_set(fault, ST_INVALID, "output batches overlap: stride %lld is below %lld",
                         (long long)c->stride, (long long)one);
    return ST_OK;
}

enum status operand_layout(const struct tilewise_signature *s, struct operand out[OPERAND_COUNT],
                           struct fault *fault)
{
    memset(out, 0, OPERAND_COUNT * sizeof *out);
    enum status st;
    switch (s->op) {
    case TILEWISE_OP_GEMM:
        st = lay_out_gemm(s, out, fault);
        break;
    case TILEWISE_OP_GEMV:
        st = lay_out_gemv(s, out, fault);
        break;
    case TILEWISE_OP_ADD:
        st = lay_out_add(s, out, fault);
        break;
    default:
        st = fault_set(fault, ST_UNSUPPORTED, "operation %s is not replayed",
                       tilewise_op_name(s->op));
    }
    bool pointers =
        s->batch_kind == TILEWISE_BATCH_POINTERS || s->batch_kind == TILEWISE_BATCH_GROUPED;
    for (int i = 0; st == ST_OK && i < OPERAND_COUNT; i++)
        if (out[i].present)
            st = measure_extent(&out[i], s->batch, pointers, fault);
    return st == ST_OK ? refuse_overlap(&out[OPERAND_C], fault) : st;
}

int64_t operand_depth(const struct tilewise_signature *s)
{
    if (s->op == TILEWISE_OP_GEMM)
        return s->k;
    if (s->op == TILEWISE_OP_GEMV)
        return s->trans_a == TILEWISE_T || s->trans_a == TILEWISE_C ? s->m : s->n;
    return 1;
}

bool operand_is_callable(const struct tilewise_signature *s, const char *refused, char *why,
                         size_t why_bytes)
{
    struct operand o[OPERAND_COUNT];
    struct fault fault;
    const int64_t sizes[] = { s->m, s->n, s->k, s->lda, s->ldb, s->ldc, s->batch };
    if (refused == NULL && operand_layout(s, o, &fault) != ST_OK)
        refused = fault.text;
    for (size_t i = 0; refused == NULL && i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] > INT_MAX || sizes[i] < -INT_MAX)
            refused = "a dimension exceeds the 32-bit integers of the library";
    if (refused == NULL && !signature_is_sane(s))
        refused = "no library accepts this signature";
    if (refused)
        snprintf(why, why_bytes, "%s", refused);
    return refused == NULL;
}
