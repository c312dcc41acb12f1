/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/nvtx_write.h"

#include <string.h>

#include "tracer/config.h"
#include "tracer/nvtx_range.h"
#include "tracer/pages.h"
#include "tracer/tap.h"
#include "traces/phasecode.h"

/* Of one frame: 200 KiB at most, less than what drain.c leaves free. */
enum {
    CALLS = 2048,
    MARKS = 1024,
    SECTION_BYTES_MAX = (NVTX_PHASES + CALLS + MARKS) * PHASECODE_BYTES_MAX + PHASECODE_HEAD_BYTES,
};

static uint32_t phase_string[NVTX_PHASES + 1], mark_string[NVTX_MARKS + 1]; /* 0: not yet */
static bool has_calls; /* in a thread's table */
static struct phase_total totals[NVTX_PHASES];
static struct phase_calls calls[CALLS];
static struct phase_mark marks[MARKS];
static struct buffer section;
static bool is_waiting; /* the section: a frame had no memory for it */

void nvtx_write_begin(void)
{
    memset(phase_string, 0, sizeof phase_string);
    memset(mark_string, 0, sizeof mark_string);
    has_calls = is_waiting = false;
}

const char *nvtx_write_op(uint32_t entry)
{
    return nvtx_names_text(nvtx_range_ops, entry - NVTX_OP_FIRST + 1);
}

void nvtx_write_calls(struct thread *t, uint32_t entry, const struct table_phase *add)
{
    if (!config.nvtx || !(table_key(&t->table, entry)->entry >> TAP_PHASE_SHIFT))
        return;
    if (!t->table.phases)
        t->table.phases = pages_map(sizeof *t->table.phases);
    if (!t->table.phases)
        return;
    struct table_phase *to = &t->table.phases->entry[entry];
    to->min_ns = to->calls && to->min_ns < add->min_ns ? to->min_ns : add->min_ns;
    to->max_ns = to->max_ns > add->max_ns ? to->max_ns : add->max_ns;
    to->calls += add->calls;
    to->sum_ns += add->sum_ns;
    has_calls = true;
}

/* String id of a name; 0: it is not ready, or the file takes no more. */
static uint32_t string_of(struct drain *d, uint32_t *known, const struct nvtx_name *pool,
                          unsigned number)
{
    const char *text = known[number] ? NULL : nvtx_names_text(pool, number);
    if (text && writer_string(d->w, text, strlen(text), &known[number]) != ST_OK)
        known[number] = 0;
    return known[number];
}

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_acquire);
}

static uint64_t grow(const _Atomic uint64_t *now, _Atomic uint64_t *written)
{
    uint64_t value = load(now), before = load(written);
    atomic_store_explicit(written, value, memory_order_relaxed);
    return value - before;
}

static size_t take_totals(struct drain *d)
{
    size_t used = 0;
    for (unsigned number = 1; number <= NVTX_PHASES; number++) {
        struct phase_total *row = &totals[used];
        *row =
            (struct phase_total){ string_of(d, phase_string, nvtx_range_phases, number), 0, 0, 0 };
        for (unsigned i = 0, n = nvtx_range_threads(); row->name && i < n; i++) {
            struct nvtx_notes *notes = nvtx_range_notes(i);
            if (!notes)
                continue;
            struct nvtx_total *now = &notes->total[number], *written = &notes->written[number];
            row->ended += grow(&now->ended, &written->ended);
            row->sum_ns += grow(&now->sum_ns, &written->sum_ns);
            row->entries += grow(&now->entries, &written->entries);
        }
        used += row->entries || row->ended;
    }
    return used;
}

