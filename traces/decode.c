/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/decode.h"

#include <stdio.h>
#include <stdlib.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "traces/columns.h"
#include "traces/gpucode.h"
#include "traces/gpuintervals.h"
#include "traces/phaserows.h"

enum { WINDOW_MAX = 1 << 20, WHAT_BYTES = 64 };

struct decode {
    ZSTD_DCtx *dctx;
    uint8_t *raw;
    size_t raw_capacity;
    /* Columns of all events of the frame, one run after the other. */
    uint32_t *signatures, *durations;
    uint64_t *starts;
    size_t columns_capacity, nevents;
    size_t nsections, nrows;  /* EVENTS sections and their rows, unresolved ones included */
    struct buffer last;       /* uint32_t per id in the shard: zeros between runs */
    struct buffer runs;       /* struct reader_events */
    struct buffer counts;     /* struct reader_count */
    struct buffer histograms; /* struct histogram, one per count */
    struct buffer facts;      /* struct fact_ids, then struct reader_fact */
    struct buffer fact_rows;
    struct buffer blobs;       /* struct reader_blob */
    struct buffer kernels;     /* struct gpu_kernel */
    struct buffer gpu_windows; /* struct gpu_window */
    struct buffer intervals;   /* struct gpu_intervals */
    struct buffer sources;     /* struct gpu_source of all of these */
    struct buffer interval;    /* struct gpu_interval of all of these */
    struct gpu_totals gpu_totals;
    struct phaserows phases;
};

struct fact_ids {
    uint32_t key, value;
};

enum status decode_open(struct decode **out)
{
    struct decode *d = *out = calloc(1, sizeof *d);
    if (!d)
        return ST_NOMEM;
    d->dctx = ZSTD_createDCtx();
    if (d->dctx) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
        ZSTD_DCtx_setParameter(d->dctx, ZSTD_d_forceIgnoreChecksum, ZSTD_d_ignoreChecksum);
#endif
        return ST_OK;
    }
    decode_close(d);
    *out = NULL;
    return ST_NOMEM;
}

void decode_close(struct decode *d)
{
    if (!d)
        return;
    ZSTD_freeDCtx(d->dctx);
    free(d->raw);
    free(d->signatures);
    free(d->durations);
    free(d->starts);
    buffer_free(&d->runs);
    buffer_free(&d->last);
    buffer_free(&d->counts);
    buffer_free(&d->histograms);
    buffer_free(&d->facts);
    buffer_free(&d->fact_rows);
    buffer_free(&d->blobs);
    buffer_free(&d->kernels);
    buffer_free(&d->gpu_windows);
    phaserows_free(&d->phases);
    buffer_free(&d->intervals);
    buffer_free(&d->sources);
    buffer_free(&d->interval);
    free(d);
}

/* Arrays grow with the frames, up to the limits of one. */
static bool reserve_raw(struct decode *d, size_t bytes)
{
    if (bytes <= d->raw_capacity)
        return true;
    free(d->raw);
    d->raw = malloc(bytes);
    d->raw_capacity = d->raw ? bytes : 0;
    return d->raw != NULL;
}

static bool reserve_columns(struct decode *d, size_t need)
{
    if (need <= d->columns_capacity)
        return true;
    size_t capacity = need > 2 * d->columns_capacity ? need : 2 * d->columns_capacity;
    uint32_t *signatures = realloc(d->signatures, capacity * sizeof *signatures);
    d->signatures = signatures ? signatures : d->signatures;
    uint32_t *durations = realloc(d->durations, capacity * sizeof *durations);
    d->durations = durations ? durations : d->durations;
    uint64_t *starts = realloc(d->starts, capacity * sizeof *starts);
    d->starts = starts ? starts : d->starts;
    if (!signatures || !durations || !starts)
        return false;
    d->columns_capacity = capacity;
    return true;
}

