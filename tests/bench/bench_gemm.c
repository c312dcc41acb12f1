/* SPDX-License-Identifier: Apache-2.0
 *
 * Our tile kernels against OpenBLAS, interleaved: each round times ours, theirs, theirs, ours, and
 * only the ratio of a round is used, so that a neighbour who slows the machine slows both. Random
 * data. Ratios above 1: ours is faster.
 *
 *   env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE bench_gemm [--isa=avx512] [--dtype=f32]
 *       [--threads=1] [--class=square] [--rounds=21] [--round-ms=4]
 */
#include <cblas.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/builtin.h"

enum { ROUNDS_MAX = 999 };

struct options {
    const char *isa, *dtype, *class;
    int threads, rounds;
    double round_ms;
};

struct shape {
    const char *class;
    int m, n, k;
    char trans_a, trans_b; /* row-major, as a C program writes it */
    double floor, aim;     /* for f32 gemm against OpenBLAS on its own choice of core */
};

/* clang-format off */
static const struct shape shapes[] = {
    { "tiny", 4, 4, 4, 'N', 'N', .50, .90 },
    { "tiny", 8, 8, 8, 'N', 'N', .50, .90 },
    { "tiny", 16, 16, 16, 'N', 'N', .50, .90 },
    { "tiny", 16, 16, 16, 'N', 'T', .50, .90 },
    { "small", 32, 32, 32, 'N', 'N', .80, .95 },
    { "small", 48, 48, 48, 'N', 'N', .80, .95 },
    { "small", 64, 64, 64, 'N', 'N', .80, .95 },
    { "small", 96, 96, 96, 'N', 'N', .80, .95 },
    { "small", 64, 64, 64, 'N', 'T', .80, .95 },
    { "small", 96, 96, 96, 'T', 'N', .80, .95 },
    { "middle", 128, 128, 128, 'N', 'N', .90, 1.05 },
    { "middle", 128, 128, 128, 'N', 'T', .90, 1.05 },
    { "middle", 192, 192, 192, 'N', 'N', .90, 1.05 },
    { "middle", 256, 256, 256, 'N', 'N', .90, 1.05 },
    { "middle", 256, 256, 256, 'T', 'N', .90, 1.05 },
    { "middle", 256, 256, 256, 'N', 'T', .90, 1.05 },
    { "middle", 256, 256, 256, 'T', 'T', .90, 1.05 },
    { "large", 512, 512, 512, 'N', 'N', .80, .95 },
    { "large", 512, 512, 512, 'N', 'T', .80, .95 },
    { "large", 1000, 1000, 1000, 'N', 'N', .80, .95 },
    { "large", 1024, 1024, 1024, 'N', 'N', .80, .95 },
    { "large", 1024, 1024, 1024, 'T', 'N', .80, .95 },
    { "large", 2048, 2048, 2048, 'N', 'N', .80, .95 },
    { "encoder", 128, 384, 384, 'N', 'N', .90, 1.05 },
    { "encoder", 512, 384, 384, 'N', 'N', .80, .95 },
    { "encoder", 512, 1536, 384, 'N', 'N', .80, .95 },
    { "encoder", 512, 384, 1536, 'N', 'T', .80, .95 },
    { "encoder", 128, 128, 32, 'N', 'T', .80, .95 },
    { "skinny", 8, 4096, 4096, 'N', 'N', .75, 1. },
    { "skinny", 8, 4096, 4096, 'N', 'T', .75, 1. },
    { "skinny", 16, 4096, 4096, 'N', 'N', .75, 1. },
    { "skinny", 16, 4096, 4096, 'N', 'T', .75, 1. },
    { "skinny", 32, 4096, 4096, 'N', 'N', .75, 1. },
    { "skinny", 64, 4096, 4096, 'N', 'N', .75, 1. },
    { "skinny", 64, 4096, 4096, 'N', 'T', .75, 1. },
    { "skinny", 4096, 16, 4096, 'N', 'N', .75, 1. },
    { "skinny", 4096, 16, 4096, 'N', 'T', .75, 1. },
    { "skinny", 64, 64, 4096, 'N', 'N', .75, 1. },
    { "skinny", 16, 384, 384, 'N', 'N', .75, 1. },
    { "thin", 1, 4096, 4096, 'N', 'N', .80, 1. },
    { "thin", 1, 4096, 4096, 'N', 'T', .80, 1. },
    { "thin", 1, 64, 64, 'N', 'N', .80, 1. },
    { "thin", 1, 64, 64, 'N', 'T', .80, 1. },
    { "thin", 2, 64, 64, 'N', 'N', .80, 1. },
    { "thin", 4, 384, 384, 'N', 'N', .80, 1. },
    { "thin", 4, 384, 384, 'N', 'T', .80, 1. },
    { "thin", 4, 4096, 4096, 'N', 'T', .80, 1. },
    { "thin", 1, 384, 384, 'N', 'N', .80, 1. },
    { "thin", 1, 640, 640, 'N', 'N', .80, 1. },
    { "thin", 2, 640, 640, 'N', 'N', .80, 1. },
    { "thin", 4, 640, 640, 'N', 'N', .80, 1. },
    { "thin", 4, 1024, 1024, 'N', 'N', .80, 1. },
    { "thin", 4, 4096, 4096, 'N', 'N', .80, 1. },
    { "thin", 1, 384, 384, 'N', 'T', .80, 1. },
    { "thin", 2, 4096, 4096, 'N', 'N', .80, 1. },
    { "thin", 2, 4096, 4096, 'N', 'T', .80, 1. },
    { "thin", 4096, 1, 4096, 'N', 'N', .80, 1. },
    { "add", 1000, 1, 0, 'N', 'N', 0, 1. },
    { "add", 100000, 1, 0, 'N', 'N', 0, 1. },
    { "add", 10000000, 1, 0, 'N', 'N', 0, 1. },
};
/* clang-format on */

