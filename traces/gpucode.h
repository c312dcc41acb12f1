/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of what was measured of a GPU, as bytes (docs/trace-format.md). Any thread.
 */
#ifndef TILEWISE_TRACES_GPUCODE_H
#define TILEWISE_TRACES_GPUCODE_H

#include "traces/buffer.h"
#include "traces/gpu.h"

enum { GPUCODE_BYTES_MAX = 8 * VARINT_BYTES_MAX };

bool gpucode_grid_is_known(const struct gpu_grid *g);

/* Do the numbers agree with each other? */
bool gpucode_kernel_is_sound(const struct gpu_kernel *k);
bool gpucode_window_is_sound(const struct gpu_window *w);
bool gpucode_totals_are_sound(const struct gpu_totals *t);

/* Needs room for GPUCODE_BYTES_MAX and a sound row. */
void gpucode_put_kernel(struct buffer *out, const struct gpu_kernel *k);
/* The grid alone, which a row without one lacks. */
void gpucode_put_grid(struct buffer *out, const struct gpu_grid *g);
void gpucode_put_window(struct buffer *out, const struct gpu_window *w);
void gpucode_put_totals(struct buffer *out, const struct gpu_totals *t);

/* False: malformed, or not sound. */
bool gpucode_get_kernel(struct cursor *in, struct gpu_kernel *k);
bool gpucode_get_grid(struct cursor *in, struct gpu_grid *g);
bool gpucode_get_window(struct cursor *in, struct gpu_window *w);
bool gpucode_get_totals(struct cursor *in, struct gpu_totals *t);

#endif
