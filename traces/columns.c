/* SPDX-License-Identifier: Apache-2.0
 *
 * Built with vectorisation on (CMakeLists.txt). Loops are per width, with a constant number of
 * planes, so that the compiler turns each into straight vector code.
 */
#include "traces/columns.h"

#include <string.h>

#include "traces/cursor.h"
#include "traces/format.h"

void columns_u32(uint32_t *restrict out, const uint8_t *restrict p, size_t count, unsigned width)
{
    const uint8_t *p1 = p + count, *p2 = p + 2 * count, *p3 = p + 3 * count;
    switch (width) {
    case 0:
        memset(out, 0, count * sizeof *out);
        break;
    case 1:
        for (size_t i = 0; i < count; i++)
            out[i] = p[i];
        break;
    case 2:
        for (size_t i = 0; i < count; i++)
            out[i] = (uint32_t)(p[i] | p1[i] << 8);
        break;
    case 3:
        for (size_t i = 0; i < count; i++)
            out[i] = (uint32_t)(p[i] | p1[i] << 8 | p2[i] << 16);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = p[i] | (uint32_t)p1[i] << 8 | (uint32_t)p2[i] << 16 | (uint32_t)p3[i] << 24;
    }
}

void columns_u64(uint64_t *restrict out, const uint8_t *restrict p, size_t count, unsigned width)
{
    const uint8_t *p1 = p + count, *p2 = p + 2 * count, *p3 = p + 3 * count;
    switch (width) {
    case 0:
        memset(out, 0, count * sizeof *out);
        return;
    case 1:
        for (size_t i = 0; i < count; i++)
            out[i] = p[i];
        return;
    case 2:
        for (size_t i = 0; i < count; i++)
            out[i] = (uint32_t)(p[i] | p1[i] << 8);
        return;
    case 3:
        for (size_t i = 0; i < count; i++)
            out[i] = (uint32_t)(p[i] | p1[i] << 8 | p2[i] << 16);
        return;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = p[i] | (uint32_t)p1[i] << 8 | (uint32_t)p2[i] << 16 | (uint32_t)p3[i] << 24;
    }
    for (unsigned plane = 4; plane < width; plane++)
        for (size_t i = 0; i < count; i++)
            out[i] |= (uint64_t)p[plane * count + i] << 8 * plane;
}

uint32_t columns_sum(uint32_t *values, size_t count)
{
    uint32_t value = 0, max = 0;
    for (size_t i = 0; i < count; i++) {
        value += zigzag32_decode(values[i]);
        values[i] = value;
        max = value > max ? value : max;
    }
    return max;
}

void columns_durations(uint32_t *restrict durations, const uint32_t *restrict ids, size_t count,
                       uint32_t *restrict last)
{
    for (size_t i = 0; i < count; i++)
        durations[i] = last[ids[i]] += zigzag32_decode(durations[i]);
    for (size_t i = 0; i < count; i++)
        last[ids[i]] = 0;
}

/* Gaps that may be anything: every sum is checked. */
static bool sum_checked(uint64_t *starts, const uint32_t *durations, size_t count, int64_t tick,
                        int64_t tick_max, bool zigzag)
{
    for (size_t i = 0; i < count; i++) {
        int64_t gap = zigzag ? zigzag_decode(starts[i]) : (int64_t)starts[i];
        if (gap > tick_max || gap < -tick_max)
            return false;
        tick += gap;
        if (tick < 0 || tick > tick_max)
            return false;
        starts[i] = (uint64_t)tick;
        tick += durations[i];
    }
    return tick <= tick_max;
}

bool columns_times(uint64_t *starts, uint32_t *durations, size_t count, uint64_t base_tick,
                   uint32_t tick_ns, bool zigzag)
{
    uint64_t tick_max = TRACE_TIME_MAX_NS / tick_ns, widest = 0;
    if (base_tick > tick_max)
        return false;
    for (size_t i = 0; i < count; i++)
        widest |= starts[i];
    if (zigzag || widest >> 40) {
        if (!sum_checked(starts, durations, count, (int64_t)base_tick, (int64_t)tick_max, zigzag))
            return false;
        for (size_t i = 0; i < count; i++)
            starts[i] *= tick_ns;
    } else {
        /* At most 2^20 gaps below 2^40 and durations below 2^32: no sum can wrap. */
        uint64_t tick = base_tick;
        for (size_t i = 0; i < count; i++) {
            tick += starts[i];
            starts[i] = tick * tick_ns;
            tick += durations[i];
        }
        if (tick > tick_max)
            return false;
    }
    uint32_t ticks_fit = UINT32_MAX / tick_ns;
    for (size_t i = 0; i < count; i++)
        durations[i] = durations[i] <= ticks_fit ? durations[i] * tick_ns : UINT32_MAX;
    return true;
}
