/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/nvtx_range.h"

#include <errno.h>
#include <string.h>

#include "tracer/config.h"
#include "tracer/host.h"
#include "tracer/nvtx_abi.h"
#include "tracer/nvtx_text.h"
#include "tracer/pages.h"
#include "tracer/tap.h"

struct level {
    unsigned domain;
    uint8_t work;                      /* enum nvtx_work */
    uint8_t phase;                     /* number; 0: none */
    uint32_t epoch;                    /* of an operator: recording it belongs to */
    uint64_t start_ns;                 /* of a phase; 0: it began in a pause, and is not counted */
    uint64_t start_ticks, inner_ticks; /* of an operator: counted inside it */
    uint64_t seen;                     /* of an operator: calls of the thread before it */
    struct tilewise_signature key;     /* of an operator */
};

struct nvtx_thread {
    _Atomic bool owned, busy; /* busy: an event now is a signal handler's */
    unsigned depth, beyond;   /* beyond: open ranges that did not fit */
    struct level level[NVTX_DEPTH];
    struct nvtx_notes notes;
};

struct nvtx_name nvtx_range_phases[NVTX_PHASES], nvtx_range_marks[NVTX_MARKS],
    nvtx_range_ops[NVTX_OPS];

static struct nvtx_thread *_Atomic pool[NVTX_THREADS];
static _Atomic unsigned count;
static pthread_key_t exit_key;
static bool has_exit_key;

static struct nvtx_thread *at(unsigned i)
{
    return atomic_load_explicit(&pool[i], memory_order_acquire);
}

unsigned nvtx_range_threads(void)
{
    unsigned n = atomic_load_explicit(&count, memory_order_acquire);
    return n < NVTX_THREADS ? n : NVTX_THREADS;
}

struct nvtx_notes *nvtx_range_notes(unsigned i)
{
    return at(i) ? &at(i)->notes : NULL;
}

static void thread_exits(void *record)
{
    struct nvtx_thread *t = record;
    tap_self.nvtx = NULL;
    tap_self.nvtx_phase = 0;
    t->depth = t->beyond = 0;
    atomic_store_explicit(&t->owned, false, memory_order_release);
}

void nvtx_range_begin(void)
{
    static _Atomic bool begun;
    const struct host *host = host_get();
    if (!atomic_exchange(&begun, true))
        has_exit_key = host->pthread_key_create && host->pthread_setspecific &&
                       host->pthread_key_create(&exit_key, thread_exits) == 0;
}

static struct nvtx_thread *take_free(void)
{
    for (unsigned i = 0, n = nvtx_range_threads(); i < n; i++) {
        bool owned = false;
        if (at(i) && atomic_compare_exchange_strong(&at(i)->owned, &owned, true))
            return at(i);
    }
    return NULL;
}

static struct nvtx_thread *take(void)
{
    struct nvtx_thread *t = take_free();
    unsigned i = NVTX_THREADS;
    if (!t && nvtx_range_threads() < NVTX_THREADS)
        i = atomic_fetch_add(&count, 1);
    if (!t && i < NVTX_THREADS && (t = pages_map(sizeof *t)) != NULL) {
        atomic_store_explicit(&t->owned, true, memory_order_relaxed);
        atomic_store_explicit(&pool[i], t, memory_order_release);
    }
    if (t && has_exit_key)
        host_get()->pthread_setspecific(exit_key, t);
    return tap_self.nvtx = t;
}

/* The thread's record for one event, NULL: it is left out. */
static struct nvtx_thread *take_up(void)
{
    if (!config.nvtx || tap_self.phase != TAP_OUTSIDE)
        return NULL;
    struct nvtx_thread *t = tap_self.nvtx;
    if (__builtin_expect(!t, 0)) {
        int kept = errno;
        t = take();
        errno = kept;
    }
    if (!t || atomic_load_explicit(&t->busy, memory_order_relaxed))
        return NULL;
    atomic_store_explicit(&t->busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return t;
}

static struct nvtx_thread *begin(void)
{
    return tap_is_listening() ? take_up() : NULL;
}

/* Open ranges are followed in a pause too: it may end inside of them. */
static struct nvtx_thread *begin_nested(void)
{
    return tap_is_listening() || tap_is_paused() ? take_up() : NULL;
}

static void end(struct nvtx_thread *t)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&t->busy, false, memory_order_relaxed);
}

