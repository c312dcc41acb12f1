/* SPDX-License-Identifier: Apache-2.0
 *
 * A BLAS in the manner of the reference library: the C routine calls the Fortran one through the
 * dynamic linker, and a LAPACK-like routine outside the tables calls it too.
 */
#include <stddef.h>

#include "tracer/blas.h"

void cblas_sgemm(CBLAS_GEMM_PARAMS(int, s));
void sgemm_(FORTRAN_GEMM_PARAMS(int, s));
void solve_(int calls);

int netlib_cblas, netlib_fortran;

void sgemm_(FORTRAN_GEMM_PARAMS(int, s))
{
    (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda;
    (void)b, (void)ldb, (void)beta, (void)c, (void)ldc, (void)hidden_a, (void)hidden_b;
    netlib_fortran++;
}

void cblas_sgemm(CBLAS_GEMM_PARAMS(int, s))
{
    static const char letter[] = "NTC";
    (void)order;
    netlib_cblas++;
    sgemm_(&letter[trans_a - 111], &letter[trans_b - 111], &m, &n, &k, &alpha, a, &lda, b, &ldb,
           &beta, c, &ldc, 1, 1);
}

void solve_(int calls)
{
    for (int i = 0; i < calls; i++)
        sgemm_("N", "N", &(int){ 2 }, &(int){ 2 }, &(int){ 2 }, &(float){ 1 }, NULL, &(int){ 2 },
               NULL, &(int){ 2 }, &(float){ 0 }, NULL, &(int){ 2 }, 1, 1);
}
