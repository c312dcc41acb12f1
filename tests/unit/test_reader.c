/* SPDX-License-Identifier: Apache-2.0 */
#include "reader_fixture.h"

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

Test(reader, crc32c_is_castagnoli)
{
    cr_assert_eq(crc32c("123456789", 9), 0xe3069283);
    cr_assert_eq(crc32c("", 0), 0);
}

Test(reader, golden_file_of_version_1)
{
    const char *path = TILEWISE_SOURCE "/tests/golden/trace-v1.twt";
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
