/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in for recorded work that cannot be replayed: traffic that takes as long. What lasts
 * less than it takes to fill the last cache works on activations, which are in it: copies within a
 * small pool. What lasts longer streams through memory: reads if its kind reads (attention, a
 * product, a reduction), else copies. What is written matters as much as what is read: it leaves
 * the cache while the next call reads its weights.
 *
 * An attention whose operands are known and fit the last cache reads just these, again and again.
 * Copies before it that would stream have written them, each its part: they rewrite that, again and
 * again. All attentions have their operands in one place, where an allocator puts them, too.
 */
#ifndef TILEWISE_REPLAYER_ORDER_FILLER_H
#define TILEWISE_REPLAYER_ORDER_FILLER_H

#include "replayer/backend.h"
#include "replayer/sequence.h"

enum order_traffic {
    ORDER_NEAR_COPY,
    ORDER_NEAR_READ,
    ORDER_FAR_COPY,
    ORDER_FAR_READ,
    ORDER_OPERAND_WRITE,
    ORDER_OPERAND_READ,
    ORDER_TRAFFIC_COUNT
};

/* "near copy" */
const char *order_traffic_name(enum order_traffic traffic);

/* Two regions each: read, and written. */
struct order_pool {
    unsigned char *from, *to;
    size_t bytes, at;
};

struct order_fillers {
    const struct backend *backend;
    struct backend_session *session;
    struct order_pool near, far;
    size_t operand_bytes;                    /* the most that stay in the cache, in far.to */
    double floor_ns;                         /* of a filler that does nothing */
    double per_byte_ns[ORDER_TRAFFIC_COUNT]; /* beyond that */
    double far_from_ns;                      /* what lasts so much longer streams */
};

struct order_filler {
    enum order_traffic traffic;
    size_t bytes;
    size_t at, region_bytes; /* of the operands: where it goes round */
};

struct order_filler_options {
    size_t near_bytes;  /* of the activations between calls */
    size_t cache_bytes; /* of the last cache */
    size_t max_bytes;   /* for all pools */
    double least_ns;    /* the shortest filler recorded; 0: none */
    unsigned arm;       /* a number for bursts that nobody else uses */
};

/* Allocate and measure. NOMEM, or DEVICE when the device does not do it. */
enum status order_filler_open(struct order_fillers *f, const struct backend *backend,
                              struct backend_session *session,
                              const struct order_filler_options *options);
void order_filler_close(struct order_fillers *f); /* accepts a zeroed one */

/* What stands in for each step of a sequence, if it is a filler. */
void order_fillers_for(const struct order_fillers *f, const struct sequence *s,
                       struct order_filler *out);
/* From the beginning of the pools again. */
void order_filler_rewind(struct order_fillers *f);
/* Enqueue; `hot` is what the next call reads, which whoever came before it has just written (NULL:
 * nothing). 0 or a negative errno. */
int order_filler_run(struct order_fillers *f, const struct order_filler *filler, void *hot,
                     size_t hot_bytes);

#endif
