/* SPDX-License-Identifier: Apache-2.0
 *
 * The one call site. A program calls these instead of its BLAS; each call runs a tile kernel where
 * the processor has one for the shape and the dispatch table prefers it, and the BLAS library
 * otherwise. Link with libtilewise-tile.
 *
 * The dispatch table is a built-in one, or a file that `tilewise report --format=dispatch` wrote:
 * $TILEWISE_DISPATCH names it, read at the first call, or tilewise_tile_load(). Then a shape that
 * the file sends to a kernel runs there, and everything else on the library; on a file that cannot
 * be read or has a mistake, everything does.
 *
 * The way back: TILEWISE_FORCE_BASELINE=1 in the environment sends every call to the library. It is
 * read at the first call; tilewise_tile_configure() changes it while the program runs.
 *
 * A call falls back to the library when no kernel does the shape and when scratch memory cannot be
 * had; without a library (kernels/blas_library.h says where one is looked for) the portable kernel
 * runs. The result is the same up to rounding on every path.
 *
 * All calls may be made from any thread. They return 0 or a negative errno: -EINVAL for arguments
 * that BLAS refuses, -ENOTSUP for what no path can do. Nothing is printed.
 */
#ifndef TILEWISE_KERNELS_TILE_H
#define TILEWISE_KERNELS_TILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CBLAS's numbers, so that a call can be replaced by its name alone. */
enum { TILEWISE_CALL_ROW_MAJOR = 101, TILEWISE_CALL_COL_MAJOR = 102 };
enum { TILEWISE_CALL_N = 111, TILEWISE_CALL_T = 112, TILEWISE_CALL_C = 113 };

/* C = alpha op(A) op(B) + beta C. C is not read when beta is 0. */
int tilewise_sgemm(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                   float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                   float beta, float *c, int64_t ldc);
int tilewise_dgemm(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                   double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                   double beta, double *c, int64_t ldc);
/* y = alpha op(A) x + beta y; increments are not 0. */
int tilewise_sgemv(int layout, int trans, int64_t m, int64_t n, float alpha, const float *a,
                   int64_t lda, const float *x, int64_t incx, float beta, float *y, int64_t incy);
int tilewise_dgemv(int layout, int trans, int64_t m, int64_t n, double alpha, const double *a,
                   int64_t lda, const double *x, int64_t incx, double beta, double *y,
                   int64_t incy);
/* y = alpha x + y, any increments. */
int tilewise_saxpy(int64_t n, float alpha, const float *x, int64_t incx, float *y, int64_t incy);
int tilewise_daxpy(int64_t n, double alpha, const double *x, int64_t incx, double *y, int64_t incy);
/* Y = alpha X + Y for matrices, ldx and ldy elements from line to line. */
int tilewise_sadd(int layout, int64_t m, int64_t n, float alpha, const float *x, int64_t ldx,
                  float *y, int64_t ldy);
int tilewise_dadd(int layout, int64_t m, int64_t n, double alpha, const double *x, int64_t ldx,
                  double *y, int64_t ldy);

/* The same for a signature (traces/signature.h) and its arguments (replayer/candidate.h); `scratch`
 * and `threads` of the arguments are set here. The signature must be sane. */
struct tilewise_signature;
struct tilewise_args;
int tilewise_tile_run(const struct tilewise_signature *s, const struct tilewise_args *args);

struct tilewise_tile_config {
    int force_baseline;         /* 1: every call goes to the library */
    uint32_t threads;           /* of a tile kernel; 0: as many as this process may run on */
    size_t scratch_limit_bytes; /* for each calling thread; 0: none at all, SIZE_MAX: no limit */
};
void tilewise_tile_current(struct tilewise_tile_config *config);
/* For all calls that begin later. */
void tilewise_tile_configure(const struct tilewise_tile_config *config);

/* Obey this dispatch table for all calls that begin later; NULL: the built-in one. 0; -EINVAL for a
 * mistake in the file, -EIO, -ENOMEM: then nothing changes. `why` (may be NULL) gets "" or one line
 * that names FILE:LINE:COLUMN. Each file that is loaded stays in memory. */
int tilewise_tile_load(const char *path, char *why, size_t why_bytes);
/* Why the table that $TILEWISE_DISPATCH names is not obeyed; "": it is, or none is named. */
const char *tilewise_tile_problem(void);

/* How many calls went which way since the program began. */
struct tilewise_tile_counts {
    uint64_t tile;      /* a tile kernel that the table prefers */
    uint64_t library;   /* the BLAS library, for whatever reason */
    uint64_t portable;  /* the portable kernel, because there was no library */
    uint64_t no_memory; /* of the last two: scratch was refused */
};
void tilewise_tile_count(struct tilewise_tile_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
