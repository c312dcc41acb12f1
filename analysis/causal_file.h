/* SPDX-License-Identifier: Apache-2.0
 *
 * One of the files that causal.h reads again: which of its shards the summary took from it, and to
 * which groups its signatures belong.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_FILE_H
#define TILEWISE_ANALYSIS_CAUSAL_FILE_H

#include "analysis/causal.h"
#include "traces/buffer.h"

/* Of a signature: its operation, and its class. CAUSAL_NO_GROUP: none. */
struct causal_pair {
    uint32_t group[2];
};

struct causal_file {
    const struct summary *summary;
    const struct causal_group *groups;
    size_t ngroups;
    const char *path;    /* of the open one */
    struct buffer pairs; /* struct causal_pair per signature of the reader */
    struct fault *fault;
};

/* Begin with this file. */
void causal_file_begin(struct causal_file *f, const char *path);
void causal_file_free(struct causal_file *f);
/* Know the signatures that the reader has met so far. NOMEM. */
enum status causal_file_enter(struct causal_file *f, const struct reader *r);
const struct causal_pair *causal_file_pair(const struct causal_file *f, uint32_t signature);
/* The shard of the summary that is this one; NULL: it was taken from another file. */
const struct summary_shard *causal_file_shard(const struct causal_file *f, const struct reader *r,
                                              uint32_t index);
/* Fills the fault; returns ST_NOMEM. */
enum status causal_file_no_memory(const struct causal_file *f);

#endif
