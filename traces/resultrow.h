/* SPDX-License-Identifier: Apache-2.0
 *
 * Result rows as bytes: lists of numbered fields (docs/trace-format.md), by one table per kind of
 * row. `row` is the struct of traces/result.h that the table describes.
 */
#ifndef TILEWISE_TRACES_RESULTROW_H
#define TILEWISE_TRACES_RESULTROW_H

#include "traces/buffer.h"
#include "traces/result.h"

enum resultrow_type {
    ROW_TEXT,
    ROW_BYTE,
    ROW_BOOL,
    ROW_U32,
    ROW_U64,
    ROW_REAL,
    ROW_SIGNATURE,
    ROW_CANDIDATES
};

struct resultrow_field {
    uint32_t number; /* in the file; 0 ends a table */
    enum resultrow_type type;
    size_t offset; /* of the member in the row */
};
extern const struct resultrow_field resultrow_run[], resultrow_ceiling[], resultrow_candidate[],
    resultrow_case[], resultrow_order[], resultrow_order_part[], resultrow_verdict[];

/* Append the fields of `row`. NOMEM. */
enum status resultrow_put(struct buffer *out, const struct resultrow_field *fields,
                          const void *row);

/* Make a zeroed row unknown: NaN, "". Every text is owned by the row. NOMEM. */
enum status resultrow_set_unknown(const struct resultrow_field *fields, void *row);
/* Read the fields that stand in `in`. FORMAT, NOMEM; the row stays free-able. */
enum status resultrow_get(struct cursor *in, const struct resultrow_field *fields, void *row);
void resultrow_free(const struct resultrow_field *fields, void *row);

#endif
