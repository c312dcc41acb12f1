/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's dictionary: what was given an id, and how much of it stands in the file already.
 * Zero-initialise, then definitions_init. One thread.
 */
#ifndef TILEWISE_TRACES_DEFINITIONS_H
#define TILEWISE_TRACES_DEFINITIONS_H

#include "traces/buffer.h"
#include "traces/intern.h"
#include "traces/signature.h"

struct definitions_cursor {
    uint32_t strings, signatures, facts; /* the first ones that are not in the file */
};

struct definitions {
    struct intern strings, signatures;
    struct buffer facts; /* pairs of string ids */
    struct definitions_cursor written;
};

enum status definitions_init(struct definitions *d);
void definitions_free(struct definitions *d);

/* OK, LIMIT, NOMEM; INVALID: `entry` is no string id. */
enum status definitions_string(struct definitions *d, const char *text, size_t bytes, uint32_t *id);
enum status definitions_signature(struct definitions *d, const struct tilewise_signature *s,
                                  uint32_t *id);
enum status definitions_fact(struct definitions *d, const char *key, const char *value);

/* Append what `at` has not passed yet to `out`, up to out->size == `limit`, and move `at` on.
 * True: nothing is left. The buffer has room for `limit` bytes. */
bool definitions_encode(const struct definitions *d, struct definitions_cursor *at,
                        struct buffer *out, size_t limit);
/* A dictionary from the beginning; string 0 is never written. */
struct definitions_cursor definitions_start(void);
bool definitions_is_empty(const struct definitions *d);
/* Something is not in the file yet. */
bool definitions_are_pending(const struct definitions *d);

#endif
