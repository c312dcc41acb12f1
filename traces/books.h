/* SPDX-License-Identifier: Apache-2.0
 *
 * What summary_build keeps while it reads: totals by signature and by operation over all shards,
 * and the current shard's unions of intervals and bins. summary.c makes the summary of it.
 */
#ifndef TILEWISE_TRACES_BOOKS_H
#define TILEWISE_TRACES_BOOKS_H

#include "traces/bins.h"
#include "traces/gpubook.h"
#include "traces/inorder.h"
#include "traces/intern.h"
#include "traces/intervals.h"
#include "traces/phasebook.h"
#include "traces/summary.h"

enum { BOOKS_SIGNATURES_MAX = 1 << 16, BOOKS_OPS_MAX = 256 };

struct books_op {
    struct summary_op sums; /* over the shards that are closed, and of the open one */
    /* Of the open shard. */
    struct intervals active;
    uint64_t event_ns, count_ns;
};

struct books_shard {
    struct summary_shard shard; /* path is the caller's */
    struct bins bins;
};

struct books {
    struct intern names, signatures;  /* signatures: entry is an id in names */
    struct intern facts;              /* key, NUL, value */
    struct summary_signature *totals; /* one per signature; `signature` is not filled */
    uint8_t *op_of;                   /* per signature: index into ops */
    size_t totals_capacity, nops, nshards, shards_capacity;
    struct books_op *ops;
    struct books_shard *shards;
    struct bins_scratch scratch;
    uint64_t calls_per_bin; /* least, of all shards */
    struct inorder *inorder;
    uint64_t events; /* calls that came with an event */
    struct gpubook gpu;
    struct phasebook phases;
    const char *phase;          /* only the calls made in it; NULL: all */
    struct buffer phase_counts; /* struct reader_count: these calls, of the frame */

    /* Of the open file: index of its signatures here. */
    uint32_t *index;
    size_t index_count, index_capacity;

    /* Of the open shard. */
    struct books_shard *open;
    struct intervals busy;
    uint64_t last_begin_ns, event_ns, count_ns;
};

enum status books_open(struct books *b);
void books_free(struct books *b);

void books_begin_file(struct books *b);
enum status books_begin_shard(struct books *b);
/* A frame of the open shard. NOMEM; LIMIT: more signatures than a summary may hold. */
enum status books_add_frame(struct books *b, const struct reader *r,
                            const struct reader_frame *frame);
/* `last`: the shard as the reader knows it at its end. */
enum status books_end_shard(struct books *b, const struct reader_shard *last);

#endif
