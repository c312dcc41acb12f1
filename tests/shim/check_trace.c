/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the traces of a directory against what the fake BLAS counted (fake_blas.h).
 *   check_trace exact TRACES COUNTS    every process: seen = called, nothing dropped but by
 * counters check_trace prefix TRACES COUNTS   a killed process: undamaged, the calls of pattern.h
 * in order from the first one, complete up to one second before the end check_trace rows TRACES the
 * calls of `host rows`, signature by signature check_trace seen TRACES            prints the sum of
 * `seen` check_trace dropped TRACES CAUSE   prints the sum of that loss counter Exit status 0 when
 * it holds, 1 with a reason on stdout.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_blas.h"
#include "pattern.h"
#include "rows.h"
#include "traces/reader.h"

enum { SHAPES = 1 << 17 };

struct trace {
    struct reader_shard shard;
    uint64_t events, counted;
    size_t damage;
    bool in_pattern; /* so far, events of each thread are call 0, 1, 2, ... of pattern.h */
    uint64_t next[64];
    uint64_t calls[SHAPES]; /* by signature */
    struct {
        char key[64], value[1024];
    } fact[64];
    size_t nfacts;
    struct reader *reader;
};

static bool fail(const char *text, const char *name)
{
    printf("%s: %s\n", name, text);
    return false;
}

static void add_events(struct trace *t, const struct reader_events *e)
{
    size_t count;
    const struct tilewise_signature *signature = reader_signatures(t->reader, &count);
    for (size_t i = 0; i < e->count; i++) {
        uint32_t id = e->signature[i];
        uint64_t at = e->thread < 64 ? t->next[e->thread]++ : 0;
        t->in_pattern &= signature[id].m == pattern_m(at) && signature[id].n == pattern_n(at);
        t->calls[id < SHAPES ? id : 0]++;
    }
    t->events += e->count;
}

/* Read all of it; the reader stays open for its signatures. */
static bool load(const char *path, struct trace *t)
{
    struct fault fault;
    struct reader_frame frame;
    enum status st;
    memset(t, 0, sizeof *t);
    t->in_pattern = true;
    if (reader_open(&t->reader, path, &fault) != ST_OK)
        return fail(fault.text, path);
    while ((st = reader_next(t->reader, &frame, &fault)) == ST_OK) {
        for (size_t i = 0; i < frame.nfacts && t->nfacts < 64; i++, t->nfacts++) {
            snprintf(t->fact[t->nfacts].key, 64, "%s", frame.facts[i].key);
            snprintf(t->fact[t->nfacts].value, 1024, "%s", frame.facts[i].value);
        }
        for (size_t i = 0; i < frame.nevents; i++)
            add_events(t, &frame.events[i]);
        for (size_t i = 0; i < frame.ncounts; i++) {
            t->counted += frame.counts[i].calls;
            t->calls[frame.counts[i].signature % SHAPES] += frame.counts[i].calls;
        }
    }
    size_t count;
    t->shard = *reader_shards(t->reader, &count);
    reader_damage(t->reader, &t->damage);
    return st == ST_END ? true : fail(fault.text, path);
}

/* The identities that hold in every trace whatever. */
static bool adds_up(const struct trace *t, const char *path)
{
    const struct trace_counters *c = &t->shard.counters;
    if (c->seen != c->recorded + loss_total(c))
        return fail("seen is not recorded + dropped", path);
    if (c->recorded != t->events + t->counted || c->untimed != t->counted)
        return fail("the records are not as many as the counters say", path);
    return true;
}

static struct fake_counts *counts_of(const char *directory, uint32_t pid)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%u", directory, pid);
    int fd = open(path, O_RDONLY);
    void *p =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct fake_counts), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static bool check_exact(const char *path, struct trace *t, const char *counts)
{
    struct fake_counts *f = counts_of(counts, t->shard.id.pid);
    const struct trace_counters *c = &t->shard.counters;
    if (!f)
        return fail("no such process called anything", path);
    printf("%s: called %" PRIu64 ", seen %" PRIu64 ", recorded %" PRIu64 ", failed %" PRIu64 "\n",
           path, (uint64_t)f->total, c->seen, c->recorded, c->failed);
    if (t->damage || !t->shard.complete)
        return fail("damaged or without a clean end", path);
    return adds_up(t, path) &&
           (c->seen + c->failed == f->total ? true : fail("seen is not what was called", path));
}

/* The total that stood one second before the last call. */
static uint64_t total_a_second_before_the_end(const struct fake_counts *f)
{
    uint64_t end_ns = 0, total = 0;
    for (int i = 0; i < FAKE_MOMENTS; i++)
        end_ns = f->moment[i].ns > end_ns ? f->moment[i].ns : end_ns;
    for (int i = 0; i < FAKE_MOMENTS; i++)
        if (f->moment[i].ns && f->moment[i].ns + 1000000000u < end_ns && f->moment[i].total > total)
            total = f->moment[i].total;
    return total;
}

