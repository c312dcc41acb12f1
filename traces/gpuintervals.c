/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/gpuintervals.h"

#include "traces/format.h"

enum { SOURCE, GAP, DURATION, LAUNCH, COLUMNS };

/* What differences are taken to. */
struct walk {
    uint64_t end_tick, launch_tick;
    uint32_t last[GPU_SOURCES_MAX]; /* duration in ticks of the last interval of a source */
};

static bool source_is_sound(const struct gpu_source *s)
{
    return s->name < TRACE_STRINGS_MAX && s->work <= GPU_FILL &&
           (s->signature == GPU_NO_SIGNATURE || s->signature < TRACE_SIGNATURES_MAX);
}

bool gpuintervals_are_sound(const struct gpu_intervals *g)
{
    if (g->nsources > GPU_SOURCES_MAX || g->count > TRACE_FRAME_INTERVALS_MAX ||
        g->window_ns > TRACE_TIME_MAX_NS)
        return false;
    for (size_t i = 0; i < g->nsources; i++)
        if (!source_is_sound(&g->sources[i]))
            return false;
    uint64_t last_ns = 0;
    for (size_t i = 0; i < g->count; last_ns = g->interval[i++].start_ns) {
        const struct gpu_interval *v = &g->interval[i];
        if (v->source >= g->nsources || v->start_ns < last_ns ||
            v->start_ns > TRACE_TIME_MAX_NS / 2 ||
            (v->launch_ns != GPU_NO_TIME && v->launch_ns > TRACE_TIME_MAX_NS / 2))
            return false;
    }
    return true;
}

/* Gaps are zigzag here in any case. */
static void step(struct walk *w, const struct gpu_interval *v, uint64_t value[COLUMNS])
{
    uint64_t start = v->start_ns / GPUINTERVALS_TICK_NS;
    uint64_t end = (v->start_ns + v->duration_ns) / GPUINTERVALS_TICK_NS;
    uint64_t launch = v->launch_ns / GPUINTERVALS_TICK_NS;
    uint32_t duration = (uint32_t)(end - start);
    value[SOURCE] = v->source;
    value[GAP] = zigzag_encode((int64_t)(start - w->end_tick));
    value[DURATION] = zigzag32_encode(duration - w->last[v->source]);
    value[LAUNCH] = 0;
    if (v->launch_ns != GPU_NO_TIME) {
        value[LAUNCH] = zigzag_encode((int64_t)(launch - w->launch_tick)) + 1;
        w->launch_tick = launch;
    }
    w->last[v->source] = duration;
    w->end_tick = end;
}

static uint8_t width_of(uint64_t bits)
{
    return (uint8_t)(bits ? (71 - __builtin_clzll(bits)) / 8 : 0);
}

static uint8_t flags_of(const struct gpu_source *s)
{
    return (uint8_t)(s->work | (s->in_graph ? SOURCE_IN_GRAPH : 0) |
                     (s->is_first ? SOURCE_IS_FIRST : 0));
}

static void put_sources(struct buffer *out, const struct gpu_intervals *g)
{
    buffer_put_varint(out, g->nsources);
    for (size_t i = 0; i < g->nsources; i++) {
        const struct gpu_source *s = &g->sources[i];
        buffer_put_varint(out, s->name);
        buffer_put_varint(out, s->signature == GPU_NO_SIGNATURE ? 0 : (uint64_t)s->signature + 1);
        buffer_put(out, &(uint8_t){ flags_of(s) }, 1);
    }
}

void gpuintervals_put(struct buffer *out, const struct gpu_intervals *g)
{
    uint64_t base = g->count ? g->interval[0].start_ns / GPUINTERVALS_TICK_NS : 0;
    uint64_t value[COLUMNS], all[COLUMNS] = { 0 };
    struct walk sizes = { base, base, { 0 } }, values = sizes;
    uint8_t width[COLUMNS];
    for (size_t i = 0; i < g->count; i++) {
        step(&sizes, &g->interval[i], value);
        for (unsigned c = 0; c < COLUMNS; c++)
            all[c] |= value[c];
    }
    for (unsigned c = 0; c < COLUMNS; c++)
        width[c] = width_of(all[c]);
    const uint64_t head[] = { g->window_ns, g->missing, g->stream, g->device,
                              GPUINTERVALS_TICK_NS };
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        buffer_put_varint(out, head[i]);
    put_sources(out, g);
    buffer_put_varint(out, g->count);
    buffer_put(out, width, sizeof width);
    buffer_put_varint(out, base);
    for (size_t i = 0; i < g->count; i++) {
        uint8_t *to = out->bytes + out->size + i;
        step(&values, &g->interval[i], value);
        for (unsigned c = 0; c < COLUMNS; c++)
            for (unsigned plane = 0; plane < width[c]; plane++, to += g->count)
                *to = (uint8_t)(value[c] >> 8 * plane);
    }
    out->size += g->count * (size_t)(width[0] + width[1] + width[2] + width[3]);
}