static void add(_Atomic uint64_t *counter, uint64_t by)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + by, memory_order_release);
}

/* Number of a phase and, but for a pause, one more entry of it; 0: no room for its name. */
static unsigned enter_phase(struct nvtx_thread *t, const struct nvtx_text *text)
{
    char name[NVTX_TEXT_BYTES + 2];
    size_t bytes = nvtx_text_phase(text, name);
    unsigned number = nvtx_names_number(nvtx_range_phases, NVTX_PHASES, bytes ? name : "(unnamed)",
                                        bytes ? bytes : strlen("(unnamed)"));
    if (tap_is_listening())
        add(number ? &t->notes.total[number].entries : &t->notes.lost, 1);
    return number;
}

static void leave_phase(struct nvtx_thread *t, unsigned number, uint64_t start_ns)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (number == 0 || start_ns == 0)
        return;
    add(&t->notes.total[number].sum_ns, now_ns > start_ns ? now_ns - start_ns : 0);
    add(&t->notes.total[number].ended, 1);
}

/* Changes with each call of this thread that is counted. */
static uint64_t calls_so_far(void)
{
    const struct thread *t = tap_self.thread;
    uint64_t seen = t ? atomic_load_explicit(&t->seen, memory_order_relaxed) : 0;
    return seen + tap_self.journal_number;
}

/* An operator is a call: recording begins with it if with nothing else. */
static void start_recording(void)
{
    if (__builtin_expect(atomic_load_explicit(&tap_epoch, memory_order_relaxed) != TAP_OFF, 1))
        return;
    int kept = errno;
    tap_start();
    errno = kept;
}

/* An operator that may be counted. */
static void enter_op(struct nvtx_thread *t, struct level *level, const struct nvtx_text *text)
{
    start_recording();
    unsigned number = nvtx_names_number(nvtx_range_ops, NVTX_OPS, text->name, text->bytes);
    if (number == 0) {
        add(&t->notes.lost, 1);
        level->work = NVTX_WORK_NONE;
        return;
    }
    nvtx_text_signature(text, &level->key);
    level->key.entry = NVTX_OP_FIRST + number - 1;
    level->seen = calls_so_far();
    level->epoch = atomic_load_explicit(&tap_epoch, memory_order_acquire);
    level->start_ticks = level->epoch == TAP_OFF ? 0 : clock_ticks();
}

static bool is_counted(const struct level *level)
{
    if (level->work < NVTX_WORK_LEAF || level->epoch == TAP_OFF ||
        level->epoch != atomic_load_explicit(&tap_epoch, memory_order_acquire))
        return false;
    return level->work != NVTX_WORK_LEAF || level->seen == calls_so_far();
}

/* What the operator took itself; the whole of it is inside of the one around it. */
static void leave_op(struct level *level, struct level *outer)
{
    uint64_t inner = level->inner_ticks;
    if (is_counted(level)) {
        uint64_t now = clock_ticks(), all = now - level->start_ticks;
        uint64_t own = all > inner ? all - inner : 0;
        inner = all;
        if (tap_enter(NULL)) {
            tap_hold();
            tap_add(&level->key, now - own, own, 0);
            tap_release();
        }
    }
    if (outer)
        outer->inner_ticks += inner;
}

static unsigned innermost_phase(const struct nvtx_thread *t)
{
    for (unsigned i = t->depth; i-- > 0;)
        if (t->level[i].phase)
            return t->level[i].phase;
    return 0;
}

static void push(struct nvtx_thread *t, unsigned domain, const char *message)
{
    struct nvtx_text text;
    if (t->depth == NVTX_DEPTH) {
        t->beyond++;
        add(&t->notes.lost, 1);
        return;
    }
    nvtx_text_parse(message, &text);
    struct level *level = &t->level[t->depth++];
    level->domain = domain;
    level->work = (uint8_t)text.work;
    level->phase = 0;
    level->epoch = TAP_OFF;
    level->inner_ticks = 0;
    if (text.work == NVTX_WORK_PHASE) {
        level->phase = (uint8_t)enter_phase(t, &text);
        level->start_ns = tap_is_listening() ? clock_ns(CLOCK_MONOTONIC) : 0;
        tap_self.nvtx_phase = level->phase ? level->phase : tap_self.nvtx_phase;
    } else if (text.work != NVTX_WORK_NONE && tap_is_listening()) {
        enter_op(t, level, &text);
    }
}

