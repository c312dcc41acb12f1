/* SPDX-License-Identifier: Apache-2.0
 *
 * A BLAS whose calls take m microseconds, asleep: their time does not depend on how busy the
 * machine is.
 */
#include <stdint.h>
#include <time.h>

static void sleep_us(long us)
{
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };
    while (nanosleep(&t, &t) != 0)
        ;
}

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_sgemv(int order, int trans, int m, int n, float alpha, const float *a, int lda,
                 const float *x, int incx, float beta, float *y, int incy);

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    (void)order, (void)ta, (void)tb, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b;
    (void)ldb, (void)beta, (void)c, (void)ldc;
    sleep_us(m);
}

void cblas_sgemv(int order, int trans, int m, int n, float alpha, const float *a, int lda,
                 const float *x, int incx, float beta, float *y, int incy)
{
    (void)order, (void)trans, (void)n, (void)alpha, (void)a, (void)lda, (void)x, (void)incx;
    (void)beta, (void)y, (void)incy;
    sleep_us(m);
}
