/* SPDX-License-Identifier: Apache-2.0
 *
 * The share of time that a GPU was busy, from windows of GPU time, each weighed by the time that it
 * stands for. Zero-initialise; a plain value, may be copied. One thread.
 */
#ifndef TILEWISE_TRACES_GPUBUSY_H
#define TILEWISE_TRACES_GPUBUSY_H

#include "traces/gpu.h"

struct gpubusy {
    struct gpu_window recent[2]; /* of the open shard: the two windows read last */
    uint32_t nrecent;
    uint64_t nwindows, stands_for_ns, busy_ns;
    /* Over windows: w the time that one stands for, b its part that was busy, in ns. */
    unsigned __int128 bb, bw, ww;
};

/* The windows of a shard in their order. One counts when the next one is known, or the end of the
 * shard. */
void gpubusy_add(struct gpubusy *b, const struct gpu_window *window);
void gpubusy_end_shard(struct gpubusy *b);

/* Ratio estimate over the windows that count, and its 95 % interval. NaN: too few of them. */
double gpubusy_share(const struct gpubusy *b, double *lo, double *hi);

#endif
