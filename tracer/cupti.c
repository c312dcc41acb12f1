/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cupti.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/buffers.h"
#include "tracer/clock.h"
#include "tracer/config.h"
#include "tracer/cupti_abi.h"
#include "tracer/cupti_find.h"
#include "tracer/flush.h"
#include "tracer/kernels.h"
#include "tracer/launching.h"
#include "tracer/ledger.h"
#include "tracer/pace.h"
#include "tracer/tap.h"

#define MS ((uint64_t)1000000)

enum {
    DRAIN_MS = 1000,    /* for the records of a window that was closed */
    POLL_MS = 2,        /* while one is open */
    DRAIN_POLL_MS = 10, /* behind it; each time twice as long */
    LOOK_MS = 100,      /* while nothing is to be done soon */
    SEGMENT_MS = 500,   /* full: a row of the trace */
    EXIT_MS = 300,      /* the host ends, and the keeper may be stuck in CUPTI */
    NEVER_MS = 3600000,
};

/* WAITING: not attached. BEFORE and BEHIND: watching how fast the host is without a window. */
enum mode { OFF, WAITING, RESTING, BEFORE, OPEN, DRAINING, BEHIND };

struct count {
    uint64_t launches, nodes, records;
};
/* Who allows so much wants it at once, even where being attached alone costs more. */
static const double AT_ONCE_BUDGET = 0.05;

HOT_DATA _Atomic bool cupti_is_due;
static struct cupti_functions api;
static void *subscriber;
static const char *_Atomic state = "";
static _Atomic bool busy; /* somebody calls CUPTI on our behalf */
static bool has_forked, has_exit_handler;
static pid_t owner;

/* Below: while `busy`. */
static _Atomic enum mode mode;
static struct count at_begin;
static uint64_t accounted; /* records that some row tells of */
static struct spans_anchor begin_anchor, end_anchor;
static uint64_t begin_ns, end_ns, drain_end_ns, drain_poll_ns, begin_handling_ns, own_ns;
static struct duty_window window; /* the cost of the one under way */
static uint64_t stop_ns;          /* when it ended, 0 before */
static bool is_steady;            /* recording was on in all of it */

