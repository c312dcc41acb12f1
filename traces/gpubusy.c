/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/gpubusy.h"

#include <math.h>

/* Of the normal distribution, for a two-sided interval of 95 %. */
#define QUANTILE_95 1.959963984540054

static void weigh(struct gpubusy *b, const struct gpu_window *before, const struct gpu_window *w,
                  const struct gpu_window *after)
{
    uint64_t stands_for_ns = gpu_window_stands_for_ns(before, w, after);
    uint64_t length_ns = w->end_ns - w->begin_ns;
    if (length_ns == 0)
        return;
    uint64_t busy_ns = (uint64_t)((unsigned __int128)w->busy_ns * stands_for_ns / length_ns);
    b->bb += (unsigned __int128)busy_ns * busy_ns;
    b->bw += (unsigned __int128)busy_ns * stands_for_ns;
    b->ww += (unsigned __int128)stands_for_ns * stands_for_ns;
    b->nwindows++;
    b->stands_for_ns += stands_for_ns;
    b->busy_ns += busy_ns;
}

/* `next`: behind the last of the recent windows, or NULL. */
static void weigh_last(struct gpubusy *b, const struct gpu_window *next)
{
    if (b->nrecent > 0)
        weigh(b, b->nrecent > 1 ? &b->recent[0] : NULL, &b->recent[b->nrecent - 1], next);
}

void gpubusy_add(struct gpubusy *b, const struct gpu_window *window)
{
    weigh_last(b, window);
    if (b->nrecent == 2)
        b->recent[0] = b->recent[1];
    b->nrecent += b->nrecent < 2;
    b->recent[b->nrecent - 1] = *window;
}

void gpubusy_end_shard(struct gpubusy *b)
{
    weigh_last(b, NULL);
    b->nrecent = 0;
}

double gpubusy_share(const struct gpubusy *b, double *lo, double *hi)
{
    *lo = *hi = NAN;
    if (b->stands_for_ns == 0)
        return NAN;
    double n = (double)b->nwindows, share = (double)b->busy_ns / (double)b->stands_for_ns;
    if (b->nwindows < 2)
        return share;
    double squares = (double)b->bb - 2 * share * (double)b->bw + share * share * (double)b->ww;
    double error = sqrt(fmax(0, squares) * n / (n - 1)) / (double)b->stands_for_ns;
    *lo = fmax(0, share - QUANTILE_95 * error);
    *hi = share + QUANTILE_95 * error;
    return share;
}
