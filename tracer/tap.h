/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder's side of a hook: enter before the real call, leave after it. Between the two, calls
 * that the library makes to itself are not counted again. On the hot path there is no lock, no
 * allocation and no system call, and errno is untouched. Every function: any thread, and signal
 * handlers.
 */
#ifndef TILEWISE_TRACER_TAP_H
#define TILEWISE_TRACER_TAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/clock.h"
#include "tracer/hot.h"
#include "tracer/pass.h"
#include "tracer/thread.h"
#include "traces/counters.h"
#include "traces/signature.h"

/* Of the process. Until the first one that is not off, a hook makes the real call and no more. */
enum tap_state {
    TAP_UNLOADED, /* our constructor did not run yet */
    TAP_INERT,    /* not wanted here, or nowhere to write to */
    TAP_PAUSED,
    TAP_ENDED,
    TAP_WANTED,   /* nothing has happened yet; the first that is not off */
    TAP_STARTING, /* a thread is in start() */
    TAP_RECORDING,
    TAP_ENDING, /* the writer is finishing the file: calls are counted as dropped */
};
extern HOT_DATA _Atomic int tap_state;
_Static_assert(TAP_WANTED == PASS_STATE_ON && TAP_ENDED < TAP_WANTED, "pass_entry.S");

static inline bool tap_is_off(void)
{
    return atomic_load_explicit(&tap_state, memory_order_relaxed) < TAP_WANTED;
}

/* Will this process never be recorded? */
static inline bool tap_is_inert(void)
{
    return atomic_load_explicit(&tap_state, memory_order_relaxed) == TAP_INERT;
}

enum tap_phase {
    TAP_OUTSIDE,
    TAP_IN_CALL, /* in the real function */
    TAP_BUSY,    /* in the recorder itself: a hook called now is a signal handler's */
};

/* All the thread-local storage of this library. */
struct tap_self {
    _Alignas(HOT_LINE) struct thread *thread; /* NULL: no record, count the call as dropped[loss] */
    uint32_t epoch;
    uint8_t phase, loss; /* loss: 0 with a record */
    uint8_t nvtx_phase;  /* number of the innermost phase; 0: none is open */
    /* Of the hooked call: its number in launches.h, once it launches something while a window is
     * open. Of the launch that this thread is in: see cupti.c. */
    uint8_t gpu_depth;
    bool gpu_is_captured, gpu_is_first, gpu_is_kernel, gpu_is_unclear;
    uint32_t gpu_call, gpu_window, gpu_nodes, gpu_correlation;
    uint32_t journal_room;    /* calls that fit into the thread's journal at journal_next */
    struct nvtx_thread *nvtx; /* open ranges, NULL before the first one: nvtx_range.c */
    struct journal_call *journal_next;
    uint32_t journal_number; /* of that call; 0: not known */
};
_Static_assert(sizeof(struct tap_self) == HOT_LINE, "one line");
_Static_assert(offsetof(struct tap_self, epoch) == PASS_SELF_EPOCH &&
                   offsetof(struct tap_self, phase) == PASS_SELF_STATE &&
                   offsetof(struct tap_self, gpu_depth) == PASS_SELF_STATE + 3 &&
                   offsetof(struct tap_self, gpu_call) == PASS_SELF_GPU_CALL &&
                   offsetof(struct tap_self, journal_room) == PASS_SELF_ROOM &&
                   offsetof(struct tap_self, journal_next) == PASS_SELF_NEXT &&
                   offsetof(struct tap_self, journal_number) == PASS_SELF_NUMBER,
               "pass_entry.S");

extern __thread struct tap_self tap_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Number of this recording, TAP_OFF while there is none. A thread whose own number differs takes
 * the slow path. A fork child starts at TAP_OFF and gets a number that no parent had. */
enum { TAP_OFF = 0x7fffffff };
extern HOT_DATA _Atomic uint32_t tap_epoch;
extern HOT_DATA bool tap_events; /* record events, not only counts */
/* Where tap_self lies from the thread pointer; 0 before our constructor has run. */
extern HOT_DATA int64_t tap_self_offset;

bool tap_enter_slow(const void *caller);
void tap_drop(enum loss_cause cause);
void tap_drop_many(enum loss_cause cause, uint64_t calls);
/* Has our constructor run? */
bool tap_is_loaded(void);
/* Is it recorded now, or from its first call on? */
bool tap_is_listening(void);
/* Is recording switched off, and may come on again? */
bool tap_is_paused(void);
/* Between enter and leave: the library will refuse this call. */
void tap_fail(const void *caller);

