/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_fixture.h"
#include "traces/gpuintervals.h"

enum { COUNT = 500 };

static const struct gpu_source sources[] = {
    { .name = 1, .signature = 3, .is_first = true },
    { .name = 2, .signature = GPU_NO_SIGNATURE, .in_graph = true },
    { .name = 3, .signature = GPU_NO_SIGNATURE, .work = GPU_COPY },
    { .signature = GPU_NO_SIGNATURE, .work = GPU_FILL },
};

static struct gpu_interval interval[COUNT];

/* Every fifth overlaps the one before, every seventh was launched by nobody known. */
static struct gpu_intervals sample(void)
{
    uint64_t at = 5000000000, state = 99;
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t r = fixture_random(&state);
        at += i % 5 ? 2000 + r % 3000 : 10;
        interval[i] = (struct gpu_interval){ .start_ns = at,
                                             .duration_ns = 1500 + (uint32_t)(r >> 20) % 3000,
                                             .launch_ns = i % 7 ? at - 100000 : GPU_NO_TIME,
                                             .source = i % 4 };
    }
    interval[COUNT - 1].duration_ns = 4000000000;
    return (struct gpu_intervals){ .window_ns = 4999999999,
                                   .missing = 7,
                                   .stream = 3,
                                   .device = 1,
                                   .nsources = 4,
                                   .count = COUNT,
                                   .sources = sources,
                                   .interval = interval };
}

static struct buffer encode(const struct gpu_intervals *g)
{
    struct buffer b = { 0 };
    cr_assert(gpuintervals_are_sound(g));
    cr_assert(
        buffer_reserve(&b, GPUINTERVALS_HEAD_BYTES + g->count * GPUINTERVALS_EACH_BYTES + 64));
    gpuintervals_put(&b, g);
    cr_assert_leq(b.size, GPUINTERVALS_HEAD_BYTES + g->count * GPUINTERVALS_EACH_BYTES);
    return b;
}

static bool decode(const uint8_t *bytes, size_t count, struct gpu_interval *out, size_t *decoded)
{
    struct gpuintervals_head head;
    struct cursor in = { bytes, bytes + count, false };
    if (!gpuintervals_get_head(&in, COUNT, &head) || in.bad || in.at != in.end)
        return false;
    *decoded = head.about.count;
    return gpuintervals_get(&head, out);
}

static uint64_t tick(uint64_t ns)
{
    return ns / GPUINTERVALS_TICK_NS;
}

Test(gpuintervals, come_back_to_the_tick)
{
    struct gpu_intervals g = sample();
    struct buffer b = encode(&g);
    struct gpuintervals_head head;
    struct gpu_interval back[COUNT];
    struct cursor in = { b.bytes, b.bytes + b.size, false };
    cr_assert(gpuintervals_get_head(&in, COUNT, &head));
    cr_assert_eq(head.about.window_ns, g.window_ns);
    cr_assert_eq(head.about.missing, 7);
    cr_assert_eq(head.about.stream, 3);
    cr_assert_eq(head.about.device, 1);
    for (unsigned i = 0; i < 4; i++)
        cr_assert_arr_eq(&head.source[i], &sources[i], sizeof sources[i]);
    cr_assert(gpuintervals_get(&head, back));
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t end = interval[i].start_ns + interval[i].duration_ns;
        cr_assert_eq(back[i].source, interval[i].source);
        cr_assert_eq(tick(back[i].start_ns), tick(interval[i].start_ns));
        cr_assert_eq(tick(back[i].start_ns) + tick(back[i].duration_ns), tick(end), "%u", i);
        cr_assert_eq(back[i].launch_ns == GPU_NO_TIME, interval[i].launch_ns == GPU_NO_TIME);
        if (back[i].launch_ns != GPU_NO_TIME)
            cr_assert_eq(tick(back[i].launch_ns), tick(interval[i].launch_ns));
    }
    buffer_free(&b);
}

Test(gpuintervals, none_is_fine)
{
    struct gpu_intervals g = { .window_ns = 9, .missing = 3 };
    struct buffer b = encode(&g);
    size_t count = 1;
    cr_assert(decode(b.bytes, b.size, NULL, &count));
    cr_assert_eq(count, 0);
    buffer_free(&b);
}

Test(gpuintervals, unsound_ones_are_refused)
{
    struct gpu_intervals g = sample();
    interval[9].source = 4;
    cr_assert_not(gpuintervals_are_sound(&g));
    g = sample();
    interval[9].start_ns = interval[8].start_ns - 1;
    cr_assert_not(gpuintervals_are_sound(&g));
    g = sample();
    interval[COUNT - 1].start_ns = UINT64_MAX;
    cr_assert_not(gpuintervals_are_sound(&g));
    g = sample();
    interval[9].launch_ns = GPU_NO_TIME - 1;
    cr_assert_not(gpuintervals_are_sound(&g));
    g = sample();
    g.nsources = GPU_SOURCES_MAX + 1;
    cr_assert_not(gpuintervals_are_sound(&g));
    g = sample();
    g.window_ns = TRACE_TIME_MAX_NS + 1;
    cr_assert_not(gpuintervals_are_sound(&g));
}

