/* SPDX-License-Identifier: Apache-2.0
 *
 * Host time of one call of call_routines.c. A launch takes microseconds, and processes differ by as
 * much, so:
 *   - where the library accepts a product of no rows (m = 0: it returns at once, with success) that
 *     is what is called; else a small one is;
 *   - under the shim, recording is switched off and on between the batches of one process, by the
 *     two functions that `tilewise ctl` leads to (switch.py says where they are): on less off is
 *     the price of recording, off less an empty preload that of being hooked at all.
 * A loop finds all that it needs in the caches; a host that does other things between two calls
 * does not. So the last routine is measured call by call too, each time with caches full of other
 * things, and against the same routine bound past the shim.
 *
 *   cc -O2 -I$CUDA/include call_cost.c call_routines.c -o call_cost -L$CUDA/lib64 ... (run.sh)
 *   call_cost BATCHES [PAUSE,RESUME DIRECT.so]
 *
 * DIRECT.so is call_routines.c. Prints {"cublasGemmEx": {"m": rows, "off": [ns per call, of each
 * batch], "on": [...]}, ..., "cold": {"direct": [ns of each call], "off": [...], "on": [...]}};
 * without places in the shim all is "off", and "cold" is absent. A batch is shorter than the launch
 * queue, and the GPU has caught up before the next one starts.
 */
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "../bench/cold.h"
#include "call_routines.h"

enum { CALLS = 400, BATCHES_MAX = 1000, WARM_UP = 4, COLD_CALLS = 300, COLD_WARM_UP = 10 };

/* Of the shim; NULL: it is not here. */
static void (*pause_recording)(void), (*resume_recording)(void);

static void require(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "call_cost: %s failed\n", what);
        exit(2);
    }
}

#define REQUIRE(call) require((int)(call) == 0, #call)

static void choose_algorithm(struct problem *p)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference));
    REQUIRE(cublasLtMatmulAlgoGetHeuristic(p->lt, p->how, p->layout, p->layout, p->layout,
                                           p->layout, preference, 1, &result, &found));
    require(found == 1, "cublasLtMatmulAlgoGetHeuristic");
    p->algo = result.algo;
    REQUIRE(cublasLtMatmulPreferenceDestroy(preference));
}

