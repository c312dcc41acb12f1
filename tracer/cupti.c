/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cupti.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/buffers.h"
#include "tracer/clock.h"
#include "tracer/config.h"
#include "tracer/cupti_abi.h"
#include "tracer/cupti_find.h"
#include "tracer/duty.h"
#include "tracer/flush.h"
#include "tracer/kernels.h"
#include "tracer/launching.h"
#include "tracer/tap.h"

#define MS ((uint64_t)1000000)

enum {
    ROWS = 64,        /* windows that wait to be written */
    DRAIN_MS = 1000,  /* for the records of a window that was closed */
    POLL_MS = 20,     /* while one is open, and behind it */
    SEGMENT_MS = 500, /* full: a row of the trace */
    NEVER_MS = 3600000,
};

enum mode { OFF, RESTING, OPEN, DRAINING };

struct count {
    uint64_t launches, nodes, records;
};

_Atomic bool cupti_is_due;

static struct cupti_functions api;
static void *subscriber;
static const char *_Atomic state = "";
static _Atomic bool busy; /* somebody calls CUPTI on our behalf */
static bool has_forked, has_exit_handler;
static pid_t owner;

/* Below: while `busy`. */
static _Atomic enum mode mode;
static struct duty duty;
static struct count at_begin;
static uint64_t accounted; /* records that some row tells of */
static struct spans_anchor begin_anchor, end_anchor;
static uint64_t begin_ns, end_ns, drain_end_ns, begin_handling_ns, own_ns;
static struct gpu_window row[ROWS];
static unsigned rows;
static bool first_is_written; /* of `row`, whose intervals are on their way */
static struct gpu_totals totals;
static _Atomic bool totals_changed;

static bool take(bool wait)
{
    while (atomic_exchange_explicit(&busy, true, memory_order_acquire)) {
        if (!wait)
            return false;
        sched_yield();
    }
    return true;
}

static void give(void)
{
    atomic_store_explicit(&busy, false, memory_order_release);
}

static struct count count_now(void)
{
    return (struct count){ .launches = launching_launches(),
                           .nodes = launching_nodes(),
                           .records = buffers_records() };
}

/* Windows. */

static void switch_launches(uint32_t on)
{
#define ROW(domain, id, what, name) api.EnableCallback(on, subscriber, CUPTI_DOMAIN_##domain, id);
#include "tracer/cupti_launch.def"
#undef ROW
}

/* Of a few tries the one with the least time in between. */
static struct spans_anchor read_clocks(void)
{
    struct spans_anchor best = { 0 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t cupti_ns, before_ns = clock_ns(CLOCK_MONOTONIC);
        if (api.GetTimestamp(&cupti_ns) != CUPTI_OK)
            break;
        uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
        if (took_ns < least)
            best = (struct spans_anchor){ before_ns - clock_start_ns() + took_ns / 2, cupti_ns };
        least = took_ns < least ? took_ns : least;
    }
    return best;
}

static void switch_records(bool on)
{
    static const uint32_t kinds[] = { CUPTI_KIND_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_FILL };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        on ? api.ActivityEnable(kinds[i]) : api.ActivityDisable(kinds[i]);
}

static void open_window(uint64_t now_ns)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    at_begin = count_now();
    at_begin.records = accounted; /* what came late is told with this window */
    begin_handling_ns = buffers_handling_ns();
    launching_next_window();
    switch_launches(1);
    switch_records(true);
    begin_anchor = read_clocks();
    begin_ns = now_ns;
    own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    atomic_store(&mode, OPEN);
}

static void close_window(uint64_t now_ns)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    switch_records(false);
    end_anchor = read_clocks();
    switch_launches(0);
    launching_next_window();
    end_ns = now_ns;
    drain_end_ns = now_ns + DRAIN_MS * MS;
    own_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    atomic_store(&mode, DRAINING);
}

static void add_row(const struct gpu_window *w)
{
    totals.launches += w->launches;
    totals.records += w->records;
    totals.dropped += w->dropped;
    totals.busy_ns += w->busy_ns;
    totals.window_ns += w->end_ns - w->begin_ns;
    totals.windows++;
    totals_changed = true;
    if (rows < ROWS) {
        row[rows++] = *w;
        return;
    }
    struct gpu_window *last = &row[ROWS - 1]; /* nobody wrote for long: one longer window */
    last->end_ns = w->end_ns;
    last->busy_ns += w->busy_ns;
    last->launches += w->launches;
    last->records += w->records;
    last->dropped += w->dropped;
}

