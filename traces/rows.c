/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/rows.h"

#include "traces/gpucode.h"
#include "traces/gpuintervals.h"

enum { RUN_HEAD_BYTES = 64, COUNTS_HEAD_BYTES = 32, NO_STRETCH = UINT32_MAX };

struct rows_event {
    uint32_t signature, duration_ticks;
    int64_t gap_ticks;
};

/* Neighbouring events of one run; a run is a list of them. */
struct rows_stretch {
    uint32_t first, count, next;
};

struct rows_run {
    uint32_t thread, stream, count;
    uint32_t first_stretch, last_stretch;
    uint32_t ids, durations;    /* all values or-ed: the widths follow from them */
    uint64_t gaps, zigzag_gaps; /* the same */
    uint64_t base_tick, end_tick;
    bool negative; /* some gap is */
};

static struct rows_run *run_at(const struct rows *r, size_t i)
{
    return (struct rows_run *)r->runs.bytes + i;
}

static struct rows_stretch *stretch_at(const struct rows *r, size_t i)
{
    return (struct rows_stretch *)r->stretches.bytes + i;
}

static size_t run_count(const struct rows *r)
{
    return r->runs.size / sizeof(struct rows_run);
}

static size_t event_count(const struct rows *r)
{
    return r->events.size / sizeof(struct rows_event);
}

static unsigned width(uint64_t bits)
{
    return bits ? (unsigned)(71 - __builtin_clzll(bits)) / 8 : 0;
}

static unsigned gap_width(const struct rows_run *run)
{
    return width(run->negative ? run->zigzag_gaps : run->gaps);
}

/* Ids and durations will be differences, which take at most one bit more than the numbers. */
static unsigned difference_width(uint32_t numbers)
{
    return width(2 * (uint64_t)numbers) < 4 ? width(2 * (uint64_t)numbers) : 4;
}

static size_t run_bytes(const struct rows_run *run)
{
    return RUN_HEAD_BYTES + (size_t)run->count * (difference_width(run->ids) + gap_width(run) +
                                                  difference_width(run->durations));
}

size_t rows_bytes(const struct rows *r)
{
    return r->event_bytes + r->blobs.size +
           (r->counts.size ? r->counts.size + COUNTS_HEAD_BYTES : 0) +
           (r->kernels.size ? r->kernels.size + COUNTS_HEAD_BYTES : 0) +
           (r->has_grids ? r->grids.size + COUNTS_HEAD_BYTES : 0) +
           (r->windows.size ? r->windows.size + COUNTS_HEAD_BYTES : 0) + r->intervals.size +
           (r->has_totals ? COUNTS_HEAD_BYTES + GPUCODE_BYTES_MAX : 0);
}

static bool has_room(const struct rows *r, size_t more)
{
    size_t bytes = rows_bytes(r);
    return bytes <= TRACE_FRAME_RAW_MAX && more <= TRACE_FRAME_RAW_MAX - bytes;
}

/* The run of this thread and stream, new or known; NULL: none, and no memory for one. */
static struct rows_run *find_run(struct rows *r, uint32_t thread, uint32_t stream,
                                 uint64_t base_tick)
{
    /* Writers hand over long stretches of one thread, so the last run is nearly always right. */
    for (size_t n = run_count(r), i = 0; i < n; i++) {
        size_t at = r->last_run + i < n ? r->last_run + i : r->last_run + i - n;
        if (run_at(r, at)->thread == thread && run_at(r, at)->stream == stream) {
            r->last_run = (uint32_t)at;
            return run_at(r, at);
        }
    }
    if (!buffer_reserve(&r->runs, sizeof(struct rows_run)))
        return NULL;
    struct rows_run new = { .thread = thread,
                            .stream = stream,
                            .first_stretch = NO_STRETCH,
                            .last_stretch = NO_STRETCH,
                            .base_tick = base_tick,
                            .end_tick = base_tick };
    r->last_run = (uint32_t)run_count(r);
    buffer_put(&r->runs, &new, sizeof new);
    r->event_bytes += run_bytes(&new);
    return run_at(r, r->last_run);
}

/* Bind the `count` events that were just appended to the run. Room was reserved. */
static void link_stretch(struct rows *r, struct rows_run *run, uint32_t first, uint32_t count)
{
    if (run->last_stretch != NO_STRETCH) {
        struct rows_stretch *last = stretch_at(r, run->last_stretch);
        if (last->first + last->count == first) {
            last->count += count;
            return;
        }
    }
    uint32_t at = (uint32_t)(r->stretches.size / sizeof(struct rows_stretch));
    struct rows_stretch new = { first, count, NO_STRETCH };
    buffer_put(&r->stretches, &new, sizeof new);
    if (run->last_stretch == NO_STRETCH)
        run->first_stretch = at;
    else
        stretch_at(r, run->last_stretch)->next = at;
    run->last_stretch = at;
}

