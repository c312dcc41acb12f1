/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/scan.h"

#include <stdarg.h>
#include <stdio.h>

#include "traces/crc32c.h"

enum { DAMAGE_ROWS_MAX = 1000, GAPS_MAX = 16, SEARCH_BYTES = 1 << 18 };

/* Sequence numbers of one shard that are missing so far. */
struct scan_gap {
    uint64_t first, end;
};

struct scan_track {
    uint64_t next; /* one above the highest sequence number so far */
    bool footer;   /* the frame with the highest number is the footer */
    unsigned ngaps;
    struct scan_gap gaps[GAPS_MAX];
};

void scan_damage(struct scan *s, uint64_t offset, uint64_t bytes, const char *format, ...)
{
    size_t rows = s->damage.size / sizeof(struct reader_damage);
    struct reader_damage row = { .offset = offset, .bytes = bytes };
    va_list args;
    va_start(args, format);
    vsnprintf(row.what, sizeof row.what, format, args);
    va_end(args);
    s->damage_since_frame++;
    if (rows > DAMAGE_ROWS_MAX) {
        struct reader_damage *last = (struct reader_damage *)s->damage.bytes + DAMAGE_ROWS_MAX;
        last->bytes += bytes;
        snprintf(last->what, sizeof last->what, "more damage, not listed one by one");
        return;
    }
    if (buffer_reserve(&s->damage, sizeof row))
        buffer_put(&s->damage, &row, sizeof row);
}

void scan_refuse(struct scan *s, const struct scan_frame *frame, const char *why)
{
    scan_damage(s, frame->offset, frame->count, "frame %llu: %s",
                (unsigned long long)frame->header.sequence, why);
}

struct reader_shard *scan_shard(const struct scan *s, uint32_t index)
{
    return (struct reader_shard *)s->shards.bytes + index;
}

size_t scan_shard_count(const struct scan *s)
{
    return s->shards.size / sizeof(struct reader_shard);
}

static struct scan_track *track_of(const struct scan *s, uint32_t index)
{
    return (struct scan_track *)s->tracks.bytes + index;
}

static enum status find_shard(struct scan *s, const struct shard_id *id, uint32_t *index)
{
    _Static_assert(sizeof *id == 40, "no padding: ids are compared as bytes");
    static const struct intern_limits limits = { TRACE_SHARDS_MAX, TRACE_SHARDS_MAX * sizeof *id };
    size_t known = s->shard_ids.count;
    enum status st = intern_add(&s->shard_ids, id, sizeof *id, &limits, index);
    if (st != ST_OK || *index < known)
        return st;
    struct reader_shard shard = { .id = *id, .start_unix_ns = id->start_unix_ns };
    if (!buffer_reserve(&s->shards, sizeof shard) ||
        !buffer_reserve(&s->tracks, sizeof(struct scan_track)))
        return ST_NOMEM;
    buffer_put(&s->shards, &shard, sizeof shard);
    memset(s->tracks.bytes + s->tracks.size, 0, sizeof(struct scan_track));
    s->tracks.size += sizeof(struct scan_track);
    return ST_OK;
}

static enum status read_file_header(struct scan *s, struct fault *fault)
{
    size_t got;
    uint32_t header_bytes;
    const uint8_t *bytes = source_view(&s->source, 0, FRAME_HEADER_BYTES_MAX, &got);
    enum status st = frame_decode_file_header(&s->header, &header_bytes, bytes, got, fault);
    s->offset = header_bytes;
    if (st == ST_MISMATCH) {
        /* Frames describe themselves: the file is read all the same, as if it were merged. */
        s->header_damaged = true;
        s->header.kind = TRACE_KIND_MERGED;
        scan_damage(s, 0, header_bytes, "file header: checksum");
        return ST_OK;
    }
    if (st != ST_OK || s->header.kind == TRACE_KIND_MERGED)
        return st;
    uint32_t index;
    st = find_shard(s, &s->header.shard, &index);
    if (st != ST_OK)
        return fault_set(fault, ST_NOMEM, "out of memory");
    scan_shard(s, index)->tick_ns = s->header.tick_ns;
    scan_shard(s, index)->start_mono_ns = s->header.start_mono_ns;
    return ST_OK;
}

enum status scan_open(struct scan *s, const char *path, struct fault *fault)
{
    *s = (struct scan){ .source.fd = -1, .last_shard = UINT32_MAX };
    enum status st = source_open(&s->source, path, fault);
    if (st != ST_OK)
        return st;
    struct fault inner;
    st = read_file_header(s, &inner);
    if (s->source.error)
        st = fault_set(&inner, ST_IO, "cannot be read: %s", strerror(s->source.error));
    if (st == ST_OK)
        return ST_OK;
    scan_close(s);
    return fault_set(fault, st, "%s: %s", path, inner.text);
}