/* One shape made ready to run. */
struct job {
    const struct shape *shape;
    const struct tilewise_candidate *kernel;
    struct tilewise_signature s;
    struct tilewise_args args;
    bool wide, use_gemv;
    void *a, *b, *c, *scratch;
    double alpha, beta;
    float alpha32, beta32;
};

/* One thread is measured by its own processor time, which leaves out what the scheduler gives to
 * others. */
static double now_s(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *random_block(size_t count, bool wide)
{
    void *block = aligned_alloc(4096, (count * 8 + 8191) / 4096 * 4096);
    if (block == NULL)
        exit(2);
    for (size_t i = 0; i < count; i++) {
        double value = 2. * rand() / RAND_MAX - 1;
        if (wide)
            ((double *)block)[i] = value;
        else
            ((float *)block)[i] = (float)value;
    }
    return block;
}

static void run_ours(struct job *j)
{
    j->kernel->run(j->kernel, &j->s, &j->args);
}

static CBLAS_TRANSPOSE cblas_trans(unsigned trans)
{
    return trans == TILEWISE_T ? CblasTrans : CblasNoTrans;
}

/* Row i of C (or all of it when n = 1) by gemv: what a good caller does for one or two rows. */
static void run_gemv(const struct job *j)
{
    const struct tilewise_signature *s = &j->s;
    bool rows = s->m <= 2;
    CBLAS_TRANSPOSE trans =
        rows ? (s->trans_b == TILEWISE_T ? CblasNoTrans : CblasTrans) : cblas_trans(s->trans_a);
    int stored_m = (int)(rows ? (s->trans_b == TILEWISE_T ? s->n : s->k) : s->m);
    int stored_n = (int)(rows ? (s->trans_b == TILEWISE_T ? s->k : s->n) : s->k);
    for (int i = 0; i < (rows ? s->m : 1); i++) {
        const float *matrix = rows ? j->b : j->a, *x = rows ? (float *)j->a + i * s->lda : j->b;
        const double *matrix64 = rows ? j->b : j->a;
        const double *x64 = rows ? (double *)j->a + i * s->lda : j->b;
        int ld = (int)(rows ? s->ldb : s->lda);
        if (j->wide)
            cblas_dgemv(CblasRowMajor, trans, stored_m, stored_n, 1, matrix64, ld, x64, 1, 0,
                        (double *)j->c + i * s->ldc, 1);
        else
            cblas_sgemv(CblasRowMajor, trans, stored_m, stored_n, 1, matrix, ld, x, 1, 0,
                        (float *)j->c + i * s->ldc, 1);
    }
}

static void run_theirs(struct job *j)
{
    const struct tilewise_signature *s = &j->s;
    if (s->op == TILEWISE_OP_ADD && j->wide)
        cblas_daxpy((int)s->m, j->alpha, j->b, 1, j->c, 1);
    else if (s->op == TILEWISE_OP_ADD)
        cblas_saxpy((int)s->m, j->alpha32, j->b, 1, j->c, 1);
    else if (j->use_gemv)
        run_gemv(j);
    else if (j->wide)
        cblas_dgemm(CblasRowMajor, cblas_trans(s->trans_a), cblas_trans(s->trans_b), (int)s->m,
                    (int)s->n, (int)s->k, j->alpha, j->a, (int)s->lda, j->b, (int)s->ldb, j->beta,
                    j->c, (int)s->ldc);
    else
        cblas_sgemm(CblasRowMajor, cblas_trans(s->trans_a), cblas_trans(s->trans_b), (int)s->m,
                    (int)s->n, (int)s->k, j->alpha32, j->a, (int)s->lda, j->b, (int)s->ldb,
                    j->beta32, j->c, (int)s->ldc);
}

static const struct tilewise_candidate *find_kernel(const char *op, const struct options *o)
{
    char name[64];
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    snprintf(name, sizeof name, "%s_%s_%s", op, o->dtype, o->isa);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    fprintf(stderr, "bench_gemm: no kernel %s\n", name);
    exit(64);
}

static void job_signature(struct job *j, enum tilewise_dtype dtype)
{
    const struct shape *shape = j->shape;
    bool add = strcmp(shape->class, "add") == 0;
    j->s = (struct tilewise_signature){ .op = add ? TILEWISE_OP_ADD : TILEWISE_OP_GEMM,
                                        .layout = add ? TILEWISE_COL_MAJOR : TILEWISE_ROW_MAJOR,
                                        .trans_a = shape->trans_a == 'T' ? TILEWISE_T : TILEWISE_N,
                                        .trans_b = shape->trans_b == 'T' ? TILEWISE_T : TILEWISE_N,
                                        .dtype_a = dtype,
                                        .dtype_b = dtype,
                                        .dtype_c = dtype,
                                        .dtype_d = dtype,
                                        .compute = dtype,
                                        .scale = dtype,
                                        .m = shape->m,
                                        .n = shape->n,
                                        .k = add ? 1 : shape->k,
                                        .batch = 1 };
    j->s.lda = add ? 0 : j->s.trans_a == TILEWISE_T ? j->s.m : j->s.k;
    j->s.ldb = add ? 1 : j->s.trans_b == TILEWISE_T ? j->s.k : j->s.n;
    j->s.ldc = j->s.ldd = add ? 1 : j->s.n;
}

static void job_make(struct job *j, const struct shape *shape, const struct options *o)
{
    bool wide = strcmp(o->dtype, "f64") == 0;
    *j = (struct job){ .shape = shape, .wide = wide, .alpha = 1, .alpha32 = 1 };
    job_signature(j, wide ? TILEWISE_F64 : TILEWISE_F32);
    bool add = j->s.op == TILEWISE_OP_ADD;
    j->kernel = find_kernel(add ? "add" : "gemm", o);
    if (add)
        j->alpha = j->alpha32 = 0.5f;
    j->a = random_block((size_t)(j->s.m * j->s.k), wide);
    j->b = random_block((size_t)(add ? j->s.m : j->s.k * j->s.n), wide);
    j->c = random_block((size_t)(j->s.m * j->s.n), wide);
    size_t scratch = j->kernel->scratch_bytes(j->kernel, &j->s, (uint32_t)o->threads);
    j->scratch = aligned_alloc(64, scratch + 64 - scratch % 64);
    j->args = (struct tilewise_args){ .abi = TILEWISE_CANDIDATE_ABI,
                                      .bytes = sizeof j->args,
                                      .a = j->a,
                                      .b = j->b,
                                      .c = j->c,
                                      .alpha = wide ? (void *)&j->alpha : (void *)&j->alpha32,
                                      .beta = wide ? (void *)&j->beta : (void *)&j->beta32,
                                      .scratch = j->scratch,
                                      .threads = (uint32_t)o->threads };
}

static void job_free(struct job *j)
{
    free(j->a);
    free(j->b);
    free(j->c);
    free(j->scratch);
}

typedef void run_fn(struct job *j);

/* Threads of the other side spin for a while after a call: let them come to rest, then let ours
 * wake up. */
static void settle(struct job *j, run_fn *run, int threads)
{
    nanosleep(&(struct timespec){ .tv_nsec = 30 * 1000 * 1000 }, NULL);
    for (double begin = now_s(threads); now_s(threads) - begin < 3e-3;)
        run(j);
}

/* Seconds of one call. */
static double time_arm(struct job *j, run_fn *run, int calls, int threads)
{
    if (threads > 1)
        settle(j, run, threads);
    run(j);
    double begin = now_s(threads);
    for (int i = 0; i < calls; i++)
        run(j);
    return (now_s(threads) - begin) / calls;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct outcome {
    double ratio, low, high; /* median and quartiles over the rounds */
    double ours_s, theirs_s; /* fastest */
};

static struct outcome compare_arms(struct job *j, const struct options *o)
{
    double ratio[ROUNDS_MAX];
    double once = time_arm(j, run_theirs, 3, o->threads);
    int calls = (int)(o->round_ms * 1e-3 / (4 * once)) + 1;
    struct outcome out = { .ours_s = INFINITY, .theirs_s = INFINITY };
    for (int i = 0; i < o->rounds; i++) {
        double ours = time_arm(j, run_ours, calls, o->threads);
        double theirs = time_arm(j, run_theirs, calls, o->threads);
        double theirs2 = time_arm(j, run_theirs, calls, o->threads);
        double ours2 = time_arm(j, run_ours, calls, o->threads);
        ratio[i] = sqrt(theirs * theirs2 / (ours * ours2));
        out.ours_s = fmin(out.ours_s, fmin(ours, ours2));
        out.theirs_s = fmin(out.theirs_s, fmin(theirs, theirs2));
    }
    qsort(ratio, (size_t)o->rounds, sizeof ratio[0], compare);
    out.ratio = ratio[o->rounds / 2];
    out.low = ratio[o->rounds / 4];
    out.high = ratio[3 * o->rounds / 4];
    return out;
}

static bool print_row(const struct job *j, const struct options *o, struct outcome out)
{
    const struct shape *s = j->shape;
    bool add = j->s.op == TILEWISE_OP_ADD;
    bool avx2 = strcmp(o->isa, "avx2") == 0 && s->m >= 128 && s->n >= 128;
    bool bound = !j->wide && !add && (strcmp(o->isa, "avx512") == 0 || avx2);
    double floor = avx2 ? .75 : s->floor, aim = avx2 ? .90 : s->aim;
    double work = add ? (j->wide ? 24. : 12.) * s->m : 2. * s->m * s->n * s->k;
    printf("%-8s %5d x %4d x %4d %c%c  %7.1f %7.1f %s  %5.3f [%5.3f %5.3f]", s->class, s->m, s->n,
           s->k, s->trans_a, s->trans_b, 1e-9 * work / out.ours_s, 1e-9 * work / out.theirs_s,
           add ? "GB/s   " : "GFLOP/s", out.ratio, out.low, out.high);
    if (bound)
        printf("  %4.2f %s", floor, out.ratio >= aim ? "aim" : out.ratio >= floor ? "ok" : "BELOW");
    putchar('\n');
    fflush(stdout);
    return !bound || out.ratio >= floor;
}

/* The baseline is the faster of what OpenBLAS offers: gemm, or gemv for one or two rows. */
static bool bench_one(const struct shape *shape, const struct options *o)
{
    struct job j;
    job_make(&j, shape, o);
    if (j.s.op == TILEWISE_OP_GEMM && (shape->m <= 2 || shape->n == 1)) {
        double gemm = time_arm(&j, run_theirs, 3, o->threads);
        j.use_gemv = true;
        j.use_gemv = time_arm(&j, run_theirs, 3, o->threads) < gemm;
    }
    bool ok = print_row(&j, o, compare_arms(&j, o));
    job_free(&j);
    return ok;
}

static bool read_option(struct options *o, int key, const char *value)
{
    switch (key) {
    case 'i':
        o->isa = value;
        return true;
    case 'd':
        o->dtype = value;
        return true;
    case 'c':
        o->class = value;
        return true;
    case 't':
        o->threads = atoi(value);
        return o->threads > 0;
    case 'r':
        o->rounds = atoi(value);
        return o->rounds > 0 && o->rounds <= ROUNDS_MAX;
    case 'm':
        o->round_ms = atof(value);
        return o->round_ms > 0;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option list[] = {
        { "isa", 1, NULL, 'i' },     { "dtype", 1, NULL, 'd' },  { "class", 1, NULL, 'c' },
        { "threads", 1, NULL, 't' }, { "rounds", 1, NULL, 'r' }, { "round-ms", 1, NULL, 'm' },
        { NULL, 0, NULL, 0 },
    };
    struct options o = {
        .isa = "avx512", .dtype = "f32", .threads = 1, .rounds = 21, .round_ms = 4
    };
    for (int key; (key = getopt_long(argc, argv, "", list, NULL)) != -1;)
        if (!read_option(&o, key, optarg))
            return 64;
    openblas_set_num_threads(o.threads);
    printf("OpenBLAS core %s, %d thread%s, %s %s, %d rounds of about %g ms\n",
           openblas_get_corename(), o.threads, o.threads == 1 ? "" : "s", o.dtype, o.isa, o.rounds,
           o.round_ms);
    printf(
        "class         m x    n x    k ab     ours  theirs          ratio [quartiles]   floor\n");
    int below = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (o.class == NULL || strcmp(o.class, shapes[i].class) == 0)
            below += !bench_one(&shapes[i], &o);
    printf("%d below the floor\n", below);
    return below > 0;
}
