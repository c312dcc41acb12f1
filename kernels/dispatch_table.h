/* SPDX-License-Identifier: Apache-2.0
 *
 * A dispatch table from a file, as `tilewise report --format=dispatch` writes it: for every shape
 * of a trace the kernel that it goes to, or that it stays on the library. A call is looked up by
 * what its row says: op, element type of C, layout, transposes, m, n, k, batch and leading
 * dimensions. Rows that differ only in what is not looked up (entry point, alpha and beta) are one;
 * where one of them stays, it stays, and of two kernels the first counts.
 */
#ifndef TILEWISE_KERNELS_DISPATCH_TABLE_H
#define TILEWISE_KERNELS_DISPATCH_TABLE_H

#include "replayer/candidate.h"
#include "traces/status.h"

struct dispatch_table;

/* The kernels that rows may name. */
struct dispatch_kernels {
    const struct tilewise_candidate *const *row;
    size_t count;
};

/* IO, INVALID (FILE:LINE:COLUMN), LIMIT (8 MiB), NOMEM. `kernels` must outlive the table. */
enum status dispatch_table_read(struct dispatch_table **out, const char *path,
                                const struct dispatch_kernels *kernels, struct fault *fault);
/* The same from memory; `name` stands for the file in messages. */
enum status dispatch_table_read_text(struct dispatch_table **out, const char *name,
                                     const char *text, size_t bytes,
                                     const struct dispatch_kernels *kernels, struct fault *fault);
void dispatch_table_free(struct dispatch_table *t); /* accepts NULL */

/* The kernel that the table sends this call to; NULL: it stays, or is not in the table. It may be
 * one that this processor cannot run. Any thread. */
const struct tilewise_candidate *dispatch_table_find(const struct dispatch_table *t,
                                                     const struct tilewise_signature *s);

#endif
