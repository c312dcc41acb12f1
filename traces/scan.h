/* SPDX-License-Identifier: Apache-2.0
 *
 * The raw frames of a file, in the order of the file: finds them, checks both checksums, goes on
 * behind damage, and keeps the books by shard: which sequence numbers came, came twice, or are
 * missing. Decodes no payload. Shared by the reader, the merge and the summary.
 */
#ifndef TILEWISE_TRACES_SCAN_H
#define TILEWISE_TRACES_SCAN_H

#include "traces/buffer.h"
#include "traces/frame.h"
#include "traces/intern.h"
#include "traces/reader.h"
#include "traces/source.h"

struct scan {
    struct source source;
    struct file_header header;
    bool header_damaged;
    bool headers_only;   /* set by the caller: payloads are not read, so not checked either */
    bool growing;        /* set by the caller: the end may be half a frame, for scan_next to find
                            whole later */
    uint64_t offset;     /* of the next byte to look at */
    uint32_t last_shard; /* of the frame before; UINT32_MAX: none */
    uint64_t damage_since_frame; /* rows listed since the last good frame */
    struct buffer damage;        /* struct reader_damage */
    struct buffer shards;        /* struct reader_shard */
    struct buffer tracks;        /* struct scan_track, one per shard */
    struct intern shard_ids;
};

struct scan_frame {
    struct frame_header header;
    uint32_t shard; /* index into shards */
    uint64_t offset;
    const uint8_t *bytes; /* header and payload, until the next call; NULL with headers_only */
    size_t count;
};

/* `path` names the file in messages; give bytes or open path: see reader_open. */
enum status scan_open(struct scan *s, const char *path, struct fault *fault);
enum status scan_open_memory(struct scan *s, const void *bytes, size_t count, struct fault *fault);
void scan_close(struct scan *s);

/* enum trace_kind of a file; 0 for one that cannot be read or is none of ours. */
unsigned scan_kind(const char *path);

/* Next good frame that was not seen yet. END, IO, NOMEM. */
enum status scan_next(struct scan *s, struct scan_frame *frame, struct fault *fault);

/* List a stretch as damaged; NOMEM only loses the row. */
void scan_damage(struct scan *s, uint64_t offset, uint64_t bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a frame that scan_next delivered and that turned out to be unusable. */
void scan_refuse(struct scan *s, const struct scan_frame *frame, const char *why);

struct reader_shard *scan_shard(const struct scan *s, uint32_t index);
size_t scan_shard_count(const struct scan *s);

#endif
