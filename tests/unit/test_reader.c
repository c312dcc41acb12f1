/* SPDX-License-Identifier: Apache-2.0 */
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace_fixture.h"
#include "traces/buffer.h"
#include "traces/crc32c.h"
#include "traces/frame.h"

enum { FILE_HEADER = FRAME_FILE_HEADER_BYTES, FRAME_HEADER = FRAME_HEADER_BYTES };

/* Everything that a frame delivers, as one hash, and where it came from. */
struct seen {
    uint64_t sequence, hash, events, unresolved;
};

struct reading {
    struct seen frames[256];
    size_t nframes, ndamage, nshards;
    struct reader_damage damage[64];
    enum status opened;
    bool complete;
    uint64_t events, unresolved;
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    return XXH3_64bits_withSeed(bytes, count, hash);
}

/* Signatures by content: ids may differ between readings of differently damaged files. */
static uint64_t signature_content(const struct reader *r, uint32_t id)
{
    size_t count;
    const struct tilewise_signature *all = reader_signatures(r, &count);
    cr_assert_lt(id, count);
    struct tilewise_signature s = all[id];
    const char *entry = reader_string(r, s.entry);
    s.entry = 0;
    return mix(mix(1, &s, sizeof s), entry, strlen(entry));
}

static uint64_t mix_signatures(uint64_t hash, const struct reader *r, const uint32_t *ids,
                               size_t count)
{
    uint64_t known[64] = { 0 };
    for (size_t i = 0; i < count; i++) {
        cr_assert_lt(ids[i], 64);
        if (!known[ids[i]])
            known[ids[i]] = signature_content(r, ids[i]);
        hash = hash * 31 + known[ids[i]];
    }
    return hash;
}

static struct seen look(const struct reader *r, const struct reader_frame *f)
{
    struct seen seen = { .sequence = f->sequence, .hash = 14695981039346656037u };
    seen.unresolved = f->unresolved;
    seen.hash = mix(seen.hash, &f->begin_ns, sizeof f->begin_ns);
    seen.hash = mix(seen.hash, &f->end_ns, sizeof f->end_ns);
    seen.hash = mix(seen.hash, &f->counters, sizeof f->counters);
    for (size_t i = 0; i < f->nevents; i++) {
        const struct reader_events *e = &f->events[i];
        seen.events += e->count;
        seen.hash = mix(seen.hash, &e->thread, sizeof e->thread);
        seen.hash = mix(seen.hash, e->start_ns, e->count * sizeof *e->start_ns);
        seen.hash = mix(seen.hash, e->duration_ns, e->count * sizeof *e->duration_ns);
        seen.hash = mix_signatures(seen.hash, r, e->signature, e->count);
    }
    for (size_t i = 0; i < f->ncounts; i++) {
        seen.hash = mix_signatures(seen.hash, r, &f->counts[i].signature, 1);
        seen.hash = mix(seen.hash, &f->counts[i].calls, 4 * sizeof(uint64_t));
        seen.hash = mix(seen.hash, f->counts[i].histogram, sizeof(struct histogram));
    }
    for (size_t i = 0; i < f->nfacts; i++) {
        seen.hash = mix(seen.hash, f->facts[i].key, strlen(f->facts[i].key));
        seen.hash = mix(seen.hash, f->facts[i].value, strlen(f->facts[i].value));
    }
    for (size_t i = 0; i < f->nblobs; i++)
        seen.hash = mix(seen.hash, f->blobs[i].bytes, f->blobs[i].count);
    return seen;
}

/* Into static memory: called ten thousand times. */
static const struct reading *read_bytes(const void *bytes, size_t count)
{
    static struct reading x;
    struct reader *r;
    memset(&x, 0, sizeof x);
    x.opened = reader_open_bytes(&r, bytes, count, NULL);
    if (x.opened != ST_OK)
        return &x;
    struct reader_frame f;
    enum status st;
    while ((st = reader_next(r, &f, NULL)) == ST_OK) {
        cr_assert_lt(x.nframes, 256);
        x.frames[x.nframes] = look(r, &f);
        x.events += x.frames[x.nframes].events;
        x.unresolved += f.unresolved;
        x.nframes++;
    }
    cr_assert_eq(st, ST_END);
    const struct reader_shard *shards = reader_shards(r, &x.nshards);
    x.complete = x.nshards && shards[0].complete;
    const struct reader_damage *damage = reader_damage(r, &x.ndamage);
    for (size_t i = 0; i < x.ndamage && i < 64; i++)
        x.damage[i] = damage[i];
    reader_close(r);
    return &x;
}

static struct bytes sample(void)
{
    return fixture_trace((struct fixture_options){
        .frames = 18, .events_per_frame = 1000, .signatures = 40, .threads = 2 });
}

