/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of events out of their byte planes: docs/trace-format.md, EVENTS. The inner loops of the
 * reader.
 */
#ifndef TILEWISE_TRACES_COLUMNS_H
#define TILEWISE_TRACES_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `planes` holds width * count bytes; width is at most 4 (u32) or 8 (u64). */
void columns_u32(uint32_t *out, const uint8_t *planes, size_t count, unsigned width);
void columns_u64(uint64_t *out, const uint8_t *planes, size_t count, unsigned width);

/* In place: differences to the value before (the first: to 0) become values. Returns the largest.
 */
uint32_t columns_sum(uint32_t *values, size_t count);

/* In place: differences to the last duration of the same id become durations. `last` has a zero for
 * every id, and again when this returns. */
void columns_durations(uint32_t *durations, const uint32_t *ids, size_t count, uint32_t *last);

/* In place: `starts` holds gaps and becomes start_ns, `durations` holds ticks and becomes ns
 * (saturated). False: a time is out of range, and the contents are undefined. */
bool columns_times(uint64_t *starts, uint32_t *durations, size_t count, uint64_t base_tick,
                   uint32_t tick_ns, bool zigzag);

#endif
