/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes whatever through the reader: rows within their limits or a typed error, nothing else.
 * Built with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION the checksums are not looked at, so that
 * mutations reach the decoder.
 */
#include "fuzz.h"
#include "traces/timeline.h"

/* Touch every value, so that a sanitizer sees what was not written. */
static uint64_t sum_rows(const struct reader *r, const struct reader_frame *f)
{
    size_t known, shards;
    uint64_t sum = 0;
    reader_signatures(r, &known);
    reader_shards(r, &shards);
    require(f->shard < shards, "shard out of range");
    for (size_t i = 0; i < f->nevents; i++) {
        const struct reader_events *e = &f->events[i];
        require(e->count > 0 && e->thread < TRACE_THREADS_MAX, "empty run or bad thread");
        for (size_t k = 0; k < e->count; k++) {
            require(e->signature[k] < known, "signature out of range");
            require(e->start_ns[k] <= TRACE_TIME_MAX_NS, "time out of range");
            sum += e->signature[k] + e->start_ns[k] + e->duration_ns[k];
        }
    }
    for (size_t i = 0; i < f->ncounts; i++) {
        require(f->counts[i].signature < known, "signature out of range");
        require(f->counts[i].min_ns <= f->counts[i].max_ns, "minimum above maximum");
        sum += f->counts[i].calls + f->counts[i].histogram->count[7];
    }
    for (size_t i = 0; i < f->nfacts; i++)
        sum += strlen(f->facts[i].key) + strlen(f->facts[i].value);
    for (size_t i = 0; i < f->nblobs; i++)
        for (size_t k = 0; k < f->blobs[i].count; k++)
            sum += f->blobs[i].bytes[k];
    return sum;
}

static uint64_t sum_gpu(const struct reader *r, const struct reader_frame *f)
{
    size_t known;
    uint64_t sum = 0;
    reader_signatures(r, &known);
    for (size_t i = 0; i < f->nkernels; i++) {
        const struct gpu_kernel *k = &f->kernels[i];
        require(k->signature == GPU_NO_SIGNATURE || k->signature < known, "kernel's signature");
        require(k->calls <= k->measured && k->measured <= k->launches, "kernel's counts");
        sum += strlen(reader_string(r, k->name)) + k->grid.grid[2] + k->grid.shared_bytes;
    }
    for (size_t i = 0; i < f->ngpu_windows; i++)
        require(f->gpu_windows[i].begin_ns <= f->gpu_windows[i].end_ns, "window ends early");
    for (size_t i = 0; i < f->nintervals; i++) {
        const struct gpu_intervals *g = &f->intervals[i];
        for (size_t k = 0; k < g->nsources; k++)
            sum += strlen(reader_string(r, g->sources[k].name)) + g->sources[k].signature;
        for (size_t k = 0; k < g->count; k++) {
            require(g->interval[k].source < g->nsources, "source out of range");
            require(g->interval[k].start_ns <= TRACE_TIME_MAX_NS, "time out of range");
            sum += g->interval[k].launch_ns + g->interval[k].duration_ns;
        }
    }
    return sum;
}

/* The same bytes as windows. */
static uint64_t sum_timeline(const uint8_t *bytes, size_t count)
{
    struct timeline *t;
    struct timeline_window w;
    uint64_t sum = 0;
    enum status st = timeline_open_bytes(&t, bytes, count, NULL);
    require(st == ST_OK, "what opened once opens twice");
    while ((st = timeline_next(t, &w, NULL)) == ST_OK)
        for (size_t i = 0; i < w.nstreams; i++)
            for (size_t k = 0; k < w.streams[i].count; k++) {
                const struct timeline_interval *v = &w.streams[i].interval[k];
                require(k == 0 || v->start_ns >= v[-1].start_ns, "intervals out of order");
                sum += v->end_ns + v->name;
            }
    require(st == ST_END, "reading memory can only end");
    timeline_close(t);
    return sum;
}

static uint64_t sum_names(const struct reader *r)
{
    size_t known, damaged;
    uint64_t sum = 0;
    const struct tilewise_signature *s = reader_signatures(r, &known);
    for (size_t i = 0; i < known; i++) {
        char text[200];
        sum += strlen(reader_string(r, s[i].entry)) + signature_is_sane(&s[i]) +
               strlen(signature_describe(&s[i], text, sizeof text)) + (signature_flops(&s[i]) > 1) +
               (signature_bytes(&s[i]) > 1);
    }
    const struct reader_damage *d = reader_damage(r, &damaged);
    for (size_t i = 0; i < damaged; i++)
        sum += strlen(d[i].what);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    uint64_t sink = 0;
    struct reader *r;
    struct fault fault = { 0 };
    enum status st = reader_open_bytes(&r, bytes, count, &fault);
    if (st != ST_OK) {
        require(!r && fault.text[0], "an error without a text");
        return 0;
    }
    struct reader_frame frame;
    while ((st = reader_next(r, &frame, &fault)) == ST_OK)
        sink += sum_rows(r, &frame) + sum_gpu(r, &frame);
    require(st == ST_END, "reading memory can only end");
    sink += sum_names(r);
    reader_close(r);
    sink += sum_timeline(bytes, count);
    __asm__ volatile("" : : "r"(sink)); /* every value was needed */
    return 0;
}
