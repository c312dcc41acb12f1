/* SPDX-License-Identifier: Apache-2.0
 *
 * What hooks of GPU libraries cost when a call finds the caches cold, in ns of a call: as in a host
 * that does a hundred microseconds of its own between two calls. Against the fake libraries of the
 * tests, whose products are made to be busy for as long as a launch. In one process, by turns:
 *   direct   the library's function itself
 *   off, on  through the shim, recording switched by the two functions that `tilewise ctl` leads to
 * bench_shim_cold.sh runs it under the shim.
 *   bench_shim_cold DIRECT.so HOOKED.so PAUSE,RESUME [CALLS]
 * The two libraries are cold_calls.c, the first one bound past the preload. PAUSE,RESUME: hex.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cold.h"
#include "cold_calls.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { WARM_UP = 20, HOW = 3 };

static void (*pause_recording)(void), (*resume_recording)(void);

#if defined(__x86_64__)
static uint64_t ticks(void)
{
    unsigned processor;
    _mm_lfence();
    return __rdtscp(&processor);
}
#else
static uint64_t ticks(void)
{
    return cold_now_ns();
}
#endif

static double ns_per_tick(void)
{
    uint64_t ns = cold_now_ns(), t = ticks();
    while (cold_now_ns() - ns < 20000000)
        continue;
    return (double)(cold_now_ns() - ns) / (double)(ticks() - t);
}

static void require(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench_shim_cold: %s\n", what);
    exit(2);
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

static const struct cold_calls *open_calls(const char *path, int flags)
{
    void *library = dlopen(path, RTLD_NOW | flags);
    require(library != NULL, "cannot open the calls");
    const struct cold_calls *calls = dlsym(library, "cold_calls");
    require(calls != NULL, "no cold_calls");
    return calls;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* middle: mean of the middle half, as the counter may be coarse. */
struct quartiles {
    double lo, middle, hi;
};

static struct quartiles quartiles_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    double sum = 0;
    for (int i = count / 4; i < count * 3 / 4; i++)
        sum += values[i];
    return (struct quartiles){ values[count / 4], sum / (count * 3 / 4 - count / 4),
                               values[count * 3 / 4] };
}

/* One call in each way, in an order that changes. */
static void measure(const char *name, const struct cold_calls *const of[HOW], int which, int count,
                    const struct cold_room *room, double tick_ns)
{
    double *ns[HOW], *added[HOW];
    for (int how = 0; how < HOW; how++) {
        ns[how] = calloc((size_t)count, sizeof(double));
        added[how] = calloc((size_t)count, sizeof(double));
        require(ns[how] && added[how], "no memory");
    }
    for (int i = -WARM_UP; i < count; i++)
        for (int turn = 0; turn < HOW; turn++) {
            int how = (turn + (i + WARM_UP)) % HOW;
            how == 2 ? resume_recording() : pause_recording();
            cold_walk(room);
            uint64_t start = ticks();
            of[how]->call[which].run(i + WARM_UP);
            uint64_t end = ticks();
            if (i >= 0)
                ns[how][i] = (double)(end - start) * tick_ns;
        }
    for (int how = 1; how < HOW; how++)
        for (int i = 0; i < count; i++)
            added[how][i] = ns[how][i] - ns[how - 1][i];
    struct quartiles direct = quartiles_of(ns[0], count), off = quartiles_of(added[1], count),
                     on = quartiles_of(added[2], count);
    printf("%-18s %8.0f %8.0f (%5.0f ..%5.0f) %8.0f (%5.0f ..%5.0f)\n", name, direct.middle,
           off.middle, off.lo, off.hi, on.middle, on.lo, on.hi);
    for (int how = 0; how < HOW; how++) {
        free(ns[how]);
        free(added[how]);
    }
}

int main(int argc, char **argv)
{
    struct cold_room room;
    unsigned long place[2];
    require(argc > 3, "DIRECT.so HOOKED.so PAUSE,RESUME [CALLS]");
    const struct cold_calls *direct = open_calls(argv[1], RTLD_LOCAL | RTLD_DEEPBIND),
                            *hooked = open_calls(argv[2], RTLD_LOCAL);
    require(sscanf(argv[3], "%lx,%lx", &place[0], &place[1]) == 2 &&
                dl_iterate_phdr(find_shim, place) == 1,
            "no shim at PAUSE,RESUME");
    require(cold_make(&room, COLD_DATA_BYTES, COLD_PAGES, COLD_CODE_BYTES), "no memory");
    int count = argc > 4 ? atoi(argv[4]) : 400;
    require(count > 0, "CALLS");
    direct->prepare();
    hooked->prepare();
    double tick_ns = ns_per_tick();
    printf("%-18s %8s %8s %16s %8s\n", "ns, cold", "direct", "hooked", "", "recorded");
    const struct cold_calls *const of[HOW] = { direct, hooked, hooked };
    for (int i = 0; i < COLD_CALLS; i++)
        measure(direct->call[i].name, of, i, count, &room, tick_ns);
    return 0;
}
