/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS and cuBLASLt on the simulated GPU: the functions that the replayer calls.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "replayer/cuda_api.h"

/* The replayer's own table says what these functions look like; recorded ones have no row there. */
#define X(name, result, parameters) result name parameters;
CUDA_BLAS_LIST(X)
CUDA_LT_LIST(X)
#undef X
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { NOT_SUPPORTED = 15, EXECUTION_FAILED = 13, INVALID_VALUE = 7 };
enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };

struct handle {
    void *stream;
};

static int status(int error)
{
    return error ? EXECUTION_FAILED : 0;
}

int cublasCreate_v2(void **handle)
{
    *handle = calloc(1, sizeof(struct handle));
    return *handle ? 0 : 1;
}

int cublasDestroy_v2(void *handle)
{
    free(handle);
    return 0;
}

int cublasGetVersion_v2(void *handle, int *version)
{
    (void)handle;
    *version = 130102;
    return 0;
}

int cublasSetStream_v2(void *handle, void *stream)
{
    ((struct handle *)handle)->stream = stream;
    return 0;
}

int cublasSetWorkspace_v2(void *handle, void *memory, size_t bytes)
{
    (void)handle;
    return memory && bytes ? 0 : INVALID_VALUE;
}

int cublasSetMathMode(void *handle, int mode)
{
    (void)handle;
    (void)mode;
    return 0;
}

int cublasSetPointerMode_v2(void *handle, int mode)
{
    (void)handle;
    (void)mode;
    return 0;
}

static void nothing(const void *context)
{
    (void)context;
}

int cublasSasum_v2(void *handle, int n, const float *x, int incx, float *result)
{
    (void)x;
    (void)incx;
    (void)result;
    return status(fake_enqueue(((struct handle *)handle)->stream, nothing, &n, sizeof n,
                               n * 4.0 / 4000 + 1500));
}

static int run(void *handle, struct fake_gemm g)
{
    g.type_d = g.type_c;
    g.d = (void *)g.c;
    g.ldd = g.ldc;
    g.stride_d = g.stride_c;
    return status(fake_gemm_enqueue(((struct handle *)handle)->stream, &g));
}

/* clang-format off */
#define SHAPE .ta = ta, .tb = tb, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc
#define TYPES(type) .type_a = (type), .type_b = (type), .type_c = (type)
#define SCALARS(type) .alpha = fake_scalar(alpha, type), .beta = fake_scalar(beta, type)

#define TYPED(symbol, type)                                                                        \
    int symbol(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,           \
                   const void *a, int lda, const void *b, int ldb, const void *beta, void *c,      \
                   int ldc)                                                                        \
    {                                                                                              \
        return run(handle, (struct fake_gemm){ SHAPE, TYPES(type), SCALARS(type), .batch = 1,      \
                                               .a = a, .b = b, .c = c });                          \
    }
TYPED(cublasSgemm_v2, F32)
TYPED(cublasDgemm_v2, F64)
TYPED(cublasHgemm, F16)

#define STRIDED(symbol, type)                                                                      \
    int symbol(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,           \
                   const void *a, int lda, long long sa, const void *b, int ldb, long long sb,     \
                   const void *beta, void *c, int ldc, long long sc, int batch)                    \
    {                                                                                              \
        return run(handle, (struct fake_gemm){ SHAPE, TYPES(type), SCALARS(type), .batch = batch,  \
                                               .a = a, .b = b, .c = c, .stride_a = sa,             \
                                               .stride_b = sb, .stride_c = sc });                  \
    }
STRIDED(cublasSgemmStridedBatched, F32)

#define BATCHED(symbol, type)                                                                      \
    int symbol(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,           \
                   const void *const *a, int lda, const void *const *b, int ldb,                   \
                   const void *beta, void *const *c, int ldc, int batch)                           \
    {                                                                                              \
        return run(handle, (struct fake_gemm){ SHAPE, TYPES(type), SCALARS(type), .batch = batch,  \
                                               .pa = a, .pb = b, .pc = c });                       \
    }
BATCHED(cublasSgemmBatched, F32)

