/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls cblas_sgemm on 4x4 matrices and prints the median processor time of a call in ns (of the
 * calling thread: what other programs do on the machine does not count). bench_shim.sh runs it with
 * and without the shim.
 *   bench_shim [CALLS_PER_BATCH [BATCHES]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double batch_ns(int calls)
{
    static float a[16], b[16], c[16];
    double start = now_ns();
    for (int i = 0; i < calls; i++)
        cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
    return (now_ns() - start) / calls;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 20000, batches = argc > 2 ? atoi(argv[2]) : 51;
    double *ns = calloc((size_t)batches, sizeof *ns);
    if (!ns || calls < 1 || batches < 1)
        return 1;
    batch_ns(calls);
    for (int i = 0; i < batches; i++)
        ns[i] = batch_ns(calls);
    qsort(ns, (size_t)batches, sizeof *ns, ascending);
    printf("%.1f\n", ns[batches / 2]);
    free(ns);
    return 0;
}
