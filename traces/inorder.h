/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of all threads of one frame as one sequence, ordered by start.
 */
#ifndef TILEWISE_TRACES_INORDER_H
#define TILEWISE_TRACES_INORDER_H

#include "traces/reader.h"

struct inorder; /* opaque; memory for one frame */

struct inorder_columns {
    size_t count;
    const uint32_t *signature;
    const uint64_t *start_ns;
    const uint32_t *duration_ns;
};

enum status inorder_open(struct inorder **out);
void inorder_close(struct inorder *o); /* accepts NULL */

/* Columns live until the next call or the next frame; signatures become index[signature]. Events of
 * one thread keep their order. */
struct inorder_columns inorder_merge(struct inorder *o, const struct reader_frame *frame,
                                     const uint32_t *index);

#endif
