/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA kernels on a GPU: right against the fp64 reference on random shapes, every kernel on
 * every shape that it takes, then timed against cuBLAS (add: also against copies of as many bytes).
 * Prints one JSON object per line.
 *   gpu_kernels [--check-only | --time-only] [--short] [--only TEXT] [--against NAME]
 *               [--linear TOKENSxNxK,...] [--cases N] [--largest N] [--rounds N] [--seed N]
 * --short: fewer times, about a minute. --only: kernels whose name contains it. --against: times
 * them also against this kernel. --linear: times these layers, of every type, and nothing else.
 * --largest: of the random sizes. --seed: of the first case; a line "wrong" names the seed that
 * gives its case alone, with --cases 1 and the same --largest. Exits 1 if a kernel is wrong, 77
 * without a GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "kernels/builtin.h"

enum { KERNELS_MAX = 256, GHOST_EVERY = 50, TRIES = 10000 };

struct kernels_options kernels_options = {
    .only = "", .against = "", .linear = "", .cases = 1000, .largest = 600, .rounds = 12, .seed = 1
};
cudaStream_t kernels_stream;
int kernels_failures;

void kernels_must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "gpu_kernels: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

void *kernels_device_memory(size_t bytes)
{
    void *memory = NULL;
    kernels_must(cudaMalloc(&memory, bytes ? bytes : 1), "cudaMalloc");
    return memory;
}

void kernels_copy(void *to, const void *from, size_t bytes)
{
    kernels_must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, kernels_stream), "copy");
    kernels_must(cudaStreamSynchronize(kernels_stream), "copy");
}

bool kernels_is_wanted(const struct tilewise_candidate *c)
{
    return strcmp(c->target, "cuda") == 0 && strstr(c->name, kernels_options.only) != NULL;
}

void kernels_report_wrong(const struct tilewise_candidate *c, const struct tilewise_signature *s,
                          uint64_t seed, const char *what)
{
    char text[160];
    kernels_failures++;
    printf("{\"wrong\":\"%s\",\"seed\":%llu,\"case\":\"%s\",\"lda\":%lld,\"ldb\":%lld,"
           "\"ldc\":%lld,\"batch\":%lld,\"what\":\"%s\"}\n",
           c->name, (unsigned long long)seed, signature_describe(s, text, sizeof text),
           (long long)s->lda, (long long)s->ldb, (long long)s->ldc, (long long)s->batch, what);
    fflush(stdout);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- checks ---- */

struct tally {
    int cases, wrong;
    double worst;
};

/* A signature that one of the wanted kernels takes. */
static bool random_signature(struct tilewise_signature *s)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    for (int tries = 0; tries < TRIES; tries++) {
        *s = kernels_random_signature();
        for (size_t i = 0; i < count; i++)
            if (kernels_is_wanted(all[i]) && all[i]->supports(all[i], s))
                return true;
    }
    return false;
}

/* A kernel that does nothing must be found wrong, or the check means nothing. */
static void check_ghost(struct kernels_case *x, const struct tilewise_signature *s, uint64_t seed)
{
    if (kernels_case_try(x, &null_candidate).worst <= 1)
        kernels_report_wrong(&null_candidate, s, seed, "does nothing, and was not found out");
}

static void check_case(const struct tilewise_signature *s, uint64_t seed, bool with_ghost,
                       struct tally *tallies)
{
    size_t count;
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    struct kernels_case *x = kernels_case_open(s);
    for (size_t i = 0; i < count; i++) {
        if (!kernels_is_wanted(all[i]) || !all[i]->supports(all[i], s))
            continue;
        struct kernels_checked one = kernels_case_try(x, all[i]);
        struct tally *t = &tallies[i];
        t->cases++;
        t->worst = one.worst > t->worst ? one.worst : t->worst;
        if (one.worst <= 1)
            continue;
        t->wrong++;
        kernels_report_wrong(all[i], s, seed, one.what);
    }
    if (with_ghost)
        check_ghost(x, s, seed);
    kernels_case_close(x);
}

/* JSON knows no infinity. */
static void print_tally(const char *name, const struct tally *t)
{
    char worst[32] = "null";
    if (isfinite(t->worst))
        snprintf(worst, sizeof worst, "%.3f", t->worst);
    printf("{\"checked\":\"%s\",\"cases\":%d,\"wrong\":%d,\"worst\":%s}\n", name, t->cases,
           t->wrong, worst);
}

static void check_everything(void)
{
    static struct tally tallies[KERNELS_MAX];
    struct tilewise_signature s;
    size_t count;
    double start_s = now_s();
    const struct tilewise_candidate *const *all = builtin_candidates(&count);
    int done = 0;
    for (; done < kernels_options.cases; done++) {
        uint64_t seed = kernels_options.seed + (uint64_t)done;
        kernels_seed(seed);
        if (!random_signature(&s))
            break;
        check_case(&s, seed, done % GHOST_EVERY == 0, tallies);
    }
    for (size_t i = 0; i < count; i++)
        if (kernels_is_wanted(all[i]))
            print_tally(all[i]->name, &tallies[i]);
    printf("{\"shapes\":%d,\"first_seed\":%llu,\"seconds\":%.1f}\n", done,
           (unsigned long long)kernels_options.seed, now_s() - start_s);
    fflush(stdout);
}

/* ---- the program ---- */

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--short") == 0)
            kernels_options.is_short = true;
        else if (strcmp(argv[i], "--check-only") == 0)
            kernels_options.check_only = true;
        else if (strcmp(argv[i], "--time-only") == 0)
            kernels_options.time_only = true;
        else if (strcmp(argv[i], "--only") == 0 && has_value)
            kernels_options.only = argv[++i];
        else if (strcmp(argv[i], "--against") == 0 && has_value)
            kernels_options.against = argv[++i];
        else if (strcmp(argv[i], "--linear") == 0 && has_value)
            kernels_options.linear = argv[++i];
        else if (strcmp(argv[i], "--cases") == 0 && has_value)
            kernels_options.cases = atoi(argv[++i]);
        else if (strcmp(argv[i], "--rounds") == 0 && has_value)
            kernels_options.rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--largest") == 0 && has_value)
            kernels_options.largest = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0 && has_value)
            kernels_options.seed = strtoull(argv[++i], NULL, 0);
        else
            exit(64);
    }
    if (kernels_options.rounds < 1 || kernels_options.rounds > KERNELS_ROUNDS_MAX)
        kernels_options.rounds = KERNELS_ROUNDS_MAX;
    if (kernels_options.largest < 1)
        exit(64);
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp device;
    size_t count;
    parse(argc, argv);
    builtin_candidates(&count);
    if (count > KERNELS_MAX) {
        fprintf(stderr, "gpu_kernels: more than %d candidates\n", KERNELS_MAX);
        return 1;
    }
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
        fprintf(stderr, "gpu_kernels: no GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 77;
    }
    kernels_must(cudaStreamCreateWithFlags(&kernels_stream, cudaStreamNonBlocking), "stream");
    printf("{\"device\":\"%s\",\"sm\":%d,\"cublas\":%s,\"seed\":%llu}\n", device.name,
           device.multiProcessorCount, kernels_bench_open() ? "true" : "false",
           (unsigned long long)kernels_options.seed);
    if (!kernels_options.time_only)
        check_everything();
    if (!kernels_options.check_only) {
        kernels_products_time();
        if (*kernels_options.linear == '\0')
            kernels_adds_time();
    }
    printf("{\"failures\":%d}\n", kernels_failures);
    return kernels_failures != 0;
}
