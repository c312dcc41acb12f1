/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tracer/config.h"
#include "tracer/cupti.h"
#include "tracer/flush.h"
#include "tracer/graph.h"
#include "tracer/host.h"
#include "tracer/hot.h"
#include "tracer/nvtx_range.h"
#include "tracer/slot.h"

enum { START_WAITS = 50, START_WAIT_NS = 100000 };

__thread struct tap_self tap_self __attribute__((tls_model("initial-exec")));
HOT_DATA _Atomic uint32_t tap_epoch = TAP_OFF;
HOT_DATA bool tap_events;
HOT_DATA int64_t tap_self_offset;
HOT_DATA _Atomic int tap_state = TAP_UNLOADED;

static uint32_t epoch;
static pid_t owner;
static _Atomic uint64_t dropped[LOSS_MAX];
static pthread_key_t exit_key;
static bool has_exit_key, has_handlers;

uint64_t tap_dropped(enum loss_cause cause)
{
    return atomic_load_explicit(&dropped[cause], memory_order_relaxed);
}

void tap_drop_many(enum loss_cause cause, uint64_t calls)
{
    atomic_fetch_add_explicit(&dropped[cause], calls, memory_order_relaxed);
}

void tap_drop(enum loss_cause cause)
{
    tap_drop_many(cause, 1);
}

bool tap_is_loaded(void)
{
    return atomic_load_explicit(&tap_state, memory_order_relaxed) != TAP_UNLOADED;
}

bool tap_is_listening(void)
{
    int now = atomic_load_explicit(&tap_state, memory_order_relaxed);
    return now == TAP_WANTED || now == TAP_STARTING || now == TAP_RECORDING;
}

bool tap_is_paused(void)
{
    return atomic_load_explicit(&tap_state, memory_order_relaxed) == TAP_PAUSED;
}

static bool change(enum tap_state from, enum tap_state to)
{
    int expected = from;
    return atomic_compare_exchange_strong(&tap_state, &expected, to);
}

void tap_pause(void)
{
    if (change(TAP_RECORDING, TAP_PAUSED))
        atomic_store(&tap_epoch, TAP_OFF);
}

void tap_resume(void)
{
    if (change(TAP_PAUSED, TAP_RECORDING))
        atomic_store(&tap_epoch, epoch);
}

void tap_give_up(void)
{
    atomic_store(&tap_epoch, TAP_OFF);
    atomic_store(&tap_state, TAP_INERT);
}

/* The process ends: stop, write what there is, in bounded time. */
static void finish(void)
{
    int now = atomic_load(&tap_state);
    /* A child of a bare clone() carries our state and no writer thread. */
    if ((now != TAP_RECORDING && now != TAP_PAUSED) || getpid() != owner ||
        !change(now, TAP_ENDING))
        return;
    atomic_store(&tap_epoch, TAP_OFF);
    cupti_finish();
    flush_finish();
    change(TAP_ENDING, TAP_ENDED);
}

__attribute__((destructor)) static void unload(void)
{
    finish();
}

static void child_goes_on(void)
{
    elf_fork_end(true);
    slot_after_fork();
}

/* A fork child is as if nothing had happened yet; its first call starts a file of its own. */
static void forget_parent(void)
{
    child_goes_on();
    atomic_store(&tap_epoch, TAP_OFF);
    graph_forget();
    cupti_forget();
    nvtx_range_forget();
    /* Here and not at the start of its own recording, which signal handlers and threads interrupt:
     * their calls count as dropped. */
    for (int i = 0; i < LOSS_MAX; i++)
        atomic_store(&dropped[i], 0);
    if (!tap_is_inert())
        atomic_store(&tap_state, TAP_WANTED);
}

static void parent_goes_on(void)
{
    elf_fork_end(false);
}

/* Looks at the environment and remembers. The fork handlers have to be there before the first walk
 * over the loaded objects, and a call walks even in a process that is not recorded: a child forked
 * during one would wait for the loader's lock for ever. Where we are not wanted there is nothing
 * else to forget, and each page written to would be copied in each child of a shell. */
__attribute__((constructor)) static void load(int argc, char **argv, char **environment)
{
    bool wanted = config_load(environment, argc > 0 ? argv[0] : NULL);
    tap_self_offset = (const char *)&tap_self - (const char *)__builtin_thread_pointer();
    pthread_atfork(elf_fork_begin, parent_goes_on, wanted ? forget_parent : child_goes_on);
    atomic_store(&tap_state, wanted ? TAP_WANTED : TAP_INERT);
}

static void thread_exits(void *record)
{
    struct tap_self *self = &tap_self;
    if (self->thread == record && self->epoch == epoch) {
        self->thread = NULL;
        self->epoch = 0;
        thread_give(record);
    }
}

static void install_handlers(void)
{
    const struct host *host = host_get();
    has_handlers = true;
    at_quick_exit(finish);
    has_exit_key = host->pthread_key_create && host->pthread_setspecific &&
                   host->pthread_key_create(&exit_key, thread_exits) == 0;
}

static void start(void)
{
    if (epoch > 0) /* in a fork child of a recorded process */
        thread_reset();
    if (!has_handlers)
        install_handlers();
    tap_events = config.events;
    clock_start();
    owner = getpid();
    epoch++;
    atomic_store(&tap_state, TAP_RECORDING);
    cupti_allow();
    atomic_store(&tap_epoch, epoch); /* first: the writer may find that it is to pause */
    if (!flush_start())
        tap_give_up();
}

