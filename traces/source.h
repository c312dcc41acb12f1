/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of a file (or of memory) at any offset, through one bounded window. The file is never
 * mapped: a file that shrinks under a mapping would kill the process.
 */
#ifndef TILEWISE_TRACES_SOURCE_H
#define TILEWISE_TRACES_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "traces/status.h"

enum { SOURCE_VIEW_MAX = 2 << 20 };

struct source {
    int fd, error;         /* error: errno of a failed read; the bytes behind it count as absent */
    const uint8_t *memory; /* instead of a file */
    uint64_t memory_bytes;
    uint8_t *window;
    uint64_t window_offset;
    size_t window_bytes;
};

/* Regular files only. IO, NOMEM. */
enum status source_open(struct source *s, const char *path, struct fault *fault);
void source_open_memory(struct source *s, const void *bytes, size_t count);
void source_close(struct source *s); /* accepts a zero-initialised or half-open source */

/* Bytes at `offset`: `*got` of them, fewer than `want` (at most SOURCE_VIEW_MAX) only at the end of
 * the file. They live until the next call. */
const uint8_t *source_view(struct source *s, uint64_t offset, size_t want, size_t *got);

#endif
