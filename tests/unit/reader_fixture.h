/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader made of bytes, as hashes that can be compared: for tests of whole and of damaged
 * traces.
 */
#ifndef TILEWISE_TESTS_READER_FIXTURE_H
#define TILEWISE_TESTS_READER_FIXTURE_H

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

static inline uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    return XXH3_64bits_withSeed(bytes, count, hash);
}

/* Signatures by content: ids may differ between readings of differently damaged files. */
static inline uint64_t signature_content(const struct reader *r, uint32_t id)
{
    size_t count;
    const struct tilewise_signature *all = reader_signatures(r, &count);
    cr_assert_lt(id, count);
    struct tilewise_signature s = all[id];
    const char *entry = reader_string(r, s.entry);
    s.entry = 0;
    return mix(mix(1, &s, sizeof s), entry, strlen(entry));
}

static inline uint64_t mix_signatures(uint64_t hash, const struct reader *r, const uint32_t *ids,
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

static inline struct seen look(const struct reader *r, const struct reader_frame *f)
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
static inline const struct reading *read_bytes(const void *bytes, size_t count)
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

static inline struct bytes sample(void)
{
    return fixture_trace((struct fixture_options){
        .frames = 18, .events_per_frame = 1000, .signatures = 40, .threads = 2 });
}

/* Where each frame starts, and the end. */
static inline size_t frame_offsets(struct bytes b, size_t *offsets)
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

static inline bool mentions(const struct reading *x, const char *what)
{
    for (size_t i = 0; i < x->ndamage; i++)
        if (strstr(x->damage[i].what, what))
            return true;
    return false;
}

#endif
