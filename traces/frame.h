/* SPDX-License-Identifier: Apache-2.0
 *
 * The two fixed headers (docs/trace-format.md), as bytes and as structs. The payload's zstd frame
 * belongs to the writer and to decode.c.
 */
#ifndef TILEWISE_TRACES_FRAME_H
#define TILEWISE_TRACES_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "traces/counters.h"
#include "traces/format.h"
#include "traces/status.h"

enum { FRAME_FILE_HEADER_BYTES = 96, FRAME_HEADER_BYTES = 272, FRAME_HEADER_BYTES_MAX = 4096 };

struct file_header {
    enum trace_kind kind;
    uint32_t tick_ns;
    struct shard_id shard;
    uint64_t start_mono_ns;
};

struct frame_header {
    uint32_t header_bytes, flags, raw_bytes, stored_bytes;
    uint64_t sequence, begin_ns, end_ns;
    struct shard_id shard;
    uint64_t start_mono_ns;
    uint32_t tick_ns, kind;
    struct trace_counters counters;
    uint32_t payload_crc;
};

void frame_encode_file_header(uint8_t out[FRAME_FILE_HEADER_BYTES], const struct file_header *h);
/* header_bytes is ignored: this version's is written. */
void frame_encode(uint8_t out[FRAME_HEADER_BYTES], const struct frame_header *h);

/* OK. FORMAT: no magic, or not whole (fault says which). VERSION. MISMATCH: the checksum is wrong:
 * `h` is zeroed, `*header_bytes` is still set to a usable place to go on from. */
enum status frame_decode_file_header(struct file_header *h, uint32_t *header_bytes,
                                     const uint8_t *bytes, size_t count, struct fault *fault);

enum frame_verdict {
    FRAME_GOOD,
    FRAME_NO_MAGIC,
    FRAME_TOO_SHORT,    /* more bytes are needed to tell */
    FRAME_BAD_CHECKSUM, /* of the header */
    FRAME_BAD_FIELDS,   /* checksum right, a limit broken */
    FRAME_TOO_NEW,      /* an unknown incompatible flag */
};
enum frame_verdict frame_decode(struct frame_header *h, const uint8_t *bytes, size_t count);

extern const uint8_t frame_magic[4];

/* Order of shard ids, as memcmp. */
int frame_compare_shards(const struct shard_id *a, const struct shard_id *b);

#endif
