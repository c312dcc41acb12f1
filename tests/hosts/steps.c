/* SPDX-License-Identifier: Apache-2.0
 *
 * A server of two threads that meet at every step: one calls gemm and does some work of its own,
 * the other calls gemv meanwhile, which is over sooner.
 *
 *   steps COUNT [gemm|gemv DELAY_US]     sleep so long after each call of that operation
 *
 * Prints the seconds that the steps took, and those of the delays: on a busy machine a sleep ends
 * late.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GEMM_US = 12000, OWN_US = 4000, GEMV_US = 4000 };

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_sgemv(int order, int trans, int m, int n, float alpha, const float *a, int lda,
                 const float *x, int incx, float beta, float *y, int incy);

static pthread_barrier_t begin, end;
static int count;
static struct delay {
    long us;
    double slept_s;
} gemm_delay, gemv_delay;
static float matrix[16];

static void sleep_us(long us)
{
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };
    while (nanosleep(&t, &t) != 0)
        ;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void inject(struct delay *d)
{
    double start = now_s();
    if (d->us == 0)
        return;
    sleep_us(d->us);
    d->slept_s += now_s() - start;
}

static void *help(void *unused)
{
    for (int i = 0; i < count; i++) {
        pthread_barrier_wait(&begin);
        cblas_sgemv(101, 111, GEMV_US, 1, 1, matrix, 1, matrix, 1, 0, matrix, 1);
        inject(&gemv_delay);
        pthread_barrier_wait(&end);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t helper;
    count = argc > 1 ? atoi(argv[1]) : 1;
    if (argc > 3)
        (strcmp(argv[2], "gemm") == 0 ? &gemm_delay : &gemv_delay)->us = atol(argv[3]);
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    if (pthread_create(&helper, NULL, help, NULL) != 0)
        return 1;
    double start = now_s();
    for (int i = 0; i < count; i++) {
        pthread_barrier_wait(&begin);
        cblas_sgemm(101, 111, 111, GEMM_US, 1, 1, 1, matrix, 1, matrix, 1, 0, matrix, 1);
        inject(&gemm_delay);
        sleep_us(OWN_US);
        pthread_barrier_wait(&end);
    }
    double took_s = now_s() - start;
    if (pthread_join(helper, NULL) != 0)
        return 1;
    printf("%.6f %.6f\n", took_s, gemm_delay.slept_s + gemv_delay.slept_s);
    return 0;
}