/* Exactly one zstd frame of the stated size within our limits, or nothing is decoded. */
static bool decompress(struct decode *d, const struct frame_header *h, const uint8_t *payload)
{
    ZSTD_frameHeader z;
    if (ZSTD_getFrameHeader(&z, payload, h->stored_bytes) != 0 || z.frameType != ZSTD_frame ||
        z.frameContentSize != h->raw_bytes || z.windowSize > WINDOW_MAX || z.dictID != 0 ||
        !z.checksumFlag ||
        ZSTD_findFrameCompressedSize(payload, h->stored_bytes) != h->stored_bytes)
        return false;
    return ZSTD_decompressDCtx(d->dctx, d->raw, h->raw_bytes, payload, h->stored_bytes) ==
           h->raw_bytes;
}

/* Ids of the shard to ids of the reader; rows of unresolved ids are taken out. Returns how many are
 * left. */
static size_t resolve(struct decode *d, const struct dictionary *names, size_t count,
                      uint32_t max_id)
{
    uint32_t *ids = d->signatures + d->nevents, *durations = d->durations + d->nevents;
    uint64_t *starts = d->starts + d->nevents;
    if (max_id < names->signature_ids_equal)
        return count;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t id = dictionary_signature(names, ids[i]);
        ids[kept] = id;
        starts[kept] = starts[i];
        durations[kept] = durations[i];
        kept += id != DICTIONARY_UNRESOLVED;
    }
    return kept;
}

static bool reserve_last(struct decode *d, uint32_t max_id)
{
    size_t bytes = ((size_t)max_id + 1) * sizeof(uint32_t);
    if (bytes > d->last.size && !buffer_reserve(&d->last, bytes - d->last.size))
        return false;
    d->last.size = bytes > d->last.size ? bytes : d->last.size; /* fresh memory is zero */
    return true;
}

static enum status read_events(struct decode *d, const struct dictionary *names,
                               const struct frame_header *h, struct cursor *in,
                               struct reader_frame *frame)
{
    struct reader_events run = { 0 };
    run.thread = (uint32_t)cursor_varint_max(in, TRACE_THREADS_MAX - 1);
    run.stream = (uint32_t)cursor_varint_max(in, UINT32_MAX);
    size_t count = cursor_varint_max(in, TRACE_FRAME_EVENTS_MAX - d->nrows);
    const uint8_t *head = cursor_bytes(in, 4);
    uint64_t base_tick = cursor_varint(in);
    if (!head || in->bad || head[0] & ~(EVENTS_ZIGZAG | EVENTS_UNTIMED) || head[1] > 4 ||
        head[2] > 8 || head[3] > 4 || (head[0] & EVENTS_UNTIMED && (head[2] || head[3])))
        return ST_FORMAT;
    if ((uint64_t)(in->end - in->at) != (uint64_t)count * (head[1] + head[2] + head[3]))
        return ST_FORMAT;
    if (++d->nsections > TRACE_FRAME_RUNS_MAX)
        return ST_FORMAT;
    d->nrows += count;
    if (!reserve_columns(d, d->nevents + count))
        return ST_NOMEM;
    uint32_t *ids = d->signatures + d->nevents, *durations = d->durations + d->nevents;
    columns_u32(ids, in->at, count, head[1]);
    columns_u64(d->starts + d->nevents, in->at + count * head[1], count, head[2]);
    columns_u32(durations, in->at + count * (head[1] + head[2]), count, head[3]);
    uint32_t max_id = columns_sum(ids, count);
    if (max_id >= TRACE_SIGNATURES_MAX)
        return ST_FORMAT;
    if (!reserve_last(d, max_id))
        return ST_NOMEM;
    columns_durations(durations, ids, count, (uint32_t *)d->last.bytes);
    in->at = in->end;
    if (!columns_times(d->starts + d->nevents, d->durations + d->nevents, count, base_tick,
                       h->tick_ns, head[0] & EVENTS_ZIGZAG))
        return ST_FORMAT;
    run.count = resolve(d, names, count, max_id);
    frame->unresolved += count - run.count;
    d->nevents += run.count;
    if (run.count == 0)
        return ST_OK;
    if (!buffer_reserve(&d->runs, sizeof run))
        return ST_NOMEM;
    buffer_put(&d->runs, &run, sizeof run);
    frame->nevents++;
    return ST_OK;
}

