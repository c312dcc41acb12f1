/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/launches.h"

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
    LOCK_TRIES = 1000,
    OPS_OF_THREAD = TABLE_ENTRIES + 1, /* a power of two */
};

struct binding {          /* of a graph node or an executable graph; once made it stays */
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t value;
};

struct map {
    struct binding *place;
    uint32_t size; /* a power of two */
    _Atomic uint32_t used;
};

/* Rings: the number that is looked for in the upper half, what it is in the lower. */
static _Atomic uint64_t *launch, *call;
static _Atomic uint64_t *launch_ticks; /* beside `launch` */
static _Atomic uint32_t last_number;

static struct map nodes, execs;

/* For calls of no recorded thread, and those that become part of a graph: host threads alone take
 * this, and only to make a graph. One that finds it taken for long goes on, and its kernels are
 * known by name alone. */
static _Atomic bool locked;
static struct thread *ops; /* while locked */

static bool try_lock(void)
{
    for (int i = 0; i < LOCK_TRIES; i++)
        if (!atomic_exchange_explicit(&locked, true, memory_order_acquire))
            return true;
    return false;
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

/* The binding of `key`, made if it is not there; NULL when the map is full or is asked not to. No
 * lock: a free place becomes a key's by one exchange. */
static struct binding *find(struct map *m, uint64_t key, bool make)
{
    if (!m->place)
        return NULL;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (m->size - 1);
    for (;; at = (at + 1) & (m->size - 1)) {
        struct binding *b = &m->place[at];
        uint64_t found = atomic_load_explicit(&b->key, memory_order_acquire);
        if (found == 0 && (!make || atomic_load(&m->used) >= m->size / 2))
            return NULL;
        if (found == 0 && atomic_compare_exchange_strong(&b->key, &found, key)) {
            atomic_fetch_add(&m->used, 1);
            return b;
        }
        if (found == key)
            return b;
    }
}

static uint64_t value_of(struct binding *b)
{
    return b ? atomic_load_explicit(&b->value, memory_order_acquire) : 0;
}

static void set_value(struct binding *b, uint64_t value)
{
    if (b)
        atomic_store_explicit(&b->value, value, memory_order_release);
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

/* Entry of the call in the table of its thread, which nobody else changes. */
static uint32_t op_in(struct thread *t, const struct tilewise_signature *key)
{
    int32_t entry = t ? table_find(&t->table, key) : -1;
    return entry >= 0 ? (t->number * OPS_OF_THREAD | (uint32_t)entry) + 1 : 0;
}

static uint32_t op_of_none(const struct tilewise_signature *key)
{
    enum loss_cause cause;
    if (!try_lock())
        return 0;
    if (!ops)
        ops = thread_take(&cause);
    uint32_t op = op_in(ops, key);
    unlock();
    return op;
}

void launches_name(uint32_t number, struct thread *t, const struct tilewise_signature *key)
{
    uint32_t op = t ? op_in(t, key) : op_of_none(key);
    if (op && call)
        ring_put(call, number, op);
}

struct launches_place launches_place(uint32_t op)
{
    return (struct launches_place){ thread_at((op - 1) / OPS_OF_THREAD), (op - 1) % OPS_OF_THREAD };
}

void launches_add(uint32_t correlation, uint32_t number, bool first)
{
    if (launch_ticks)
        atomic_store_explicit(&launch_ticks[correlation % RING], clock_ticks(),
                              memory_order_relaxed);
    if (launch)
        ring_put(launch, correlation, number | (number && first ? FIRST : 0));
}

void launches_blur(uint32_t correlation)
{
    if (launch_ticks)
        atomic_store_explicit(&launch_ticks[correlation % RING], 0, memory_order_relaxed);
    if (launch)
        ring_put(launch, correlation, 0);
}

static uint32_t op_of(uint32_t number)
{
    return number ? ring_get(call, number) : 0;
}

void launches_add_node(uint64_t node, uint32_t number, bool first)
{
    set_value(find(&nodes, node, true), number | (number && first ? FIRST : 0));
}

/* The op itself, as the numbers of calls are used again. */
static uint64_t with_op(uint64_t value)
{
    uint32_t op = value & NAMED ? 0 : op_of((uint32_t)value & NUMBER);
    return op ? (value & FIRST) | NAMED | op : value;
}

/* What a node is bound to; the name of its call is kept with it once there is one. */
static uint64_t value_of_node(uint64_t node)
{
    struct binding *b = find(&nodes, node, false);
    uint64_t value = value_of(b), named = with_op(value);
    if (named != value)
        atomic_compare_exchange_strong(&b->value, &value, named);
    return named;
}

void launches_clone_node(uint64_t node, uint64_t original)
{
    uint64_t value = value_of_node(original);
    set_value(find(&nodes, node, true), value);
}

void launches_set_exec(const void *exec, uint64_t kernels)
{
    set_value(find(&execs, (uint64_t)(uintptr_t)exec, kernels > 0), kernels);
}

uint64_t launches_exec(const void *exec)
{
    return value_of(find(&execs, (uint64_t)(uintptr_t)exec, false));
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

struct launches_found launches_find(uint32_t correlation, uint64_t node)
{
    uint64_t value = node ? value_of_node(node) : ring_get(launch, correlation);
    struct launches_found found = { .is_first = value & FIRST,
                                    .launch_ticks = ticks_of(correlation) };
    found.op = value & NAMED ? (uint32_t)value & NUMBER : op_of((uint32_t)value & NUMBER);
    found.is_running = found.op == 0 && (value & NUMBER);
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
    nodes.place = execs.place = NULL;
    atomic_store(&nodes.used, 0);
    atomic_store(&execs.used, 0);
    ops = NULL; /* the pool unmaps it */
    atomic_store(&locked, false);
}
