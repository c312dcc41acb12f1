/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/clock.h"

#include "tracer/hot.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { FIRST_MEASURE_NS = 50000 };

struct pair {
    uint64_t ticks, ns;
};

HOT_DATA bool clock_has_counter;
HOT_DATA _Atomic uint64_t clock_ns_per_tick = 1ull << 32;

static struct pair first, anchor;

static bool counter_is_constant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
    return true; /* aarch64: by architecture */
#endif
}

/* Both clocks at one moment: of a few tries the one with the least time in between. */
static struct pair read_pair(void)
{
    struct pair best = { 0 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = clock_ticks(), ns = clock_ns(CLOCK_MONOTONIC), after = clock_ticks();
        if (after - before < least) {
            least = after - before;
            best = (struct pair){ before + least / 2, ns };
        }
    }
    return best;
}

static void set_rate(struct pair now)
{
    if (!clock_has_counter || now.ticks <= first.ticks)
        return;
    unsigned __int128 ns = (unsigned __int128)(now.ns - first.ns) << 32;
    atomic_store_explicit(&clock_ns_per_tick, (uint64_t)(ns / (now.ticks - first.ticks)),
                          memory_order_relaxed);
}

void clock_start(void)
{
    clock_has_counter = counter_is_constant();
    first = anchor = read_pair();
    while (clock_has_counter && clock_ns(CLOCK_MONOTONIC) < first.ns + FIRST_MEASURE_NS)
        continue;
    set_rate(read_pair());
}

uint64_t clock_start_ns(void)
{
    return first.ns;
}

uint64_t clock_since_start_ns(uint64_t ticks)
{
    uint64_t at = anchor.ns - first.ns;
    if (ticks >= anchor.ticks)
        return at + clock_span_ns(ticks - anchor.ticks);
    uint64_t back = clock_span_ns(anchor.ticks - ticks);
    return back < at ? at - back : 0;
}

void clock_tune(void)
{
    struct pair now = read_pair();
    set_rate(now);
    anchor = now;
}