static bool read_histogram(struct cursor *in, struct histogram *h)
{
    *h = (struct histogram){ 0 };
    uint64_t buckets = cursor_varint_max(in, HISTOGRAM_BUCKETS);
    uint64_t bucket = 0;
    for (uint64_t i = 0; i < buckets; i++) {
        bucket += cursor_varint_max(in, HISTOGRAM_BUCKETS - 1 - bucket);
        h->count[bucket] = cursor_varint(in);
        if (in->bad || (i && h->count[bucket] == 0))
            return false;
    }
    return !in->bad;
}

static enum status read_counts(struct decode *d, const struct dictionary *names, struct cursor *in,
                               struct reader_frame *frame)
{
    uint64_t rows = cursor_varint_max(in, TRACE_FRAME_COUNTS_MAX - frame->ncounts);
    for (uint64_t i = 0; i < rows && !in->bad; i++) {
        struct reader_count row = { 0 };
        struct histogram histogram;
        row.signature = dictionary_signature(names, cursor_varint(in));
        row.calls = cursor_varint(in);
        row.sum_ns = cursor_varint(in);
        row.min_ns = cursor_varint(in);
        row.max_ns = row.min_ns + cursor_varint_max(in, UINT64_MAX - row.min_ns);
        if (!read_histogram(in, &histogram))
            return ST_FORMAT;
        if (row.signature == DICTIONARY_UNRESOLVED) {
            frame->unresolved += row.calls;
            continue;
        }
        if (!buffer_reserve(&d->counts, sizeof row) ||
            !buffer_reserve(&d->histograms, sizeof histogram))
            return ST_NOMEM;
        buffer_put(&d->counts, &row, sizeof row);
        buffer_put(&d->histograms, &histogram, sizeof histogram);
        frame->ncounts++;
    }
    return ST_OK;
}

static enum status read_facts(struct decode *d, const struct dictionary *names, struct cursor *in,
                              struct reader_frame *frame)
{
    uint64_t count = cursor_varint_max(in, TRACE_FACTS_MAX - frame->nfacts);
    for (uint64_t i = 0; i < count && !in->bad; i++) {
        struct fact_ids fact;
        fact.key = dictionary_string(names, cursor_varint(in));
        fact.value = dictionary_string(names, cursor_varint(in));
        if (fact.key == DICTIONARY_UNRESOLVED || fact.value == DICTIONARY_UNRESOLVED)
            continue;
        if (!buffer_reserve(&d->facts, sizeof fact))
            return ST_NOMEM;
        buffer_put(&d->facts, &fact, sizeof fact);
        frame->nfacts++;
    }
    return ST_OK;
}

static void resolve_gpu(const struct dictionary *names, uint32_t *name, uint32_t *signature)
{
    *name = dictionary_name(names, *name);
    if (*signature != GPU_NO_SIGNATURE)
        *signature = dictionary_signature(names, *signature);
}

static enum status read_kernels(struct decode *d, const struct dictionary *names, struct cursor *in,
                                struct reader_frame *frame)
{
    uint64_t rows = cursor_varint_max(in, TRACE_FRAME_KERNELS_MAX - frame->nkernels);
    for (uint64_t i = 0; i < rows && !in->bad; i++) {
        struct gpu_kernel row;
        if (!gpucode_get_kernel(in, &row))
            return ST_FORMAT;
        resolve_gpu(names, &row.name, &row.signature);
        if (!buffer_reserve(&d->kernels, sizeof row))
            return ST_NOMEM;
        buffer_put(&d->kernels, &row, sizeof row);
        frame->nkernels++;
    }
    return ST_OK;
}

/* One for each kernel row so far. */
static enum status read_grids(struct decode *d, struct cursor *in, const struct reader_frame *frame)
{
    struct gpu_kernel *rows = (struct gpu_kernel *)d->kernels.bytes;
    if (cursor_varint(in) != frame->nkernels)
        return ST_FORMAT;
    for (size_t i = 0; i < frame->nkernels; i++)
        if (!gpucode_get_grid(in, &rows[i].grid))
            return ST_FORMAT;
    return ST_OK;
}

