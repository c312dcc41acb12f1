/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cupti_window.h"

#include <stddef.h>

#include "tracer/buffers.h"
#include "tracer/clock.h"
#include "tracer/kernels.h"
#include "tracer/launching.h"
#include "tracer/ledger.h"
#include "tracer/pace.h"

#define MS ((uint64_t)1000000)

enum {
    DRAIN_MS = 1000,    /* for the records of a window that was closed */
    DRAIN_POLL_MS = 10, /* behind it; each time twice as long */
};

struct count {
    uint64_t launches, nodes, records;
};

struct duty_window cupti_window_cost;
static const struct cupti_functions *cupti;
static void *subscriber;
static struct count at_begin;
static uint64_t accounted; /* records that some row tells of */
static struct spans_anchor begin_anchor, end_anchor;
static uint64_t begin_ns, end_ns, drain_end_ns, drain_poll_ns, begin_handling_ns, own_ns;

void cupti_window_start(const struct cupti_functions *functions, void *of)
{
    cupti = functions;
    subscriber = of;
}

static struct count count_now(void)
{
    return (struct count){ .launches = launching_launches(),
                           .nodes = launching_nodes(),
                           .records = buffers_records() };
}

/* Launches and kernels of graphs. */
static uint64_t launched_until(const struct count *now)
{
    return now->launches - at_begin.launches + now->nodes - at_begin.nodes;
}

/* Of a few tries the one with the least time in between. */
static struct spans_anchor read_clocks(void)
{
    struct spans_anchor best = { 0 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t cupti_ns, before_ns = clock_ns(CLOCK_MONOTONIC);
        if (cupti->GetTimestamp(&cupti_ns) != CUPTI_OK)
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
        on ? cupti->ActivityEnable(kinds[i]) : cupti->ActivityDisable(kinds[i]);
}

void cupti_window_open(uint64_t now_ns)
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
    cupti_window_cost.switch_ns = pace_since_mark().ns;
    begin_anchor = read_clocks();
    begin_ns = now_ns;
    own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

/* What the flushes took beyond the handling of records, which is measured there. */
static void flush_records(void)
{
    uint64_t before_ns = clock_ns(CLOCK_MONOTONIC), handled_ns = buffers_handling_ns();
    cupti->ActivityFlushAll(0);
    uint64_t flush_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
    handled_ns = buffers_handling_ns() - handled_ns;
    own_ns += flush_ns > handled_ns ? flush_ns - handled_ns : 0;
}

void cupti_window_close(uint64_t now_ns)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t switch_ns = clock_ns(CLOCK_MONOTONIC);
    switch_records(false);
    launching_switch(subscriber, false);
    launching_next_window();
    cupti_window_cost.inside = pace_since_mark();
    cupti_window_cost.switch_ns += clock_ns(CLOCK_MONOTONIC) - switch_ns;
    end_anchor = read_clocks();
    kernels_trust_until(end_anchor.cupti_ns);
    end_ns = now_ns;
    drain_end_ns = now_ns + DRAIN_MS * MS;
    drain_poll_ns = DRAIN_POLL_MS * MS;
    own_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    flush_records(); /* before a graph is launched again and its last times are overwritten */
}

/* Launches that left no record are dropped, once no more are to come; a record of a launch that
 * was not counted (a graph made before us, a launch on the edge of the window) is one. */
static void settle(uint64_t to_ns, bool last)
{
    if (!last)
        end_anchor = read_clocks();
    buffers_settle();
    struct count now = count_now();
    uint64_t counted = launched_until(&now);
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
    return now_ns >= drain_end_ns || now.records - at_begin.records >= launched_until(&now);
}

void cupti_window_finish(void)
{
    struct count now = count_now();
    cupti_window_cost.handling_ns = own_ns + buffers_handling_ns() - begin_handling_ns;
    cupti_window_cost.launches = now.launches - at_begin.launches;
    cupti_window_cost.nodes = now.nodes - at_begin.nodes;
    settle(end_ns, true);
}

bool cupti_window_drain(uint64_t now_ns)
{
    drain_poll_ns *= 2;
    flush_records();
    if (!is_drained(now_ns))
        return false;
    cupti_window_finish();
    return true;
}

void cupti_window_go_on(uint64_t now_ns, uint64_t row_ns)
{
    flush_records();
    if (now_ns - begin_ns >= row_ns)
        settle(now_ns, false);
}

void cupti_window_add_late(void)
{
    if (buffers_records() > accounted)
        settle(end_ns, true);
}

uint64_t cupti_window_kernels(void)
{
    struct count now = count_now();
    return launched_until(&now);
}

uint64_t cupti_window_poll_ns(void)
{
    return drain_poll_ns;
}