/* Is this thread recorded, and outside of all hooks? */
static inline bool tap_is_ready(const struct tap_self *self)
{
    return __builtin_expect(self->epoch == atomic_load_explicit(&tap_epoch, memory_order_relaxed) &&
                                self->phase == TAP_OUTSIDE,
                            1);
}

/* tap_enter for a thread that is ready. */
static inline void tap_enter_ready(struct tap_self *self)
{
    self->phase = TAP_IN_CALL;
}

/* False: make the real call and nothing else. `caller`: where the hook returns to. */
static inline bool tap_enter(const void *caller)
{
    struct tap_self *self = &tap_self;
    if (!tap_is_ready(self))
        return tap_enter_slow(caller);
    tap_enter_ready(self);
    return true;
}

/* In a thread's table, the upper byte of a key's entry is the phase that the call was made in. */
enum { TAP_PHASE_SHIFT = 24, TAP_ENTRY_MASK = (1 << TAP_PHASE_SHIFT) - 1 };

static inline struct tilewise_signature tap_in_phase(const struct tilewise_signature *key,
                                                     uint8_t phase)
{
    struct tilewise_signature in_phase = *key;
    in_phase.entry |= (uint32_t)phase << TAP_PHASE_SHIFT;
    return in_phase;
}

/* One call, into the record of the calling thread, which is held. One function for all hooks: so it
 * is in the caches more often. */
void tap_record(struct thread *t, const struct tilewise_signature *key, uint64_t start_ticks,
                uint64_t duration_ticks, uint32_t stream);

/* tap_leave in three steps, for a call that makes several records or none. Between hold and
 * release, a signal handler finds the recorder busy. */
static inline void tap_hold(void)
{
    tap_self.phase = TAP_BUSY;
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void tap_add(const struct tilewise_signature *key, uint64_t start_ticks,
                           uint64_t duration_ticks, uint32_t stream)
{
    struct tap_self *self = &tap_self;
    if (__builtin_expect(self->thread != NULL, 1))
        tap_record(self->thread, key, start_ticks, duration_ticks, stream);
    else
        tap_drop(self->loss);
}

static inline void tap_release(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    tap_self.phase = TAP_OUTSIDE;
}

void tap_record_untimed(struct thread *t, uint32_t entry, uint64_t ns);

/* As hold, add and release, for a call that is told in the words of the table's rows. False: it is
 * not the one that was expected, or rows are not the way now, and nothing is done. */
static inline bool tap_add_expected(const struct table_call *call, uint64_t start_ticks,
                                    uint64_t duration_ticks, uint32_t stream)
{
    struct tap_self *self = &tap_self;
    struct thread *t = self->thread;
    if (!t || self->nvtx_phase != 0 || !tap_events || !table_is_expected(&t->table, call))
        return false;
    tap_hold();
    thread_add(&t->seen); /* first: the writer may already count what follows */
    uint16_t entry = t->table.guess;
    struct ring_event event = { start_ticks, ring_pack(duration_ticks, stream, entry) };
    if (__builtin_expect(!ring_push(&t->ring, event), 0))
        tap_record_untimed(t, entry, clock_span_ns(duration_ticks));
    table_expect_next(&t->table, entry);
    tap_release();
    return true;
}

/* In a call: this thread may write its next calls into its journal. */
void tap_open_journal(void);

/* While held: the call that was added last is this one in the words of the rows. */
static inline void tap_learn(const struct table_call *call, const struct tilewise_signature *key)
{
    if (tap_self.thread && tap_self.nvtx_phase == 0)
        table_learn(&tap_self.thread->table, call, key);
}

/* The real call has returned and did its work. */
static inline void tap_leave(const struct tilewise_signature *key, uint64_t start_ticks)
{
    uint64_t end_ticks = clock_ticks();
    tap_hold();
    tap_add(key, start_ticks, end_ticks - start_ticks, 0);
    tap_release();
}

/* Where tap_enter said no: mark the call all the same, so that the library's calls to itself are
 * told from the host's. Ends with tap_release. False inside another call, and where this process
 * is never recorded. */
static inline bool tap_enter_unrecorded(void)
{
    if (tap_self.phase != TAP_OUTSIDE || tap_is_inert())
        return false;
    tap_self.phase = TAP_IN_CALL;
    return true;
}

/* Begin to record if this process is wanted and nothing has happened yet. */
void tap_start(void);

/* For the writer thread. */

/* Calls dropped, by cause, that belong to no thread record. */
uint64_t tap_dropped(enum loss_cause cause);
/* Switch recording off and on again (ctl); no effect once the process is ending. */
void tap_pause(void);
void tap_resume(void);
/* There is nowhere to write to: never record in this process. */
void tap_give_up(void);

#endif
