/* SPDX-License-Identifier: Apache-2.0
 *
 * A signature as bytes: the fields that differ from the one before it (docs/trace-format.md).
 */
#ifndef TILEWISE_TRACES_SIGCODE_H
#define TILEWISE_TRACES_SIGCODE_H

#include "traces/buffer.h"
#include "traces/signature.h"

enum { SIGCODE_FIELDS = 38, SIGCODE_BYTES_MAX = VARINT_BYTES_MAX * (SIGCODE_FIELDS + 1) };

/* Needs room for SIGCODE_BYTES_MAX. */
void sigcode_put(struct buffer *out, const struct tilewise_signature *before,
                 const struct tilewise_signature *s);
/* `s` holds the signature before and becomes the next one; sets in->bad on malformed bytes. */
void sigcode_get(struct cursor *in, struct tilewise_signature *s);

#endif
