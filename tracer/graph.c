/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/graph.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "tracer/capture.h"
#include "tracer/execs.h"
#include "tracer/hot.h"
#include "tracer/records.h"
#include "tracer/tap.h"

HOT_DATA _Atomic uint32_t graph_captures;

static _Atomic bool locked, dirty;
static _Atomic uint64_t unknown_launches, unclear_launches, device_graphs;
static _Atomic uint64_t all_launches, all_nodes;

/* Under the lock, as all records: a thread record of our own, its table, its counters. A launch
 * reads the pointer too. NULL before the first call in a graph, and where it found no room. */
static struct thread *_Atomic counts;
static uint64_t seen_before; /* by `counts`, when it was another's */

static void lock(void)
{
    while (atomic_exchange_explicit(&locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&locked, false, memory_order_release);
}

static void add_to(_Atomic uint64_t *counter, uint64_t by)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + by, memory_order_release);
}

/* The entry of the same call in a phase, negative when there is no room. */
static int32_t in_phase(uint32_t entry, uint8_t phase)
{
    if (phase == 0)
        return (int32_t)entry;
    struct tilewise_signature key = tap_in_phase(table_key(&counts->table, entry), phase);
    return table_find(&counts->table, &key);
}

/* Launches of an executable graph that were made in one phase. */
struct launched {
    uint64_t times;
    uint8_t phase;
};

static void count_call(uint32_t entry, uint32_t count, void *context)
{
    const struct launched *l = context;
    uint64_t calls = l->times * count;
    int32_t counted = in_phase(entry, l->phase);
    bool done = counted >= 0 && table_count_many(&counts->table, (uint32_t)counted, calls);
    add_to(done ? &counts->untimed : &counts->dropped[LOSS_NO_MEMORY], calls);
}

static void settle_phase(const struct record *r, uint64_t launches)
{
    struct launched l = { launches >> 8, (uint8_t)launches };
    if (launches == 0)
        return;
    bag_each(&r->bag, count_call, &l);
    if (r->bag.lost && counts)
        add_to(&counts->dropped[LOSS_NO_MEMORY], l.times * r->bag.lost);
}

static void settle(const struct record *r)
{
    struct exec *e = r->kind == EXEC ? execs_find(r->name) : NULL;
    for (int i = 0; e && i < EXECS_PHASES; i++)
        settle_phase(r, atomic_exchange_explicit(&e->launches[i], 0, memory_order_acquire));
}

static void remove_record(struct record *r)
{
    settle(r);
    if (r->kind == EXEC)
        execs_remove(r->name);
    bag_empty(&r->bag);
    records_remove(r);
}

/* Nodes and bodies leave with their graph, changes with the executable graph. */
static void remove_parts(uint64_t owner, bool of_exec)
{
    for (size_t i = 0; i < records_places(); i++)
        for (struct record *r = records_at(i);
             r->kind != FREE && r->owner == owner && (r->kind == CHANGE) == of_exec;) {
            uint64_t name = r->name;
            bool nested = r->has_parts;
            remove_record(r);
            if (nested)
                remove_parts(name, of_exec);
        }
}

static void remove_whole(uint64_t name, enum record_kind kind)
{
    struct record *r = records_find(name, kind);
    bool has_parts = r && r->has_parts;
    if (r)
        remove_record(r);
    if (has_parts)
        remove_parts(name, kind == EXEC);
}

/* Whatever holds this body runs it an unknown number of times. */
static void make_owners_unclear(const struct record *r)
{
    while (r && r->kind == GRAPH && r->owner && (bag_calls(&r->bag) || r->unclear)) {
        struct record *owner = records_find(r->owner, GRAPH);
        if (owner)
            owner->unclear = true;
        r = owner;
    }
}

static uint64_t name_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static void add_bag(struct record *to, uint64_t name, enum record_kind kind)
{
    const struct record *from = records_find(name, kind);
    if (from)
        bag_add_all(&to->bag, &from->bag);
    to->unclear |= from && from->unclear;
}

uint64_t graph_capture_of(void *stream)
{
    return graph_is_capturing() ? capture_ask(stream, NULL) : 0;
}

/* Entry of a call in our own table, negative when there is no room. */
static int32_t entry_of(const struct tilewise_signature *key)
{
    enum loss_cause cause;
    struct tilewise_signature launched = *key;
    launched.flags |= TILEWISE_IN_GRAPH;
    struct thread *taken = counts ? NULL : thread_take(&cause);
    if (taken) {
        seen_before = thread_seen(taken);
        atomic_store(&counts, taken);
    }
    return counts ? table_find(&counts->table, &launched) : TABLE_NO_MEMORY;
}

