/* SPDX-License-Identifier: Apache-2.0
 *
 * What a summary keeps of GPU measurements while it reads: kernels by name and signature over all
 * shards, and sums over windows. Zero-initialise. One thread. The outcome does not depend on the
 * order of shards and frames.
 */
#ifndef TILEWISE_TRACES_GPUBOOK_H
#define TILEWISE_TRACES_GPUBOOK_H

#include "traces/buffer.h"
#include "traces/gpubusy.h"
#include "traces/intern.h"
#include "traces/summary.h"

struct gpubook {
    struct intern pairs;       /* struct pair: what totals[i] is about */
    struct buffer totals;      /* struct summary_kernel */
    struct intern grids;       /* struct grid_key: what grid_totals[i] is about */
    struct buffer grid_totals; /* struct summary_grid */
    bool too_many_grids;       /* none is kept: which ones would depend on the order of the files */
    uint32_t open_streams;     /* of the open shard so far */
    struct summary_gpu timeline;    /* its counts alone */
    struct gpu_totals closed, open; /* of the shards before, of the open one so far */
    struct gpubusy busy;
};

void gpubook_free(struct gpubook *g);

/* Names are ids of `names`, signatures ids of the summary: `index` maps the reader's. NOMEM; LIMIT.
 */
enum status gpubook_add(struct gpubook *g, struct intern *names, const struct reader *r,
                        const struct reader_frame *frame, const uint32_t *index);
void gpubook_end_shard(struct gpubook *g);

/* Fill kernels, gpu and the signatures' GPU times of the summary: its signatures and strings are
 * in place, the ranks map ids to indexes. NOMEM. */
enum status gpubook_make(struct gpubook *g, struct summary *s, const uint32_t *name_rank,
                         const uint32_t *rank);

#endif
