/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of cuBLAS, field by field from the signature. The typed functions of one family differ in
 * the types behind their pointers alone, so one prototype serves all of them.
 */
#include <stdio.h>
#include <string.h>

#include "replayer/cuda_session.h"

enum { ALGO_DEFAULT = -1, LIBRARY_ERROR = 14 };

/* clang-format off */
#define HEAD    void *handle, int ta, int tb, int m, int n, int k, const void *alpha
#define TYPED   const void *a, int type_a, int lda, const void *b, int type_b, int ldb,            \
                const void *beta, void *c, int type_c, int ldc
#define POINTED const void *const *a, int lda, const void *const *b, int ldb, const void *beta,    \
                void *const *c, int ldc
typedef int gemm_fn(HEAD, const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc);
typedef int strided_fn(HEAD, const void *a, int lda, long long sa, const void *b, int ldb, long long sb,
                       const void *beta, void *c, int ldc, long long sc, int batch);
typedef int batched_fn(HEAD, POINTED, int batch);
typedef int types_fn(HEAD, TYPED);
typedef int ex_fn(HEAD, TYPED, int compute, int algo);
typedef int strided_ex_fn(HEAD, const void *a, int type_a, int lda, long long sa, const void *b, int type_b,
                          int ldb, long long sb, const void *beta, void *c, int type_c, int ldc,
                          long long sc, int batch, int compute, int algo);
typedef int batched_ex_fn(HEAD, const void *const *a, int type_a, int lda, const void *const *b, int type_b,
                          int ldb, const void *beta, void *const *c, int type_c, int ldc, int batch,
                          int compute, int algo);
typedef int grouped_fn(void *handle, const int *ta, const int *tb, const int *m, const int *n,
                       const int *k, const void *alpha, const void *const *a, const int *lda,
                       const void *const *b, const int *ldb, const void *beta, void *const *c,
                       const int *ldc, int groups, const int *sizes);
typedef int grouped_ex_fn(void *handle, const int *ta, const int *tb, const int *m, const int *n,
                          const int *k, const void *alpha, const void *const *a, int type_a,
                          const int *lda, const void *const *b, int type_b, const int *ldb,
                          const void *beta, void *const *c, int type_c, const int *ldc, int groups,
                          const int *sizes, int compute);
typedef int gemv_fn(void *handle, int trans, int m, int n, const void *alpha, const void *a, int lda,
                    const void *x, int incx, const void *beta, void *y, int incy);
typedef int gemv_batched_fn(void *handle, int trans, int m, int n, const void *alpha,
                            const void *const *a, int lda, const void *const *x, int incx,
                            const void *beta, void *const *y, int incy, int batch);
typedef int gemv_strided_fn(void *handle, int trans, int m, int n, const void *alpha, const void *a,
                            int lda, long long sa, const void *x, int incx, long long sx,
                            const void *beta, void *y, int incy, long long sy, int batch);
typedef int axpy_fn(void *handle, int n, const void *alpha, const void *x, int incx, void *y, int incy);
typedef int axpy_ex_fn(void *handle, int n, const void *alpha, int type_alpha, const void *x, int type_x,
                       int incx, void *y, int type_y, int incy, int compute);
typedef int geam_fn(void *handle, int ta, int tb, int m, int n, const void *alpha, const void *a, int lda,
                    const void *beta, const void *b, int ldb, void *c, int ldc);
/* clang-format on */
#undef HEAD
#undef TYPED
#undef POINTED

/* A signature as ints. */
struct numbers {
    int ta, tb, m, n, k, lda, ldb, ldc, batch, type_a, type_b, type_c, compute;
};

static struct numbers numbers_of(const struct tilewise_signature *s)
{
    return (struct numbers){
        .ta = s->trans_a,
        .tb = s->trans_b,
        .m = (int)s->m,
        .n = (int)s->n,
        .k = (int)s->k,
        .lda = (int)s->lda,
        .ldb = (int)s->ldb,
        .ldc = (int)s->ldc,
        .batch = (int)s->batch,
        .type_a = cuda_entry_data_type(s->dtype_a),
        .type_b = cuda_entry_data_type(s->dtype_b),
        .type_c = cuda_entry_data_type(s->dtype_c),
        .compute = cuda_entry_compute_type(s),
    };
}

