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
#include "tracer/cupti_window.h"
#include "tracer/flush.h"
#include "tracer/kernels.h"
#include "tracer/launching.h"
#include "tracer/ledger.h"
#include "tracer/pace.h"
#include "tracer/tap.h"

#define MS ((uint64_t)1000000)

enum {
    POLL_MS = 2,      /* while a window is open */
    LOOK_MS = 100,    /* while nothing is to be done soon */
    SEGMENT_MS = 500, /* full: a row of the trace */
    EXIT_MS = 300,    /* the host ends, and the keeper may be stuck in CUPTI */
    NEVER_MS = 3600000,
};

/* WAITING: not attached. BEFORE and BEHIND: watching how fast the host is without a window. */
enum mode { OFF, WAITING, RESTING, BEFORE, OPEN, DRAINING, BEHIND };

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
static uint64_t stop_ns; /* when it ended, 0 before */
static bool is_steady;   /* recording was on in all of the window under way */

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

static void open_window(uint64_t now_ns)
{
    cupti_window_open(now_ns);
    atomic_store(&mode, OPEN);
}

static void close_window(uint64_t now_ns)
{
    cupti_window_close(now_ns);
    atomic_store(&mode, DRAINING);
}

static void drain_window(uint64_t now_ns)
{
    if (!cupti_window_drain(now_ns))
        return;
    pace_mark();
    atomic_store(&mode, BEHIND);
}

static void charge_window(uint64_t now_ns)
{
    struct duty_stretch behind = pace_since_mark(), *outside = &cupti_window_cost.outside;
    outside->ns += behind.ns;
    outside->progress += behind.progress;
    if (!is_steady)
        *outside = (struct duty_stretch){ 0 };
    pace_charge(now_ns, &cupti_window_cost);
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
        cupti_window_cost = (struct duty_window){ .outside = pace_since_mark() };
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
        return cupti_window_poll_ns();
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
    cupti_window_start(&api, subscriber);
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
    bool on = is_recording();
    pace_look(now_ns);
    is_steady &= on;
    if (mode == OPEN && (!on || duty_is_over(&pace_duty, now_ns, cupti_window_kernels())))
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
        cupti_window_go_on(now_ns, SEGMENT_MS * MS);
    } else if (on) {
        open_window(now_ns);
    }
    return mode == DRAINING ? cupti_window_poll_ns() : LOOK_MS * MS;
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
        cupti_window_finish();
    else
        cupti_window_add_late();
    if (!is_full() && (mode == DRAINING || mode == BEHIND)) {
        cupti_window_cost.outside = (struct duty_stretch){ 0 };
        pace_charge(now_ns, &cupti_window_cost);
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