unsigned scan_kind(const char *path)
{
    struct scan scan;
    if (scan_open(&scan, path, NULL) != ST_OK)
        return 0;
    unsigned kind = scan.header.kind;
    scan_close(&scan);
    return kind;
}

enum status scan_open_memory(struct scan *s, const void *bytes, size_t count, struct fault *fault)
{
    *s = (struct scan){ .source.fd = -1, .last_shard = UINT32_MAX };
    source_open_memory(&s->source, bytes, count);
    enum status st = read_file_header(s, fault);
    if (st != ST_OK)
        scan_close(s);
    return st;
}

void scan_close(struct scan *s)
{
    source_close(&s->source);
    buffer_free(&s->damage);
    buffer_free(&s->shards);
    buffer_free(&s->tracks);
    intern_free(&s->shard_ids);
}

/* What stands at `offset`. */
static enum frame_verdict look(struct scan *s, uint64_t offset, struct frame_header *h)
{
    size_t got;
    const uint8_t *bytes = source_view(&s->source, offset, FRAME_HEADER_BYTES, &got);
    enum frame_verdict verdict = frame_decode(h, bytes, got);
    if (verdict == FRAME_TOO_SHORT && got == FRAME_HEADER_BYTES) {
        bytes = source_view(&s->source, offset, FRAME_HEADER_BYTES_MAX, &got);
        verdict = frame_decode(h, bytes, got);
    }
    return verdict;
}

static bool is_end(struct scan *s, uint64_t offset)
{
    size_t got;
    source_view(&s->source, offset, 1, &got);
    return got == 0;
}

/* Offset of the next believable frame header at or behind `from`, or of the end of the file. */
static uint64_t search(struct scan *s, uint64_t from)
{
    for (;;) {
        size_t got;
        const uint8_t *bytes = source_view(&s->source, from, SEARCH_BYTES, &got);
        if (got < sizeof frame_magic)
            return from + got;
        const uint8_t *hit = memmem(bytes, got, frame_magic, sizeof frame_magic);
        if (!hit) {
            from += got - (sizeof frame_magic - 1);
            continue;
        }
        from += (uint64_t)(hit - bytes);
        struct frame_header h;
        enum frame_verdict verdict = look(s, from, &h);
        if (verdict == FRAME_GOOD || verdict == FRAME_TOO_NEW)
            return from;
        from++;
    }
}

/* A frame that cannot be used, but whose header says where it ends: believe that only if something
 * sensible stands there. */
static uint64_t end_of_bad_frame(struct scan *s, const struct scan_frame *f)
{
    struct frame_header next;
    uint64_t end = f->offset + f->header.header_bytes + f->header.stored_bytes;
    enum frame_verdict verdict = look(s, end, &next);
    if (verdict == FRAME_GOOD || verdict == FRAME_TOO_NEW ||
        (is_end(s, end) && !is_end(s, end - 1)))
        return end;
    return search(s, f->offset + 1);
}

static bool payload_is_right(const struct scan_frame *f)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)f;
    return true;
#else
    return crc32c(f->bytes + f->header.header_bytes, f->header.stored_bytes) ==
           f->header.payload_crc;
#endif
}

static void skip_bad_bytes(struct scan *s, enum frame_verdict verdict)
{
    uint64_t start = s->offset;
    s->offset = search(s, start + 1);
    const char *what = verdict == FRAME_BAD_CHECKSUM ? "frame header: checksum"
                       : verdict == FRAME_BAD_FIELDS ? "frame header: a number out of range"
                                                     : "no frame here";
    if (verdict == FRAME_TOO_SHORT && is_end(s, s->offset))
        what = "torn frame at the end";
    scan_damage(s, start, s->offset - start, "%s", what);
}

/* Look at what stands at s->offset and move behind it. True: it is a good frame, in `f`. */
static bool take_frame(struct scan *s, struct scan_frame *f)
{
    *f = (struct scan_frame){ .offset = s->offset };
    enum frame_verdict verdict = look(s, s->offset, &f->header);
    if (verdict != FRAME_GOOD && verdict != FRAME_TOO_NEW) {
        skip_bad_bytes(s, verdict);
        return false;
    }
    f->count = f->header.header_bytes + (size_t)f->header.stored_bytes;
    const char *why = "needs a newer tilewise";
    if (verdict == FRAME_GOOD) {
        size_t got = f->count;
        if (s->headers_only)
            got -= is_end(s, s->offset + f->count - 1);
        else
            f->bytes = source_view(&s->source, s->offset, f->count, &got);
        if (got == f->count && (s->headers_only || payload_is_right(f))) {
            s->offset += f->count;
            return true;
        }
        why = got < f->count ? NULL : "payload checksum";
    }
    uint64_t start = s->offset;
    s->offset = why ? end_of_bad_frame(s, f) : search(s, start + 1);
    if (!why && is_end(s, s->offset))
        scan_damage(s, start, s->offset - start, "torn frame at the end");
    else
        scan_damage(s, start, s->offset - start, "frame %llu: %s",
                    (unsigned long long)f->header.sequence, why ? why : "cut off");
    return false;
}

