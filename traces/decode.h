/* SPDX-License-Identifier: Apache-2.0
 *
 * One frame's payload to rows. Memory is bounded by the limits of one frame and used again. One
 * thread.
 */
#ifndef TILEWISE_TRACES_DECODE_H
#define TILEWISE_TRACES_DECODE_H

#include "traces/dictionary.h"
#include "traces/frame.h"
#include "traces/reader.h"

struct decode; /* opaque */

enum status decode_open(struct decode **out);
void decode_close(struct decode *d); /* accepts NULL */

/* Fill the rows of `frame` (its other fields are the caller's) from `payload`; they live until the
 * next call. NOMEM; FORMAT: the frame is unusable, `what` (text_bytes of it) says why. */
enum status decode_payload(struct decode *d, struct dictionary *names,
                           const struct frame_header *header, const uint8_t *payload,
                           struct reader_frame *frame, char what[64]);

#endif
