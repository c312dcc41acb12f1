/* SPDX-License-Identifier: Apache-2.0 */
#include <zstd.h>

#include "reader_fixture.h"

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