/* A row that names a signature which the file does not take is none: its calls are dropped. */
static bool take_row(struct drain *d, struct thread *t, uint32_t entry, struct phase_calls *row)
{
    struct table_phase *from = &t->table.phases->entry[entry];
    unsigned number = table_key(&t->table, entry)->entry >> TAP_PHASE_SHIFT;
    uint32_t name = from->calls ? string_of(d, phase_string, nvtx_range_phases, number) : 0;
    uint32_t signature = name ? drain_signature(d, t, entry) : UINT32_MAX;
    if (signature == UINT32_MAX)
        return false;
    *row = (struct phase_calls){ name,         signature,    from->calls,
                                 from->sum_ns, from->min_ns, from->max_ns };
    *from = (struct table_phase){ 0 };
    return true;
}

static size_t take_calls(struct drain *d)
{
    size_t used = 0;
    if (!has_calls)
        return 0;
    for (uint32_t i = 0, n = thread_count(); i < n; i++) {
        struct thread *t = thread_at(i);
        uint32_t entries =
            t && t->table.phases ? atomic_load_explicit(&t->table.used, memory_order_acquire) : 0;
        for (uint32_t entry = 0; entry < entries; entry++) {
            if (used == CALLS)
                return used; /* the rest in the next frame */
            used += take_row(d, t, entry, &calls[used]);
        }
    }
    has_calls = false;
    return used;
}

static void take_mark(struct drain *d, const struct nvtx_mark *from, size_t *used)
{
    uint32_t name = string_of(d, mark_string, nvtx_range_marks, from->name);
    uint64_t start_ns = clock_start_ns();
    marks[*used] = (struct phase_mark){ name, from->at_ns > start_ns ? from->at_ns - start_ns : 0 };
    *used += name != 0;
}

static size_t take_marks(struct drain *d)
{
    size_t used = 0;
    for (unsigned i = 0, n = nvtx_range_threads(); i < n; i++) {
        struct nvtx_notes *notes = nvtx_range_notes(i);
        uint64_t tail = notes ? load(&notes->tail) : 0, head = notes ? load(&notes->head) : 0;
        for (; tail != head && used < MARKS; tail++)
            take_mark(d, &notes->mark[tail % NVTX_RING], &used);
        if (notes)
            atomic_store_explicit(&notes->tail, tail, memory_order_release);
    }
    return used;
}

static uint64_t take_lost(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0, n = nvtx_range_threads(); i < n; i++) {
        struct nvtx_notes *notes = nvtx_range_notes(i);
        uint64_t lost = notes ? load(&notes->lost) : 0;
        sum += notes ? lost - notes->lost_written : 0;
        if (notes)
            notes->lost_written = lost;
    }
    return sum;
}

/* A section of what is new; false: there is nothing, or no memory, and nothing was taken. */
static bool make_section(struct drain *d)
{
    section.size = 0;
    if (!buffer_reserve(&section, SECTION_BYTES_MAX))
        return false;
    struct phase_rows rows = {
        .totals = totals,
        .calls = calls,
        .marks = marks,
        .lost = take_lost(),
        .ntotals = take_totals(d),
        .ncalls = take_calls(d),
        .nmarks = take_marks(d),
    };
    if (!rows.ntotals && !rows.ncalls && !rows.nmarks && !rows.lost)
        return false;
    phasecode_put(&section, &rows);
    return true;
}

void nvtx_write(struct drain *d)
{
    if (!config.nvtx)
        return;
    if (!is_waiting)
        is_waiting = make_section(d);
    if (is_waiting && writer_blob(d->w, SECTION_PHASES, section.bytes, section.size) == ST_OK)
        is_waiting = false;
}

bool nvtx_write_is_dirty(void)
{
    if (has_calls || is_waiting)
        return true;
    for (unsigned i = 0, n = config.nvtx ? nvtx_range_threads() : 0; i < n; i++) {
        struct nvtx_notes *notes = nvtx_range_notes(i);
        if (!notes)
            continue;
        if (load(&notes->head) != load(&notes->tail) || load(&notes->lost) != notes->lost_written)
            return true;
        for (unsigned number = 1; number <= NVTX_PHASES; number++)
            if (load(&notes->total[number].entries) != load(&notes->written[number].entries) ||
                load(&notes->total[number].ended) != load(&notes->written[number].ended))
                return true;
    }
    return false;
}
