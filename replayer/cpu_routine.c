/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cpu_routine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LAYOUT_ROWS = 101, LAYOUT_COLUMNS = 102, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

/* One adaptor per routine and type: arguments from struct cpu_call. V reads a scalar. */
#define ADAPTORS(p, V)                                                                             \
    static void run_##p##gemm(const struct cpu_blas *l, const struct cpu_call *q)                  \
    {                                                                                              \
        l->p##gemm(q->layout, q->trans_a, q->trans_b, q->m, q->n, q->k, V(q->alpha), q->a, q->lda, \
                   q->b, q->ldb, V(q->beta), q->c, q->ldc);                                        \
    }                                                                                              \
    static void run_##p##gemv(const struct cpu_blas *l, const struct cpu_call *q)                  \
    {                                                                                              \
        l->p##gemv(q->layout, q->trans_a, q->m, q->n, V(q->alpha), q->a, q->lda, q->b, q->ldb,     \
                   V(q->beta), q->c, q->ldc);                                                      \
    }                                                                                              \
    static void run_##p##syrk(const struct cpu_blas *l, const struct cpu_call *q)                  \
    {                                                                                              \
        l->p##syrk(q->layout, q->uplo, q->trans_a, q->n, q->k, V(q->alpha), q->a, q->lda,          \
                   V(q->beta), q->c, q->ldc);                                                      \
    }                                                                                              \
    static void run_##p##axpy(const struct cpu_blas *l, const struct cpu_call *q)                  \
    {                                                                                              \
        l->p##axpy(q->m, V(q->alpha), q->b, q->ldb, q->c, q->ldc);                                 \
    }
#define REAL_ADAPTORS(p, T, V)                                                                     \
    static void run_##p##dot(const struct cpu_blas *l, const struct cpu_call *q)                   \
    {                                                                                              \
        T beta = V(q->beta), sum = l->p##dot(q->k, q->a, q->lda, q->b, q->ldb);                    \
        *(T *)q->c = V(q->alpha) * sum + (beta == 0 ? 0 : beta * *(const T *)q->c);                \
    }                                                                                              \
    static void run_##p##ger(const struct cpu_blas *l, const struct cpu_call *q)                   \
    {                                                                                              \
        l->p##ger(q->layout, q->m, q->n, V(q->alpha), q->a, q->lda, q->b, q->ldb, q->c, q->ldc);   \
    }                                                                                              \
    static void run_##p##axpby(const struct cpu_blas *l, const struct cpu_call *q)                 \
    {                                                                                              \
        l->p##axpby(q->m, V(q->alpha), q->b, q->ldb, 1, q->c, q->ldc);                             \
    }                                                                                              \
    static void run_##p##geadd(const struct cpu_blas *l, const struct cpu_call *q)                 \
    {                                                                                              \
        l->p##geadd(q->layout, q->m, q->n, V(q->alpha), q->b, q->ldb, 1, q->c, q->ldc);            \
    }
#define FLOAT_AT(p)  (*(const float *)(p))
#define DOUBLE_AT(p) (*(const double *)(p))
#define ADDRESS(p)   (p)
ADAPTORS(s, FLOAT_AT)
ADAPTORS(d, DOUBLE_AT)
ADAPTORS(c, ADDRESS)
ADAPTORS(z, ADDRESS)
REAL_ADAPTORS(s, float, FLOAT_AT)
REAL_ADAPTORS(d, double, DOUBLE_AT)
/* bf16. The library's results are f32: bf16 ones take the way over `wide`, line by line. */
static void widen(const struct cpu_blas *l, const struct cpu_call *q, int lines, int length,
                  int step)
{
    if (FLOAT_AT(q->beta) != 0)
        for (int i = 0; i < lines; i++)
            l->sbf16tos(length, (const uint16_t *)q->c + (int64_t)i * q->ldc, step,
                        q->wide + (int64_t)i * length, 1);
}

static void narrow(const struct cpu_blas *l, const struct cpu_call *q, int lines, int length,
                   int step)
{
    for (int i = 0; i < lines; i++)
        l->sbstobf16(length, q->wide + (int64_t)i * length, 1,
                     (uint16_t *)q->c + (int64_t)i * q->ldc, step);
}

