/* SPDX-License-Identifier: Apache-2.0
 *
 * Time for the hot path: the processor's counter where it runs at a constant rate, else
 * CLOCK_MONOTONIC. Two reads of the latter cost more than everything else that a hook does.
 */
#ifndef TILEWISE_TRACER_CLOCK_H
#define TILEWISE_TRACER_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "tracer/hot.h"

extern HOT_DATA bool clock_has_counter;             /* set once by clock_start */
extern HOT_DATA _Atomic uint64_t clock_ns_per_tick; /* 32.32 fixed point */

static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(clock_has_counter, 1))
        return __rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(clock_has_counter, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return clock_ns(CLOCK_MONOTONIC);
}

/* Length of a span; any thread. */
static inline uint64_t clock_span_ns(uint64_t ticks)
{
    uint64_t rate = atomic_load_explicit(&clock_ns_per_tick, memory_order_relaxed);
    return (uint64_t)(((unsigned __int128)ticks * rate) >> 32);
}

/* Choose the source and measure its rate for 50 us. Once, before any other call. Sets the time that
 * clock_since_start_ns counts from. */
void clock_start(void);

/* CLOCK_MONOTONIC at clock_start. */
uint64_t clock_start_ns(void);

/* ns between clock_start and a value of clock_ticks, 0 if before; the writer thread only. */
uint64_t clock_since_start_ns(uint64_t ticks);

/* Measure the rate again, over all the time since clock_start; the writer thread only. */
void clock_tune(void);

#endif