/* Where each frame starts, and the end. */
static size_t frame_offsets(struct bytes b, size_t *offsets)
{
    size_t n = 0;
    for (size_t at = FILE_HEADER; at < b.count; n++) {
        struct frame_header h;
        cr_assert_eq(frame_decode(&h, b.at + at, b.count - at), FRAME_GOOD);
        offsets[n] = at;
        at += h.header_bytes + (size_t)h.stored_bytes;
    }
    offsets[n] = b.count;
    return n;
}

static bool mentions(const struct reading *x, const char *what)
{
    for (size_t i = 0; i < x->ndamage; i++)
        if (strstr(x->damage[i].what, what))
            return true;
    return false;
}

Test(reader, a_clean_trace_is_read_whole)
{
    struct bytes b = sample();
    const struct reading *x = read_bytes(b.at, b.count);
    cr_assert_eq(x->events, 18000);
    cr_assert_eq(x->unresolved, 0);
    cr_assert_eq(x->ndamage, 0);
    cr_assert(x->complete);
    free(b.at);
}

Test(reader, a_file_reads_as_its_bytes_do)
{
    struct bytes b = sample();
    struct reading want = *read_bytes(b.at, b.count);
    const char *path = fixture_path("t");
    fixture_write(path, b);
    struct reader *r;
    cr_assert_eq(reader_open(&r, path, NULL), ST_OK);
    struct reader_frame f;
    size_t n = 0;
    while (reader_next(r, &f, NULL) == ST_OK)
        cr_assert_eq(look(r, &f).hash, want.frames[n++].hash);
    cr_assert_eq(n, want.nframes);
    cr_assert_eq(reader_bytes(r), b.count);
    reader_close(r);
    free(b.at);
}

Test(reader, every_prefix_gives_exactly_the_frames_wholly_inside)
{
    struct bytes b = sample();
    struct reading whole = *read_bytes(b.at, b.count);
    static size_t offsets[256];
    size_t n = frame_offsets(b, offsets);
    cr_assert_eq(n, whole.nframes);
    cr_assert(b.count > 40000 && b.count < 66000, "%zu bytes", b.count);
    size_t inside = 0;
    for (size_t cut = 0; cut <= b.count; cut++) {
        /* A copy of exactly this length, so that a sanitizer sees any byte too many. */
        uint8_t *prefix = malloc(cut ? cut : 1);
        memcpy(prefix, b.at, cut);
        const struct reading *x = read_bytes(prefix, cut);
        free(prefix);
        while (inside < n && offsets[inside + 1] <= cut)
            inside++;
        cr_assert_eq(x->opened, cut < FILE_HEADER ? ST_FORMAT : ST_OK, "cut at %zu", cut);
        cr_assert_eq(x->nframes, inside, "cut at %zu", cut);
        for (size_t i = 0; i < inside; i++)
            cr_assert_eq(x->frames[i].hash, whole.frames[i].hash, "cut at %zu", cut);
        bool torn = cut > FILE_HEADER && cut != offsets[inside];
        cr_assert_eq(x->ndamage, torn, "cut at %zu", cut);
        if (torn)
            cr_assert_eq(x->damage[0].offset + x->damage[0].bytes, cut);
        cr_assert_eq(x->complete, cut == b.count);
    }
    free(b.at);
}

/* Every delivered frame must be one of the original ones, or hold less: events may be unresolved,
 * never different. */
static void assert_nothing_altered(const struct reading *x, const struct reading *whole,
                                   const char *what, uint64_t where)
{
    for (size_t i = 0; i < x->nframes; i++) {
        const struct seen *got = &x->frames[i];
        cr_assert_lt(got->sequence, whole->nframes, "%s %lu", what, where);
        const struct seen *want = &whole->frames[got->sequence];
        cr_assert_eq(got->events + got->unresolved, want->events, "%s %lu", what, where);
        if (got->unresolved == 0)
            cr_assert_eq(got->hash, want->hash, "%s %lu: frame %lu is altered", what, where,
                         got->sequence);
    }
}