static bool get_source(struct cursor *in, struct gpu_source *s)
{
    uint64_t name = cursor_varint_max(in, TRACE_STRINGS_MAX - 1);
    uint64_t signature = cursor_varint_max(in, TRACE_SIGNATURES_MAX);
    const uint8_t *flags = cursor_bytes(in, 1);
    if (in->bad || *flags & ~(SOURCE_WORK | SOURCE_IN_GRAPH | SOURCE_IS_FIRST))
        return false;
    *s = (struct gpu_source){ .name = (uint32_t)name,
                              .signature = signature ? (uint32_t)signature - 1 : GPU_NO_SIGNATURE,
                              .work = *flags & SOURCE_WORK,
                              .in_graph = *flags & SOURCE_IN_GRAPH,
                              .is_first = *flags & SOURCE_IS_FIRST };
    return source_is_sound(s);
}

bool gpuintervals_get_head(struct cursor *in, size_t count_max, struct gpuintervals_head *h)
{
    static const uint8_t most[COLUMNS] = { 1, 8, 4, 8 };
    h->about = (struct gpu_intervals){ 0 };
    h->about.window_ns = cursor_varint_max(in, TRACE_TIME_MAX_NS);
    h->about.missing = cursor_varint(in);
    h->about.stream = (uint32_t)cursor_varint_max(in, UINT32_MAX);
    h->about.device = (uint32_t)cursor_varint_max(in, UINT32_MAX);
    h->tick_ns = (uint32_t)cursor_varint_max(in, 1000000000);
    h->about.nsources = cursor_varint_max(in, GPU_SOURCES_MAX);
    for (size_t i = 0; i < h->about.nsources; i++)
        if (!get_source(in, &h->source[i]))
            return false;
    h->about.count = cursor_varint_max(in, count_max);
    const uint8_t *width = cursor_bytes(in, COLUMNS);
    h->base_tick = cursor_varint(in);
    if (!width || in->bad || h->tick_ns == 0)
        return false;
    size_t each = 0;
    for (unsigned c = 0; c < COLUMNS; each += h->width[c++]) {
        h->width[c] = width[c];
        if (width[c] > most[c])
            return false;
    }
    h->columns = in->at;
    bool fits = (uint64_t)(in->end - in->at) == (uint64_t)h->about.count * each;
    in->at = in->end;
    return fits;
}

static uint64_t sum(uint64_t tick, int64_t difference, uint64_t tick_max, bool *fine)
{
    uint64_t to = tick + (uint64_t)difference;
    *fine &= difference <= (int64_t)tick_max && difference >= -(int64_t)tick_max && to <= tick_max;
    return to;
}

/* The opposite of step(). */
static bool unstep(struct walk *w, const struct gpuintervals_head *h, const uint64_t value[COLUMNS],
                   struct gpu_interval *v)
{
    uint64_t tick_max = TRACE_TIME_MAX_NS / h->tick_ns;
    bool fine = value[SOURCE] < h->about.nsources;
    if (!fine)
        return false;
    uint64_t start = sum(w->end_tick, zigzag_decode(value[GAP]), tick_max, &fine);
    uint32_t duration = w->last[value[SOURCE]] += zigzag32_decode((uint32_t)value[DURATION]);
    *v = (struct gpu_interval){ .start_ns = start * h->tick_ns,
                                .launch_ns = GPU_NO_TIME,
                                .duration_ns = duration <= UINT32_MAX / h->tick_ns
                                                   ? duration * h->tick_ns
                                                   : UINT32_MAX,
                                .source = (uint32_t)value[SOURCE] };
    if (value[LAUNCH]) {
        w->launch_tick = sum(w->launch_tick, zigzag_decode(value[LAUNCH] - 1), tick_max, &fine);
        v->launch_ns = w->launch_tick * h->tick_ns;
    }
    w->end_tick = sum(start, duration, tick_max, &fine);
    return fine;
}

bool gpuintervals_get(const struct gpuintervals_head *h, struct gpu_interval *out)
{
    struct walk w = { h->base_tick, h->base_tick, { 0 } };
    size_t count = h->about.count;
    if (h->base_tick > TRACE_TIME_MAX_NS / h->tick_ns)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = h->columns + i;
        uint64_t value[COLUMNS] = { 0 };
        for (unsigned c = 0; c < COLUMNS; c++)
            for (unsigned plane = 0; plane < h->width[c]; plane++, from += count)
                value[c] |= (uint64_t)*from << 8 * plane;
        if (!unstep(&w, h, value, &out[i]) || (i && out[i].start_ns < out[i - 1].start_ns))
            return false;
    }
    return true;
}