static void prepare(struct problem *p)
{
    const size_t bytes = (size_t)CALL_SIZE * CALL_SIZE * 2;
    REQUIRE(cudaMalloc(&p->a, bytes));
    REQUIRE(cudaMalloc(&p->b, bytes));
    REQUIRE(cudaMalloc(&p->c, bytes));
    REQUIRE(cudaMemset(p->a, 0x3c, bytes));
    REQUIRE(cudaMemset(p->b, 0x3c, bytes));
    REQUIRE(cublasCreate(&p->blas));
    REQUIRE(cublasLtCreate(&p->lt));
    REQUIRE(cublasLtMatmulDescCreate(&p->how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    REQUIRE(cublasLtMatrixLayoutCreate(&p->layout, CUDA_R_16BF, CALL_SIZE, CALL_SIZE, CALL_SIZE));
    if (cublasLtMatrixLayoutCreate(&p->no_rows, CUDA_R_16BF, 0, CALL_SIZE, CALL_SIZE) != 0)
        p->no_rows = NULL;
    choose_algorithm(p);
}

/* The libraries have started their threads: only this one is kept in place. */
static void stay_on_one_processor(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int find_shim(struct dl_phdr_info *object, size_t bytes, void *places)
{
    const unsigned long *place = places;
    (void)bytes;
    if (!strstr(object->dlpi_name, "/libtilewise-tracer.so"))
        return 0;
    pause_recording = (void (*)(void))(object->dlpi_addr + place[0]);
    resume_recording = (void (*)(void))(object->dlpi_addr + place[1]);
    return 1;
}

static void learn_places(const char *text)
{
    unsigned long place[2];
    require(sscanf(text, "%lx,%lx", &place[0], &place[1]) == 2, "PAUSE,RESUME");
    require(dl_iterate_phdr(find_shim, place) == 1, "the shim's being here");
}

/* On, off, off, on: what drifts meets both alike. */
static int switched(int batch)
{
    int on = resume_recording && ((batch & 3) == 0 || (batch & 3) == 3);
    if (resume_recording)
        on ? resume_recording() : pause_recording();
    return on;
}

static double time_batch(const char *name, call_routine *call, struct problem *p, int m)
{
    int failed = 0;
    uint64_t start_ns = now_ns();
    for (int i = 0; i < CALLS; i++)
        failed |= call(p, m) != CUBLAS_STATUS_SUCCESS;
    uint64_t end_ns = now_ns();
    REQUIRE(cudaDeviceSynchronize());
    require(!failed, name);
    return (double)(end_ns - start_ns) / CALLS;
}

static void print(const char *name, const double *ns, int count)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.1f", i ? ", " : "", ns[i]);
    printf("]");
}

static void measure(const char *name, call_routine *call, struct problem *p, int batches)
{
    static double ns[2][BATCHES_MAX];
    int count[2] = { 0 }, m = call(p, 0) == CUBLAS_STATUS_SUCCESS ? 0 : CALL_SIZE;
    for (int batch = -WARM_UP; batch < batches; batch++) {
        int on = switched(batch);
        double took_ns = time_batch(name, call, p, m);
        if (batch >= 0)
            ns[on][count[on]++] = took_ns;
    }
    printf("\"%s\": {\"m\": %d, ", name, m);
    print("off", ns[0], count[0]);
    printf(", ");
    print("on", ns[1], count[1]);
    printf("}");
}

/* One call in each way, in an order that changes. */
static void measure_cold(const struct call_named *hooked, const struct call_named *direct,
                         struct problem *p)
{
    enum { DIRECT, OFF, ON, HOW };
    static const char *const name[HOW] = { "direct", "off", "on" };
    static double ns[HOW][COLD_CALLS];
    struct cold_room room;
    int m = hooked->run(p, 0) == CUBLAS_STATUS_SUCCESS ? 0 : CALL_SIZE, failed = 0;
    require(cold_make(&room, COLD_DATA_BYTES, COLD_PAGES, COLD_CODE_BYTES), "memory");
    for (int i = -COLD_WARM_UP; i < COLD_CALLS; i++)
        for (int turn = 0; turn < HOW; turn++) {
            int how = (turn + i + COLD_WARM_UP) % HOW;
            how == ON ? resume_recording() : pause_recording();
            cold_walk(&room);
            uint64_t start_ns = now_ns();
            failed |= (how == DIRECT ? direct : hooked)->run(p, m) != CUBLAS_STATUS_SUCCESS;
            uint64_t end_ns = now_ns();
            REQUIRE(cudaDeviceSynchronize());
            if (i >= 0)
                ns[how][i] = (double)(end_ns - start_ns);
        }
    require(!failed, hooked->name);
    printf(", \"cold\": {\"m\": %d", m);
    for (int how = 0; how < HOW; how++) {
        printf(", ");
        print(name[how], ns[how], COLD_CALLS);
    }
    printf("}");
}

static const struct call_named *open_direct(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    const struct call_named *routines = library ? dlsym(library, "call_routines") : NULL;
    require(routines != NULL, path);
    return routines;
}

int main(int argc, char **argv)
{
    struct problem p = { 0 };
    int batches = argc > 1 ? atoi(argv[1]) : 0;
    require(batches > 0 && batches <= BATCHES_MAX, "BATCHES");
    prepare(&p);
    if (argc > 2)
        learn_places(argv[2]);
    stay_on_one_processor();
    for (int i = 0; i < CALL_PRODUCT; i++) {
        printf("%s", i ? ", " : "{");
        measure(call_routines[i].name, call_routines[i].run, &p, batches);
    }
    if (argc > 3)
        measure_cold(&call_routines[CALL_PRODUCT], &open_direct(argv[3])[CALL_PRODUCT], &p);
    printf("}\n");
    return 0;
}