/* Cut anywhere, then whole: nothing is lost, nothing comes twice, and the cut is no damage. */
Test(reader, a_growing_file_is_followed, .timeout = 60)
{
    struct bytes trace = fixture_trace(
        (struct fixture_options){ .frames = 4, .events_per_frame = 20, .signatures = 3 });
    const char *path = fixture_path("growing.twt");
    const size_t whole = read_bytes(trace.at, trace.count)->nframes;
    size_t step = trace.count / 97 + 1;
    for (size_t cut = FRAME_FILE_HEADER_BYTES; cut < trace.count; cut += step) {
        fixture_write(path, (struct bytes){ trace.at, cut });
        struct reader *r;
        struct reader_frame frame;
        struct fault fault;
        cr_assert_eq(reader_open(&r, path, &fault), ST_OK, "%s", fault.text);
        reader_follow(r);
        size_t frames = 0, damage;
        while (reader_next(r, &frame, &fault) == ST_OK)
            frames++;
        int fd = open(path, O_WRONLY | O_APPEND);
        cr_assert_eq(write(fd, trace.at + cut, trace.count - cut), (ssize_t)(trace.count - cut));
        close(fd);
        while (reader_next(r, &frame, &fault) == ST_OK)
            frames++;
        reader_damage(r, &damage);
        cr_assert_eq(frames, whole, "cut at %zu: %zu frames", cut, frames);
        cr_assert_eq(damage, 0, "cut at %zu", cut);
        reader_close(r);
    }
    free(trace.at);
}

Test(reader, ten_thousand_bit_flips_never_yield_an_altered_record, .timeout = 120)
{
    struct bytes b = sample();
    struct reading whole = *read_bytes(b.at, b.count);
    uint64_t state = 20260102;
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t bit = fixture_random(&state) % (8 * b.count);
        b.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const struct reading *x = read_bytes(b.at, b.count);
        if (bit / 8 >= 8) { /* behind the magic: readable, at most one frame lost, and said so */
            cr_assert_eq(x->opened, ST_OK, "bit %lu", bit);
            cr_assert_geq(x->nframes, whole.nframes - 1, "bit %lu", bit);
            cr_assert_geq(x->ndamage, 1, "bit %lu", bit);
        } else {
            cr_assert_eq(x->opened, ST_FORMAT, "bit %lu", bit);
        }
        assert_nothing_altered(x, &whole, "bit", bit);
        b.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(b.at);
}

Test(reader, random_damage_of_many_bytes_never_yields_an_altered_record, .timeout = 120)
{
    struct bytes b = sample();
    struct reading whole = *read_bytes(b.at, b.count);
    uint64_t state = 77;
    uint8_t *copy = malloc(b.count);
    for (unsigned i = 0; i < 1000; i++) {
        memcpy(copy, b.at, b.count);
        size_t at = FILE_HEADER + fixture_random(&state) % (b.count - FILE_HEADER - 1);
        size_t n = 1 + fixture_random(&state) % 4096;
        n = n < b.count - at ? n : b.count - at;
        unsigned kind = fixture_random(&state) % 3;
        for (size_t k = 0; k < n; k++)
            copy[at + k] = kind == 0   ? 0
                           : kind == 1 ? (uint8_t)fixture_random(&state)
                                       : b.at[(at + k + 5000) % b.count];
        assert_nothing_altered(read_bytes(copy, b.count), &whole, "damage", i);
    }
    free(copy);
    free(b.at);
}

Test(reader, bytes_cut_out_or_put_in_never_yield_an_altered_record, .timeout = 120)
{
    struct bytes b = sample();
    struct reading whole = *read_bytes(b.at, b.count);
    uint64_t state = 99;
    uint8_t *copy = calloc(1, b.count + 8192);
    for (unsigned i = 0; i < 500; i++) {
        size_t at = FILE_HEADER + fixture_random(&state) % (b.count - FILE_HEADER);
        size_t n = 1 + fixture_random(&state) % 8000;
        memcpy(copy, b.at, at);
        size_t count;
        if (i % 2) {
            memset(copy + at, 0xf5, n);
            memcpy(copy + at + n, b.at + at, b.count - at);
            count = b.count + n;
        } else {
            size_t skip = n < b.count - at ? n : b.count - at;
            memcpy(copy + at, b.at + at + skip, b.count - at - skip);
            count = b.count - skip;
        }
        const struct reading *x = read_bytes(copy, count);
        assert_nothing_altered(x, &whole, "shift", i);
        if (i % 2)
            cr_assert_geq(x->nframes, whole.nframes - 1, "bytes put in lose one frame at most");
    }
    free(copy);
    free(b.at);
}

Test(reader, zero_and_garbage_tails_are_damage_not_frames)
{
    struct bytes b = sample();
    struct reading whole = *read_bytes(b.at, b.count);
    uint8_t *longer = calloc(1, b.count + 5000);
    memcpy(longer, b.at, b.count);
    const struct reading *x = read_bytes(longer, b.count + 5000);
    cr_assert_eq(x->nframes, whole.nframes);
    cr_assert_eq(x->ndamage, 1);
    cr_assert_eq(x->damage[0].offset, b.count);
    cr_assert_eq(x->damage[0].bytes, 5000);
    uint64_t state = 5;
    for (size_t i = 0; i < 5000; i++)
        longer[b.count + i] = (uint8_t)fixture_random(&state);
    x = read_bytes(longer, b.count + 5000);
    cr_assert_eq(x->nframes, whole.nframes);
    cr_assert_eq(x->ndamage, 1);
    free(longer);
    free(b.at);
}