static bool take(uint64_t wait_ms)
{
    uint64_t limit_ns = clock_ns(CLOCK_MONOTONIC) + wait_ms * MS;
    while (atomic_exchange_explicit(&busy, true, memory_order_acquire)) {
        if (clock_ns(CLOCK_MONOTONIC) >= limit_ns)
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
    pace_mark();
    launching_next_window();
    kernels_trust_until(UINT64_MAX);
    launching_switch(subscriber, true);
    switch_records(true);
    window.switch_ns = pace_since_mark().ns;
    begin_anchor = read_clocks();
    begin_ns = now_ns;
    own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    atomic_store(&mode, OPEN);
}

/* What the flushes took beyond the handling of records, which is measured there. */
static void flush_records(void)
{
    uint64_t before_ns = clock_ns(CLOCK_MONOTONIC), handled_ns = buffers_handling_ns();
    api.ActivityFlushAll(0);
    uint64_t flush_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
    handled_ns = buffers_handling_ns() - handled_ns;
    own_ns += flush_ns > handled_ns ? flush_ns - handled_ns : 0;
}

static void close_window(uint64_t now_ns)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t switch_ns = clock_ns(CLOCK_MONOTONIC);
    switch_records(false);
    launching_switch(subscriber, false);
    launching_next_window();
    window.inside = pace_since_mark();
    window.switch_ns += clock_ns(CLOCK_MONOTONIC) - switch_ns;
    end_anchor = read_clocks();
    kernels_trust_until(end_anchor.cupti_ns);
    end_ns = now_ns;
    drain_end_ns = now_ns + DRAIN_MS * MS;
    drain_poll_ns = DRAIN_POLL_MS * MS;
    own_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    flush_records(); /* before a graph is launched again and its last times are overwritten */
    atomic_store(&mode, DRAINING);
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
    ledger_add(&w);
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

static void finish_window(void)
{
    struct count now = count_now();
    window.handling_ns = own_ns + buffers_handling_ns() - begin_handling_ns;
    window.launches = now.launches - at_begin.launches;
    window.nodes = now.nodes - at_begin.nodes;
    settle(end_ns, true);
}

static void drain_window(uint64_t now_ns)
{
    drain_poll_ns *= 2;
    flush_records();
    if (!is_drained(now_ns))
        return;
    finish_window();
    pace_mark();
    atomic_store(&mode, BEHIND);
}

static void charge_window(uint64_t now_ns)
{
    struct duty_stretch behind = pace_since_mark();
    window.outside.ns += behind.ns;
    window.outside.progress += behind.progress;
    if (!is_steady)
        window.outside = (struct duty_stretch){ 0 };
    pace_charge(now_ns, &window);
    atomic_store(&mode, RESTING);
}

static bool is_recording(void)
{
    return atomic_load(&tap_epoch) != TAP_OFF;
}

static bool is_full(void)
{
    return config.gpu_time == CONFIG_GPU_FULL;
}

static void turn_closed(uint64_t now_ns)
{
    if (mode == RESTING && duty_is_near(&pace_duty, now_ns)) {
        pace_mark();
        is_steady = true;
        atomic_store(&mode, BEFORE);
    } else if (mode == BEFORE && duty_is_due(&pace_duty, now_ns)) {
        window = (struct duty_window){ .outside = pace_since_mark() };
        duty_open(&pace_duty, now_ns);
        open_window(now_ns);
    } else if (mode == BEHIND && pace_since_mark().ns >= pace_duty.options.stretch_ns) {
        charge_window(now_ns);
    }
}

/* How long nothing needs to be done. */
static uint64_t rest_ns(uint64_t now_ns)
{
    uint64_t look_ns = LOOK_MS * MS, until_ns = now_ns + look_ns;
    if (mode == OPEN)
        return POLL_MS * MS;
    if (mode == DRAINING)
        return drain_poll_ns;
    if (mode == RESTING)
        until_ns = pace_duty.next_ns - pace_duty.options.stretch_ns;
    else if (mode == BEFORE)
        until_ns = pace_duty.next_ns;
    else if (mode == BEHIND)
        until_ns = now_ns + pace_duty.options.stretch_ns - pace_since_mark().ns;
    uint64_t rest = until_ns > now_ns ? until_ns - now_ns : 0;
    return rest > look_ns ? look_ns : rest;
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

/* Or `state` says why not. At exit we leave before CUDA and CUPTI: their handlers came earlier. */
static void attach_now(uint64_t now_ns)
{
    const char *trouble = subscribe();
    if (trouble) {
        atomic_store(&state, trouble);
        atomic_store(&mode, OFF);
        return;
    }
    atexit(cupti_finish);
    launching_follow_graphs(subscriber);
    pace_attached(now_ns);
    atomic_store(&state, is_full() ? "full" : "windows");
    atomic_store(&mode, RESTING);
    if (is_full())
        open_window(now_ns);
}

/* Attached late, to what the process turned out to do; or the budget does not hold it yet. */
static uint64_t turn_waiting(uint64_t now_ns)
{
    pace_look(now_ns);
    if (pace_may_attach())
        attach_now(now_ns);
    else if (pace_is_known())
        atomic_store(&state, "waiting: being attached would cost more than half of the budget");
    return LOOK_MS * MS;
}

static uint64_t turn_windows(uint64_t now_ns)
{
    struct count now = count_now();
    bool on = is_recording();
    pace_look(now_ns);
    uint64_t kernels = now.launches - at_begin.launches + now.nodes - at_begin.nodes;
    is_steady &= on;
    if (mode == OPEN && (!on || duty_is_over(&pace_duty, now_ns, kernels)))
        close_window(now_ns);
    else if (mode == DRAINING)
        drain_window(now_ns);
    else if (mode == BEHIND || on)
        turn_closed(now_ns);
    else if (mode == BEFORE)
        atomic_store(&mode, RESTING);
    return on || mode == DRAINING ? rest_ns(now_ns) : LOOK_MS * MS;
}

/* One window after the other, while recording is on. */
static uint64_t turn_full(uint64_t now_ns)
{
    bool on = is_recording();
    if (mode == DRAINING) {
        drain_window(now_ns);
    } else if (mode == OPEN && !on) {
        close_window(now_ns);
    } else if (mode == OPEN) {
        flush_records();
        if (now_ns - begin_ns >= SEGMENT_MS * MS)
            settle(now_ns, false);
    } else if (on) {
        open_window(now_ns);
    }
    return mode == DRAINING ? drain_poll_ns : LOOK_MS * MS;
}

uint64_t cupti_turn(uint64_t now_ns)
{
    if (atomic_load(&mode) == OFF)
        return NEVER_MS * MS;
    if (!take(0))
        return POLL_MS * MS;
    uint64_t wait_ns = NEVER_MS * MS;
    if (mode == WAITING)
        wait_ns = turn_waiting(now_ns);
    else if (mode != OFF)
        wait_ns = is_full() ? turn_full(now_ns) : turn_windows(now_ns);
    give();
    return wait_ns;
}

/* Under `busy`: no more windows. */
static void stop(void)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    stop_ns = now_ns;
    if (mode == WAITING) {
        atomic_store(&mode, OFF);
        return;
    }
    if (mode == OPEN)
        close_window(now_ns);
    api.ActivityFlushAll(CUPTI_FLUSH_FORCED);
    if (mode == DRAINING)
        finish_window();
    else if (buffers_records() > accounted)
        settle(end_ns, true);
    if (!is_full() && (mode == DRAINING || mode == BEHIND)) {
        window.outside = (struct duty_stretch){ 0 };
        pace_charge(now_ns, &window);
    }
    buffers_settle();
    atomic_store(&mode, OFF);
}

void cupti_finish(void)
{
    if (atomic_load(&mode) == OFF || getpid() != owner || !take(EXIT_MS))
        return;
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
    take(NEVER_MS);
    if (mode != OFF) {
        stop();
        if (subscriber)
            api.Unsubscribe(subscriber);
        subscriber = NULL;
        atomic_store(&state, why);
    }
    give();
}

/* At once where all is wanted, or the budget is large: what is captured into graphs before is known
 * by name only. */
static void begin(uint64_t now_ns)
{
    pace_start(now_ns);
    if (is_full() || config.gpu_budget >= AT_ONCE_BUDGET) {
        attach_now(now_ns);
        return;
    }
    /* It may be attached while the process is at its exit. */
    if (!has_exit_handler)
        has_exit_handler = atexit(cupti_finish) == 0;
    const char *trouble = config.gpu_taken ? "busy (another tool is to be injected)" : NULL;
    atomic_store(&state, trouble ? trouble : "waiting");
    atomic_store(&mode, trouble ? OFF : WAITING);
}

void cupti_start(void)
{
    if (!atomic_exchange(&cupti_is_due, false))
        return;
    int kept = errno;
    owner = getpid();
    take(NEVER_MS);
    begin(clock_ns(CLOCK_MONOTONIC));
    give();
    if (atomic_load(&mode) != OFF)
        flush_kick();
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
    if (!ledger_is_dirty() || !take(NEVER_MS))
        return;
    ledger_write(d);
    give();
}

bool cupti_is_dirty(void)
{
    return kernels_are_pending() || ledger_is_dirty();
}

void cupti_cost(char *text, size_t bytes)
{
    text[0] = '\0';
    if (config.gpu_time != CONFIG_GPU_WINDOWS || (!subscriber && !pace_is_known()) || !take(0))
        return;
    pace_words(text, bytes, subscriber != NULL, stop_ns ? stop_ns : clock_ns(CLOCK_MONOTONIC));
    give();
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
    stop_ns = 0;
    ledger_forget();
    launches_forget();
    kernels_forget();
}