static struct cuda_pointer_set *find_pointers(struct backend_session *session, const void *a)
{
    for (size_t i = 0; i < session->npointers; i++)
        if (session->pointers[i].a == a)
            return &session->pointers[i];
    return NULL;
}

/* Device arrays for the operands at this place, written once: the calls that are timed find them
 * there, as the recorded ones did. */
static void **pointers_of(struct backend_session *session, const struct tilewise_args *args)
{
    struct cuda_pointer_set *set = find_pointers(session, args->a);
    const char *base[OPERAND_COUNT] = { args->a, args->b, args->c };
    size_t batch = (size_t)session->signature.batch;
    if (set)
        return set->device;
    if (session->npointers == CUDA_POINTER_SETS_MAX)
        return NULL;
    set = &session->pointers[session->npointers];
    void *device = cuda_session_alloc(session, OPERAND_COUNT * batch * sizeof(void *));
    bool good = device != NULL;
    for (size_t i = 0; good && i < OPERAND_COUNT * batch; i++) {
        const struct operand *o = &session->shapes[i / batch];
        const void *at =
            base[i / batch] + (int64_t)(i % batch) * o->stride * (int64_t)o->element_bytes;
        good =
            session->api.cudaMemcpy((void **)device + i, &at, sizeof at, CUDA_COPY_TO_DEVICE) == 0;
    }
    if (!good)
        return NULL;
    *set = (struct cuda_pointer_set){ args->a, device };
    session->npointers++;
    return device;
}

void cuda_call_forget_pointers(struct backend_session *session)
{
    for (size_t i = 0; i < session->npointers; i++)
        session->api.cudaFree(session->pointers[i].device);
    session->npointers = 0;
}

static int run_gemm(struct backend_session *session, const struct cuda_routine *r,
                    const struct tilewise_args *x)
{
    const struct tilewise_signature *s = &session->signature;
    struct numbers q = numbers_of(s);
    void *h = session->blas, *f = r->function;
    switch (r->family) {
    case CUDA_FAMILY_GEMM:
        return ((gemm_fn *)f)(h, q.ta, q.tb, q.m, q.n, q.k, x->alpha, x->a, q.lda, x->b, q.ldb,
                              x->beta, x->c, q.ldc);
    case CUDA_FAMILY_STRIDED:
        return ((strided_fn *)f)(h, q.ta, q.tb, q.m, q.n, q.k, x->alpha, x->a, q.lda, s->stride_a,
                                 x->b, q.ldb, s->stride_b, x->beta, x->c, q.ldc, s->stride_c,
                                 q.batch);
    case CUDA_FAMILY_TYPES:
        return ((types_fn *)f)(h, q.ta, q.tb, q.m, q.n, q.k, x->alpha, x->a, q.type_a, q.lda, x->b,
                               q.type_b, q.ldb, x->beta, x->c, q.type_c, q.ldc);
    case CUDA_FAMILY_EX:
        return ((ex_fn *)f)(h, q.ta, q.tb, q.m, q.n, q.k, x->alpha, x->a, q.type_a, q.lda, x->b,
                            q.type_b, q.ldb, x->beta, x->c, q.type_c, q.ldc, q.compute,
                            ALGO_DEFAULT);
    case CUDA_FAMILY_STRIDED_EX:
        return ((strided_ex_fn *)f)(h, q.ta, q.tb, q.m, q.n, q.k, x->alpha, x->a, q.type_a, q.lda,
                                    s->stride_a, x->b, q.type_b, q.ldb, s->stride_b, x->beta, x->c,
                                    q.type_c, q.ldc, s->stride_c, q.batch, q.compute, ALGO_DEFAULT);
    default:
        return LIBRARY_ERROR;
    }
}