/* Put these frames of the original behind its header. */
static struct bytes rearrange(struct bytes b, const size_t *offsets, const size_t *order, size_t n)
{
    struct bytes out = { malloc(2 * b.count), FILE_HEADER };
    memcpy(out.at, b.at, FILE_HEADER);
    for (size_t i = 0; i < n; i++) {
        size_t from = offsets[order[i]], count = offsets[order[i] + 1] - from;
        memcpy(out.at + out.count, b.at + from, count);
        out.count += count;
    }
    return out;
}

Test(reader, a_duplicate_frame_counts_once)
{
    struct bytes b = sample();
    struct reading whole = *read_bytes(b.at, b.count);
    static size_t offsets[256];
    frame_offsets(b, offsets);
    size_t order[] = { 0, 1, 2, 2, 3, 1 };
    struct bytes x = rearrange(b, offsets, order, 6);
    const struct reading *got = read_bytes(x.at, x.count);
    cr_assert_eq(got->nframes, 4);
    cr_assert_eq(got->ndamage, 2);
    cr_assert_str_eq(got->damage[0].what, "frame 2: duplicate");
    cr_assert_str_eq(got->damage[1].what, "frame 1: duplicate");
    assert_nothing_altered(got, &whole, "duplicate", 0);
    free(x.at);
    free(b.at);
}

Test(reader, swapped_frames_are_delivered_and_reported)
{
    struct bytes b = sample();
    struct reading whole = *read_bytes(b.at, b.count);
    static size_t offsets[256];
    frame_offsets(b, offsets);
    size_t order[] = { 0, 1, 3, 2, 4 };
    struct bytes x = rearrange(b, offsets, order, 5);
    const struct reading *got = read_bytes(x.at, x.count);
    cr_assert_eq(got->nframes, 5);
    cr_assert(mentions(got, "frames 2-2 are missing"));
    cr_assert(mentions(got, "frame 2: out of order"));
    assert_nothing_altered(got, &whole, "swap", 0);
    free(x.at);
    free(b.at);
}

Test(reader, missing_frames_are_reported)
{
    struct bytes b = sample();
    static size_t offsets[256];
    frame_offsets(b, offsets);
    size_t order[] = { 0, 1, 5, 6 };
    struct bytes x = rearrange(b, offsets, order, 4);
    const struct reading *got = read_bytes(x.at, x.count);
    cr_assert_eq(got->nframes, 4);
    cr_assert_eq(got->ndamage, 1);
    cr_assert_str_eq(got->damage[0].what, "frames 2-4 are missing");
    free(x.at);
    free(b.at);
}

Test(reader, without_the_dictionary_events_are_unresolved_until_the_next_one)
{
    struct bytes b = fixture_trace(
        (struct fixture_options){ .frames = 60, .events_per_frame = 1000, .signatures = 40 });
    struct reading whole = *read_bytes(b.at, b.count);
    static size_t offsets[256];
    size_t n = frame_offsets(b, offsets), order[256];
    for (size_t i = 2; i < n; i++) /* without the first dictionary and the first rows */
        order[i - 2] = i;
    struct bytes x = rearrange(b, offsets, order, n - 2);
    const struct reading *got = read_bytes(x.at, x.count);
    cr_assert_eq(got->nframes, n - 2);
    cr_assert_gt(got->unresolved, 0);
    cr_assert_eq(got->frames[n - 4].unresolved, 0, "a dictionary came again");
    cr_assert_gt(got->events, got->unresolved);
    assert_nothing_altered(got, &whole, "headless", 0);
    free(x.at);
    free(b.at);
}

Test(reader, a_concatenated_file_is_damage_of_another_recording)
{
    struct bytes a = sample(), b = fixture_trace((struct fixture_options){
                                   .frames = 3, .events_per_frame = 100, .shard = 1 });
    struct reading whole = *read_bytes(a.at, a.count);
    uint8_t *both = malloc(a.count + b.count);
    memcpy(both, a.at, a.count);
    memcpy(both + a.count, b.at, b.count);
    const struct reading *got = read_bytes(both, a.count + b.count);
    cr_assert_eq(got->nframes, whole.nframes);
    cr_assert_eq(got->nshards, 1);
    cr_assert(mentions(got, "no frame here"));
    cr_assert(mentions(got, "of another recording"));
    free(both);
    free(a.at);
    free(b.at);
}

