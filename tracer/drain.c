/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/drain.h"

#include <errno.h>
#include <string.h>

#include "tracer/clock.h"
#include "tracer/config.h"
#include "tracer/cupti.h"
#include "tracer/graph.h"
#include "tracer/nvtx_write.h"
#include "tracer/slot.h"
#include "tracer/tap.h"
#include "tracer/thread.h"

enum {
    BATCH = 1024,
    PENDING_MAX = TRACE_FRAME_RAW_MAX / 4 * 3,
    RETRY_NS = 2000000000,
    NO_ID = UINT32_MAX, /* in table.writer_id: the file takes no more signatures */
    NO_ENTRY = UINT32_MAX,
};

static uint64_t now_ns(void)
{
    return clock_since_start_ns(clock_ticks());
}

void drain_init(struct drain *d, struct writer *w)
{
    *d = (struct drain){ .w = w, .cpu_start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) };
    nvtx_write_begin();
}

static bool is_closed(const struct drain *d)
{
    return d->is_full || d->retry_ns > now_ns();
}

static void lose(struct drain *d, enum loss_cause cause, uint64_t calls)
{
    d->counters.dropped[cause] += calls;
}

/* What the threads lost before it reached us; ours is kept apart in `own`. */
static void sum_threads(struct trace_counters *c)
{
    for (int i = 0; i < LOSS_MAX; i++)
        c->dropped[i] += tap_dropped(i);
    for (uint32_t i = 0, n = thread_count(); i < n; i++) {
        struct thread *t = thread_at(i);
        if (!t)
            continue;
        c->failed += atomic_load_explicit(&t->failed, memory_order_relaxed);
        for (int j = 0; j < LOSS_MAX; j++)
            c->dropped[j] += atomic_load_explicit(&t->dropped[j], memory_order_relaxed);
    }
}

struct trace_counters drain_counters(const struct drain *d)
{
    struct trace_counters c = d->counters;
    sum_threads(&c);
    c.seen = c.recorded + loss_total(&c);
    c.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - d->cpu_start_ns;
    return c;
}

static uint64_t count_seen(void)
{
    uint64_t seen = 0;
    for (int i = 0; i < LOSS_MAX; i++)
        seen += tap_dropped(i);
    for (uint32_t i = 0, n = thread_count(); i < n; i++)
        if (thread_at(i))
            seen += thread_seen(thread_at(i));
    return seen;
}

struct trace_counters drain_last_counters(const struct drain *d)
{
    struct trace_counters c = drain_counters(d);
    uint64_t seen = count_seen();
    if (seen > c.seen)
        c.dropped[LOSS_SHUTDOWN] += seen - c.seen;
    c.seen = seen;
    return c;
}

/* The pending rows did not reach the file. */
static void undo(struct drain *d, enum loss_cause cause)
{
    d->counters.recorded -= d->pending;
    d->counters.untimed -= d->pending_untimed;
    lose(d, cause, d->pending);
    d->closed = cause;
}

static void write_frame(struct drain *d)
{
    nvtx_write(d);
    struct trace_counters c = drain_counters(d);
    enum status st = writer_flush(d->w, &c, now_ns());
    if (st == ST_LIMIT) {
        undo(d, LOSS_SIZE_CAP);
        d->is_full = true;
    } else if (st != ST_OK) {
        bool full = errno == ENOSPC || errno == EDQUOT;
        undo(d, st == ST_NOMEM ? LOSS_NO_MEMORY : full ? LOSS_DISK_FULL : LOSS_IO_ERROR);
        d->retry_ns = now_ns() + RETRY_NS;
    } else {
        d->told = c.seen + c.failed;
    }
    d->pending = d->pending_untimed = 0;
}

static uint32_t entry_string(struct drain *d, uint32_t slot)
{
    uint32_t *id = &d->entry_string[slot];
    const char *name = slot < NVTX_OP_FIRST ? slot_table[slot].name : nvtx_write_op(slot);
    if (*id == 0 && name && writer_string(d->w, name, strlen(name), id) != ST_OK)
        *id = 0;
    return *id;
}

static uint32_t signature_of(struct drain *d, struct table *table, uint32_t entry)
{
    uint32_t *known = &table->writer_id[entry], id;
    if (*known == 0) {
        struct tilewise_signature key = *table_key(table, entry);
        key.entry = entry_string(d, key.entry & TAP_ENTRY_MASK);
        *known = writer_signature(d->w, &key, &id) == ST_OK ? id + 1 : NO_ID;
    }
    return *known == NO_ID ? NO_ID : *known - 1;
}

