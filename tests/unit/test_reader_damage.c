/* SPDX-License-Identifier: Apache-2.0 */
#include "reader_fixture.h"

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