Test(reader, frames_embedded_in_a_damaged_payload_are_not_read)
{
    struct bytes inner =
        fixture_trace((struct fixture_options){ .frames = 2, .events_per_frame = 200 });
    int fd = memfd_create("t", 0);
    struct writer *w = fixture_open(dup(fd), 0); /* the same shard id as the inner trace */
    struct trace_counters none = { 0 };
    cr_assert_eq(writer_flush(w, &none, 10), ST_OK);
    cr_assert_eq(writer_blob(w, 70, inner.at, inner.count), ST_OK);
    cr_assert_eq(writer_flush(w, &none, 20), ST_OK);
    cr_assert_eq(writer_close(w, &none, 30), ST_OK);
    struct bytes b = fixture_read(fd);
    static size_t offsets[256];
    cr_assert_eq(frame_offsets(b, offsets), 3);
    cr_assert_not_null(memmem(b.at + offsets[1] + FRAME_HEADER,
                              offsets[2] - offsets[1] - FRAME_HEADER, frame_magic, 4),
                       "compression left the inner header as it is");
    b.at[offsets[2] - 1] ^= 1; /* the outer frame's payload is damaged, its header is not */
    const struct reading *got = read_bytes(b.at, b.count);
    cr_assert_eq(got->nframes, 2);
    cr_assert_eq(got->events, 0);
    cr_assert(mentions(got, "frame 1: payload checksum"));
    free(b.at);
    free(inner.at);
    close(fd);
}

Test(reader, empty_and_foreign_files_are_refused)
{
    struct reader *r;
    struct fault fault;
    cr_assert_eq(reader_open_bytes(&r, "", 0, &fault), ST_FORMAT);
    cr_assert(strstr(fault.text, "empty"));
    cr_assert_eq(reader_open_bytes(&r,
                                   "\x7f"
                                   "ELF............",
                                   16, &fault),
                 ST_FORMAT);
    cr_assert(strstr(fault.text, "magic"));
    cr_assert_eq(reader_open(&r, "/nonexistent", &fault), ST_IO);
    cr_assert(strstr(fault.text, "/nonexistent"));
    cr_assert_eq(reader_open(&r, "/tmp", &fault), ST_IO);
    cr_assert_eq(reader_open(&r, "/dev/null", &fault), ST_IO);
    cr_assert_null(r);
}

/* A file header with one field changed and the checksum made right. */
static void reseal(uint8_t *header, size_t bytes)
{
    uint32_t crc = crc32c(header, bytes - 4);
    memcpy(header + bytes - 4, &crc, 4);
}

Test(reader, a_newer_version_is_refused_by_name)
{
    struct bytes b = sample();
    b.at[8] = 9;
    reseal(b.at, FILE_HEADER);
    struct reader *r;
    struct fault fault;
    cr_assert_eq(reader_open_bytes(&r, b.at, b.count, &fault), ST_VERSION);
    cr_assert(strstr(fault.text, "version 9"));
    cr_assert(strstr(fault.text, "newer tilewise"));
    free(b.at);
}

Test(reader, unknown_feature_flags_follow_their_kind)
{
    struct bytes b = sample();
    struct fault fault;
    struct reader *r;
    b.at[16] = 0x80; /* compatible */
    reseal(b.at, FILE_HEADER);
    cr_assert_eq(read_bytes(b.at, b.count)->events, 18000);
    b.at[20] = 0x40; /* incompatible */
    reseal(b.at, FILE_HEADER);
    cr_assert_eq(reader_open_bytes(&r, b.at, b.count, &fault), ST_VERSION);
    cr_assert(strstr(fault.text, "0x40"));
    free(b.at);
}

Test(reader, a_longer_file_header_is_read_over)
{
    struct bytes b = sample();
    uint8_t *longer = calloc(1, b.count + 32);
    memcpy(longer, b.at, FILE_HEADER - 4);
    memcpy(longer + FILE_HEADER + 32, b.at + FILE_HEADER, b.count - FILE_HEADER);
    longer[10] = FILE_HEADER + 32;
    reseal(longer, FILE_HEADER + 32);
    const struct reading *x = read_bytes(longer, b.count + 32);
    cr_assert_eq(x->events, 18000);
    cr_assert_eq(x->ndamage, 0);
    free(longer);
    free(b.at);
}

Test(reader, a_damaged_file_header_does_not_cost_the_frames)
{
    struct bytes b = sample();
    b.at[40] ^= 0xff;
    const struct reading *x = read_bytes(b.at, b.count);
    cr_assert_eq(x->events, 18000);
    cr_assert_str_eq(x->damage[0].what, "file header: checksum");
    cr_assert(x->complete);
    free(b.at);
}

/* A file with one hand-made frame. */
struct forge {
    struct buffer raw;
    struct frame_header h;
    bool no_checksum;
};

