/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU time, through CUPTI's activity records, in windows whose cost duty.h keeps below a budget.
 * CUPTI costs something from its first use on, so the windows begin when attach.h finds that the
 * budget holds that. CUPTI is loaded where the process's own CUDA lies, when the process has begun
 * to use CUDA, and only if nobody else uses it: it serves one tool at a time. When another one
 * comes later (a profiler in the process), we leave at once and for good; calls are counted all the
 * same.
 */
#ifndef TILEWISE_TRACER_CUPTI_H
#define TILEWISE_TRACER_CUPTI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/drain.h"
#include "tracer/hot.h"

/* GPU time is wanted and nothing has been tried yet. */
extern HOT_DATA _Atomic bool cupti_is_due;
void cupti_start(void);

/* On the way to the first use of CUDA: any host thread, outside of the library's calls. */
static inline bool cupti_is_wanted(void)
{
    return __builtin_expect(atomic_load_explicit(&cupti_is_due, memory_order_relaxed), 0);
}

static inline void cupti_look(void)
{
    if (cupti_is_wanted())
        cupti_start();
}

/* Recording begins in this process (or a fork child of one): allow a start. */
void cupti_allow(void);

/* Another user of CUPTI comes: unsubscribe, record nothing from now on. Any host thread. */
void cupti_yield(const char *why);

/* The keeper: open and close windows. It is to be a thread with the host's own descriptors, which
 * the driver works on. Returns how long it may sleep. */
uint64_t cupti_turn(uint64_t now_ns);
/* What was measured since the last time: rows of the next frame. */
void cupti_write(struct drain *d);
bool cupti_is_dirty(void);
/* The process ends: what is still in CUPTI's buffers. A host thread. */
void cupti_finish(void);

/* Why there is no GPU time, "" while there may be; the recorder's fact. */
const char *cupti_state(void);

/* What this is believed to cost the process, "" when it cannot be said; the recorder's last fact.
 * At least 160 bytes. */
void cupti_cost(char *text, size_t bytes);

/* In a fork child: CUPTI must not be called there. */
void cupti_forget(void);

#endif
