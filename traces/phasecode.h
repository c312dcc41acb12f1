/* SPDX-License-Identifier: Apache-2.0
 *
 * The PHASES section as bytes (docs/trace-format.md). Any thread.
 */
#ifndef TILEWISE_TRACES_PHASECODE_H
#define TILEWISE_TRACES_PHASECODE_H

#include <stdbool.h>

#include "traces/buffer.h"
#include "traces/phase.h"

/* At most, of any row, and of all that is around the rows. */
enum { PHASECODE_BYTES_MAX = 6 * VARINT_BYTES_MAX, PHASECODE_HEAD_BYTES = 4 * VARINT_BYTES_MAX };

/* The whole section; needs room for its rows and head. */
void phasecode_put(struct buffer *out, const struct phase_rows *rows);

/* What stands before each kind of rows. */
uint64_t phasecode_get_count(struct cursor *in, uint64_t max);
/* False: malformed, or numbers that contradict each other. */
bool phasecode_get_total(struct cursor *in, struct phase_total *t);
bool phasecode_get_calls(struct cursor *in, struct phase_calls *c);
/* `m` holds the mark before (zeros at first) and becomes the next one. */
bool phasecode_get_mark(struct cursor *in, struct phase_mark *m);

#endif