static struct bytes forge_file(struct forge *f)
{
    struct bytes b = { calloc(1, 4 << 20), FILE_HEADER };
    frame_encode_file_header(b.at, &(struct file_header){ .kind = TRACE_KIND_RECORDED,
                                                          .tick_ns = 100,
                                                          .shard = fixture_shard(0) });
    ZSTD_CCtx *cctx = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, !f->no_checksum);
    size_t stored =
        ZSTD_compress2(cctx, b.at + FILE_HEADER + FRAME_HEADER, 3 << 20, f->raw.bytes, f->raw.size);
    ZSTD_freeCCtx(cctx);
    struct frame_header h = f->h;
    h.raw_bytes = h.raw_bytes ? h.raw_bytes : (uint32_t)f->raw.size;
    h.stored_bytes = (uint32_t)stored;
    h.shard = fixture_shard(0);
    h.tick_ns = h.tick_ns ? h.tick_ns : 100;
    h.kind = TRACE_KIND_RECORDED;
    h.payload_crc = crc32c(b.at + FILE_HEADER + FRAME_HEADER, stored);
    frame_encode(b.at + FILE_HEADER, &h);
    b.count += FRAME_HEADER + stored;
    buffer_free(&f->raw);
    return b;
}

static struct forge forge_start(void)
{
    struct forge f = { 0 };
    cr_assert(buffer_reserve(&f.raw, 3 << 20));
    return f;
}

static void forge_section(struct forge *f, unsigned type, const void *bytes, size_t count)
{
    buffer_put_varint(&f->raw, type);
    buffer_put_varint(&f->raw, count);
    buffer_put(&f->raw, bytes, count);
}

static void assert_refused(struct forge f, const char *why)
{
    struct bytes b = forge_file(&f);
    const struct reading *x = read_bytes(b.at, b.count);
    cr_assert_eq(x->nframes, 0, "%s", why);
    cr_assert_eq(x->ndamage, 1, "%s", why);
    cr_assert(strstr(x->damage[0].what, why), "wanted '%s', got '%s'", why, x->damage[0].what);
    free(b.at);
}

Test(reader, unknown_sections_are_skipped)
{
    struct forge f = forge_start();
    forge_section(&f, 40, "future", 6);
    forge_section(&f, 100000, "far future", 10);
    forge_section(&f, 70, "blob", 4);
    struct bytes b = forge_file(&f);
    struct reader *r;
    struct reader_frame frame;
    cr_assert_eq(reader_open_bytes(&r, b.at, b.count, NULL), ST_OK);
    cr_assert_eq(reader_next(r, &frame, NULL), ST_OK);
    cr_assert_eq(frame.nblobs, 1);
    cr_assert_eq(frame.blobs[0].section, 70);
    cr_assert_arr_eq(frame.blobs[0].bytes, "blob", 4);
    reader_close(r);
    free(b.at);
}