static bool attach(struct tap_self *self)
{
    enum loss_cause cause = LOSS_START;
    struct thread *thread = thread_take(&cause);
    self->thread = thread;
    self->loss = thread ? 0 : (uint8_t)cause;
    self->journal_room = self->journal_number = 0;
    self->journal_next = NULL; /* a call that began in the parent finds that it is gone */
    if (!thread)
        return true; /* leave counts the drop; the next call tries again */
    self->epoch = epoch;
    if (has_exit_key)
        host_get()->pthread_setspecific(exit_key, thread);
    return true;
}

static void wait_for_start(void)
{
    const struct timespec pause = { 0, START_WAIT_NS };
    for (int i = 0; i < START_WAITS && atomic_load(&tap_state) == TAP_STARTING; i++)
        nanosleep(&pause, NULL);
}

/* No record for this call, but the library's calls to itself are still part of it. */
static bool enter_unrecorded(struct tap_self *self, enum loss_cause cause)
{
    self->thread = NULL;
    self->epoch = 0;
    self->loss = (uint8_t)cause;
    return true;
}

static bool begin(struct tap_self *self)
{
    if (change(TAP_WANTED, TAP_STARTING))
        start();
    else
        wait_for_start();
    switch (atomic_load(&tap_state)) {
    case TAP_RECORDING:
        return self->epoch == epoch && self->thread ? true : attach(self);
    case TAP_STARTING:
        return enter_unrecorded(self, LOSS_START);
    case TAP_ENDING:
        return enter_unrecorded(self, LOSS_SHUTDOWN);
    default:
        return false;
    }
}

void tap_start(void)
{
    if (change(TAP_WANTED, TAP_STARTING))
        start();
}

bool tap_enter_slow(const void *caller)
{
    struct tap_self *self = &tap_self;
    if (tap_is_off())
        return false;
    if (self->phase != TAP_OUTSIDE) {
        /* The library's own calls come from inside it or a part of it, or return to us where it
         * left by a jump; anything else is a signal handler. */
        if (self->phase == TAP_BUSY || !(host_is_self(caller) || slot_is_vendor(caller)))
            tap_drop(LOSS_REENTRANT);
        return false;
    }
    int kept = errno;
    self->phase = TAP_BUSY;
    atomic_signal_fence(memory_order_seq_cst);
    bool on = begin(self);
    atomic_signal_fence(memory_order_seq_cst);
    self->phase = on ? TAP_IN_CALL : TAP_OUTSIDE;
    errno = kept;
    return on;
}

/* Not a rare one: of each call where there are no events, or the ring is full. */
__attribute__((noinline)) void tap_record_untimed(struct thread *t, uint32_t entry, uint64_t ns)
{
    thread_add(table_count(&t->table, entry, ns) ? &t->untimed : &t->dropped[LOSS_NO_MEMORY]);
}

static HOT_NOT int32_t find_in_phase(struct thread *t, const struct tilewise_signature *key,
                                     uint8_t phase)
{
    struct tilewise_signature in_phase = tap_in_phase(key, phase);
    return table_find_next(&t->table, &in_phase);
}

void tap_record(struct thread *t, const struct tilewise_signature *key, uint64_t start_ticks,
                uint64_t duration_ticks, uint32_t stream)
{
    struct tap_self *self = &tap_self;
    thread_add(&t->seen); /* first: the writer may already count what follows */
    int32_t entry = __builtin_expect(self->nvtx_phase != 0, 0)
                        ? find_in_phase(t, key, self->nvtx_phase)
                        : table_find_next(&t->table, key);
    if (__builtin_expect(entry < 0, 0)) {
        thread_add(&t->dropped[entry == TABLE_FULL ? LOSS_SIGNATURE_CAP : LOSS_NO_MEMORY]);
        return;
    }
    struct ring_event event = { start_ticks, ring_pack(duration_ticks, stream, (uint32_t)entry) };
    if (!tap_events || !ring_push(&t->ring, event))
        tap_record_untimed(t, (uint32_t)entry, clock_span_ns(duration_ticks));
}

HOT_NOT void tap_open_journal(void)
{
    struct tap_self *self = &tap_self;
    struct thread *t = self->thread;
    struct journal *j = t ? atomic_load_explicit(&t->journal, memory_order_relaxed) : NULL;
    self->journal_room = 0;
    if (!t || !tap_events || !clock_has_counter) /* pass_entry.S reads the counter itself */
        return;
    if (!j) {
        j = journal_make();
        atomic_store_explicit(&t->journal, j, memory_order_release);
    }
    if (!j)
        return;
    if (self->journal_number == 0) /* the thread that had the record before is gone */
        self->journal_number = (uint32_t)journal_seen(j) + 1;
    self->journal_room = journal_room(j, self->journal_number, &self->journal_next);
}

void tap_fail(const void *caller)
{
    struct tap_self *self = &tap_self;
    /* Of BLAS before the real call: the library's error handler may jump out of it and never
     * return. What a vendor's library or a part of it tries is no failure of the host's. */
    if (self->thread && !slot_is_vendor(caller))
        thread_add(&self->thread->failed);
    self->phase = TAP_OUTSIDE;
}
