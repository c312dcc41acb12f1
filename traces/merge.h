/* SPDX-License-Identifier: Apache-2.0
 *
 * Many traces to one. Associative, commutative, idempotent by shard id; the bytes of the output do
 * not depend on the order of the inputs or on how they were grouped.
 */
#ifndef TILEWISE_TRACES_MERGE_H
#define TILEWISE_TRACES_MERGE_H

#include <stddef.h>

#include "traces/status.h"

struct merge_report {
    size_t shards;     /* in the output */
    size_t duplicates; /* copies of shards beyond the first, over all inputs */
    size_t damaged;    /* damaged stretches of the inputs, left out */
};

/* Write the merge of `inputs` to `output` (a temporary file beside it, renamed when complete: what
 * stood there before survives any failure). Mode 0600. A frame that several inputs hold is kept
 * once, so two damaged copies of a shard complete each other; `report` may be NULL. `output` may be
 * one of the inputs. INVALID: a replay result among them. */
enum status merge_files(const char *output, const char *const *inputs, size_t count,
                        struct merge_report *report, struct fault *fault);

#endif
