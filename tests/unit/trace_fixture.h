/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces with known content, made with the writer, as bytes in memory or as files.
 */
#ifndef TILEWISE_TESTS_TRACE_FIXTURE_H
#define TILEWISE_TESTS_TRACE_FIXTURE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/reader.h"
#include "traces/writer.h"

struct bytes {
    uint8_t *at;
    size_t count;
};

/* Small deterministic generator (xorshift). */
static inline uint64_t fixture_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline struct tilewise_signature fixture_signature(unsigned i)
{
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .dtype_a = TILEWISE_F32,
        .dtype_b = TILEWISE_F32,
        .dtype_c = TILEWISE_F32,
        .dtype_d = TILEWISE_F32,
        .compute = TILEWISE_F32,
        .scale = TILEWISE_F32,
        .alpha = TILEWISE_SCALAR_ONE,
        .m = 1 + i % 97,
        .n = 384 * (1 + i % 4),
        .k = 64 + i,
        .batch = 1,
        .lda = 1 + i % 97,
        .ldb = 64 + i,
        .ldc = 1 + i % 97,
    };
}

static inline struct shard_id fixture_shard(unsigned i)
{
    return (struct shard_id){
        .host_hash = 0x1122334455667788,
        .boot_id = { 1, 2 },
        .start_unix_ns = UINT64_C(1700000000000000000) + i * UINT64_C(1000000000),
        .pid = 1000 + i,
    };
}

struct fixture_options {
    unsigned frames, events_per_frame, signatures, threads, shard;
    bool no_footer, untimed;
    uint64_t seed;
};

static inline struct writer *fixture_open(int fd, unsigned shard)
{
    struct writer *w;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED,
                                      .shard = fixture_shard(shard),
                                      .start_mono_ns = 5000 };
    cr_assert_eq(writer_open(&w, fd, &options), ST_OK);
    return w;
}

static inline uint32_t fixture_define(struct writer *w, unsigned i)
{
    uint32_t id;
    struct tilewise_signature s = fixture_signature(i);
    cr_assert_eq(writer_string(w, "cblas_sgemm", 11, &s.entry), ST_OK);
    cr_assert_eq(writer_signature(w, &s, &id), ST_OK);
    return id;
}

/* Everything in the file, read back. */
static inline struct bytes fixture_read(int fd)
{
    struct stat info;
    cr_assert_eq(fstat(fd, &info), 0);
    struct bytes b = { malloc((size_t)info.st_size + 1), (size_t)info.st_size };
    cr_assert_eq(pread(fd, b.at, b.count, 0), (ssize_t)b.count);
    return b;
}

static inline void fixture_write(const char *path, struct bytes b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, b.at, b.count), (ssize_t)b.count);
    close(fd);
}

static char fixture_dir[64];

static inline int fixture_remove(const char *path, const struct stat *info, int type,
                                 struct FTW *place)
{
    (void)info, (void)type, (void)place;
    return remove(path);
}

static inline void fixture_clean(void)
{
    nftw(fixture_dir, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file in a directory of this test's own (every test is a process of its own). The text lives
 * until 128 more were asked for. */
static inline const char *fixture_path(const char *name)
{
    static char paths[128][128];
    static unsigned next;
    if (!*fixture_dir) {
        snprintf(fixture_dir, sizeof fixture_dir, "/tmp/tilewise-test-XXXXXX");
        cr_assert_not_null(mkdtemp(fixture_dir));
        atexit(fixture_clean);
    }
    char *path = paths[next++ % 128];
    snprintf(path, sizeof *paths, "%s/%s", fixture_dir, name);
    return path;
}

/* `threads` take turns; each event lasts 1 to 5 us, gaps are below 1 us. */
static inline struct bytes fixture_trace(struct fixture_options o)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct writer *w = fixture_open(dup(fd), o.shard);
    struct trace_counters counters = { 0 };
    uint64_t now = 1000, state = o.seed + 88172645463325252u;
    unsigned threads = o.threads ? o.threads : 1, signatures = o.signatures ? o.signatures : 1;
    cr_assert_eq(writer_fact(w, "library", "libopenblas.so.0"), ST_OK);
    for (unsigned f = 0; f < o.frames; f++) {
        for (unsigned t = 0; t < threads; t++) {
            unsigned count = o.events_per_frame / threads;
            struct writer_event *events = calloc(count, sizeof *events);
            uint64_t at = now;
            for (unsigned i = 0; i < count; i++) {
                uint64_t r = fixture_random(&state);
                at += r % 1000;
                events[i] = (struct writer_event){
                    .signature = fixture_define(w, (unsigned)((r >> 20) % signatures)),
                    .start_ns = at,
                    .duration_ns = 1000 + (uint32_t)((r >> 40) % 4000),
                };
                at += events[i].duration_ns;
            }
            cr_assert_eq(writer_events(w, t, 0, events, count), ST_OK);
            counters.seen += count;
            counters.recorded += count;
            free(events);
        }
        now += 10000 * (uint64_t)(o.events_per_frame / threads + 1);
        cr_assert_eq(writer_flush(w, &counters, now), ST_OK);
    }
    if (o.no_footer)
        writer_abandon(w);
    else
        cr_assert_eq(writer_close(w, &counters, now + 1000), ST_OK);
    struct bytes b = fixture_read(fd);
    close(fd);
    return b;
}

/* A reader of what was written to `fd`; its bytes are the caller's. */
static inline struct reader *fixture_reopen(int fd, struct bytes *b)
{
    struct reader *r;
    struct fault fault = { 0 };
    *b = fixture_read(fd);
    cr_assert_eq(reader_open_bytes(&r, b->at, b->count, &fault), ST_OK, "%s", fault.text);
    return r;
}

/* A file in memory, with a writer for it. */
static inline int fixture_begin(struct writer **w)
{
    int fd = memfd_create("t", MFD_CLOEXEC);
    *w = fixture_open(dup(fd), 0);
    return fd;
}

#endif