static void add_call(uint64_t name, enum record_kind kind, const struct tilewise_signature *key)
{
    int kept = errno;
    lock();
    struct record *r = records_get(name, kind);
    int32_t entry = r ? entry_of(key) : 0;
    if (r && entry >= 0)
        bag_add(&r->bag, (uint32_t)entry, 1);
    else if (r)
        r->bag.lost++;
    make_owners_unclear(r);
    unlock();
    errno = kept;
}

void graph_add_call(uint64_t capture, const struct tilewise_signature *key)
{
    add_call(capture, CAPTURE, key);
}

void graph_add_work(const void *graph, const struct tilewise_signature *key)
{
    add_call(name_of(graph), GRAPH, key);
}

void graph_begin(void *stream, const void *begin, bool into_existing)
{
    capture_learn(begin);
    atomic_fetch_add(&graph_captures, 1);
    void *graph = NULL;
    uint64_t capture = capture_ask(stream, &graph);
    lock();
    if (graph && !into_existing)
        remove_whole(name_of(graph), GRAPH); /* an address used again */
    struct record *r = records_get(capture, CAPTURE);
    if (r)
        r->into_existing = into_existing || graph;
    unlock();
}

void graph_end(uint64_t capture, const void *graph)
{
    lock();
    struct record *from = records_find(capture, CAPTURE);
    bool added = from && from->into_existing;
    struct record *to = graph ? records_get(name_of(graph), GRAPH) : NULL;
    if (to && !added)
        bag_empty(&to->bag); /* an address used again */
    if (to)
        add_bag(to, capture, CAPTURE);
    make_owners_unclear(to);
    from = records_find(capture, CAPTURE);
    if (from) {
        remove_record(from);
        atomic_fetch_sub(&graph_captures, 1);
    }
    unlock();
}

/* A new record that `graph` owns; NULL without memory. */
static struct record *get_part(uint64_t name, enum record_kind kind, uint64_t owner,
                               enum record_kind owner_kind)
{
    remove_whole(name, kind); /* an address used again */
    struct record *part = records_get(owner, owner_kind) ? records_get(name, kind) : NULL;
    if (!part)
        return NULL;
    part->owner = owner;
    records_find(owner, owner_kind)->has_parts = true;
    return part;
}

void graph_add_child(const void *graph, const void *node, const void *child)
{
    lock();
    struct record *part = get_part(name_of(node), NODE, name_of(graph), GRAPH);
    if (part)
        add_bag(part, name_of(child), GRAPH);
    struct record *to = records_get(name_of(graph), GRAPH);
    if (to)
        add_bag(to, name_of(child), GRAPH);
    make_owners_unclear(to);
    unlock();
}

void graph_remove_node(const void *node)
{
    lock();
    struct record *part = records_find(name_of(node), NODE);
    struct record *owner = part ? records_find(part->owner, GRAPH) : NULL;
    if (owner)
        bag_remove_all(&owner->bag, &part->bag);
    if (part)
        remove_record(part);
    unlock();
}

void graph_add_body(const void *graph, const void *body)
{
    lock();
    get_part(name_of(body), GRAPH, name_of(graph), GRAPH);
    unlock();
}

/* What launches are to know of an executable graph. */
static void publish(const struct record *r, uint64_t nodes)
{
    if (execs_set(r->name, bag_calls(&r->bag), nodes))
        atomic_store_explicit(&execs_find(r->name)->unclear, r->unclear, memory_order_relaxed);
}

void graph_set_child(const void *exec, const void *node, const void *child)
{
    uint64_t change = name_of(node) * 0x9e3779b97f4a7c15u ^ name_of(exec); /* one for each pair */
    lock();
    struct record *e = records_find(name_of(exec), EXEC);
    const struct record *before = records_find(change, CHANGE);
    if (!before)
        before = records_find(name_of(node), NODE);
    if (e)
        settle(e);
    if (e && before)
        bag_remove_all(&e->bag, &before->bag);
    else if (e)
        e->unclear = true; /* a node of a child, or of a clone */
    struct record *after = before ? get_part(change, CHANGE, name_of(exec), EXEC) : NULL;
    if (after)
        add_bag(after, name_of(child), GRAPH);
    e = records_find(name_of(exec), EXEC);
    if (e && before)
        add_bag(e, name_of(child), GRAPH);
    struct exec *launched = execs_find(name_of(exec));
    if (e && launched)
        publish(e, atomic_load(&launched->nodes));
    unlock();
}

