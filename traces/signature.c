/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/signature.h"

#include <stdio.h>
#include <string.h>

/* Inlined, so that the shim needs no library for it. */
#define XXH_INLINE_ALL
#include <xxhash.h>

static const int64_t dimension_max = INT64_C(1) << 40;
static const int64_t stride_max = INT64_C(1) << 60;

const char *tilewise_op_name(unsigned op)
{
    static const char *const names[TILEWISE_OP_COUNT] = {
#define X(id, number, name) [number] = name,
        TILEWISE_OP_LIST(X)
#undef X
    };
    return op < TILEWISE_OP_COUNT ? names[op] : names[TILEWISE_OP_OTHER];
}

unsigned tilewise_op_find(const char *name)
{
    for (unsigned op = 0; op < TILEWISE_OP_COUNT; op++)
        if (strcmp(tilewise_op_name(op), name) == 0)
            return op;
    return TILEWISE_OP_COUNT;
}

char tilewise_trans_letter(unsigned trans)
{
    return trans <= TILEWISE_R ? "NTCR"[trans] : '?';
}

struct tilewise_signature signature_gemm(enum tilewise_layout layout, uint8_t dtype, int64_t m,
                                         int64_t n, int64_t k)
{
    bool rows = layout == TILEWISE_ROW_MAJOR;
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .layout = (uint8_t)layout,
        .dtype_a = dtype,
        .dtype_b = dtype,
        .dtype_c = dtype,
        .dtype_d = dtype,
        .compute = dtype,
        .scale = dtype,
        .alpha = TILEWISE_SCALAR_ONE,
        .beta = TILEWISE_SCALAR_ZERO,
        .m = m,
        .n = n,
        .k = k,
        .batch = 1,
        .lda = rows ? k : m,
        .ldb = rows ? n : k,
        .ldc = rows ? n : m,
        .ldd = rows ? n : m,
    };
}

static double dimension(int64_t value)
{
    return value > 0 ? (double)value : 0;
}

/* Elements of the result, which is half a matrix with uplo set. */
static double result_elements(const struct tilewise_signature *s)
{
    double m = dimension(s->m), n = dimension(s->n);
    return s->uplo == TILEWISE_FULL ? m * n : n * (n + 1) / 2;
}

double signature_flops(const struct tilewise_signature *s)
{
    double per_term = tilewise_dtype_kind(s->dtype_c) == TILEWISE_KIND_COMPLEX ? 8 : 2;
    double terms = result_elements(s) * dimension(s->k);
    if (s->op == TILEWISE_OP_OTHER || s->op == TILEWISE_OP_COLLECTIVE)
        return 0;
    if (s->op == TILEWISE_OP_ATTENTION)
        terms *= 2; /* scores, then the weighted sum */
    return per_term * terms * dimension(s->batch);
}

bool signature_is_plain_math(const struct tilewise_signature *s)
{
    enum { MODE_MASK = 15, COMPUTE_32F = 68, COMPUTE_64F = 70 }; /* cuBLAS's numbers */
    int compute = s->math_mode >> 8;
    bool is_double = s->dtype_c == TILEWISE_F64 || s->dtype_c == TILEWISE_C128;
    return (s->math_mode & MODE_MASK) == 0 && s->compute != TILEWISE_TF32 &&
           (compute == 0 || compute == (is_double ? COMPUTE_64F : COMPUTE_32F));
}

uint8_t signature_rate_dtype(const struct tilewise_signature *s)
{
    if (s->op != TILEWISE_OP_GEMM && s->op != TILEWISE_OP_GEMV)
        return s->dtype_c;
    return s->compute == TILEWISE_TF32 ? TILEWISE_TF32 : s->dtype_a;
}

static double bytes_of(double elements, unsigned dtype)
{
    return elements * tilewise_dtype_bits(dtype) / 8;
}

/* Elements of the vector that a gemv reads. */
static double x_elements(const struct tilewise_signature *s)
{
    bool is_n = s->trans_a == TILEWISE_N || s->trans_a == TILEWISE_R;
    return dimension(is_n ? s->n : s->m);
}

static double written_elements(const struct tilewise_signature *s)
{
    double m = dimension(s->m), n = dimension(s->n);
    switch (s->op) {
    case TILEWISE_OP_GEMV:
        return m + n - x_elements(s);
    case TILEWISE_OP_ADD:
        return m * n;
    case TILEWISE_OP_GEMM:
    case TILEWISE_OP_CONV:
        return result_elements(s);
    case TILEWISE_OP_ATTENTION:
        return m * dimension(s->k);
    default:
        return m;
    }
}

double signature_read_bytes(const struct tilewise_signature *s)
{
    double m = dimension(s->m), n = dimension(s->n), k = dimension(s->k);
    double a = m * k, b = k * n, c = s->beta != TILEWISE_SCALAR_ZERO ? written_elements(s) : 0;
    switch (s->op) {
    case TILEWISE_OP_GEMV:
        a = m * n;
        b = x_elements(s);
        break;
    case TILEWISE_OP_ADD:
        a = 0;
        b = c = m * n;
        break;
    case TILEWISE_OP_GEMM:
    case TILEWISE_OP_CONV:
        b = s->uplo == TILEWISE_FULL ? b : 0; /* syrk: B is A */
        break;
    case TILEWISE_OP_ATTENTION: /* queries, keys, values */
        c = b;
        break;
    default:
        a = m;
        b = c = 0;
    }
    return (bytes_of(a, s->dtype_a) + bytes_of(b, s->dtype_b) + bytes_of(c, s->dtype_c)) *
           dimension(s->batch);
}

double signature_bytes(const struct tilewise_signature *s)
{
    return signature_read_bytes(s) +
           bytes_of(written_elements(s), s->dtype_d) * dimension(s->batch);
}