Test(reader, malformed_sections_are_refused)
{
    static const struct {
        unsigned type;
        const char *bytes;
        size_t count;
    } rows[] = {
        { SECTION_STRINGS,
          "\x00\x01\x01"
          "a",
          4 }, /* id 0 cannot be defined */
        { SECTION_STRINGS,
          "\x01\x05\x01"
          "a",
          4 }, /* five strings, one there */
        { SECTION_STRINGS,
          "\x01\x01\x03"
          "a\0b",
          6 }, /* a NUL inside */
        { SECTION_STRINGS,
          "\x01\x01\xff\xff\x03"
          "a",
          6 },                                                  /* longer than allowed */
        { SECTION_STRINGS, "\xff\xff\xff\xff\x0f\x01\x00", 7 }, /* an id of four billion */
        { SECTION_STRINGS,
          "\x01\x01\x01"
          "ab",
          5 },                                                     /* bytes left over */
        { SECTION_SIGNATURES, "\x00\x01", 2 },                     /* announced, not there */
        { SECTION_SIGNATURES, "\x00\xff\xff\xff\x7f", 5 },         /* 2^28 of them */
        { SECTION_SIGNATURES, "\x00\x01\x80\x20\xff\xff\x7f", 7 }, /* an op of 20 bits */
        { SECTION_SIGNATURES, "\x00\x01\xff\xff\xff\xff\xff\xff\x7f", 9 }, /* unknown fields */
        { SECTION_FACTS, "\x02\x00\x00", 3 },
        { SECTION_EVENTS, "\x00\x00\x01\x00\x05\x00\x00\x00", 8 },     /* 5 byte ids */
        { SECTION_EVENTS, "\x00\x00\x01\x80\x00\x00\x00\x00", 8 },     /* unknown flag */
        { SECTION_EVENTS, "\x00\x00\x02\x00\x01\x00\x00\x00\x00", 9 }, /* half a column */
        { SECTION_EVENTS, "\x00\x00\x01\x02\x00\x01\x00\x00\x00", 9 }, /* untimed with gaps */
        { SECTION_EVENTS, "\x00\x00\x81\x80\x80\x01\x00\x00\x00\x00\x00",
          11 }, /* 2^21 rows of 0 bytes */
        { SECTION_EVENTS, "\x80\x80\x04\x00\x01\x00\x00\x00\x00\x00", 10 }, /* thread 65536 */
        { SECTION_EVENTS, "\x00\x00\x01\x00\x00\x08\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f",
          16 },                                                        /* the year 8 million */
        { SECTION_EVENTS, "\x00\x00\x01\x01\x00\x01\x00\x00\x03", 9 }, /* before the beginning */
        { SECTION_COUNTS, "\x01\x00\x01\x01\x01\x00\x01\xff\x01\x01", 10 }, /* bucket 255 */
        { SECTION_COUNTS, "\xff\xff\x7f", 3 },                              /* 2 million rows */
        { SECTION_COUNTS, "\x01\x00\x01\x01\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 16 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct forge f = forge_start();
        forge_section(&f, rows[i].type, rows[i].bytes, rows[i].count);
        assert_refused(f, "malformed section");
    }
}

Test(reader, a_section_beyond_its_frame_is_refused)
{
    struct forge f = forge_start();
    buffer_put(&f.raw, "\x04\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
    assert_refused(f, "malformed section 4");
}

/* Found by fuzzing: what a section announced and did not hold was taken for known. */
Test(reader, ids_announced_by_a_broken_section_stay_unresolved)
{
    struct forge f = forge_start();
    forge_section(&f, SECTION_SIGNATURES, "\x00\x03\x00\xff\x40\x40", 6);
    f.raw.size -= 3; /* the last two signatures are torn */
    f.raw.bytes[1] = 3;
    struct bytes first = forge_file(&f);
    struct forge g = forge_start();
    forge_section(&g, SECTION_EVENTS, "\x00\x00\x01\x00\x01\x00\x00\x00\x04", 9); /* id 2 */
    g.h.sequence = 1;
    struct bytes second = forge_file(&g);
    memcpy(first.at + first.count, second.at + FILE_HEADER, second.count - FILE_HEADER);
    const struct reading *x = read_bytes(first.at, first.count + second.count - FILE_HEADER);
    cr_assert_eq(x->nframes, 1);
    cr_assert_eq(x->events, 0);
    cr_assert_eq(x->unresolved, 1);
    free(first.at);
    free(second.at);
}

Test(reader, a_contradicting_definition_is_refused)
{
    struct forge f = forge_start();
    forge_section(&f, SECTION_STRINGS,
                  "\x01\x01\x01"
                  "a",
                  4);
    forge_section(&f, SECTION_STRINGS,
                  "\x01\x01\x01"
                  "b",
                  4);
    assert_refused(f, "malformed section 1");
    f = forge_start();
    forge_section(&f, SECTION_STRINGS,
                  "\x01\x01\x01"
                  "a",
                  4);
    forge_section(&f, SECTION_STRINGS,
                  "\x01\x01\x01"
                  "a",
                  4);
    struct bytes b = forge_file(&f);
    cr_assert_eq(read_bytes(b.at, b.count)->nframes, 1, "the same again is fine");
    free(b.at);
}

Test(reader, absurd_dimensions_are_kept_as_they_are)
{
    struct forge f = forge_start();
    /* m = 2^63 - 1, n = -2^63 in one signature */
    uint8_t s[32] = { 0, 1, 3 };
    size_t n = 3;
    n += varint_store(s + n, zigzag_encode(INT64_MAX));
    n += varint_store(s + n, zigzag_encode(INT64_MIN));
    forge_section(&f, SECTION_SIGNATURES, s, n);
    struct bytes b = forge_file(&f);
    struct reader *r;
    struct reader_frame frame;
    size_t count;
    cr_assert_eq(reader_open_bytes(&r, b.at, b.count, NULL), ST_OK);
    cr_assert_eq(reader_next(r, &frame, NULL), ST_OK);
    const struct tilewise_signature *got = reader_signatures(r, &count);
    cr_assert_eq(count, 1);
    cr_assert_eq(got->m, INT64_MAX);
    cr_assert_eq(got->n, INT64_MIN);
    cr_assert_not(signature_is_sane(got));
    reader_close(r);
    free(b.at);
}

Test(reader, a_decompression_bomb_is_refused_before_decoding)
{
    struct forge f = forge_start();
    memset(f.raw.bytes, 0, 3 << 20);
    f.raw.size = 3 << 20;
    f.h.raw_bytes = TRACE_FRAME_RAW_MAX; /* the header is honest about nothing */
    assert_refused(f, "not one zstd frame");
}

Test(reader, a_stated_size_beyond_the_limit_is_refused)
{
    struct forge f = forge_start();
    memset(f.raw.bytes, 0, 3 << 20);
    f.raw.size = 3 << 20;
    assert_refused(f, "out of range");
}

Test(reader, a_zstd_frame_without_checksum_is_refused)
{
    struct forge f = forge_start();
    forge_section(&f, 40, "x", 1);
    f.no_checksum = true;
    assert_refused(f, "not one zstd frame");
}

Test(reader, times_and_ticks_out_of_range_are_refused)
{
    struct forge f = forge_start();
    forge_section(&f, 40, "x", 1);
    f.h.end_ns = UINT64_MAX;
    assert_refused(f, "out of range");
    f = forge_start();
    forge_section(&f, 40, "x", 1);
    f.h.sequence = UINT64_MAX;
    assert_refused(f, "out of range");
    f = forge_start();
    forge_section(&f, 40, "x", 1);
    f.h.tick_ns = UINT32_MAX;
    assert_refused(f, "out of range");
}

Test(reader, a_frame_of_the_future_is_skipped_whole)
{
    struct forge f = forge_start();
    forge_section(&f, 40, "x", 1);
    f.h.flags = 0x100;
    assert_refused(f, "newer tilewise");
}

Test(reader, damage_without_end_stays_bounded)
{
    size_t count = 4 << 20;
    struct bytes b = sample();
    uint8_t *bytes = malloc(count);
    for (size_t i = 0; i < count; i++)
        bytes[i] = frame_magic[i % 4];
    memcpy(bytes, b.at, FILE_HEADER);
    const struct reading *x = read_bytes(bytes, count);
    cr_assert_eq(x->nframes, 0);
    cr_assert_eq(x->ndamage, 1);
    cr_assert_eq(x->damage[0].bytes, count - FILE_HEADER);
    free(bytes);
    free(b.at);
}

Test(reader, the_list_of_damage_is_bounded)
{
    struct bytes b = fixture_trace((struct fixture_options){ .frames = 1, .events_per_frame = 3 });
    static size_t offsets[256];
    frame_offsets(b, offsets);
    size_t frame = offsets[1] - offsets[0], copies = 3000;
    uint8_t *bytes = malloc(FILE_HEADER + copies * frame);
    memcpy(bytes, b.at, FILE_HEADER);
    for (size_t i = 0; i < copies; i++)
        memcpy(bytes + FILE_HEADER + i * frame, b.at + FILE_HEADER, frame);
    const struct reading *x = read_bytes(bytes, FILE_HEADER + copies * frame);
    cr_assert_eq(x->nframes, 1);
    cr_assert_eq(x->ndamage, 1001);
    free(bytes);
    free(b.at);
}

Test(reader, crc32c_is_castagnoli)
{
    cr_assert_eq(crc32c("123456789", 9), 0xe3069283);
    cr_assert_eq(crc32c("", 0), 0);
}

Test(reader, golden_file_of_version_1)
{
    char path[512];
    /* Beside this source file, wherever the program runs. */
    snprintf(path, sizeof path, "%.*sgolden/trace-v1.twt",
             (int)(sizeof __FILE__ - sizeof "unit/test_reader.c"), __FILE__);
    struct reader *r;
    struct fault fault = { 0 };
    cr_assert_eq(reader_open(&r, path, &fault), ST_OK, "%s", fault.text);
    struct reader_frame f;
    uint64_t events = 0, duration = 0, counted = 0;
    while (reader_next(r, &f, NULL) == ST_OK) {
        for (size_t i = 0; i < f.nevents; i++)
            for (size_t k = 0; k < f.events[i].count; k++, events++)
                duration += f.events[i].duration_ns[k];
        for (size_t i = 0; i < f.ncounts; i++)
            counted += f.counts[i].calls;
    }
    size_t damage, shards, signatures;
    reader_damage(r, &damage);
    cr_assert_eq(damage, 0);
    cr_assert(reader_shards(r, &shards)->complete);
    cr_assert_eq(reader_shards(r, &shards)->counters.dropped[LOSS_THREAD_CAP], 3);
    const struct tilewise_signature *s = reader_signatures(r, &signatures);
    cr_assert_eq(signatures, 8);
    cr_assert_eq(s[7].k, 71);
    cr_assert_str_eq(reader_string(r, s[7].entry), "cblas_sgemm");
    cr_assert_eq(events, 64);
    cr_assert_eq(duration, 64 * 2000);
    cr_assert_eq(counted, 10);
    reader_close(r);
}