static void run_sbgemm(const struct cpu_blas *l, const struct cpu_call *q)
{
    int length = q->layout == LAYOUT_ROWS ? q->n : q->m,
        lines = q->layout == LAYOUT_ROWS ? q->m : q->n;
    if (q->wide)
        widen(l, q, lines, length, 1);
    l->sbgemm(q->layout, q->trans_a, q->trans_b, q->m, q->n, q->k, FLOAT_AT(q->alpha), q->a, q->lda,
              q->b, q->ldb, FLOAT_AT(q->beta), q->wide ? q->wide : q->c, q->wide ? length : q->ldc);
    if (q->wide)
        narrow(l, q, lines, length, 1);
}

static void run_sbgemv(const struct cpu_blas *l, const struct cpu_call *q)
{
    int length = q->trans_a == NOT_TRANSPOSED ? q->m : q->n;
    if (q->wide)
        widen(l, q, 1, length, q->ldc);
    l->sbgemv(q->layout, q->trans_a, q->m, q->n, FLOAT_AT(q->alpha), q->a, q->lda, q->b, q->ldb,
              FLOAT_AT(q->beta), q->wide ? q->wide : q->c, q->wide ? 1 : q->ldc);
    if (q->wide)
        narrow(l, q, 1, length, q->ldc);
}
#undef ADAPTORS
#undef REAL_ADAPTORS
#undef FLOAT_AT
#undef DOUBLE_AT
#undef ADDRESS

typedef void adaptor(const struct cpu_blas *blas, const struct cpu_call *call);

/* Adaptors of one element type; NULL where the library has no such routine. */
static const struct family {
    uint8_t dtype; /* of the inputs */
    const char *prefix;
    adaptor *gemm, *gemv, *syrk, *axpy, *dot, *ger, *axpby, *geadd;
} families[] = {
#define X(p) run_##p##gemm, run_##p##gemv, run_##p##syrk, run_##p##axpy
    { TILEWISE_F32, "s", X(s), run_sdot, run_sger, run_saxpby, run_sgeadd },
    { TILEWISE_F64, "d", X(d), run_ddot, run_dger, run_daxpby, run_dgeadd },
    { TILEWISE_C64, "c", X(c), NULL, NULL, NULL, NULL },
    { TILEWISE_C128, "z", X(z), NULL, NULL, NULL, NULL },
#undef X
    { .dtype = TILEWISE_BF16, .prefix = "sb", .gemm = run_sbgemm, .gemv = run_sbgemv },
};

static const struct family *family_of(uint8_t dtype)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (families[i].dtype == dtype)
            return &families[i];
    return NULL;
}

static bool has_right_result(const struct tilewise_signature *s)
{
    if (s->dtype_b != TILEWISE_BF16)
        return s->dtype_c == s->dtype_b;
    return s->dtype_c == TILEWISE_F32 || s->dtype_c == TILEWISE_BF16;
}

/* A line about the element types, or "" where a BLAS for the CPU has a routine for them. */
static void refuse_types(const struct tilewise_signature *s, char *text, size_t bytes)
{
    bool is_add = s->op == TILEWISE_OP_ADD, is_bf16 = s->dtype_b == TILEWISE_BF16;
    bool same = is_add || s->dtype_a == s->dtype_b;
    text[0] = '\0';
    if (family_of(s->dtype_b) == NULL || !same || !has_right_result(s))
        snprintf(text, bytes, "no BLAS for the CPU has a routine for %s%s%s with a result in %s",
                 is_add ? "" : tilewise_dtype_name(s->dtype_a), is_add ? "" : " and ",
                 tilewise_dtype_name(s->dtype_b), tilewise_dtype_name(s->dtype_c));
    else if (is_bf16 &&
             (s->op != TILEWISE_OP_GEMM || s->uplo != TILEWISE_FULL || s->scale != TILEWISE_F32))
        snprintf(text, bytes,
                 "of bf16 a BLAS for the CPU has full products with f32 scalars alone");
    else if (is_bf16 && !cpu_blas_has_bf16())
        snprintf(text, bytes,
                 "the BLAS here has no bf16 (cblas_sbgemm: OpenBLAS built with BUILD_BFLOAT16)");
}

static const char *mode_refused(const struct tilewise_signature *s)
{
    if (s->flags & TILEWISE_NOT_REPLAYABLE)
        return "the recorder did not understand the whole call";
    if (s->batch_kind != TILEWISE_BATCH_NONE && s->batch_kind != TILEWISE_BATCH_STRIDED)
        return "batches of pointers are not replayed";
    if (s->compute == TILEWISE_TF32)
        return "computed in TF32, which a CPU has not";
    if (s->epilogue || s->scale_a || s->scale_b || s->scale_c || s->scale_d)
        return "epilogues and scale modes are not replayed on a CPU";
    if (!signature_is_plain_math(s))
        return "its math mode (how cuBLAS may compute) is none of a CPU";
    if (s->alpha == TILEWISE_SCALAR_DEVICE || s->beta == TILEWISE_SCALAR_DEVICE)
        return "alpha or beta is in device memory";
    return NULL;
}

