/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/graph.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/bag.h"
#include "tracer/elf.h"
#include "tracer/execs.h"
#include "tracer/pages.h"
#include "tracer/tap.h"

/* cudaStreamGetCaptureInfo and cuStreamGetCaptureInfo: later versions have more results, each of
 * which may be NULL; earlier ones do not look at them. */
typedef int capture_info(void *stream, int *status, unsigned long long *id, void *graph,
                         void *dependencies, void *edges, void *count);

enum kind { FREE, CAPTURE, GRAPH, EXEC };

struct record {
    uint64_t name; /* number of the capture, address of the graph */
    uint8_t kind;
    bool into_existing;
    struct bag bag;
    uint64_t launches; /* being turned into counts */
    uint8_t phase;     /* that these were made in */
};

enum { FIRST_RECORDS = 1024 };

_Atomic uint32_t graph_captures;

static capture_info *_Atomic query;
static _Atomic bool locked, dirty;
static _Atomic uint64_t unknown_launches, all_launches, all_nodes, all_calls;

/* Below: under the lock. Open addressing by name and kind; `size` is a power of two. */
static struct record *records;
static size_t size, filled;
static struct thread *counts; /* a thread record of our own: its table, its counters; a launch
                               * reads this too, behind its graph's number of calls */

static void lock(void)
{
    while (atomic_exchange_explicit(&locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&locked, false, memory_order_release);
}

static size_t place_of(uint64_t name, enum kind kind)
{
    return (size_t)((name ^ kind) * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
}

static struct record *find(uint64_t name, enum kind kind)
{
    if (size == 0)
        return NULL;
    for (size_t i = place_of(name, kind); records[i].kind != FREE; i = (i + 1) & (size - 1))
        if (records[i].name == name && records[i].kind == kind)
            return &records[i];
    return NULL;
}

static struct record *place(const struct record *record)
{
    size_t i = place_of(record->name, record->kind);
    while (records[i].kind != FREE)
        i = (i + 1) & (size - 1);
    records[i] = *record;
    filled++;
    return &records[i];
}

static bool grow(void)
{
    struct record *old = records;
    size_t old_size = size, wanted = size ? size * 2 : FIRST_RECORDS;
    struct record *larger = pages_map(wanted * sizeof *larger);
    if (!larger)
        return false;
    records = larger;
    size = wanted;
    filled = 0;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].kind != FREE)
            place(&old[i]);
    if (old)
        munmap(old, old_size * sizeof *old);
    return true;
}