uint64_t signature_hash(const struct tilewise_signature *s)
{
    return XXH3_64bits(s, sizeof *s);
}

bool signature_equal(const struct tilewise_signature *a, const struct tilewise_signature *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void describe_dtype(const struct tilewise_signature *s, char *text, size_t text_bytes)
{
    unsigned in = s->op == TILEWISE_OP_ADD ? s->dtype_b : s->dtype_a;
    if (in == s->dtype_c)
        snprintf(text, text_bytes, "%s", tilewise_dtype_name(in));
    else
        snprintf(text, text_bytes, "%s/%s", tilewise_dtype_name(in),
                 tilewise_dtype_name(s->dtype_c));
}

static void describe_shape(const struct tilewise_signature *s, char *text, size_t text_bytes)
{
    long long m = s->m, n = s->n, k = s->k;
    char a = tilewise_trans_letter(s->trans_a), b = tilewise_trans_letter(s->trans_b);
    const char *layout = s->layout == TILEWISE_ROW_MAJOR ? "row" : "col";
    switch (s->op) {
    case TILEWISE_OP_GEMV:
        snprintf(text, text_bytes, "%lldx%lld %c %s", m, n, a, layout);
        break;
    case TILEWISE_OP_ADD:
        snprintf(text, text_bytes, "%lldx%lld", m, n);
        break;
    default:
        snprintf(text, text_bytes, "%lldx%lldx%lld %c%c %s", m, n, k, a, b, layout);
    }
}

char *signature_describe(const struct tilewise_signature *s, char *text, size_t text_bytes)
{
    char dtype[32], shape[96], batch[32] = "";
    describe_dtype(s, dtype, sizeof dtype);
    describe_shape(s, shape, sizeof shape);
    if (s->batch != 1)
        snprintf(batch, sizeof batch, " batch %lld", (long long)s->batch);
    snprintf(text, text_bytes, "%s %s %s%s%s", dtype, tilewise_op_name(s->op), shape,
             s->uplo == TILEWISE_FULL    ? ""
             : s->uplo == TILEWISE_LOWER ? " lower"
                                         : " upper",
             batch);
    return text;
}

static bool dimension_is_sane(int64_t value)
{
    return value >= 0 && value <= dimension_max;
}

static bool numbers_are_known(const struct tilewise_signature *s)
{
    return s->op < TILEWISE_OP_COUNT && s->layout <= TILEWISE_ROW_MAJOR &&
           s->trans_a <= TILEWISE_R && s->trans_b <= TILEWISE_R &&
           s->dtype_a < TILEWISE_DTYPE_COUNT && s->dtype_b < TILEWISE_DTYPE_COUNT &&
           s->dtype_c < TILEWISE_DTYPE_COUNT && s->dtype_d < TILEWISE_DTYPE_COUNT &&
           s->compute < TILEWISE_DTYPE_COUNT && s->scale < TILEWISE_DTYPE_COUNT &&
           s->alpha <= TILEWISE_SCALAR_UNREAD && s->beta <= TILEWISE_SCALAR_UNREAD &&
           s->uplo <= TILEWISE_UPPER && s->batch_kind <= TILEWISE_BATCH_GROUPED &&
           s->align_a <= 8 && s->align_b <= 8 && s->align_c <= 8 && s->align_d <= 8;
}

/* Leading dimension of a matrix with that many stored rows and columns. */
static bool ld_is_sane(const struct tilewise_signature *s, int64_t ld, int64_t rows,
                       int64_t columns)
{
    int64_t least = s->layout == TILEWISE_ROW_MAJOR ? columns : rows;
    return ld >= (least > 1 ? least : 1) && ld <= dimension_max;
}

static bool gemm_is_sane(const struct tilewise_signature *s)
{
    bool turn_a = s->trans_a == TILEWISE_T || s->trans_a == TILEWISE_C;
    bool turn_b = s->trans_b == TILEWISE_T || s->trans_b == TILEWISE_C;
    bool syrk = s->uplo != TILEWISE_FULL;
    return ld_is_sane(s, s->lda, turn_a ? s->k : s->m, turn_a ? s->m : s->k) &&
           (syrk || ld_is_sane(s, s->ldb, turn_b ? s->n : s->k, turn_b ? s->k : s->n)) &&
           ld_is_sane(s, s->ldc, s->m, s->n) &&
           (s->ldd == 0 || ld_is_sane(s, s->ldd, s->m, s->n)) && (!syrk || s->m == s->n);
}

static bool increment_is_sane(int64_t increment)
{
    return increment >= -dimension_max && increment <= dimension_max;
}

static bool stride_is_sane(int64_t stride)
{
    return stride >= 0 && stride <= stride_max;
}

bool signature_is_sane(const struct tilewise_signature *s)
{
    if (!numbers_are_known(s) || !dimension_is_sane(s->m) || !dimension_is_sane(s->n) ||
        !dimension_is_sane(s->k) || !dimension_is_sane(s->batch))
        return false;
    if (s->batch_kind == TILEWISE_BATCH_NONE && s->batch != 1)
        return false;
    if (!stride_is_sane(s->stride_a) || !stride_is_sane(s->stride_b) ||
        !stride_is_sane(s->stride_c) || !stride_is_sane(s->stride_d))
        return false;
    switch (s->op) {
    case TILEWISE_OP_GEMM:
        return gemm_is_sane(s);
    case TILEWISE_OP_GEMV:
        return ld_is_sane(s, s->lda, s->m, s->n) && s->ldb != 0 && s->ldc != 0 &&
               increment_is_sane(s->ldb) && increment_is_sane(s->ldc);
    case TILEWISE_OP_ADD:
        return increment_is_sane(s->ldb) && increment_is_sane(s->ldc);
    default:
        return true;
    }
}
