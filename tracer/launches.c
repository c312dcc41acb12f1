/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/launches.h"

#include <sched.h>
#include <sys/mman.h>

#include "tracer/clock.h"
#include "tracer/pages.h"

enum {
    RING = 1 << 17,
    NODES = 1 << 20, /* places; half of them are used at most */
    EXECS = 1 << 14,
    FIRST = 1u << 31, /* in the number of a call: its first kernel */
    NAMED = 1u << 30, /* in a node: not a call but an op */
    NUMBER = NAMED - 1,
};

struct binding {  /* of a graph node or an executable graph */
    uint64_t key; /* 0: free */
    uint64_t value;
};

struct map {
    struct binding *place;
    uint32_t size, used; /* size: a power of two */
};

/* Rings: the number that is looked for in the upper half, what it is in the lower. */
static _Atomic uint64_t *launch, *call;
static _Atomic uint64_t *launch_ticks; /* beside `launch` */
static _Atomic uint32_t last_number;

/* Below: under the lock. */
static _Atomic bool locked;
static struct map nodes, execs;
static struct thread *ops;

static void lock(void)
{
    while (atomic_exchange_explicit(&locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&locked, false, memory_order_release);
}

static bool map_start(struct map *m, uint32_t size)
{
    if (!m->place)
        m->place = pages_map(size * sizeof *m->place);
    m->size = size;
    return m->place != NULL;
}

bool launches_start(void)
{
    if (!launch)
        launch = pages_map(RING * sizeof *launch);
    if (!call)
        call = pages_map(RING * sizeof *call);
    if (!launch_ticks)
        launch_ticks = pages_map(RING * sizeof *launch_ticks);
    return launch && call && launch_ticks && map_start(&nodes, NODES) && map_start(&execs, EXECS);
}

/* The binding of `key`, made if it is not there; NULL when the map is full or is asked not to. */
static struct binding *find(struct map *m, uint64_t key, bool make)
{
    if (!m->place)
        return NULL;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (m->size - 1);
    for (; m->place[at].key; at = (at + 1) & (m->size - 1))
        if (m->place[at].key == key)
            return &m->place[at];
    if (!make || m->used >= m->size / 2)
        return NULL;
    m->used++;
    m->place[at].key = key;
    return &m->place[at];
}

static void ring_put(_Atomic uint64_t *ring, uint32_t number, uint32_t value)
{
    atomic_store_explicit(&ring[number % RING], (uint64_t)number << 32 | value,
                          memory_order_release);
}

static uint32_t ring_get(_Atomic uint64_t *ring, uint32_t number)
{
    if (!ring)
        return 0;
    uint64_t found = atomic_load_explicit(&ring[number % RING], memory_order_acquire);
    return found >> 32 == number ? (uint32_t)found : 0;
}

uint32_t launches_number(void)
{
    uint32_t number = 0;
    while (number == 0)
        number = (atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1) & NUMBER;
    return number;
}

void launches_name(uint32_t number, const struct tilewise_signature *key)
{
    enum loss_cause cause;
    lock();
    if (!ops)
        ops = thread_take(&cause);
    int32_t entry = ops ? table_find(&ops->table, key) : -1;
    unlock();
    if (entry >= 0 && call)
        ring_put(call, number, (uint32_t)entry + 1);
}

void launches_add(uint32_t correlation, uint32_t number, bool first)
{
    if (launch_ticks)
        atomic_store_explicit(&launch_ticks[correlation % RING], clock_ticks(),
                              memory_order_relaxed);
    if (launch)
        ring_put(launch, correlation, number | (number && first ? FIRST : 0));
}

static uint32_t op_of(uint32_t number)
{
    return number ? ring_get(call, number) : 0;
}

void launches_add_node(uint64_t node, uint32_t number, bool first)
{
    lock();
    struct binding *b = find(&nodes, node, true);
    if (b)
        b->value = number | (number && first ? FIRST : 0);
    unlock();
}

/* The op itself, as the numbers of calls are used again. */
static uint64_t with_op(uint64_t value)
{
    uint32_t op = value & NAMED ? 0 : op_of((uint32_t)value & NUMBER);
    return op ? (value & FIRST) | NAMED | op : value;
}

void launches_clone_node(uint64_t node, uint64_t original)
{
    lock();
    struct binding *from = find(&nodes, original, false);
    if (from)
        from->value = with_op(from->value);
    uint64_t value = from ? from->value : 0;
    struct binding *to = find(&nodes, node, true);
    if (to)
        to->value = value;
    unlock();
}

void launches_set_exec(const void *exec, uint64_t kernels)
{
    lock();
    struct binding *b = find(&execs, (uint64_t)(uintptr_t)exec, kernels > 0);
    if (b)
        b->value = kernels;
    unlock();
}

uint64_t launches_exec(const void *exec)
{
    lock();
    const struct binding *b = find(&execs, (uint64_t)(uintptr_t)exec, false);
    uint64_t kernels = b ? b->value : 0;
    unlock();
    return kernels;
}

static uint64_t ticks_of(uint32_t correlation)
{
    if (!launch || !launch_ticks)
        return 0;
    uint64_t found = atomic_load_explicit(&launch[correlation % RING], memory_order_acquire);
    return found >> 32 == correlation
               ? atomic_load_explicit(&launch_ticks[correlation % RING], memory_order_relaxed)
               : 0;
}

static uint64_t value_of_node(uint64_t node)
{
    lock();
    struct binding *b = find(&nodes, node, false);
    uint64_t value = b ? b->value = with_op(b->value) : 0;
    unlock();
    return value;
}

struct launches_found launches_find(uint32_t correlation, uint64_t node)
{
    uint64_t value = node ? value_of_node(node) : ring_get(launch, correlation);
    struct launches_found found = { .is_first = value & FIRST,
                                    .launch_ticks = ticks_of(correlation) };
    found.op = value & NAMED ? (uint32_t)value & NUMBER : op_of((uint32_t)value & NUMBER);
    found.is_running = found.op == 0 && (value & NUMBER);
    return found;
}

struct thread *launches_ops(void)
{
    lock();
    struct thread *found = ops;
    unlock();
    return found;
}

static void unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

void launches_forget(void)
{
    unmap(launch, RING * sizeof *launch);
    unmap(call, RING * sizeof *call);
    unmap(launch_ticks, RING * sizeof *launch_ticks);
    unmap(nodes.place, nodes.size * sizeof *nodes.place);
    unmap(execs.place, execs.size * sizeof *execs.place);
    launch = call = launch_ticks = NULL;
    nodes = execs = (struct map){ 0 };
    ops = NULL; /* the pool unmaps it */
    atomic_store(&locked, false);
}
