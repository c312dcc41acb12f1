/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/frame.h"

#include <string.h>

#include "traces/crc32c.h"
#include "traces/cursor.h"

enum { ENDIAN_TAG = 0x0A0B0C0D, CRC_BYTES = 4, SHARD_BYTES = 40 };

/* Feature bits of the file header that this code knows. */
enum { INCOMPATIBLE_KNOWN = 0 };

static const uint8_t file_magic[8] = { 0x89, 'T', 'W', 'T', '\r', '\n', 0x1a, '\n' };
const uint8_t frame_magic[4] = { 0xf5, 'T', 'W', 'F' };

static void put_shard(uint8_t *to, const struct shard_id *s)
{
    cursor_store(to, s->host_hash, 8);
    cursor_store(to + 8, s->boot_id[0], 8);
    cursor_store(to + 16, s->boot_id[1], 8);
    cursor_store(to + 24, s->start_unix_ns, 8);
    cursor_store(to + 32, s->pid, 4);
    cursor_store(to + 36, s->part, 4);
}

static void get_shard(struct shard_id *s, const uint8_t *from)
{
    *s = (struct shard_id){
        .host_hash = cursor_load(from, 8),
        .boot_id = { cursor_load(from + 8, 8), cursor_load(from + 16, 8) },
        .start_unix_ns = cursor_load(from + 24, 8),
        .pid = (uint32_t)cursor_load(from + 32, 4),
        .part = (uint32_t)cursor_load(from + 36, 4),
    };
}

int frame_compare_shards(const struct shard_id *a, const struct shard_id *b)
{
    uint64_t x[] = {
        a->host_hash, a->boot_id[0], a->boot_id[1], a->start_unix_ns, a->pid, a->part
    };
    uint64_t y[] = {
        b->host_hash, b->boot_id[0], b->boot_id[1], b->start_unix_ns, b->pid, b->part
    };
    for (unsigned i = 0; i < sizeof x / sizeof *x; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* The fuzzing build goes on behind a wrong checksum, so that mutations reach the decoder. */
static int checksum_is_right(const uint8_t *bytes, size_t count)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)bytes, (void)count;
    return 1;
#else
    return crc32c(bytes, count - CRC_BYTES) == cursor_load(bytes + count - CRC_BYTES, CRC_BYTES);
#endif
}

static void seal(uint8_t *bytes, size_t count)
{
    cursor_store(bytes + count - CRC_BYTES, crc32c(bytes, count - CRC_BYTES), CRC_BYTES);
}

void frame_encode_file_header(uint8_t out[FRAME_FILE_HEADER_BYTES], const struct file_header *h)
{
    memset(out, 0, FRAME_FILE_HEADER_BYTES);
    memcpy(out, file_magic, sizeof file_magic);
    cursor_store(out + 8, TRACE_VERSION, 2);
    cursor_store(out + 10, FRAME_FILE_HEADER_BYTES, 2);
    cursor_store(out + 12, ENDIAN_TAG, 4);
    cursor_store(out + 24, h->kind, 4);
    cursor_store(out + 28, h->tick_ns, 4);
    put_shard(out + 32, &h->shard);
    cursor_store(out + 72, h->start_mono_ns, 8);
    seal(out, FRAME_FILE_HEADER_BYTES);
}

static enum status check_file_version(const uint8_t *bytes, struct fault *fault)
{
    unsigned version = (unsigned)cursor_load(bytes + 8, 2);
    unsigned features = (unsigned)cursor_load(bytes + 20, 4) & ~(unsigned)INCOMPATIBLE_KNOWN;
    if (version > TRACE_VERSION)
        return fault_set(fault, ST_VERSION,
                         "written in trace format version %u, this tilewise reads up to %d: "
                         "use a newer tilewise",
                         version, TRACE_VERSION);
    if (features)
        return fault_set(fault, ST_VERSION,
                         "uses trace format features 0x%x, unknown to this tilewise: "
                         "use a newer tilewise",
                         features);
    if (version == 0 || cursor_load(bytes + 12, 4) != ENDIAN_TAG)
        return fault_set(fault, ST_FORMAT, "header at offset 8: version 0 or wrong byte order");
    return ST_OK;
}

enum status frame_decode_file_header(struct file_header *h, uint32_t *header_bytes,
                                     const uint8_t *bytes, size_t count, struct fault *fault)
{
    *h = (struct file_header){ 0 };
    *header_bytes = FRAME_FILE_HEADER_BYTES;
    if (count == 0)
        return fault_set(fault, ST_FORMAT, "empty file: the recording never started to write");
    size_t magic = count < sizeof file_magic ? count : sizeof file_magic;
    if (memcmp(bytes, file_magic, magic) != 0)
        return fault_set(fault, ST_FORMAT, "not a tilewise trace (wrong magic at offset 0)");
    size_t stated = count >= 12 ? cursor_load(bytes + 10, 2) : FRAME_FILE_HEADER_BYTES;
    if (count < FRAME_FILE_HEADER_BYTES || (count < stated && stated <= FRAME_HEADER_BYTES_MAX))
        return fault_set(fault, ST_FORMAT,
                         "file header is torn at offset %zu: the recording ended before its first "
                         "frame",
                         count);
    if (stated < FRAME_FILE_HEADER_BYTES || stated > FRAME_HEADER_BYTES_MAX ||
        !checksum_is_right(bytes, stated))
        return ST_MISMATCH;
    *header_bytes = (uint32_t)stated;
    h->kind = (enum trace_kind)cursor_load(bytes + 24, 4);
    h->tick_ns = (uint32_t)cursor_load(bytes + 28, 4);
    get_shard(&h->shard, bytes + 32);
    h->start_mono_ns = cursor_load(bytes + 72, 8);
    enum status st = check_file_version(bytes, fault);
    if (st == ST_OK && (h->kind < TRACE_KIND_RECORDED || h->kind > TRACE_KIND_MERGED))
        st = fault_set(fault, ST_VERSION,
                       "file kind %u is unknown to this tilewise: use a newer tilewise",
                       (unsigned)h->kind);
    return st;
}