/* Type of alpha and beta that goes with a compute type. */
static int scale_of(int compute)
{
    return compute == 64 ? F16 : compute == 70 ? F64 : compute == 72 ? 10 : F32;
}

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                     const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                     const void *beta, void *c, int type_c, int ldc, int compute, int algo)
{
    (void)algo;
    return run(handle, (struct fake_gemm){ SHAPE, .type_a = type_a, .type_b = type_b,
                                           .type_c = type_c, SCALARS(scale_of(compute)), .batch = 1,
                                           .a = a, .b = b, .c = c });
}

int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k,
                                   const void *alpha, const void *a, int type_a, int lda,
                                   long long sa, const void *b, int type_b, int ldb, long long sb,
                                   const void *beta, void *c, int type_c, int ldc, long long sc,
                                   int batch, int compute, int algo)
{
    (void)algo;
    return run(handle, (struct fake_gemm){ SHAPE, .type_a = type_a, .type_b = type_b,
                                           .type_c = type_c, SCALARS(scale_of(compute)),
                                           .batch = batch, .a = a, .b = b, .c = c,
                                           .stride_a = sa, .stride_b = sb, .stride_c = sc });
}

/* y[m or n] = op(A) x as a product with one column (incx as the row step of x^T). */
#define GEMV(symbol, in, out, scale)                                                               \
    int symbol(void *handle, int trans, int rows, int columns, const void *alpha,              \
                   const void *a, int lda, long long sa, const void *x, int incx, long long sx,    \
                   const void *beta, void *y, int incy, long long sy, int batch)                   \
    {                                                                                              \
        return run(handle, (struct fake_gemm){                                                     \
            .ta = trans, .tb = 1, .m = trans ? columns : rows, .n = 1,                             \
            .k = trans ? rows : columns, .lda = lda, .ldb = incx, .ldc = 1,                        \
            .type_a = in, .type_b = in, .type_c = out, SCALARS(scale), .batch = batch,             \
            .a = a, .b = x, .c = incy == 1 ? y : NULL, .stride_a = sa, .stride_b = sx,             \
            .stride_c = sy });                                                                     \
    }
GEMV(cublasSgemvStridedBatched, F32, F32, F32)
GEMV(cublasTSTgemvStridedBatched, BF16, BF16, F32)
/* clang-format on */

/* ---- adds ---- */

/* clang-format off */
int cublasAxpyEx(void *handle, int n, const void *alpha, int type_alpha, const void *x, int type_x,
                 int incx, void *y, int type_y, int incy, int compute)
{
    if (type_x != type_y || compute != type_alpha)
        return NOT_SUPPORTED;
    return status(fake_add_enqueue(((struct handle *)handle)->stream, &(struct fake_add){
        .type = type_x, .rows = n, .columns = 1, .x_step = incx, .y_step = incy, .x = x, .y = y,
        .alpha = fake_scalar(alpha, type_alpha) }));
}

#define AXPY(symbol, number)                                                                       \
    int symbol(void *handle, int n, const void *alpha, const void *x, int incx, void *y, int incy) \
    {                                                                                              \
        return cublasAxpyEx(handle, n, alpha, number, x, number, incx, y, number, incy, number);   \
    }
AXPY(cublasSaxpy_v2, F32)
AXPY(cublasDaxpy_v2, F64)

#define GEAM(symbol, number)                                                                       \
    int symbol(void *handle, int ta, int tb, int m, int n, const void *alpha, const void *a,       \
               int lda, const void *beta, const void *b, int ldb, void *c, int ldc)                \
    {                                                                                              \
        if (ta || tb || b != c || ldb != ldc || fake_scalar(beta, number) != 1)                    \
            return NOT_SUPPORTED;                                                                  \
        return status(fake_add_enqueue(((struct handle *)handle)->stream, &(struct fake_add){      \
            .type = number, .rows = m, .columns = n, .x_step = 1, .y_step = 1, .x_column = lda,    \
            .y_column = ldc, .x = a, .y = c, .alpha = fake_scalar(alpha, number) }));              \
    }
GEAM(cublasSgeam, F32)
GEAM(cublasDgeam, F64)
/* clang-format on */

/* ---- cuBLASLt ---- */

