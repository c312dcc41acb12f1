/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/execs.h"

#include <stddef.h>
#include <sys/mman.h>

#include "tracer/pages.h"

enum {
    PLACES = 1 << 15,
    PROBES = 64, /* from where the name belongs */
    FREE = 0,    /* and always was: nothing lies behind */
    LEFT = 1,    /* was used; no handle has this value */
    NO_PHASE = EXECS_PHASES - 1,
};

static struct exec *_Atomic places;

static struct exec *place_of(struct exec *all, uint64_t name, uint32_t probe)
{
    return &all[((uint32_t)(name * 0x9e3779b97f4a7c15u >> 40) + probe) % PLACES];
}

struct exec *execs_find(uint64_t name)
{
    struct exec *all = atomic_load_explicit(&places, memory_order_acquire);
    for (uint32_t i = 0; all && i < PROBES; i++) {
        struct exec *e = place_of(all, name, i);
        uint64_t found = atomic_load_explicit(&e->name, memory_order_acquire);
        if (found == name)
            return e;
        if (found == FREE)
            return NULL;
    }
    return NULL;
}

static void forget_launches(struct exec *e)
{
    atomic_store(&e->unclear, false);
    for (int i = 0; i < EXECS_PHASES; i++)
        atomic_store(&e->launches[i], 0);
}

/* A place without launches: the hook of one may have come too late for the graph before. */
static struct exec *make(uint64_t name)
{
    struct exec *all = atomic_load(&places);
    if (!all)
        atomic_store_explicit(&places, all = pages_map(PLACES * sizeof *all), memory_order_release);
    for (uint32_t i = 0; all && i < PROBES; i++) {
        struct exec *e = place_of(all, name, i);
        if (atomic_load(&e->name) > LEFT)
            continue;
        forget_launches(e);
        return e;
    }
    return NULL;
}

bool execs_set(uint64_t name, uint64_t calls, uint64_t nodes)
{
    struct exec *e = execs_find(name);
    if (!e)
        e = make(name);
    if (!e)
        return false;
    atomic_store_explicit(&e->calls, calls, memory_order_release);
    atomic_store_explicit(&e->nodes, nodes, memory_order_relaxed);
    atomic_store_explicit(&e->name, name, memory_order_release);
    return true;
}

void execs_remove(uint64_t name)
{
    struct exec *e = execs_find(name);
    if (!e)
        return;
    atomic_store_explicit(&e->name, LEFT, memory_order_release);
    forget_launches(e);
}

/* One more launch, if the counter is free or of this phase. */
static bool add(_Atomic uint64_t *counter, uint8_t phase)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    while (now == 0 || (uint8_t)now == phase)
        if (atomic_compare_exchange_weak_explicit(counter, &now, ((now >> 8) + 1) << 8 | phase,
                                                  memory_order_release, memory_order_relaxed))
            return true;
    return false;
}

void execs_count(struct exec *e, uint8_t phase)
{
    for (int i = 0; phase && i < NO_PHASE; i++)
        if (add(&e->launches[i], phase))
            return;
    add(&e->launches[NO_PHASE], 0);
}

void execs_forget(void)
{
    struct exec *all = atomic_exchange(&places, NULL);
    if (all)
        munmap(all, PLACES * sizeof *all);
}