/* Times become whole ticks by absolute time, so that the rounding of many events does not add up.
 */
static void append_event(struct rows *r, struct rows_run *run, const struct writer_event *e)
{
    struct rows_event row = { .signature = e->signature };
    if (!r->untimed) {
        uint64_t start = e->start_ns / r->tick_ns;
        uint64_t end = (e->start_ns + e->duration_ns) / r->tick_ns;
        row.gap_ticks = (int64_t)(start - run->end_tick);
        row.duration_ticks = (uint32_t)(end - start);
        run->end_tick = end;
    }
    run->ids |= row.signature;
    run->durations |= row.duration_ticks;
    run->gaps |= (uint64_t)row.gap_ticks;
    run->zigzag_gaps |= zigzag_encode(row.gap_ticks);
    run->negative |= row.gap_ticks < 0;
    run->count++;
    buffer_put(&r->events, &row, sizeof row);
}

/* Room for the last duration of each of these signatures. */
static bool reserve_last(struct rows *r, const struct writer_event *events, size_t count)
{
    uint32_t max = 0;
    for (size_t i = 0; i < count; i++)
        max = events[i].signature > max ? events[i].signature : max;
    size_t bytes = ((size_t)max + 1) * sizeof(uint32_t);
    if (bytes <= r->last.size)
        return true;
    if (!buffer_reserve(&r->last, bytes - r->last.size))
        return false;
    r->last.size = bytes; /* fresh memory is zero, and encode_run leaves it so */
    return true;
}

enum status rows_add_events(struct rows *r, uint32_t thread, uint32_t stream,
                            const struct writer_event *events, size_t count)
{
    if (count == 0)
        return ST_OK;
    if (thread >= TRACE_THREADS_MAX)
        return ST_INVALID;
    for (size_t i = 0; i < count; i++)
        if (events[i].start_ns > TRACE_TIME_MAX_NS / 2)
            return ST_INVALID;
    size_t known_runs = run_count(r), known_events = event_count(r);
    if (count > TRACE_FRAME_EVENTS_MAX - known_events || known_runs >= TRACE_FRAME_RUNS_MAX)
        return ST_LIMIT;
    if (!buffer_reserve(&r->events, count * sizeof(struct rows_event)) ||
        !buffer_reserve(&r->stretches, sizeof(struct rows_stretch)) ||
        !reserve_last(r, events, count))
        return ST_NOMEM;
    size_t known_bytes = r->event_bytes;
    struct rows_run *run = find_run(r, thread, stream, events[0].start_ns / r->tick_ns);
    if (!run)
        return ST_NOMEM;
    const struct rows_run before = *run;
    for (size_t i = 0; i < count; i++)
        append_event(r, run, &events[i]);
    r->event_bytes += run_bytes(run) - run_bytes(&before);
    if (rows_bytes(r) <= TRACE_FRAME_RAW_MAX) {
        link_stretch(r, run, (uint32_t)known_events, (uint32_t)count);
        return ST_OK;
    }
    *run = before;
    r->event_bytes = known_bytes;
    r->events.size = known_events * sizeof(struct rows_event);
    r->runs.size = known_runs * sizeof(struct rows_run);
    r->last_run = 0;
    return ST_LIMIT;
}

enum status rows_add_count(struct rows *r, uint32_t signature, const struct writer_count *c)
{
    if (r->ncounts >= TRACE_FRAME_COUNTS_MAX)
        return ST_LIMIT;
    if (c->min_ns > c->max_ns)
        return ST_INVALID;
    size_t start = r->counts.size, buckets = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        buckets += c->histogram.count[i] != 0;
    if (!buffer_reserve(&r->counts, (6 + 2 * buckets) * VARINT_BYTES_MAX))
        return ST_NOMEM;
    buffer_put_varint(&r->counts, signature);
    buffer_put_varint(&r->counts, c->calls);
    buffer_put_varint(&r->counts, c->sum_ns);
    buffer_put_varint(&r->counts, c->min_ns);
    buffer_put_varint(&r->counts, c->max_ns - c->min_ns);
    buffer_put_varint(&r->counts, buckets);
    for (unsigned i = 0, last = 0; i < HISTOGRAM_BUCKETS; i++)
        if (c->histogram.count[i]) {
            buffer_put_varint(&r->counts, i - last);
            buffer_put_varint(&r->counts, c->histogram.count[i]);
            last = i;
        }
    if (!has_room(r, 0)) {
        r->counts.size = start;
        return ST_LIMIT;
    }
    r->ncounts++;
    return ST_OK;
}

