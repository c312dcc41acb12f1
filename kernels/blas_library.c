/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/blas_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/blas.h"

/* CBLAS's own numbers. */
enum { ROW_MAJOR = 101, COL_MAJOR = 102, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_fn(int, int, int, int, int, int, float, const void *, int, const void *, int,
                      float, void *, int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const void *, int, const void *, int,
                      double, void *, int);
typedef void sgemv_fn(int, int, int, int, float, const void *, int, const void *, int, float,
                      void *, int);
typedef void dgemv_fn(int, int, int, int, double, const void *, int, const void *, int, double,
                      void *, int);
typedef void saxpy_fn(int, float, const void *, int, void *, int);
typedef void daxpy_fn(int, double, const void *, int, void *, int);

static struct {
    sgemm_fn *sgemm;
    dgemm_fn *dgemm;
    sgemv_fn *sgemv;
    dgemv_fn *dgemv;
    saxpy_fn *saxpy;
    daxpy_fn *daxpy;
} blas;

static bool take_symbols(void *handle)
{
    blas.sgemm = (sgemm_fn *)dlsym(handle, "cblas_sgemm");
    blas.dgemm = (dgemm_fn *)dlsym(handle, "cblas_dgemm");
    blas.sgemv = (sgemv_fn *)dlsym(handle, "cblas_sgemv");
    blas.dgemv = (dgemv_fn *)dlsym(handle, "cblas_dgemv");
    blas.saxpy = (saxpy_fn *)dlsym(handle, "cblas_saxpy");
    blas.daxpy = (daxpy_fn *)dlsym(handle, "cblas_daxpy");
    return blas.sgemm && blas.dgemm && blas.sgemv && blas.dgemv && blas.saxpy && blas.daxpy;
}

static bool open_library(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return handle != NULL && take_symbols(handle);
}

static bool is_found;

static void find_library(void)
{
    static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", "libblas.so.3",
                                         "libcblas.so.3" };
    const char *wanted = getenv("TILEWISE_BLAS");
    if (wanted != NULL && wanted[0] != '\0') {
        is_found = open_library(wanted);
        return;
    }
    is_found = take_symbols(RTLD_DEFAULT);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_found; i++)
        is_found = open_library(names[i]);
}

static bool fits(int64_t x)
{
    return x >= -INT_MAX && x <= INT_MAX;
}

static bool numbers_fit(const struct tilewise_signature *s)
{
    return fits(s->m) && fits(s->n) && fits(s->k) && fits(s->lda) && fits(s->ldb) && fits(s->ldc);
}

static int trans_of(unsigned trans)
{
    return trans == TILEWISE_T || trans == TILEWISE_C ? TRANS : NO_TRANS;
}

static int layout_of(const struct tilewise_signature *s)
{
    return s->layout == TILEWISE_ROW_MAJOR ? ROW_MAJOR : COL_MAJOR;
}

static void run_gemm(const struct tilewise_signature *s, const struct tilewise_args *x)
{
    int m = (int)s->m, n = (int)s->n, k = (int)s->k;
    int ta = trans_of(s->trans_a), tb = trans_of(s->trans_b);
    int lda = (int)s->lda, ldb = (int)s->ldb, ldc = (int)s->ldc;
    if (s->dtype_c == TILEWISE_F64)
        blas.dgemm(layout_of(s), ta, tb, m, n, k, *(const double *)x->alpha, x->a, lda, x->b, ldb,
                   *(const double *)x->beta, x->c, ldc);
    else
        blas.sgemm(layout_of(s), ta, tb, m, n, k, *(const float *)x->alpha, x->a, lda, x->b, ldb,
                   *(const float *)x->beta, x->c, ldc);
}

static void run_gemv(const struct tilewise_signature *s, const struct tilewise_args *x)
{
    int m = (int)s->m, n = (int)s->n, trans = trans_of(s->trans_a);
    int lda = (int)s->lda, incx = (int)s->ldb, incy = (int)s->ldc;
    if (s->dtype_c == TILEWISE_F64)
        blas.dgemv(layout_of(s), trans, m, n, *(const double *)x->alpha, x->a, lda, x->b, incx,
                   *(const double *)x->beta, x->c, incy);
    else
        blas.sgemv(layout_of(s), trans, m, n, *(const float *)x->alpha, x->a, lda, x->b, incx,
                   *(const float *)x->beta, x->c, incy);
}

static void add_vector(const struct tilewise_signature *s, const struct tilewise_args *x, int64_t n,
                       int incx, int incy)
{
    if (s->dtype_c == TILEWISE_F64)
        blas.daxpy((int)n, *(const double *)x->alpha, x->b, incx, x->c, incy);
    else
        blas.saxpy((int)n, *(const float *)x->alpha, x->b, incx, x->c, incy);
}

/* A matrix is added line by line: CBLAS has no routine for it. */
static void run_add(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    struct tilewise_args line = *args;
    bool by_rows = s->layout == TILEWISE_ROW_MAJOR;
    size_t bytes = tilewise_dtype_bits(s->dtype_c) / 8;
    if (s->n == 1) {
        add_vector(s, args, s->m, (int)s->ldb, (int)s->ldc);
        return;
    }
    for (int64_t i = 0; i < (by_rows ? s->m : s->n); i++) {
        line.b = (const char *)args->b + (size_t)(i * s->ldb) * bytes;
        line.c = (char *)args->c + (size_t)(i * s->ldc) * bytes;
        add_vector(s, &line, by_rows ? s->n : s->m, 1, 1);
    }
}

static void run_one(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    if (s->op == TILEWISE_OP_GEMM)
        run_gemm(s, args);
    else if (s->op == TILEWISE_OP_GEMV)
        run_gemv(s, args);
    else
        run_add(s, args);
}

int blas_library_run(const struct tilewise_signature *s, const struct tilewise_args *args)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool plain = blas_is_plain(s, TILEWISE_F32) || blas_is_plain(s, TILEWISE_F64);
    if (!plain || s->uplo != TILEWISE_FULL || !numbers_fit(s))
        return -ENOTSUP;
    pthread_once(&once, find_library);
    if (!is_found)
        return -ENOENT;
    struct tilewise_args one = *args;
    size_t bytes = tilewise_dtype_bits(s->dtype_c) / 8;
    for (int64_t i = 0; i < blas_batches(s); i++) {
        run_one(s, &one);
        one.a = (const char *)one.a + (size_t)s->stride_a * bytes;
        one.b = (const char *)one.b + (size_t)s->stride_b * bytes;
        one.c = (char *)one.c + (size_t)s->stride_c * bytes;
    }
    return 0;
}
