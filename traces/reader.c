/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/reader.h"

#include <stdlib.h>

#include "traces/decode.h"
#include "traces/scan.h"

struct reader {
    struct scan scan;
    struct dictionary names;
    struct decode *decode;
    uint32_t shard; /* whose ids `names` maps */
};

/* Takes over what `opened` is about. */
static enum status open_parts(struct reader *r, enum status opened, struct reader **out,
                              struct fault *fault)
{
    if (opened != ST_OK) {
        free(r);
        return opened;
    }
    if (decode_open(&r->decode) != ST_OK || dictionary_init(&r->names) != ST_OK) {
        reader_close(r);
        return fault_set(fault, ST_NOMEM, "out of memory");
    }
    *out = r;
    return ST_OK;
}

enum status reader_open(struct reader **out, const char *path, struct fault *fault)
{
    *out = NULL;
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return fault_set(fault, ST_NOMEM, "out of memory");
    return open_parts(r, scan_open(&r->scan, path, fault), out, fault);
}

enum status reader_open_bytes(struct reader **out, const void *bytes, size_t count,
                              struct fault *fault)
{
    *out = NULL;
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return fault_set(fault, ST_NOMEM, "out of memory");
    return open_parts(r, scan_open_memory(&r->scan, bytes, count, fault), out, fault);
}

enum status reader_next(struct reader *r, struct reader_frame *frame, struct fault *fault)
{
    struct scan_frame raw;
    enum status st;
    while ((st = scan_next(&r->scan, &raw, fault)) == ST_OK) {
        if (raw.shard != r->shard) {
            dictionary_begin_shard(&r->names);
            r->shard = raw.shard;
        }
        *frame = (struct reader_frame){
            .shard = raw.shard,
            .sequence = raw.header.sequence,
            .begin_ns = raw.header.begin_ns,
            .end_ns = raw.header.end_ns,
            .counters = raw.header.counters,
        };
        char what[64];
        st = decode_payload(r->decode, &r->names, &raw.header, raw.bytes + raw.header.header_bytes,
                            frame, what);
        if (st == ST_OK)
            return ST_OK;
        if (st == ST_NOMEM)
            return fault_set(fault, st, "out of memory");
        scan_refuse(&r->scan, &raw, what);
    }
    return st;
}

void reader_follow(struct reader *r)
{
    r->scan.growing = true;
}

enum trace_kind reader_kind(const struct reader *r)
{
    return r->scan.header.kind;
}

const struct reader_shard *reader_shards(const struct reader *r, size_t *count)
{
    *count = scan_shard_count(&r->scan);
    return scan_shard(&r->scan, 0);
}

const struct tilewise_signature *reader_signatures(const struct reader *r, size_t *count)
{
    *count = r->names.signatures.count;
    return (const struct tilewise_signature *)r->names.signatures.arena.bytes;
}

const char *reader_string(const struct reader *r, uint32_t id)
{
    return id < r->names.strings.count ? intern_get(&r->names.strings, id, NULL) : "";
}

const struct reader_damage *reader_damage(const struct reader *r, size_t *count)
{
    *count = r->scan.damage.size / sizeof(struct reader_damage);
    return (const struct reader_damage *)r->scan.damage.bytes;
}

uint64_t reader_bytes(const struct reader *r)
{
    return r->scan.offset;
}

void reader_close(struct reader *r)
{
    if (!r)
        return;
    scan_close(&r->scan);
    dictionary_free(&r->names);
    decode_close(r->decode);
    free(r);
}