/* Room for one more row of what was measured of the GPU. */
static enum status reserve_gpu(struct rows *r, struct buffer *rows, uint32_t count, uint32_t max)
{
    if (count >= max || !has_room(r, GPUCODE_BYTES_MAX + COUNTS_HEAD_BYTES))
        return ST_LIMIT;
    return buffer_reserve(rows, GPUCODE_BYTES_MAX) ? ST_OK : ST_NOMEM;
}

enum status rows_add_gpu_kernel(struct rows *r, const struct gpu_kernel *kernel)
{
    if (!gpucode_kernel_is_sound(kernel))
        return ST_INVALID;
    enum status st = reserve_gpu(r, &r->kernels, r->nkernels, TRACE_FRAME_KERNELS_MAX);
    if (st == ST_OK)
        st = reserve_gpu(r, &r->grids, r->nkernels, TRACE_FRAME_KERNELS_MAX);
    if (st != ST_OK)
        return st;
    size_t kernels = r->kernels.size, grids = r->grids.size;
    bool had_grids = r->has_grids;
    gpucode_put_kernel(&r->kernels, kernel);
    gpucode_put_grid(&r->grids, &kernel->grid);
    r->has_grids |= gpucode_grid_is_known(&kernel->grid);
    if (!has_room(r, 0)) { /* the grids of all rows before came in with this one */
        r->kernels.size = kernels;
        r->grids.size = grids;
        r->has_grids = had_grids;
        return ST_LIMIT;
    }
    r->nkernels++;
    return ST_OK;
}

enum status rows_add_gpu_window(struct rows *r, const struct gpu_window *window)
{
    if (!gpucode_window_is_sound(window))
        return ST_INVALID;
    enum status st = reserve_gpu(r, &r->windows, r->nwindows, TRACE_FRAME_WINDOWS_MAX);
    if (st != ST_OK)
        return st;
    gpucode_put_window(&r->windows, window);
    r->nwindows++;
    return ST_OK;
}

enum status rows_add_gpu_intervals(struct rows *r, const struct gpu_intervals *g)
{
    if (!gpuintervals_are_sound(g))
        return ST_INVALID;
    if (g->count > TRACE_FRAME_INTERVALS_MAX - r->nintervals ||
        r->ninterval_sections >= TRACE_FRAME_RUNS_MAX)
        return ST_LIMIT;
    size_t start = r->intervals.size;
    if (!buffer_reserve(&r->intervals, GPUINTERVALS_HEAD_BYTES + VARINT_BYTES_MAX +
                                           g->count * GPUINTERVALS_EACH_BYTES))
        return ST_NOMEM;
    size_t section = buffer_begin_section(&r->intervals, SECTION_GPU_INTERVALS);
    gpuintervals_put(&r->intervals, g);
    buffer_end_section(&r->intervals, section);
    if (!has_room(r, 0)) {
        r->intervals.size = start;
        return ST_LIMIT;
    }
    r->nintervals += (uint32_t)g->count;
    r->ninterval_sections++;
    return ST_OK;
}

enum status rows_set_gpu_totals(struct rows *r, const struct gpu_totals *totals)
{
    if (!gpucode_totals_are_sound(totals))
        return ST_INVALID;
    if (!r->has_totals && !has_room(r, GPUCODE_BYTES_MAX + COUNTS_HEAD_BYTES))
        return ST_LIMIT;
    r->totals = *totals;
    r->has_totals = true;
    return ST_OK;
}

enum status rows_add_blob(struct rows *r, uint32_t section, const void *bytes, size_t count)
{
    if ((section < SECTION_BLOB_FIRST || section > SECTION_BLOB_LAST) && section != SECTION_PHASES)
        return ST_INVALID;
    if (count > TRACE_FRAME_RAW_MAX || !has_room(r, count + 2 * VARINT_BYTES_MAX))
        return ST_LIMIT;
    if (!buffer_reserve(&r->blobs, count + 2 * VARINT_BYTES_MAX))
        return ST_NOMEM;
    size_t start = buffer_begin_section(&r->blobs, section);
    buffer_put(&r->blobs, bytes, count);
    buffer_end_section(&r->blobs, start);
    return ST_OK;
}

static struct rows_event *events_of(const struct rows *r, const struct rows_stretch *stretch)
{
    return (struct rows_event *)r->events.bytes + stretch->first;
}

/* Ids become differences to the id before, durations differences to the last duration of the same
 * signature: both are small and repeat, which is what compresses. The widths of the run become
 * those of the differences. */