static int run_pointers(struct backend_session *session, const struct cuda_routine *r,
                        const struct tilewise_args *x)
{
    struct numbers q = numbers_of(&session->signature);
    void *h = session->blas, *f = r->function, **at = pointers_of(session, x);
    if (at == NULL)
        return LIBRARY_ERROR;
    const void *const *a = (const void *const *)at, *const *b = a + q.batch;
    void *const *c = at + 2 * q.batch;
    switch (r->family) {
    case CUDA_FAMILY_BATCHED:
        return ((batched_fn *)f)(h, q.ta, q.tb, q.m, q.n, q.k, x->alpha, a, q.lda, b, q.ldb,
                                 x->beta, c, q.ldc, q.batch);
    case CUDA_FAMILY_BATCHED_EX:
        return ((batched_ex_fn *)f)(h, q.ta, q.tb, q.m, q.n, q.k, x->alpha, a, q.type_a, q.lda, b,
                                    q.type_b, q.ldb, x->beta, c, q.type_c, q.ldc, q.batch,
                                    q.compute, ALGO_DEFAULT);
    case CUDA_FAMILY_GROUPED: /* every group is a row of its own */
        return ((grouped_fn *)f)(h, &q.ta, &q.tb, &q.m, &q.n, &q.k, x->alpha, a, &q.lda, b, &q.ldb,
                                 x->beta, c, &q.ldc, 1, &q.batch);
    case CUDA_FAMILY_GROUPED_EX:
        return ((grouped_ex_fn *)f)(h, &q.ta, &q.tb, &q.m, &q.n, &q.k, x->alpha, a, q.type_a,
                                    &q.lda, b, q.type_b, &q.ldb, x->beta, c, q.type_c, &q.ldc, 1,
                                    &q.batch, q.compute);
    case CUDA_FAMILY_GEMV_BATCHED:
        return ((gemv_batched_fn *)f)(h, q.ta, q.m, q.n, x->alpha, a, q.lda, b, q.ldb, x->beta, c,
                                      q.ldc, q.batch);
    default:
        return LIBRARY_ERROR;
    }
}

static int run_gemv(struct backend_session *session, const struct cuda_routine *r,
                    const struct tilewise_args *x)
{
    const struct tilewise_signature *s = &session->signature;
    struct numbers q = numbers_of(s);
    void *h = session->blas, *f = r->function;
    if (r->family == CUDA_FAMILY_GEMV)
        return ((gemv_fn *)f)(h, q.ta, q.m, q.n, x->alpha, x->a, q.lda, x->b, q.ldb, x->beta, x->c,
                              q.ldc);
    return ((gemv_strided_fn *)f)(h, q.ta, q.m, q.n, x->alpha, x->a, q.lda, s->stride_a, x->b,
                                  q.ldb, s->stride_b, x->beta, x->c, q.ldc, s->stride_c, q.batch);
}

static int run_add(struct backend_session *session, const struct cuda_routine *r,
                   const struct tilewise_args *x)
{
    const struct tilewise_signature *s = &session->signature;
    struct numbers q = numbers_of(s);
    void *h = session->blas, *f = r->function;
    switch (r->family) {
    case CUDA_FAMILY_AXPY:
        return ((axpy_fn *)f)(h, q.m, x->alpha, x->b, q.ldb, x->c, q.ldc);
    case CUDA_FAMILY_AXPY_EX: {
        int scale = cuda_entry_data_type(s->scale);
        return ((axpy_ex_fn *)f)(h, q.m, x->alpha, scale, x->b, q.type_b, q.ldb, x->c, q.type_c,
                                 q.ldc, scale);
    }
    case CUDA_FAMILY_GEAM:
        return ((geam_fn *)f)(h, TILEWISE_N, TILEWISE_N, q.m, q.n, x->alpha, x->b, q.ldb, x->beta,
                              x->c, q.ldc, x->c, q.ldc);
    default:
        return LIBRARY_ERROR;
    }
}

static void append(struct backend_session *session, const char *function, const char *name,
                   struct cuda_routine r)
{
    r.function = cuda_api_blas_symbol(&session->api, function);
    if (r.function == NULL || session->nroutines == BACKEND_ROUTINES_MAX)
        return;
    snprintf(r.name, sizeof r.name, "%s", name);
    session->routines[session->nroutines++] = r;
}