static enum status read_intervals(struct decode *d, const struct dictionary *names,
                                  struct cursor *in, struct reader_frame *frame)
{
    struct gpuintervals_head head;
    size_t known = d->interval.size / sizeof(struct gpu_interval);
    if (frame->nintervals >= TRACE_FRAME_RUNS_MAX ||
        !gpuintervals_get_head(in, TRACE_FRAME_INTERVALS_MAX - known, &head))
        return ST_FORMAT;
    size_t bytes = head.about.count * sizeof(struct gpu_interval);
    if (!buffer_reserve(&d->intervals, sizeof head.about) ||
        !buffer_reserve(&d->sources, (head.about.nsources + 1) * sizeof *head.source) ||
        !buffer_reserve(&d->interval, bytes + sizeof(struct gpu_interval)))
        return ST_NOMEM;
    if (!gpuintervals_get(&head, (struct gpu_interval *)d->interval.bytes + known))
        return ST_FORMAT;
    for (size_t i = 0; i < head.about.nsources; i++)
        resolve_gpu(names, &head.source[i].name, &head.source[i].signature);
    d->interval.size += bytes;
    buffer_put(&d->sources, head.source, head.about.nsources * sizeof *head.source);
    buffer_put(&d->intervals, &head.about, sizeof head.about);
    frame->nintervals++;
    return ST_OK;
}

static enum status read_windows(struct decode *d, struct cursor *in, struct reader_frame *frame)
{
    uint64_t rows = cursor_varint_max(in, TRACE_FRAME_WINDOWS_MAX - frame->ngpu_windows);
    for (uint64_t i = 0; i < rows && !in->bad; i++) {
        struct gpu_window row;
        if (!gpucode_get_window(in, &row))
            return ST_FORMAT;
        if (!buffer_reserve(&d->gpu_windows, sizeof row))
            return ST_NOMEM;
        buffer_put(&d->gpu_windows, &row, sizeof row);
        frame->ngpu_windows++;
    }
    return ST_OK;
}

static enum status read_totals(struct decode *d, struct cursor *in, struct reader_frame *frame)
{
    frame->gpu_totals = &d->gpu_totals;
    return gpucode_get_totals(in, &d->gpu_totals) ? ST_OK : ST_FORMAT;
}

static enum status keep_blob(struct decode *d, uint32_t type, struct cursor *in,
                             struct reader_frame *frame)
{
    struct reader_blob blob = { type, in->at, (size_t)(in->end - in->at) };
    in->at = in->end;
    if (!buffer_reserve(&d->blobs, sizeof blob))
        return ST_NOMEM;
    buffer_put(&d->blobs, &blob, sizeof blob);
    frame->nblobs++;
    return ST_OK;
}

static enum status read_section(struct decode *d, struct dictionary *names,
                                const struct frame_header *h, uint64_t type, struct cursor *in,
                                struct reader_frame *frame)
{
    switch (type) {
    case SECTION_STRINGS:
        return dictionary_read_strings(names, in);
    case SECTION_SIGNATURES:
        return dictionary_read_signatures(names, in);
    case SECTION_FACTS:
        return read_facts(d, names, in, frame);
    case SECTION_EVENTS:
        return read_events(d, names, h, in, frame);
    case SECTION_COUNTS:
        return read_counts(d, names, in, frame);
    case SECTION_GPU_KERNELS:
        return read_kernels(d, names, in, frame);
    case SECTION_GPU_WINDOWS:
        return read_windows(d, in, frame);
    case SECTION_GPU_TOTALS:
        return read_totals(d, in, frame);
    case SECTION_PHASES:
        return phaserows_read(&d->phases, names, in);
    case SECTION_GPU_GRIDS:
        return read_grids(d, in, frame);
    case SECTION_GPU_INTERVALS:
        return read_intervals(d, names, in, frame);
    default:
        if (type >= SECTION_BLOB_FIRST && type <= SECTION_BLOB_LAST)
            return keep_blob(d, (uint32_t)type, in, frame);
        in->at = in->end; /* of a newer version, compatible */
        return ST_OK;
    }
}

