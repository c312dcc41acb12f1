/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_blas.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rows.h"

/* Counters of another process are not ours: a fork child maps a file of its own. */
struct fake_counts *fake_counts(void)
{
    static struct fake_counts *counts;
    static pid_t owner;
    if (counts && owner == getpid())
        return counts;
    char path[4096];
    const char *directory = getenv("FAKE_COUNTS");
    int fd = -1;
    if (directory) {
        snprintf(path, sizeof path, "%s/%d", directory, (int)getpid());
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, sizeof *counts) != 0)
            abort();
    }
    void *p = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE,
                   MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
    if (p == MAP_FAILED)
        abort();
    if (fd >= 0)
        close(fd);
    owner = getpid();
    return counts = p;
}

_Atomic uint64_t fake_calls_here;

static void called(enum slot_id slot, bool received)
{
    struct fake_counts *f = fake_counts();
    struct timespec t;
    uint64_t total = atomic_fetch_add(&f->total, 1) + 1;
    atomic_fetch_add(&fake_calls_here, 1);
    atomic_fetch_add(&f->slot[slot], 1);
    atomic_fetch_add(&f->received, received);
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    struct fake_moment *m = &f->moment[ns / FAKE_MOMENT_NS % FAKE_MOMENTS];
    atomic_store(&m->ns, ns);
    atomic_store(&m->total, total);
    errno = 4711; /* libraries may set it; nobody in between may */
}

#define ROW(family, symbol, integer, element)                                                      \
    void symbol(family##_PARAMS(integer, element));                                                \
    void symbol(family##_PARAMS(integer, element))                                                 \
    {                                                                                              \
        called(SLOT_##symbol, family##_RECEIVED(element));                                         \
    }
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