void cuda_call_append_recorded(struct backend_session *session)
{
    uint32_t entry = session->signature.entry;
    const char *function = cuda_entry_name(entry);
    struct cuda_routine r = { .family = cuda_entry_family(entry), .run = run_gemm };
    switch (r.family) {
    case CUDA_FAMILY_BATCHED:
    case CUDA_FAMILY_BATCHED_EX:
    case CUDA_FAMILY_GROUPED:
    case CUDA_FAMILY_GROUPED_EX:
    case CUDA_FAMILY_GEMV_BATCHED:
        r.run = run_pointers;
        break;
    case CUDA_FAMILY_GEMV:
    case CUDA_FAMILY_GEMV_STRIDED:
        r.run = run_gemv;
        break;
    case CUDA_FAMILY_AXPY:
    case CUDA_FAMILY_AXPY_EX:
    case CUDA_FAMILY_GEAM:
        r.run = run_add;
        break;
    default:
        break;
    }
    append(session, function, function + strlen("cublas"), r);
}

/* gemm with one row or one column as gemv; with strides, so that one function serves all. */
static int run_gemm_as_gemv(struct backend_session *session, const struct cuda_routine *r,
                            const struct tilewise_args *x)
{
    const struct tilewise_signature *s = &session->signature;
    const struct operand *o = session->shapes;
    bool flipped_a = s->trans_a == TILEWISE_T || s->trans_a == TILEWISE_C;
    bool flipped_b = s->trans_b == TILEWISE_T || s->trans_b == TILEWISE_C;
    gemv_strided_fn *f = (gemv_strided_fn *)r->function;
    if (r->swapped) /* m = 1: y = op(B)^T a */
        return f(session->blas, flipped_b ? TILEWISE_N : TILEWISE_T, (int)(flipped_b ? s->n : s->k),
                 (int)(flipped_b ? s->k : s->n), x->alpha, x->b, (int)s->ldb, s->stride_b, x->a,
                 (int)o[OPERAND_A].col_step, s->stride_a, x->beta, x->c, (int)o[OPERAND_C].col_step,
                 o[OPERAND_C].stride, (int)s->batch);
    return f(session->blas, s->trans_a, (int)(flipped_a ? s->k : s->m),
             (int)(flipped_a ? s->m : s->k), x->alpha, x->a, (int)s->lda, s->stride_a, x->b,
             (int)o[OPERAND_B].row_step, s->stride_b, x->beta, x->c, (int)o[OPERAND_C].row_step,
             o[OPERAND_C].stride, (int)s->batch);
}

/* Function that multiplies such a matrix by a vector; "" for none. */
static const char *gemv_function(const struct tilewise_signature *s)
{
    static const struct {
        uint8_t in, out;
        const char *name;
    } rows[] = {
        { TILEWISE_F32, TILEWISE_F32, "cublasSgemvStridedBatched" },
        { TILEWISE_F64, TILEWISE_F64, "cublasDgemvStridedBatched" },
        { TILEWISE_F16, TILEWISE_F16, "cublasHSHgemvStridedBatched" },
        { TILEWISE_F16, TILEWISE_F32, "cublasHSSgemvStridedBatched" },
        { TILEWISE_BF16, TILEWISE_BF16, "cublasTSTgemvStridedBatched" },
        { TILEWISE_BF16, TILEWISE_F32, "cublasTSSgemvStridedBatched" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].in == s->dtype_a && rows[i].in == s->dtype_b && rows[i].out == s->dtype_c)
            return rows[i].name;
    return "";
}

void cuda_call_append_gemv(struct backend_session *session)
{
    const struct tilewise_signature *s = &session->signature;
    const char *function = gemv_function(s);
    bool plain = s->op == TILEWISE_OP_GEMM && s->layout == TILEWISE_COL_MAJOR && s->epilogue == 0 &&
                 s->batch_kind <= TILEWISE_BATCH_STRIDED && s->dtype_d == s->dtype_c &&
                 (s->scale == TILEWISE_F32 || s->scale == TILEWISE_F64);
    if (!plain || function[0] == '\0' || (s->m != 1 && s->n != 1))
        return;
    append(session, function, "gemv",
           (struct cuda_routine){ .run = run_gemm_as_gemv, .swapped = s->n != 1 });
}