/* Launches that left no record are dropped, once no more are to come; a record of a launch that
 * was not counted (a graph made before us, a launch on the edge of the window) is one. */
static void settle(uint64_t to_ns, bool last)
{
    if (!last)
        end_anchor = read_clocks();
    buffers_settle();
    struct count now = count_now();
    uint64_t counted = now.launches - at_begin.launches + now.nodes - at_begin.nodes;
    uint64_t records = now.records - at_begin.records;
    uint64_t since_ns = clock_start_ns();
    struct gpu_window w = { .begin_ns = begin_ns - since_ns,
                            .end_ns = to_ns - since_ns,
                            .busy_ns = kernels_close_window(begin_ns - since_ns, &begin_anchor,
                                                            &end_anchor),
                            .records = records,
                            .dropped = last && counted > records ? counted - records : 0 };
    w.launches = w.records + w.dropped;
    add_row(&w);
    accounted += records;
    if (last) {
        at_begin = now;
    } else {
        at_begin.records = now.records;
        /* What was counted and has no record yet is still expected. */
        uint64_t expected = counted > records ? counted - records : 0;
        at_begin.launches = now.launches - expected;
        at_begin.nodes = now.nodes;
    }
    begin_ns = to_ns;
    begin_anchor = end_anchor;
}

static bool is_drained(uint64_t now_ns)
{
    struct count now = count_now();
    return now_ns >= drain_end_ns ||
           now.records - at_begin.records >=
               now.launches - at_begin.launches + now.nodes - at_begin.nodes;
}

static void drain_window(uint64_t now_ns)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t handled_ns = buffers_handling_ns();
    api.ActivityFlushAll(0);
    /* The handling may have been ours, in the flush: not twice. */
    uint64_t flush_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    handled_ns = buffers_handling_ns() - handled_ns;
    own_ns += flush_ns > handled_ns ? flush_ns - handled_ns : 0;
    if (!is_drained(now_ns))
        return;
    struct count now = count_now();
    struct duty_cost cost = { own_ns + buffers_handling_ns() - begin_handling_ns,
                              now.launches - at_begin.launches, now.nodes - at_begin.nodes };
    duty_close(&duty, end_ns, &cost);
    settle(end_ns, true);
    atomic_store(&mode, RESTING);
}

static uint64_t turn_windows(uint64_t now_ns)
{
    struct count now = count_now();
    bool is_recording = atomic_load(&tap_epoch) != TAP_OFF;
    if (mode == RESTING && is_recording && duty_is_due(&duty, now_ns)) {
        duty_open(&duty, now_ns);
        open_window(now_ns);
    } else if (mode == OPEN &&
               duty_is_over(&duty, now_ns,
                            now.launches - at_begin.launches + now.nodes - at_begin.nodes)) {
        close_window(now_ns);
    } else if (mode == DRAINING) {
        drain_window(now_ns);
    }
    uint64_t wait_ns = duty_wait_ns(&duty, now_ns), poll_ns = POLL_MS * MS;
    if (mode == DRAINING || (mode == RESTING && !is_recording))
        return poll_ns;
    return mode == OPEN && wait_ns > poll_ns ? poll_ns : wait_ns;
}

static uint64_t turn_full(uint64_t now_ns)
{
    api.ActivityFlushAll(0);
    if (now_ns - begin_ns >= SEGMENT_MS * MS)
        settle(now_ns, false);
    return 5 * POLL_MS * MS;
}

uint64_t cupti_turn(uint64_t now_ns)
{
    if (atomic_load(&mode) == OFF)
        return NEVER_MS * MS;
    if (!take(false))
        return POLL_MS * MS;
    uint64_t wait_ns = NEVER_MS * MS;
    if (mode != OFF)
        wait_ns = config.gpu_time == CONFIG_GPU_FULL ? turn_full(now_ns) : turn_windows(now_ns);
    give();
    return wait_ns;
}

/* Under `busy`: no more windows. */
static void stop(void)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    bool was_open = mode == OPEN;
    if (was_open)
        close_window(now_ns);
    api.ActivityFlushAll(CUPTI_FLUSH_FORCED);
    if (was_open || mode == DRAINING || buffers_records() > accounted)
        settle(end_ns, true);
    buffers_settle();
    atomic_store(&mode, OFF);
}