int nvtx_range_push(unsigned domain, const char *message)
{
    struct nvtx_thread *t = begin_nested();
    if (!t)
        return NVTX_ABI_NO_TRACKING;
    int depth = (int)(t->depth + t->beyond);
    push(t, domain, message);
    end(t);
    return depth;
}

/* The last range of the domain ends; those of others around it stay. */
static void pop(struct nvtx_thread *t, unsigned domain)
{
    unsigned i = t->depth;
    while (i-- > 0 && t->level[i].domain != domain)
        continue;
    if (i >= t->depth)
        return;
    struct level *level = &t->level[i];
    if (level->work == NVTX_WORK_PHASE)
        leave_phase(t, level->phase, level->start_ns);
    leave_op(level, i ? level - 1 : NULL);
    memmove(level, level + 1, (t->depth - i - 1) * sizeof *level);
    t->depth--;
    tap_self.nvtx_phase = (uint8_t)innermost_phase(t);
}

int nvtx_range_pop(unsigned domain)
{
    struct nvtx_thread *t = begin_nested();
    if (!t)
        return NVTX_ABI_NO_TRACKING;
    int depth = (int)(t->depth + t->beyond) - 1;
    if (t->beyond)
        t->beyond--;
    else
        pop(t, domain);
    end(t);
    return depth < 0 ? NVTX_ABI_NO_TRACKING : depth;
}

/* The id says all there is to know: nothing has to be kept for ranges that never end. */
uint64_t nvtx_range_start(const char *message)
{
    struct nvtx_text text;
    struct nvtx_thread *t = begin();
    if (!t)
        return 0;
    nvtx_text_parse(message, &text);
    unsigned number = text.work == NVTX_WORK_PHASE ? enter_phase(t, &text) : 0;
    end(t);
    return clock_ns(CLOCK_MONOTONIC) << 8 | number;
}

void nvtx_range_end(uint64_t id)
{
    struct nvtx_thread *t = (id & 0xff) <= NVTX_PHASES ? begin() : NULL;
    if (!t)
        return;
    leave_phase(t, id & 0xff, id >> 8);
    end(t);
}

static void note_mark(struct nvtx_notes *n, unsigned name)
{
    uint64_t head = atomic_load_explicit(&n->head, memory_order_relaxed);
    if (name == 0 || head - atomic_load_explicit(&n->tail, memory_order_acquire) >= NVTX_RING) {
        add(&n->lost, 1);
        return;
    }
    n->mark[head % NVTX_RING] = (struct nvtx_mark){ clock_ns(CLOCK_MONOTONIC), name };
    atomic_store_explicit(&n->head, head + 1, memory_order_release);
}

void nvtx_range_mark(const char *message)
{
    struct nvtx_text text;
    char name[NVTX_TEXT_BYTES + 2];
    struct nvtx_thread *t = begin();
    if (!t)
        return;
    nvtx_text_parse(message, &text);
    size_t bytes = nvtx_text_phase(&text, name);
    note_mark(&t->notes, nvtx_names_number(nvtx_range_marks, NVTX_MARKS, name, bytes));
    end(t);
}

static void forget(struct nvtx_thread *t)
{
    bool own = t == tap_self.nvtx;
    memset(&t->notes, 0, sizeof t->notes);
    atomic_store(&t->busy, false);
    atomic_store(&t->owned, own);
    t->depth = own ? t->depth : 0;
    t->beyond = own ? t->beyond : 0;
    for (unsigned i = 0; i < t->depth; i++) {
        t->level[i].start_ns = clock_ns(CLOCK_MONOTONIC);
        t->level[i].epoch = TAP_OFF;
        if (t->level[i].phase)
            add(&t->notes.total[t->level[i].phase].entries, 1);
    }
}

void nvtx_range_forget(void)
{
    for (unsigned i = 0, n = nvtx_range_threads(); i < n; i++)
        if (at(i))
            forget(at(i));
}
