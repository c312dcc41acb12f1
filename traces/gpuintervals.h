/* SPDX-License-Identifier: Apache-2.0
 *
 * Intervals of a GPU stream as columns of bytes (docs/trace-format.md, GPU_INTERVALS). Any thread.
 */
#ifndef TILEWISE_TRACES_GPUINTERVALS_H
#define TILEWISE_TRACES_GPUINTERVALS_H

#include "traces/buffer.h"
#include "traces/gpu.h"

enum {
    GPUINTERVALS_TICK_NS = 32, /* of what we write */
    GPUINTERVALS_HEAD_BYTES = 8 * VARINT_BYTES_MAX + 5 + GPU_SOURCES_MAX * (4 + 4 + 1),
    GPUINTERVALS_EACH_BYTES = 1 + 8 + 4 + 8,
};

/* Are indexes and times in range, and the intervals in order? */
bool gpuintervals_are_sound(const struct gpu_intervals *g);

/* Needs room for GPUINTERVALS_HEAD_BYTES and GPUINTERVALS_EACH_BYTES for each, and sound ones. */
void gpuintervals_put(struct buffer *out, const struct gpu_intervals *g);

/* What stands before the columns, which are the rest of the section. */
struct gpuintervals_head {
    struct gpu_intervals about; /* all but its pointers */
    struct gpu_source source[GPU_SOURCES_MAX];
    uint64_t base_tick;
    uint32_t tick_ns;
    uint8_t width[4]; /* of source, gap, duration, launch */
    const uint8_t *columns;
};

/* False: malformed, or more than `count_max` of them. Moves `in` to its end. */
bool gpuintervals_get_head(struct cursor *in, size_t count_max, struct gpuintervals_head *head);
/* To head->about.count intervals. False: malformed. */
bool gpuintervals_get(const struct gpuintervals_head *head, struct gpu_interval *out);

#endif
