/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "trace_fixture.h"
#include "traces/frame.h"

Test(writer, the_size_cap_holds_and_leaves_room_for_the_footer)
{
    int fd = memfd_create("t", MFD_CLOEXEC);
    struct writer *w;
    struct writer_options o = { .kind = TRACE_KIND_RECORDED,
                                .shard = fixture_shard(0),
                                .size_cap_bytes = 20000 };
    cr_assert_eq(writer_open(&w, dup(fd), &o), ST_OK);
    struct trace_counters c = { 0 };
    uint64_t state = 9, now = 0;
    enum status st = ST_OK;
    for (unsigned k = 0; k < 100 && st == ST_OK; k++) {
        struct writer_event events[500];
        for (unsigned i = 0; i < 500; i++, now += 100000)
            events[i] = (struct writer_event){ fixture_define(w, 0),
                                               (uint32_t)(fixture_random(&state) % 90000), now };
        cr_assert_eq(writer_events(w, 0, 0, events, 500), ST_OK);
        struct trace_counters next = c;
        next.seen += 500;
        next.recorded += 500;
        st = writer_flush(w, &next, now);
        if (st == ST_OK)
            c = next;
    }
    cr_assert_eq(st, ST_LIMIT);
    cr_assert_eq(writer_flush(w, &c, now), ST_LIMIT, "nothing more but the footer");
    c.seen += 500;
    c.dropped[LOSS_SIZE_CAP] += 500;
    cr_assert_eq(writer_close(w, &c, now), ST_OK);
    struct bytes b;
    struct reader *r = fixture_reopen(fd, &b);
    struct reader_frame f;
    uint64_t got = 0;
    while (reader_next(r, &f, NULL) == ST_OK)
        for (size_t i = 0; i < f.nevents; i++)
            got += f.events[i].count;
    size_t n;
    cr_assert_leq(b.count, 20000);
    cr_assert(reader_shards(r, &n)->complete);
    cr_assert_eq(got, c.recorded);
    cr_assert_eq(reader_shards(r, &n)->counters.dropped[LOSS_SIZE_CAP], 500);
    reader_close(r);
    free(b.at);
}

/* The disk is full at every possible size: each time the file is cut back to whole frames, the
 * counters tell what is in it, and writing goes on when there is room again. */
Test(writer, a_full_disk_is_undone_frame_by_frame)
{
    signal(SIGXFSZ, SIG_IGN);
    const char *path = fixture_path("t");
    for (rlim_t cap = 500; cap < 12000; cap += 97) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        struct writer *w = fixture_open(dup(fd), 0);
        struct rlimit old;
        getrlimit(RLIMIT_FSIZE, &old);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ cap, old.rlim_max });
        struct trace_counters c = { 0 };
        uint64_t state = cap, now = 0;
        unsigned failures = 0;
        for (unsigned k = 0; k < 12; k++) {
            if (k == 9)
                setrlimit(RLIMIT_FSIZE, &old);
            struct writer_event events[300];
            for (unsigned i = 0; i < 300; i++, now += 100000)
                events[i] =
                    (struct writer_event){ fixture_define(w, k % 5),
                                           (uint32_t)(fixture_random(&state) % 90000), now };
            cr_assert_eq(writer_events(w, 0, 0, events, 300), ST_OK);
            struct trace_counters next = c;
            next.seen += 300;
            next.recorded += 300;
            errno = 0;
            if (writer_flush(w, &next, now) == ST_OK) {
                c = next;
            } else {
                cr_assert_eq(errno, EFBIG);
                c.seen += 300;
                c.dropped[LOSS_DISK_FULL] += 300;
                failures++;
            }
        }
        setrlimit(RLIMIT_FSIZE, &old);
        cr_assert_eq(writer_close(w, &c, now), ST_OK);
        struct bytes b;
        struct reader *r = fixture_reopen(fd, &b);
        struct reader_frame f;
        uint64_t got = 0, unresolved = 0;
        while (reader_next(r, &f, NULL) == ST_OK) {
            unresolved += f.unresolved;
            for (size_t i = 0; i < f.nevents; i++)
                got += f.events[i].count;
        }
        size_t damage, n;
        reader_damage(r, &damage);
        cr_assert_eq(damage, 0, "cap %lu", cap);
        cr_assert_eq(unresolved, 0, "cap %lu: what a lost frame defined is defined again", cap);
        cr_assert_eq(got, c.recorded, "cap %lu", cap);
        cr_assert(failures == 0 || reader_shards(r, &n)->counters.dropped[LOSS_DISK_FULL] > 0);
        reader_close(r);
        free(b.at);
        close(fd);
    }
}

Test(writer, a_device_without_space_is_an_error_with_errno)
{
    struct writer *w;
    struct writer_options o = { .kind = TRACE_KIND_RECORDED };
    errno = 0;
    cr_assert_eq(writer_open(&w, open("/dev/full", O_WRONLY), &o), ST_IO);
    cr_assert_eq(errno, ENOSPC);
    cr_assert_null(w);
}

Test(writer, open_takes_the_descriptor_over_even_when_it_fails)
{
    struct writer *w;
    struct writer_options o = { .kind = TRACE_KIND_RECORDED };
    int fd = open("/dev/full", O_WRONLY);
    cr_assert_neq(writer_open(&w, fd, &o), ST_OK);
    cr_assert_eq(fcntl(fd, F_GETFD), -1);
}

Test(writer, without_memory_open_fails_and_says_so)
{
    pid_t child = fork();
    if (child == 0) {
        struct writer *w;
        struct writer_options o = { .kind = TRACE_KIND_RECORDED };
        int fd = memfd_create("t", 0);
        setrlimit(RLIMIT_AS, &(struct rlimit){ 0, RLIM_INFINITY });
        _exit(writer_open(&w, fd, &o) == ST_NOMEM ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
}

Test(writer, abandoning_leaves_a_readable_file_without_a_clean_end)
{
    struct bytes b = fixture_trace(
        (struct fixture_options){ .frames = 2, .events_per_frame = 10, .no_footer = true });
    struct reader *r;
    struct reader_frame f;
    size_t n, damage;
    cr_assert_eq(reader_open_bytes(&r, b.at, b.count, NULL), ST_OK);
    while (reader_next(r, &f, NULL) == ST_OK)
        continue;
    cr_assert_not(reader_shards(r, &n)->complete);
    reader_damage(r, &damage);
    cr_assert_eq(damage, 0);
    reader_close(r);
    writer_abandon(NULL);
    cr_assert_eq(writer_close(NULL, NULL, 0), ST_OK);
    free(b.at);
}

Test(writer, identical_input_gives_identical_bytes)
{
    struct fixture_options o = {
        .frames = 5, .events_per_frame = 500, .signatures = 20, .threads = 3
    };
    struct bytes a = fixture_trace(o), b = fixture_trace(o);
    cr_assert_eq(a.count, b.count);
    cr_assert_arr_eq(a.at, b.at, a.count);
    free(a.at);
    free(b.at);
}
