/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's clock: for what is measured here, and for how long anything may take.
 */
#ifndef TILEWISE_REPLAYER_CLOCK_H
#define TILEWISE_REPLAYER_CLOCK_H

#include <stddef.h>
#include <time.h>

/* Since some moment of this boot. `unused`: so that it is one of struct timing_source. */
static inline double clock_now_ns(void *unused)
{
    struct timespec t;
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double clock_now_s(void)
{
    return clock_now_ns(NULL) * 1e-9;
}

#endif