static struct record *replace(uint64_t name, enum record_kind kind, const void *graph)
{
    remove_whole(name, kind);
    struct record *to = records_get(name, kind);
    if (!to)
        return NULL;
    add_bag(to, name_of(graph), GRAPH);
    return to;
}

void graph_clone(const void *clone, const void *graph)
{
    lock();
    replace(name_of(clone), GRAPH, graph);
    unlock();
}

void graph_instantiate(const void *exec, const void *graph, uint64_t nodes, bool from_device)
{
    lock();
    const struct record *r = replace(name_of(exec), EXEC, graph);
    if (r)
        publish(r, nodes);
    if (from_device && r && bag_calls(&r->bag))
        atomic_fetch_add(&device_graphs, 1);
    unlock();
}

static void destroy(const void *handle, enum record_kind kind)
{
    lock();
    remove_whole(name_of(handle), kind);
    unlock();
}

void graph_destroy(const void *graph)
{
    destroy(graph, GRAPH);
}

void graph_destroy_exec(const void *exec)
{
    destroy(exec, EXEC);
}

void graph_capture_launch(uint64_t capture, const void *exec)
{
    lock();
    struct record *to = records_get(capture, CAPTURE);
    if (to)
        add_bag(to, name_of(exec), EXEC);
    unlock();
}

/* No lock: this is on the way of every step of a server. */
void graph_launch(const void *exec)
{
    struct exec *e = execs_find(name_of(exec));
    atomic_fetch_add_explicit(&all_launches, 1, memory_order_relaxed);
    if (!e) {
        atomic_fetch_add_explicit(&unknown_launches, 1, memory_order_relaxed);
        return;
    }
    uint64_t calls = atomic_load_explicit(&e->calls, memory_order_acquire);
    uint64_t nodes = atomic_load_explicit(&e->nodes, memory_order_relaxed);
    if (nodes)
        atomic_fetch_add_explicit(&all_nodes, nodes, memory_order_relaxed);
    if (atomic_load_explicit(&e->unclear, memory_order_relaxed))
        atomic_fetch_add_explicit(&unclear_launches, 1, memory_order_relaxed);
    struct thread *own = atomic_load_explicit(&counts, memory_order_acquire);
    if (!tap_self.thread || !own) {
        tap_drop_many(tap_self.thread ? LOSS_NO_MEMORY : tap_self.loss, calls);
    } else if (calls) {
        atomic_fetch_add_explicit(&own->seen, calls, memory_order_release);
        execs_count(e, tap_self.nvtx_phase);
    }
    atomic_store_explicit(&dirty, true, memory_order_relaxed);
}

void graph_settle(void)
{
    if (!atomic_exchange(&dirty, false))
        return;
    lock();
    for (size_t i = 0; i < records_places(); i++)
        if (records_at(i)->kind == EXEC)
            settle(records_at(i));
    unlock();
}

bool graph_is_dirty(void)
{
    return atomic_load_explicit(&dirty, memory_order_relaxed);
}

uint64_t graph_launches(void)
{
    return atomic_load_explicit(&all_launches, memory_order_relaxed);
}

uint64_t graph_launched_calls(void)
{
    const struct thread *own = atomic_load_explicit(&counts, memory_order_acquire);
    return own ? thread_seen(own) - seen_before : 0;
}

uint64_t graph_nodes(void)
{
    return atomic_load_explicit(&all_nodes, memory_order_relaxed);
}

struct graph_gaps graph_gaps(void)
{
    return (struct graph_gaps){ atomic_load(&unknown_launches), atomic_load(&unclear_launches),
                                atomic_load(&device_graphs) };
}

void graph_forget(void)
{
    records_forget();
    counts = NULL; /* the pool unmaps it */
    bag_reset();
    execs_forget();
    atomic_store(&graph_captures, 0);
    atomic_store(&unknown_launches, 0);
    atomic_store(&unclear_launches, 0);
    atomic_store(&device_graphs, 0);
    atomic_store(&all_launches, 0);
    atomic_store(&all_nodes, 0);
    atomic_store(&dirty, false);
    atomic_store(&locked, false);
}