static bool check_prefix(const char *path, struct trace *t, const char *counts)
{
    struct fake_counts *f = counts_of(counts, t->shard.id.pid);
    if (!f)
        return fail("no such process called anything", path);
    uint64_t least = total_a_second_before_the_end(f), recorded = t->shard.counters.recorded;
    if (t->damage > 1) /* a torn frame at the end is one */
        return fail("damaged", path);
    if (t->counted || !t->in_pattern)
        return fail("the records are not the calls in their order", path);
    if (recorded > f->total || recorded < least) {
        printf("called %" PRIu64 ", a second before %" PRIu64 ", recorded %" PRIu64 "\n",
               (uint64_t)f->total, least, recorded);
        return fail("more than a second is lost, or more recorded than called", path);
    }
    return adds_up(t, path);
}

struct row {
    const char *name;
    struct tilewise_signature signature;
    uint8_t in, out;
    enum slot_id slot;
};

static const struct row row[] = {
#define ROW(family, symbol, integer, element)                                                      \
    { #symbol, family##_SIGNATURE, ROWS_IN_##element, ROWS_OUT_##element, SLOT_##symbol },
#define ROWS_IN_s   TILEWISE_F32
#define ROWS_IN_d   TILEWISE_F64
#define ROWS_IN_c   TILEWISE_C64
#define ROWS_IN_z   TILEWISE_C128
#define ROWS_IN_sb  TILEWISE_BF16
#define ROWS_OUT_s  TILEWISE_F32
#define ROWS_OUT_d  TILEWISE_F64
#define ROWS_OUT_c  TILEWISE_C64
#define ROWS_OUT_z  TILEWISE_C128
#define ROWS_OUT_sb TILEWISE_F32
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
};

/* A syrk has one operand for A and B: its alignment is A's. */
static struct tilewise_signature expected(const struct row *r)
{
    struct tilewise_signature s = r->signature;
    s.dtype_a = s.dtype_b = r->in;
    s.dtype_c = s.dtype_d = s.compute = s.scale = r->out;
    if (s.uplo)
        s.align_b = s.align_a;
    return s;
}

static uint64_t calls_of(const struct trace *t, const struct row *r)
{
    size_t count;
    const struct tilewise_signature *signature = reader_signatures(t->reader, &count);
    struct tilewise_signature want = expected(r);
    uint64_t calls = 0;
    for (size_t i = 0; i < count; i++) {
        struct tilewise_signature got = signature[i];
        if (strcmp(reader_string(t->reader, got.entry), r->name) != 0)
            continue;
        got.entry = 0;
        if (memcmp(&got, &want, sizeof got) == 0)
            calls += t->calls[i];
    }
    return calls;
}

static bool check_rows(const char *path, struct trace *t, const char *unused)
{
    (void)unused;
    bool good = true;
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t calls = calls_of(t, &row[i]);
        total += calls;
        if (calls != 1 + row[i].slot % 3)
            good = fail("not recorded as it was called", row[i].name);
    }
    return good && (total == t->shard.counters.recorded ? true : fail("other records", path));
}

static uint64_t sum;

static bool add_seen(const char *path, struct trace *t, const char *unused)
{
    (void)unused;
    sum += t->shard.counters.seen;
    return adds_up(t, path);
}

static bool add_failed(const char *path, struct trace *t, const char *unused)
{
    (void)unused;
    sum += t->shard.counters.failed;
    return adds_up(t, path);
}

static bool add_dropped(const char *path, struct trace *t, const char *cause)
{
    for (unsigned i = 0; i < LOSS_MAX; i++)
        if (loss_name(i) && strcmp(loss_name(i), cause) == 0)
            sum += t->shard.counters.dropped[i];
    return adds_up(t, path);
}

static bool print_fact(const char *path, struct trace *t, const char *key)
{
    (void)path;
    for (size_t i = 0; i < t->nfacts; i++)
        if (strcmp(t->fact[i].key, key) == 0)
            puts(t->fact[i].value);
    return true;
}

static const struct {
    const char *name;
    bool (*check)(const char *path, struct trace *t, const char *argument);
    bool prints_sum;
} verb[] = {
    { "exact", check_exact, false },  { "prefix", check_prefix, false },
    { "rows", check_rows, false },    { "seen", add_seen, true },
    { "dropped", add_dropped, true }, { "failed", add_failed, true },
    { "fact", print_fact, false },
};

static int run(size_t v, const char *directory, const char *argument)
{
    static struct trace t;
    DIR *dir = opendir(directory);
    int files = 0;
    bool good = dir != NULL;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[4096];
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".twt") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        files++;
        good = load(path, &t) && verb[v].check(path, &t, argument) && good;
        reader_close(t.reader);
    }
    if (dir)
        closedir(dir);
    if (verb[v].prints_sum)
        printf("%" PRIu64 "\n", sum);
    else if (files == 0)
        good = fail("no trace", directory);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    for (size_t v = 0; argc > 2 && v < sizeof verb / sizeof *verb; v++)
        if (strcmp(verb[v].name, argv[1]) == 0)
            return run(v, argv[2], argc > 3 ? argv[3] : "");
    fprintf(stderr,
            "usage: check_trace exact|prefix|rows|seen|failed|fact|dropped TRACES [COUNTS|KEY]\n");
    return 64;
}