/* Found or new; NULL without memory. */
static struct record *get(uint64_t name, enum kind kind)
{
    struct record *r = find(name, kind);
    if (r)
        return r;
    if (filled + 1 > size / 2 && !grow())
        return NULL;
    return place(&(struct record){ .name = name, .kind = (uint8_t)kind });
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

static void count_call(uint32_t entry, uint32_t count, void *exec)
{
    const struct record *r = exec;
    uint64_t calls = r->launches * count;
    int32_t counted = in_phase(entry, r->phase);
    bool done = counted >= 0 && table_count_many(&counts->table, (uint32_t)counted, calls);
    add_to(done ? &counts->untimed : &counts->dropped[LOSS_NO_MEMORY], calls);
}

static void settle_phase(struct record *r, uint64_t launches)
{
    if (launches == 0)
        return;
    r->launches = launches >> 8;
    r->phase = (uint8_t)launches;
    bag_each(&r->bag, count_call, r);
    if (r->bag.lost && counts)
        add_to(&counts->dropped[LOSS_NO_MEMORY], r->launches * r->bag.lost);
}

static void settle(struct record *r)
{
    struct exec *e = r->kind == EXEC ? execs_find(r->name) : NULL;
    for (int i = 0; e && i < EXECS_PHASES; i++)
        settle_phase(r, atomic_exchange_explicit(&e->launches[i], 0, memory_order_acquire));
}

/* Without holes: later records of the same run move up. */
static void remove_record(struct record *r)
{
    settle(r);
    if (r->kind == EXEC)
        execs_remove(r->name);
    bag_empty(&r->bag);
    r->kind = FREE;
    filled--;
    for (size_t i = ((size_t)(r - records) + 1) & (size - 1); records[i].kind != FREE;
         i = (i + 1) & (size - 1)) {
        struct record moved = records[i];
        records[i].kind = FREE;
        filled--;
        place(&moved);
    }
}

static uint64_t name_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static void add_bag(struct record *to, uint64_t name, enum kind kind)
{
    const struct record *from = find(name, kind);
    if (from)
        bag_add_all(&to->bag, &from->bag);
}

static bool is_ours(const void *stream)
{
    /* Neither the null stream nor the legacy one can be captured, and asking for them while another
     * stream is captured is an error that the host would read. */
    return (uintptr_t)stream > 1;
}

uint64_t graph_capture_of(void *stream)
{
    capture_info *ask = atomic_load_explicit(&query, memory_order_acquire);
    int status = 0;
    unsigned long long id = 0;
    if (!graph_is_capturing() || !ask || !is_ours(stream) ||
        ask(stream, &status, &id, NULL, NULL, NULL, NULL) != 0)
        return 0;
    return status ? id : 0;
}

/* Entry of a call in our own table, negative when there is no room. */
static int32_t entry_of(const struct tilewise_signature *key)
{
    enum loss_cause cause;
    struct tilewise_signature launched = *key;
    launched.flags |= TILEWISE_IN_GRAPH;
    if (!counts)
        counts = thread_take(&cause);
    return counts ? table_find(&counts->table, &launched) : TABLE_NO_MEMORY;
}

static void add_call(uint64_t name, enum kind kind, const struct tilewise_signature *key)
{
    int kept = errno;
    lock();
    struct record *r = get(name, kind);
    int32_t entry = r ? entry_of(key) : 0;
    if (r && entry >= 0)
        bag_add(&r->bag, (uint32_t)entry, 1);
    else if (r)
        r->bag.lost++;
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

static void remember_query(const void *begin)
{
    struct elf_object object;
    if (atomic_load_explicit(&query, memory_order_relaxed) || !elf_at(begin, &object))
        return;
    void *found = elf_symbol(&object, "cudaStreamGetCaptureInfo");
    if (!found)
        found = elf_symbol(&object, "cuStreamGetCaptureInfo");
    atomic_store_explicit(&query, (capture_info *)(uintptr_t)found, memory_order_release);
}

void graph_begin(void *stream, const void *begin, bool into_existing)
{
    remember_query(begin);
    atomic_fetch_add(&graph_captures, 1);
    uint64_t capture = graph_capture_of(stream);
    lock();
    struct record *r = get(capture, CAPTURE);
    if (r)
        r->into_existing = into_existing;
    unlock();
}

void graph_end(uint64_t capture, const void *graph)
{
    lock();
    struct record *from = find(capture, CAPTURE);
    bool added = from && from->into_existing;
    struct record *to = graph ? get(name_of(graph), GRAPH) : NULL;
    if (to && !added)
        bag_empty(&to->bag); /* an address used again */
    if (to)
        add_bag(to, capture, CAPTURE);
    from = find(capture, CAPTURE);
    if (from) {
        remove_record(from);
        atomic_fetch_sub(&graph_captures, 1);
    }
    unlock();
}

void graph_add_child(const void *graph, const void *child)
{
    lock();
    struct record *to = get(name_of(graph), GRAPH);
    if (to)
        add_bag(to, name_of(child), GRAPH);
    unlock();
}

static struct record *replace(uint64_t name, enum kind kind, const void *graph)
{
    struct record *to = get(name, kind);
    if (!to)
        return NULL;
    settle(to);
    bag_empty(&to->bag);
    add_bag(to, name_of(graph), GRAPH);
    return to;
}

void graph_clone(const void *clone, const void *graph)
{
    lock();
    replace(name_of(clone), GRAPH, graph);
    unlock();
}

void graph_instantiate(const void *exec, const void *graph, uint64_t nodes)
{
    lock();
    const struct record *r = replace(name_of(exec), EXEC, graph);
    if (r)
        execs_set(r->name, bag_calls(&r->bag), nodes);
    unlock();
}

static void destroy(const void *handle, enum kind kind)
{
    lock();
    struct record *r = find(name_of(handle), kind);
    if (r)
        remove_record(r);
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
    struct record *to = get(capture, CAPTURE);
    if (to)
        add_bag(to, name_of(exec), EXEC);
    unlock();
}

/* No lock: this is on the way of every step of a server. `counts` was set before any graph had
 * calls. */
void graph_launch(const void *exec)
{
    struct exec *e = execs_find(name_of(exec));
    atomic_fetch_add_explicit(&all_launches, 1, memory_order_relaxed);
    if (!e) {
        atomic_fetch_add_explicit(&unknown_launches, 1, memory_order_relaxed);
        return;
    }
    uint64_t calls = atomic_load_explicit(&e->calls, memory_order_acquire);
    atomic_fetch_add_explicit(&all_nodes, atomic_load_explicit(&e->nodes, memory_order_relaxed),
                              memory_order_relaxed);
    if (!tap_self.thread) {
        tap_drop_many(tap_self.loss, calls);
    } else if (calls) {
        atomic_fetch_add_explicit(&counts->seen, calls, memory_order_release);
        atomic_fetch_add_explicit(&all_calls, calls, memory_order_relaxed);
        execs_count(e, tap_self.nvtx_phase);
    }
    atomic_store_explicit(&dirty, true, memory_order_relaxed);
}

void graph_settle(void)
{
    if (!atomic_exchange(&dirty, false))
        return;
    lock();
    for (size_t i = 0; i < size; i++)
        if (records[i].kind == EXEC)
            settle(&records[i]);
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
    return atomic_load_explicit(&all_calls, memory_order_relaxed);
}

uint64_t graph_nodes(void)
{
    return atomic_load_explicit(&all_nodes, memory_order_relaxed);
}

uint64_t graph_unknown_launches(void)
{
    return atomic_load_explicit(&unknown_launches, memory_order_relaxed);
}

void graph_forget(void)
{
    if (records)
        munmap(records, size * sizeof *records);
    records = NULL;
    size = filled = 0;
    counts = NULL; /* the pool unmaps it */
    bag_reset();
    execs_forget();
    atomic_store(&graph_captures, 0);
    atomic_store(&unknown_launches, 0);
    atomic_store(&all_launches, 0);
    atomic_store(&all_nodes, 0);
    atomic_store(&all_calls, 0);
    atomic_store(&dirty, false);
    atomic_store(&locked, false);
}