void cupti_finish(void)
{
    if (atomic_load(&mode) == OFF || getpid() != owner)
        return;
    take(true);
    if (mode != OFF)
        stop();
    give();
}

void cupti_yield(const char *why)
{
    atomic_store(&cupti_is_due, false);
    if (atomic_load(&mode) == OFF) {
        if (config.gpu_time != CONFIG_GPU_OFF && !subscriber)
            atomic_store(&state, why);
        return;
    }
    take(true);
    if (mode != OFF) {
        stop();
        api.Unsubscribe(subscriber);
        subscriber = NULL;
        atomic_store(&state, why);
    }
    give();
}

/* Beginning. */

static void follow_graphs(void)
{
    static const uint32_t id[] = { CUPTI_NODE_CREATE_STARTING, CUPTI_NODE_CREATED,
                                   CUPTI_NODE_CLONED, CUPTI_EXEC_CREATED,
                                   CUPTI_EXEC_DESTROY_STARTING };
    for (size_t i = 0; i < sizeof id / sizeof *id; i++)
        api.EnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, id[i]);
}

/* What stands in the way, NULL when it works. */
static const char *subscribe(void)
{
    uint32_t version = 0;
    if (config.gpu_taken)
        return "busy (another tool is to be injected)";
    if (!cupti_find(&api))
        return "absent (no libcupti where this process has CUDA from)";
    if (api.GetVersion(&version) != CUPTI_OK || version < CUPTI_VERSION_MIN)
        return "absent (this libcupti is older than CUDA 12.0)";
    if (!launches_start() || !kernels_start() || !buffers_start(&api))
        return "off (no memory)";
    launching_start(&api);
    if (api.Subscribe(&subscriber, launching_callback, NULL) != CUPTI_OK)
        return "busy (another tool has subscribed, or the driver refuses)";
    if (api.ActivityRegisterCallbacks(buffers_request, buffers_completed) != CUPTI_OK) {
        api.Unsubscribe(subscriber);
        return "off (activity records are refused)";
    }
    return NULL;
}

void cupti_start(void)
{
    if (!atomic_exchange(&cupti_is_due, false))
        return;
    int kept = errno;
    const char *trouble = subscribe();
    if (trouble) {
        atomic_store(&state, trouble);
        errno = kept;
        return;
    }
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    struct duty_options options = duty_defaults();
    take(true);
    follow_graphs();
    owner = getpid();
    duty_start(&duty, &options, now_ns);
    atomic_store(&state, config.gpu_time == CONFIG_GPU_FULL ? "full" : "windows");
    atomic_store(&mode, RESTING);
    if (config.gpu_time == CONFIG_GPU_FULL)
        open_window(now_ns);
    give();
    flush_kick();
    /* Before the handlers of CUDA, which came earlier. */
    if (!has_exit_handler)
        has_exit_handler = atexit(cupti_finish) == 0;
    errno = kept;
}

void cupti_allow(void)
{
    if (config.gpu_time != CONFIG_GPU_OFF && !has_forked && atomic_load(&mode) == OFF)
        atomic_store(&cupti_is_due, true);
}

void cupti_write(struct drain *d)
{
    kernels_write(d);
    if (!totals_changed || !take(true))
        return;
    unsigned done = 0;
    for (; done < rows; done++, first_is_written = false) {
        if (!first_is_written && writer_gpu_window(d->w, &row[done]) == ST_LIMIT)
            break;
        first_is_written = true;
        if (!kernels_write_window(d, row[done].begin_ns))
            break;
    }
    rows -= done;
    memmove(row, row + done, rows * sizeof *row);
    totals.untimed = kernels_untimed();
    if (totals.untimed > totals.records)
        totals.untimed = totals.records;
    totals_changed = writer_gpu_totals(d->w, &totals) == ST_LIMIT || rows > 0;
    give();
}

bool cupti_is_dirty(void)
{
    return kernels_are_pending() || totals_changed;
}

const char *cupti_state(void)
{
    return atomic_load(&state);
}

void cupti_forget(void)
{
    bool was_used = subscriber != NULL;
    atomic_store(&mode, OFF);
    atomic_store(&cupti_is_due, false);
    atomic_store(&busy, false);
    if (was_used)
        atomic_store(&state, "off (in a forked child)");
    has_forked |= was_used;
    rows = 0;
    first_is_written = false;
    totals = (struct gpu_totals){ 0 };
    totals_changed = false;
    launches_forget();
    kernels_forget();
}