bool cpu_routine_supports(const struct tilewise_signature *s, char *why, size_t why_bytes)
{
    char types[160] = "";
    const char *refused = mode_refused(s);
    if (refused == NULL)
        refuse_types(s, types, sizeof types);
    return operand_is_callable(s, types[0] ? types : refused, why, why_bytes);
}

size_t cpu_routine_wide_bytes(const struct tilewise_signature *s)
{
    return s->dtype_c == TILEWISE_BF16 ? (size_t)(s->m * s->n) * sizeof(float) : 0;
}

static int cblas_layout(uint8_t layout)
{
    return layout == TILEWISE_ROW_MAJOR ? LAYOUT_ROWS : LAYOUT_COLUMNS;
}

static int cblas_trans(uint8_t trans)
{
    static const int of[] = { 111, 112, 113, 114 };
    return of[trans & 3];
}

/* The transpose of op(X), where that is an op again: not for conjugates of complex types. */
static int cblas_flipped(uint8_t trans)
{
    return trans == TILEWISE_N ? TRANSPOSED : NOT_TRANSPOSED;
}

static struct cpu_routine named(const struct family *f, const char *routine, adaptor *run)
{
    struct cpu_routine r = { .run = run };
    snprintf(r.name, sizeof r.name, "%s%s", f->prefix, routine);
    return r;
}

/* gemm, gemv, axpy with the arguments of the signature. */
static struct cpu_call call_as_recorded(const struct tilewise_signature *s)
{
    return (struct cpu_call){
        .layout = cblas_layout(s->layout),
        .trans_a = cblas_trans(s->trans_a),
        .trans_b = cblas_trans(s->trans_b),
        .uplo = s->uplo == TILEWISE_LOWER ? 122 : 121,
        .m = (int)s->m,
        .n = (int)s->n,
        .k = (int)s->k,
        .lda = (int)s->lda,
        .ldb = (int)s->ldb,
        .ldc = (int)s->ldc,
    };
}

struct list {
    const struct tilewise_signature *s;
    const struct family *f;
    const struct operand *o;
    struct cpu_routine *rows;
    size_t count;
};

static void append(struct list *l, const char *name, adaptor *run, struct cpu_call call,
                   bool swapped)
{
    struct cpu_routine r = named(l->f, name, run);
    r.call = call;
    r.swapped = swapped;
    l->rows[l->count++] = r;
}

/* n = 1: y = op(A) b. */
static void append_gemv_of_column(struct list *l)
{
    struct cpu_call q = call_as_recorded(l->s);
    bool flipped = l->s->trans_a == TILEWISE_T || l->s->trans_a == TILEWISE_C;
    q.m = (int)(flipped ? l->s->k : l->s->m);
    q.n = (int)(flipped ? l->s->m : l->s->k);
    q.ldb = (int)l->o[OPERAND_B].row_step;
    q.ldc = (int)l->o[OPERAND_C].row_step;
    append(l, "gemv", l->f->gemv, q, false);
}

/* m = 1: y = op(B)^T a. */
static void append_gemv_of_row(struct list *l)
{
    struct cpu_call q = call_as_recorded(l->s);
    bool flipped = l->s->trans_b == TILEWISE_T || l->s->trans_b == TILEWISE_C;
    q.trans_a = cblas_flipped(l->s->trans_b);
    q.m = (int)(flipped ? l->s->n : l->s->k);
    q.n = (int)(flipped ? l->s->k : l->s->n);
    q.lda = (int)l->s->ldb;
    q.ldb = (int)l->o[OPERAND_A].col_step;
    q.ldc = (int)l->o[OPERAND_C].col_step;
    append(l, "gemv", l->f->gemv, q, true);
}

static void append_dot(struct list *l)
{
    struct cpu_call q = { .k = (int)operand_depth(l->s),
                          .lda = (int)l->o[OPERAND_A].col_step,
                          .ldb = (int)l->o[OPERAND_B].row_step };
    append(l, "dot", l->f->dot, q, false);
}

static void append_ger(struct list *l)
{
    struct cpu_call q = call_as_recorded(l->s);
    q.lda = (int)l->o[OPERAND_A].row_step;
    q.ldb = (int)l->o[OPERAND_B].col_step;
    append(l, "ger", l->f->ger, q, false);
}