/* Is it one of those that were missed before? Then it is missing no longer. */
static bool fill_gap(struct scan_track *t, uint64_t sequence)
{
    for (unsigned i = 0; i < t->ngaps; i++) {
        struct scan_gap *gap = &t->gaps[i];
        if (sequence < gap->first || sequence >= gap->end)
            continue;
        struct scan_gap rest = { sequence + 1, gap->end };
        gap->end = sequence;
        if (gap->first == gap->end)
            *gap = t->gaps[--t->ngaps];
        if (rest.first < rest.end && t->ngaps < GAPS_MAX)
            t->gaps[t->ngaps++] = rest;
        return true;
    }
    return false;
}

static void open_gap(struct scan *s, struct scan_track *t, const struct scan_frame *f)
{
    uint64_t first = t->next, end = f->header.sequence;
    if (!s->damage_since_frame)
        scan_damage(s, f->offset, 0, "frames %llu-%llu are missing", (unsigned long long)first,
                    (unsigned long long)end - 1);
    if (t->ngaps == GAPS_MAX) {
        memmove(t->gaps, t->gaps + 1, (GAPS_MAX - 1) * sizeof *t->gaps);
        t->ngaps--;
    }
    t->gaps[t->ngaps++] = (struct scan_gap){ first, end };
}

/* Keep the books. True: a frame that was not seen yet. */
static bool enter_sequence(struct scan *s, const struct scan_frame *f)
{
    struct scan_track *t = track_of(s, f->shard);
    uint64_t sequence = f->header.sequence;
    if (f->shard != s->last_shard && t->next)
        scan_damage(s, f->offset, 0, "frame %llu: the frames of its process are not together",
                    (unsigned long long)sequence);
    s->last_shard = f->shard;
    if (sequence < t->next) {
        bool late = fill_gap(t, sequence);
        scan_damage(s, f->offset, late ? 0 : f->count, "frame %llu: %s",
                    (unsigned long long)sequence, late ? "out of order" : "duplicate");
        return late;
    }
    if (sequence > t->next)
        open_gap(s, t, f);
    if (t->footer)
        scan_damage(s, f->offset, 0, "frame %llu: after the footer", (unsigned long long)sequence);
    t->next = sequence + 1;
    t->footer = f->header.flags & FRAME_FOOTER;
    struct reader_shard *shard = scan_shard(s, f->shard);
    shard->tick_ns = f->header.tick_ns;
    shard->start_mono_ns = f->header.start_mono_ns;
    shard->counters = f->header.counters;
    shard->end_ns = f->header.end_ns;
    shard->complete = t->footer;
    return true;
}

static bool belongs_here(const struct scan *s, const struct frame_header *h)
{
    return s->header.kind == TRACE_KIND_MERGED ||
           (h->kind == s->header.kind && frame_compare_shards(&h->shard, &s->header.shard) == 0);
}

/* Its last byte is not in the file yet. */
static bool is_unfinished(struct scan *s)
{
    struct frame_header h;
    enum frame_verdict verdict = look(s, s->offset, &h);
    return verdict == FRAME_TOO_SHORT ||
           (verdict == FRAME_GOOD &&
            is_end(s, s->offset + h.header_bytes + (uint64_t)h.stored_bytes - 1));
}

enum status scan_next(struct scan *s, struct scan_frame *f, struct fault *fault)
{
    while (!is_end(s, s->offset)) {
        if (s->growing && is_unfinished(s))
            break;
        if (!take_frame(s, f))
            continue;
        if (!belongs_here(s, &f->header)) {
            scan_refuse(s, f, "of another recording");
            continue;
        }
        enum status st = find_shard(s, &f->header.shard, &f->shard);
        if (st == ST_LIMIT) {
            scan_refuse(s, f, "more processes than one file may hold");
            continue;
        }
        if (st != ST_OK)
            return fault_set(fault, st, "out of memory");
        bool new = enter_sequence(s, f);
        s->damage_since_frame = 0;
        if (new)
            return ST_OK;
    }
    if (s->source.error)
        return fault_set(fault, ST_IO, "cannot be read at offset %llu: %s",
                         (unsigned long long)s->offset, strerror(s->source.error));
    return ST_END;
}