Test(gpuintervals, every_truncation_is_malformed)
{
    struct gpu_intervals g = sample();
    struct buffer b = encode(&g);
    struct gpu_interval back[COUNT];
    size_t count;
    for (size_t cut = 0; cut < b.size; cut++) {
        uint8_t *exact = malloc(cut ? cut : 1); /* a sanitizer sees one byte too many */
        memcpy(exact, b.bytes, cut);
        cr_assert_not(decode(exact, cut, back, &count), "%zu", cut);
        free(exact);
    }
    b.bytes[b.size] = 0;
    cr_assert_not(decode(b.bytes, b.size + 1, back, &count));
    buffer_free(&b);
}

/* Whatever a byte is changed to: malformed, or in order and in range. */
Test(gpuintervals, any_byte_changed_gives_nothing_out_of_range)
{
    struct gpu_intervals g = sample();
    g.count = 40;
    struct buffer b = encode(&g);
    struct gpu_interval back[COUNT];
    uint64_t state = 5;
    unsigned refused = 0, taken = 0;
    for (unsigned round = 0; round < 60000; round++) {
        size_t at = round % b.size, count;
        uint8_t kept = b.bytes[at];
        b.bytes[at] = (uint8_t)fixture_random(&state);
        bool fine = decode(b.bytes, b.size, back, &count);
        fine ? taken++ : refused++;
        for (size_t i = 0; fine && i < count; i++) {
            cr_assert_lt(back[i].source, GPU_SOURCES_MAX);
            cr_assert_leq(back[i].start_ns, TRACE_TIME_MAX_NS);
            cr_assert(back[i].launch_ns == GPU_NO_TIME || back[i].launch_ns <= TRACE_TIME_MAX_NS);
            cr_assert(i == 0 || back[i].start_ns >= back[i - 1].start_ns);
        }
        b.bytes[at] = kept;
    }
    cr_assert_gt(refused, 100);
    cr_assert_gt(taken, 100);
    buffer_free(&b);
}

static bool takes(const uint64_t *head, size_t numbers, const uint8_t *rest, size_t bytes)
{
    uint8_t all[128];
    size_t size = 0, count;
    struct gpu_interval back[COUNT];
    for (size_t i = 0; i < numbers; i++)
        size += varint_store(all + size, head[i]);
    memcpy(all + size, rest, bytes);
    return decode(all, size + bytes, back, &count);
}

/* window, missing, stream, device, tick, sources, (name, signature + 1, flags), count */
#define HEAD(tick, sources, name, signature, flags, count)                                         \
    (const uint64_t[]){ 0, 0, 1, 0, tick, sources, name, signature, flags, count }, 10

Test(gpuintervals, numbers_out_of_range_are_malformed)
{
    const uint8_t none[] = { 0, 0, 0, 0, 0 };       /* widths, base tick */
    const uint8_t wide[] = { 2, 0, 0, 0, 0, 0, 0 }; /* a source has 1 byte */
    const uint8_t other[] = { 1, 0, 0, 0, 0, 1 };   /* source 1 of 1 */
    const uint8_t before[] = { 0, 1, 0, 0, 0, 1 };  /* a gap of -1 from 0 */
    const uint8_t late[] = { 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 };
    cr_assert(takes(HEAD(32, 1, 1, 0, 0, 1), none, sizeof none));
    cr_assert_not(takes(HEAD(0, 1, 1, 0, 0, 1), none, sizeof none));
    cr_assert_not(takes(HEAD(32, 1, 1, 0, 3, 1), none, sizeof none));
    cr_assert_not(takes(HEAD(32, 1, 1, 0, 16, 1), none, sizeof none));
    cr_assert_not(takes(HEAD(32, 1, TRACE_STRINGS_MAX, 0, 0, 1), none, sizeof none));
    cr_assert_not(takes(HEAD(32, 1, 1, TRACE_SIGNATURES_MAX + 1, 0, 1), none, sizeof none));
    cr_assert_not(takes(HEAD(32, 1, 1, 0, 0, COUNT + 1), none, sizeof none));
    cr_assert_not(takes(HEAD(32, 1, 1, 0, 0, 1), wide, sizeof wide));
    cr_assert_not(takes(HEAD(32, 1, 1, 0, 0, 1), other, sizeof other));
    cr_assert_not(takes(HEAD(32, 1, 1, 0, 0, 1), before, sizeof before));
    cr_assert_not(takes(HEAD(32, 1, 1, 0, 0, 1), late, sizeof late));
    cr_assert_not(takes(HEAD(32, GPU_SOURCES_MAX + 1, 1, 0, 0, 1), none, sizeof none));
}