uint32_t drain_signature(struct drain *d, struct thread *t, uint32_t entry)
{
    return signature_of(d, &t->table, entry);
}

static struct writer_event event_of(struct thread *t, uint32_t id, uint64_t start_ticks,
                                    uint64_t duration_ticks)
{
    uint64_t start = clock_since_start_ns(start_ticks);
    uint64_t ns = clock_span_ns(duration_ticks);
    if (start < t->last_start_ns)
        start = t->last_start_ns; /* the clock was measured anew in between */
    t->last_start_ns = start;
    return (struct writer_event){ id, ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns, start };
}

/* Calls of one thread on one stream. */
struct run {
    uint32_t thread, stream;
    size_t count;
    struct writer_event event[BATCH];
    uint32_t entry[BATCH]; /* of the thread's table, or NO_ENTRY */
};

static void tell_phases(struct thread *t, const struct run *run, size_t count)
{
    for (size_t i = 0; config.nvtx && i < count; i++) {
        uint64_t ns = run->event[i].duration_ns;
        if (run->entry[i] != NO_ENTRY)
            nvtx_write_calls(t, run->entry[i], &(struct table_phase){ 1, ns, ns, ns });
    }
}

static void give_events(struct drain *d, struct thread *t, struct run *run)
{
    size_t count = run->count;
    run->count = 0;
    if (count == 0)
        return;
    if (is_closed(d)) {
        lose(d, d->closed, count);
        return;
    }
    if (writer_pending_bytes(d->w) > PENDING_MAX)
        write_frame(d);
    if (is_closed(d) || writer_events(d->w, run->thread, run->stream, run->event, count) != ST_OK) {
        lose(d, is_closed(d) ? d->closed : LOSS_NO_MEMORY, count);
        return;
    }
    tell_phases(t, run, count);
    d->pending += count;
    d->counters.recorded += count;
}

/* Into the run; calls of another stream end it first. */
static void add_event(struct drain *d, struct thread *t, struct run *run, uint32_t stream,
                      uint32_t entry, struct writer_event event)
{
    if (stream != run->stream || run->count == BATCH)
        give_events(d, t, run);
    run->stream = stream;
    run->entry[run->count] = entry;
    run->event[run->count++] = event;
}

static void take_from_ring(struct drain *d, struct thread *t, struct run *run)
{
    struct ring_event e = ring_peek(&t->ring, 0);
    uint32_t entry = ring_entry(e), id = drain_signature(d, t, entry);
    if (id == NO_ID)
        lose(d, LOSS_SIGNATURE_CAP, 1);
    else
        add_event(d, t, run, ring_stream(e), entry,
                  event_of(t, id, e.start_ticks, ring_duration_ticks(e)));
    ring_pop(&t->ring, 1);
}

/* A call of the journal is in no phase. */
static void take_from_journal(struct drain *d, struct thread *t, struct journal *j, struct run *run)
{
    const struct journal_call *call = journal_peek(j, 0);
    struct tilewise_signature key;
    uint32_t stream, id = NO_ID;
    if (call->slot == SLOT_cudnnBackendExecute)
        cudnn_plan_read(call, &key, &stream);
    else
        cublas_read(call, &key, &stream);
    int32_t entry = table_find_next(&j->table, &key);
    if (entry >= 0)
        id = signature_of(d, &j->table, (uint32_t)entry);
    if (id == NO_ID)
        lose(d, entry == TABLE_NO_MEMORY ? LOSS_NO_MEMORY : LOSS_SIGNATURE_CAP, 1);
    else
        add_event(d, t, run, stream, NO_ENTRY,
                  event_of(t, id, call->start_ticks, call->end_ticks - call->start_ticks));
    journal_take(j, 1);
}

/* Of both, in the order in which the calls began. */
static void drain_thread(struct drain *d, struct thread *t, uint32_t number, uint64_t in_ring,
                         uint64_t in_journal)
{
    struct run run = { .thread = number };
    struct journal *j = t->journal;
    while (in_ring + in_journal > 0) {
        bool from_ring = in_journal == 0 || (in_ring > 0 && ring_peek(&t->ring, 0).start_ticks <=
                                                                journal_peek(j, 0)->start_ticks);
        if (from_ring)
            take_from_ring(d, t, &run);
        else
            take_from_journal(d, t, j, &run);
        in_ring -= from_ring;
        in_journal -= !from_ring;
    }
    give_events(d, t, &run);
}