static void list_gemm(struct list *l)
{
    const struct tilewise_signature *s = l->s;
    bool real = tilewise_dtype_kind(s->dtype_c) == TILEWISE_KIND_REAL;
    bool a_plain = real || s->trans_a != TILEWISE_R, x_plain_b = real || s->trans_b < TILEWISE_C;
    bool x_plain_a = real || s->trans_a < TILEWISE_C, b_plain = real || s->trans_b < TILEWISE_C;
    if (s->uplo != TILEWISE_FULL) {
        append(l, "syrk", l->f->syrk, call_as_recorded(s), false);
        return;
    }
    append(l, "gemm", l->f->gemm, call_as_recorded(s), false);
    if (s->k < 1)
        return;
    if (s->n == 1 && a_plain && x_plain_b)
        append_gemv_of_column(l);
    if (s->m == 1 && x_plain_a && b_plain)
        append_gemv_of_row(l);
    if (s->m == 1 && s->n == 1 && l->f->dot)
        append_dot(l);
    if (s->k == 1 && s->beta == TILEWISE_SCALAR_ONE && l->f->ger)
        append_ger(l);
}

/* As a gemm with n = 1, where strided vectors are matrices of that layout. */
static void append_gemm_of_vector(struct list *l)
{
    const struct tilewise_signature *s = l->s;
    bool row_major = s->layout == TILEWISE_ROW_MAJOR, unit = s->ldb == 1;
    int64_t outputs = l->o[OPERAND_C].rows, inputs = l->o[OPERAND_B].rows;
    if (s->ldb < 1 || s->ldc < 1 || (!row_major && s->ldc != 1))
        return;
    struct cpu_call q = call_as_recorded(s);
    q.m = (int)outputs;
    q.n = 1;
    q.k = (int)inputs;
    /* Column-major: x is a column, or with an increment the one row of its transpose. */
    q.trans_b = row_major || unit ? NOT_TRANSPOSED : TRANSPOSED;
    q.ldb = (int)(row_major ? s->ldb : unit ? inputs : s->ldb);
    q.ldc = (int)(row_major ? s->ldc : outputs);
    append(l, "gemm", l->f->gemm, q, false);
}

static void list_gemv(struct list *l)
{
    const struct tilewise_signature *s = l->s;
    append(l, "gemv", l->f->gemv, call_as_recorded(s), false);
    if (s->trans_a != TILEWISE_R)
        append_gemm_of_vector(l);
    if (l->o[OPERAND_C].rows == 1 && s->ldb > 0 && l->f->dot)
        append_dot(l);
}

static void list_add(struct list *l, const struct cpu_blas *blas)
{
    const struct tilewise_signature *s = l->s;
    struct cpu_call q = call_as_recorded(s);
    bool is_float = s->dtype_c == TILEWISE_F32;
    bool has_axpby = is_float ? blas->saxpby != NULL : blas->daxpby != NULL;
    bool has_geadd = is_float ? blas->sgeadd != NULL : blas->dgeadd != NULL;
    int64_t inner = s->layout == TILEWISE_ROW_MAJOR ? s->n : s->m;
    if (s->n == 1) {
        append(l, "axpy", l->f->axpy, q, false);
        if (l->f->axpby && has_axpby)
            append(l, "axpby", l->f->axpby, q, false);
        return;
    }
    if (l->f->geadd && has_geadd)
        append(l, "geadd", l->f->geadd, q, false);
    if (s->ldb == inner && s->ldc == inner && s->m <= INT_MAX / s->n) {
        q.m = (int)(s->m * s->n);
        q.ldb = q.ldc = 1;
        append(l, "axpy", l->f->axpy, q, false);
    }
}

size_t cpu_routine_list(const struct cpu_blas *blas, const struct tilewise_signature *s,
                        struct cpu_routine *rows)
{
    struct operand o[OPERAND_COUNT];
    struct list l = { s, family_of(s->dtype_b), o, rows, 0 };
    bool is_bf16 = s->dtype_b == TILEWISE_BF16;
    if (l.f == NULL || operand_layout(s, o, NULL) != ST_OK || (is_bf16 && !blas->sbgemm))
        return 0;
    if (s->op == TILEWISE_OP_GEMM)
        list_gemm(&l);
    else if (s->op == TILEWISE_OP_GEMV)
        list_gemv(&l);
    else
        list_add(&l, blas);
    return l.count;
}
