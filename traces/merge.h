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
    size_t shards, duplicates, damaged;
};

/* Write the merge of `inputs` to `output` (a temporary file beside it, renamed when complete: what
 * stood there before survives any failure). Mode 0600. A shard met twice is kept once (the copy
 * with more frames); `report` may be NULL. */
enum status merge_files(const char *output, const char *const *inputs, size_t count,
                        struct merge_report *report, struct fault *fault);

#endif