uint64_t drain_events(struct drain *d)
{
    uint64_t total = 0;
    for (uint32_t i = 0, n = thread_count(); i < n; i++) {
        struct thread *t = thread_at(i);
        struct journal *j = t ? t->journal : NULL;
        uint64_t in_ring = t ? ring_waiting(&t->ring) : 0;
        uint64_t in_journal = j ? journal_waiting(j) : 0;
        if (in_ring + in_journal > 0)
            drain_thread(d, t, i, in_ring, in_journal);
        total += in_ring + in_journal;
    }
    return total;
}

static uint64_t grow(_Atomic uint64_t *now, _Atomic uint64_t *written)
{
    uint64_t value = atomic_load_explicit(now, memory_order_acquire);
    uint64_t before = atomic_load_explicit(written, memory_order_relaxed);
    atomic_store_explicit(written, value, memory_order_relaxed);
    return value - before;
}

/* What was counted since the last time. The number of calls is the sum of the buckets, so that the
 * two agree at any moment of the owner's. */
static struct writer_count increment(struct table_counts *now, struct table_counts *written)
{
    struct writer_count c = { 0 };
    for (int b = 0; b < HISTOGRAM_BUCKETS; b++) {
        c.histogram.count[b] = grow(&now->bucket[b], &written->bucket[b]);
        c.calls += c.histogram.count[b];
    }
    if (c.calls == 0)
        return c;
    c.sum_ns = grow(&now->sum_ns, &written->sum_ns);
    c.min_ns = atomic_load_explicit(&now->min_ns, memory_order_relaxed);
    c.max_ns = atomic_load_explicit(&now->max_ns, memory_order_relaxed);
    return c;
}

static void give_count(struct drain *d, struct thread *t, uint32_t entry,
                       const struct writer_count *c)
{
    uint32_t id = drain_signature(d, t, entry);
    if (writer_pending_bytes(d->w) > PENDING_MAX)
        write_frame(d);
    if (id == NO_ID || is_closed(d) || writer_count(d->w, id, c) != ST_OK) {
        lose(d,
             id == NO_ID    ? LOSS_SIGNATURE_CAP
             : is_closed(d) ? d->closed
                            : LOSS_NO_MEMORY,
             c->calls);
        return;
    }
    nvtx_write_calls(t, entry, &(struct table_phase){ c->calls, c->sum_ns, c->min_ns, c->max_ns });
    d->pending += c->calls;
    d->pending_untimed += c->calls;
    d->counters.recorded += c->calls;
    d->counters.untimed += c->calls;
}

static void drain_table(struct drain *d, struct thread *t)
{
    uint32_t used = atomic_load_explicit(&t->table.used, memory_order_acquire);
    for (uint32_t entry = 0; entry < used; entry++) {
        struct table_chunk_counts *chunk =
            atomic_load_explicit(&t->table.chunk[entry / TABLE_CHUNK].counts, memory_order_acquire);
        if (!chunk) {
            entry |= TABLE_CHUNK - 1; /* to the next chunk */
            continue;
        }
        struct writer_count c =
            increment(&chunk->counts[entry % TABLE_CHUNK], &chunk->written[entry % TABLE_CHUNK]);
        if (c.calls)
            give_count(d, t, entry, &c);
    }
}

static void drain_counts(struct drain *d)
{
    graph_settle();
    for (uint32_t i = 0, n = thread_count(); i < n; i++) {
        struct thread *t = thread_at(i);
        uint64_t untimed = t ? atomic_load_explicit(&t->untimed, memory_order_acquire) : 0;
        if (t && untimed != t->untimed_written) {
            t->untimed_written = untimed;
            drain_table(d, t);
        }
    }
}

void drain_frame(struct drain *d)
{
    drain_counts(d);
    if (is_closed(d))
        return;
    cupti_write(d);
    write_frame(d);
}

static bool has_rest(void)
{
    return cupti_is_dirty() || nvtx_write_is_dirty();
}

bool drain_has_more(const struct drain *d)
{
    return !is_closed(d) && has_rest();
}

bool drain_is_dirty(const struct drain *d)
{
    struct trace_counters c = drain_counters(d);
    if (c.seen + c.failed != d->told || graph_is_dirty() || has_rest())
        return true;
    for (uint32_t i = 0, n = thread_count(); i < n; i++) {
        struct thread *t = thread_at(i);
        if (t && atomic_load_explicit(&t->untimed, memory_order_relaxed) != t->untimed_written)
            return true;
    }
    return false;
}