static void bind_intervals(struct decode *d, struct reader_frame *frame)
{
    struct gpu_intervals *rows = (struct gpu_intervals *)d->intervals.bytes;
    const struct gpu_source *sources = (const struct gpu_source *)d->sources.bytes;
    const struct gpu_interval *interval = (const struct gpu_interval *)d->interval.bytes;
    for (size_t i = 0; i < frame->nintervals; i++) {
        rows[i].sources = sources;
        rows[i].interval = interval;
        sources += rows[i].nsources;
        interval += rows[i].count;
    }
    frame->intervals = rows;
}

/* Buffers have stopped moving: point into them. */
static enum status bind_rows(struct decode *d, const struct dictionary *names,
                             struct reader_frame *frame)
{
    struct reader_events *runs = (struct reader_events *)d->runs.bytes;
    for (size_t i = 0, first = 0; i < frame->nevents; first += runs[i++].count) {
        runs[i].signature = d->signatures + first;
        runs[i].start_ns = d->starts + first;
        runs[i].duration_ns = d->durations + first;
    }
    struct reader_count *counts = (struct reader_count *)d->counts.bytes;
    for (size_t i = 0; i < frame->ncounts; i++)
        counts[i].histogram = (const struct histogram *)d->histograms.bytes + i;
    const struct fact_ids *ids = (const struct fact_ids *)d->facts.bytes;
    if (!buffer_reserve(&d->fact_rows, frame->nfacts * sizeof(struct reader_fact)))
        return ST_NOMEM;
    struct reader_fact *facts = (struct reader_fact *)d->fact_rows.bytes;
    for (size_t i = 0; i < frame->nfacts; i++)
        facts[i] = (struct reader_fact){ intern_get(&names->strings, ids[i].key, NULL),
                                         intern_get(&names->strings, ids[i].value, NULL) };
    frame->events = runs;
    frame->counts = counts;
    frame->facts = facts;
    frame->blobs = (const struct reader_blob *)d->blobs.bytes;
    frame->kernels = (const struct gpu_kernel *)d->kernels.bytes;
    frame->gpu_windows = (const struct gpu_window *)d->gpu_windows.bytes;
    frame->phases = phaserows_get(&d->phases);
    bind_intervals(d, frame);
    return ST_OK;
}

enum status decode_payload(struct decode *d, struct dictionary *names, const struct frame_header *h,
                           const uint8_t *payload, struct reader_frame *frame,
                           char what[WHAT_BYTES])
{
    d->nevents = d->nsections = d->nrows = 0;
    d->runs.size = d->counts.size = d->histograms.size = d->facts.size = d->blobs.size = 0;
    d->kernels.size = d->gpu_windows.size = 0;
    phaserows_clear(&d->phases);
    d->intervals.size = d->sources.size = d->interval.size = 0;
    frame->nevents = frame->ncounts = frame->nfacts = frame->nblobs = 0;
    frame->nkernels = frame->ngpu_windows = frame->nintervals = 0;
    frame->gpu_totals = NULL;
    frame->unresolved = 0;
    snprintf(what, WHAT_BYTES, "payload is not one zstd frame of the stated size");
    if (!reserve_raw(d, h->raw_bytes + 1))
        return ST_NOMEM;
    if (h->raw_bytes && !decompress(d, h, payload))
        return ST_FORMAT;
    for (struct cursor in = { d->raw, d->raw + h->raw_bytes, false }; in.at < in.end;) {
        uint64_t type = cursor_varint(&in), bytes = cursor_varint(&in);
        const uint8_t *start = cursor_bytes(&in, bytes);
        snprintf(what, WHAT_BYTES, "malformed section %llu", (unsigned long long)type);
        if (!start)
            return ST_FORMAT;
        struct cursor section = { start, start + bytes, false };
        enum status st = read_section(d, names, h, type, &section, frame);
        if (st == ST_NOMEM)
            return st;
        if (st == ST_LIMIT)
            snprintf(what, WHAT_BYTES, "more names or signatures than one file may hold");
        if (st != ST_OK || section.bad || section.at != section.end)
            return ST_FORMAT;
    }
    return bind_rows(d, names, frame);
}