void frame_encode(uint8_t out[FRAME_HEADER_BYTES], const struct frame_header *h)
{
    const struct trace_counters *c = &h->counters;
    const uint64_t counters[] = { c->seen, c->recorded, c->untimed, c->failed, c->cpu_ns };
    memcpy(out, frame_magic, sizeof frame_magic);
    cursor_store(out + 4, FRAME_HEADER_BYTES, 2);
    cursor_store(out + 6, h->flags, 2);
    cursor_store(out + 8, h->raw_bytes, 4);
    cursor_store(out + 12, h->stored_bytes, 4);
    cursor_store(out + 16, h->sequence, 8);
    cursor_store(out + 24, h->begin_ns, 8);
    cursor_store(out + 32, h->end_ns, 8);
    put_shard(out + 40, &h->shard);
    cursor_store(out + 80, h->start_mono_ns, 8);
    cursor_store(out + 88, h->tick_ns, 4);
    cursor_store(out + 92, h->kind, 4);
    for (unsigned i = 0; i < 5; i++)
        cursor_store(out + 96 + 8 * i, counters[i], 8);
    for (unsigned i = 0; i < LOSS_MAX; i++)
        cursor_store(out + 136 + 8 * i, c->dropped[i], 8);
    cursor_store(out + 264, h->payload_crc, 4);
    seal(out, FRAME_HEADER_BYTES);
}

static void get_fields(struct frame_header *h, const uint8_t *bytes)
{
    *h = (struct frame_header){
        .header_bytes = (uint32_t)cursor_load(bytes + 4, 2),
        .flags = (uint32_t)cursor_load(bytes + 6, 2),
        .raw_bytes = (uint32_t)cursor_load(bytes + 8, 4),
        .stored_bytes = (uint32_t)cursor_load(bytes + 12, 4),
        .sequence = cursor_load(bytes + 16, 8),
        .begin_ns = cursor_load(bytes + 24, 8),
        .end_ns = cursor_load(bytes + 32, 8),
        .start_mono_ns = cursor_load(bytes + 80, 8),
        .tick_ns = (uint32_t)cursor_load(bytes + 88, 4),
        .kind = (uint32_t)cursor_load(bytes + 92, 4),
        .counters = { .seen = cursor_load(bytes + 96, 8),
                      .recorded = cursor_load(bytes + 104, 8),
                      .untimed = cursor_load(bytes + 112, 8),
                      .failed = cursor_load(bytes + 120, 8),
                      .cpu_ns = cursor_load(bytes + 128, 8) },
        .payload_crc = (uint32_t)cursor_load(bytes + 264, 4),
    };
    get_shard(&h->shard, bytes + 40);
    for (unsigned i = 0; i < LOSS_MAX; i++)
        h->counters.dropped[i] = cursor_load(bytes + 136 + 8 * i, 8);
}

static int fields_are_within_limits(const struct frame_header *h)
{
    return h->raw_bytes <= TRACE_FRAME_RAW_MAX && h->stored_bytes <= TRACE_FRAME_STORED_MAX &&
           (h->raw_bytes == 0) == (h->stored_bytes == 0) && h->sequence < TRACE_SEQUENCE_MAX &&
           h->begin_ns <= TRACE_TIME_MAX_NS && h->end_ns <= TRACE_TIME_MAX_NS && h->tick_ns >= 1 &&
           h->tick_ns <= 1000000000 &&
           (h->kind == TRACE_KIND_RECORDED || h->kind == TRACE_KIND_RESULT);
}

enum frame_verdict frame_decode(struct frame_header *h, const uint8_t *bytes, size_t count)
{
    size_t magic = count < sizeof frame_magic ? count : sizeof frame_magic;
    if (memcmp(bytes, frame_magic, magic) != 0)
        return FRAME_NO_MAGIC;
    if (count < FRAME_HEADER_BYTES)
        return FRAME_TOO_SHORT;
    size_t stated = cursor_load(bytes + 4, 2);
    if (stated < FRAME_HEADER_BYTES || stated > FRAME_HEADER_BYTES_MAX)
        return FRAME_BAD_CHECKSUM;
    if (count < stated)
        return FRAME_TOO_SHORT;
    if (!checksum_is_right(bytes, stated))
        return FRAME_BAD_CHECKSUM;
    get_fields(h, bytes);
    if (h->flags & FRAME_INCOMPATIBLE)
        return FRAME_TOO_NEW;
    return fields_are_within_limits(h) ? FRAME_GOOD : FRAME_BAD_FIELDS;
}