static void difference(struct rows *r, struct rows_run *run)
{
    uint32_t *last = (uint32_t *)r->last.bytes, id = 0;
    run->ids = run->durations = 0;
    for (uint32_t s = run->first_stretch; s != NO_STRETCH; s = stretch_at(r, s)->next) {
        struct rows_event *e = events_of(r, stretch_at(r, s));
        for (uint32_t i = 0; i < stretch_at(r, s)->count; i++) {
            uint32_t own = e[i].signature, duration = e[i].duration_ticks;
            e[i].signature = zigzag32_encode(own - id);
            e[i].duration_ticks = zigzag32_encode(duration - last[own]);
            id = own;
            last[own] = duration;
            run->ids |= e[i].signature;
            run->durations |= e[i].duration_ticks;
        }
    }
    memset(last, 0, r->last.size);
}

/* A column, one plane of `count` bytes after the other. Which one: 0 id, 1 gap, 2 duration. */
static void encode_column(const struct rows *r, const struct rows_run *run, unsigned which,
                          unsigned bytes, struct buffer *out)
{
    for (unsigned shift = 0; shift < 8 * bytes; shift += 8)
        for (uint32_t s = run->first_stretch; s != NO_STRETCH; s = stretch_at(r, s)->next) {
            const struct rows_stretch *stretch = stretch_at(r, s);
            const struct rows_event *e = events_of(r, stretch);
            uint8_t *to = out->bytes + out->size;
            for (uint32_t i = 0; i < stretch->count; i++) {
                uint64_t gap =
                    run->negative ? zigzag_encode(e[i].gap_ticks) : (uint64_t)e[i].gap_ticks;
                uint64_t value = which == 0   ? e[i].signature
                                 : which == 1 ? gap
                                              : e[i].duration_ticks;
                to[i] = (uint8_t)(value >> shift);
            }
            out->size += stretch->count;
        }
}

static void encode_run(struct rows *r, struct rows_run *run, struct buffer *out)
{
    difference(r, run);
    const uint8_t widths[3] = { (uint8_t)width(run->ids), (uint8_t)gap_width(run),
                                (uint8_t)width(run->durations) };
    uint8_t flags =
        (uint8_t)((run->negative ? EVENTS_ZIGZAG : 0) | (r->untimed ? EVENTS_UNTIMED : 0));
    size_t start = buffer_begin_section(out, SECTION_EVENTS);
    buffer_put_varint(out, run->thread);
    buffer_put_varint(out, run->stream);
    buffer_put_varint(out, run->count);
    buffer_put(out, &flags, 1);
    buffer_put(out, widths, 3);
    buffer_put_varint(out, run->base_tick);
    for (unsigned which = 0; which < 3; which++)
        encode_column(r, run, which, widths[which], out);
    buffer_end_section(out, start);
}

/* A section of rows that are encoded already. */
static void encode_rows(struct buffer *out, unsigned section, const struct buffer *rows,
                        uint32_t count)
{
    if (count == 0)
        return;
    size_t start = buffer_begin_section(out, section);
    buffer_put_varint(out, count);
    buffer_put(out, rows->bytes, rows->size);
    buffer_end_section(out, start);
}

static void encode_totals(const struct rows *r, struct buffer *out)
{
    if (!r->has_totals)
        return;
    size_t start = buffer_begin_section(out, SECTION_GPU_TOTALS);
    gpucode_put_totals(out, &r->totals);
    buffer_end_section(out, start);
}

void rows_encode(struct rows *r, struct buffer *out)
{
    for (size_t i = 0; i < run_count(r); i++)
        encode_run(r, run_at(r, i), out);
    encode_rows(out, SECTION_COUNTS, &r->counts, r->ncounts);
    encode_rows(out, SECTION_GPU_KERNELS, &r->kernels, r->nkernels);
    encode_rows(out, SECTION_GPU_GRIDS, &r->grids, r->has_grids ? r->nkernels : 0);
    encode_rows(out, SECTION_GPU_WINDOWS, &r->windows, r->nwindows);
    buffer_put(out, r->intervals.bytes, r->intervals.size);
    encode_totals(r, out);
    buffer_put(out, r->blobs.bytes, r->blobs.size);
}

void rows_clear(struct rows *r)
{
    r->events.size = r->stretches.size = r->runs.size = r->counts.size = r->blobs.size = 0;
    r->kernels.size = r->grids.size = r->windows.size = r->intervals.size = 0;
    r->nintervals = r->ninterval_sections = 0;
    r->event_bytes = 0;
    r->ncounts = r->last_run = r->nkernels = r->nwindows = 0;
    r->has_totals = r->has_grids = false;
}

void rows_free(struct rows *r)
{
    buffer_free(&r->events);
    buffer_free(&r->stretches);
    buffer_free(&r->runs);
    buffer_free(&r->counts);
    buffer_free(&r->blobs);
    buffer_free(&r->kernels);
    buffer_free(&r->grids);
    buffer_free(&r->windows);
    buffer_free(&r->intervals);
    buffer_free(&r->last);
}
