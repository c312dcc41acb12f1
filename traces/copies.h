/* SPDX-License-Identifier: Apache-2.0
 *
 * Which file to take each shard from, when several files hold a copy of it: the one with more
 * frames, then with a footer, then with more bytes, then the first by name. Reads frame headers
 * only.
 */
#ifndef TILEWISE_TRACES_COPIES_H
#define TILEWISE_TRACES_COPIES_H

#include <stdbool.h>

#include "traces/buffer.h"
#include "traces/format.h"
#include "traces/status.h"

struct copies {
    struct buffer rows; /* struct copies_row, ordered */
};

/* IO, FORMAT, VERSION, NOMEM: of any of the files. */
enum status copies_find(struct copies *c, const char *const *paths, size_t count,
                        struct fault *fault);
/* Is `paths[path]` where this shard is to be read from? */
bool copies_is_best(const struct copies *c, const struct shard_id *id, size_t path);
/* Does it hold any shard that is to be read from there? */
bool copies_is_needed(const struct copies *c, size_t path);
void copies_free(struct copies *c);

#endif