enum { ATTRIBUTES = 64, TRANS_A = 3, TRANS_B = 4, ORDER = 1, BATCH = 5, STRIDE = 6, LIST = 6 };

struct desc {
    int compute, scale;
    int64_t value[ATTRIBUTES];
};

struct layout {
    int type;
    int64_t rows, columns, ld, value[ATTRIBUTES];
};

size_t cublasLtGetVersion(void)
{
    return 130102;
}

int cublasLtCreate(void **handle)
{
    return cublasCreate_v2(handle);
}

int cublasLtDestroy(void *handle)
{
    return cublasDestroy_v2(handle);
}

int cublasLtMatmulDescCreate(void **desc, int compute, int scale)
{
    struct desc *d = calloc(1, sizeof *d);
    *desc = d;
    if (d == NULL)
        return 1;
    d->compute = compute;
    d->scale = scale;
    return 0;
}

int cublasLtMatmulDescDestroy(void *desc)
{
    free(desc);
    return 0;
}

static int store(int64_t *value, int attribute, const void *from, size_t bytes)
{
    if (attribute < 0 || attribute >= ATTRIBUTES || bytes > sizeof *value)
        return INVALID_VALUE;
    value[attribute] = 0;
    memcpy(&value[attribute], from, bytes);
    return 0;
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
    return store(((struct desc *)desc)->value, attribute, value, bytes);
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    struct layout *l = calloc(1, sizeof *l);
    *layout = l;
    if (l == NULL)
        return 1;
    *l = (struct layout){ type, (int64_t)rows, (int64_t)columns, ld, { [BATCH] = 1 } };
    return 0;
}

int cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    return 0;
}

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes)
{
    return store(((struct layout *)layout)->value, attribute, value, bytes);
}

int cublasLtMatmulPreferenceCreate(void **preference)
{
    *preference = calloc(1, 8);
    return *preference ? 0 : 1;
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    free(preference);
    return 0;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                         size_t bytes)
{
    (void)preference;
    (void)attribute;
    (void)value;
    (void)bytes;
    return 0;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, struct cuda_lt_found *found,
                                   int *count)
{
    (void)handle;
    (void)preference;
    if (!desc || !a || !b || !c || !d)
        return INVALID_VALUE;
    *count = wanted < LIST ? wanted : LIST;
    for (int i = 0; i < *count; i++)
        found[i] = (struct cuda_lt_found){ .algorithm = { wanted == 1 ? 0 : (uint64_t)i + 1 } };
    return 0;
}

int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const void *algorithm, void *workspace,
                   size_t workspace_bytes, void *stream)
{
    const struct desc *p = desc;
    const struct layout *la = a_layout, *lb = b_layout, *lc = c_layout, *ld = d_layout;
    (void)handle;
    (void)workspace;
    (void)workspace_bytes;
    struct fake_gemm g = {
        .ta = (int)p->value[TRANS_A],
        .tb = (int)p->value[TRANS_B],
        .type_a = la->type,
        .type_b = lb->type,
        .type_c = lc->type,
        .type_d = ld->type,
        .order = (int)ld->value[ORDER],
        .batch = (int)ld->value[BATCH],
        .m = ld->rows,
        .n = ld->columns,
        .k = p->value[TRANS_A] ? la->rows : la->columns,
        .lda = la->ld,
        .ldb = lb->ld,
        .ldc = lc->ld,
        .ldd = ld->ld,
        .stride_a = la->value[STRIDE],
        .stride_b = lb->value[STRIDE],
        .stride_c = lc->value[STRIDE],
        .stride_d = ld->value[STRIDE],
        .a = a,
        .b = b,
        .c = c,
        .d = d,
        .alpha = fake_scalar(alpha, p->scale),
        .beta = fake_scalar(beta, p->scale),
        .algorithm = (long)*(const uint64_t *)algorithm,
    };
    for (int i = 17; i <= 20; i++) /* scales of A, B, C, D: one number each */
        if (p->value[i] && i != 19)
            g.alpha *= *(const float *)(intptr_t)p->value[i];
    return status(fake_gemm_enqueue(stream, &g));
}
