/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/summary.h"

#include <stdlib.h>
#include <string.h>

#include "traces/books.h"
#include "traces/copies.h"
#include "traces/frame.h"
#include "traces/windows.h"

enum { WINDOWS_LEAST = 10, WINDOWS_MOST = 64, CALLS_PER_WINDOW = 1000, DAMAGE_ROWS_MAX = 10000 };

/* The summary and what its pointers point to. */
struct owned {
    struct summary summary; /* first: summary_free gets a pointer to it */
    struct summary_cell *cells;
    char *string_bytes, *fact_bytes;
};

struct build {
    struct books books;
    struct copies copies;
    struct buffer damage; /* struct reader_damage */
};

/* Reading. */

struct pass {
    struct build *build;
    struct reader *reader;
    const char *path;
    size_t path_index, damage_seen; /* damage_seen: rows whose bytes a shard has taken over */
    struct buffer done;             /* a byte per shard of this file: it was begun */
    uint32_t shard;                 /* the open one */
    bool is_open;
};

static enum status end_shard(struct pass *p)
{
    if (!p->is_open)
        return ST_OK;
    p->is_open = false;
    size_t count, damaged;
    const struct reader_shard *shards = reader_shards(p->reader, &count);
    const struct reader_damage *damage = reader_damage(p->reader, &damaged);
    struct summary_shard *shard = &p->build->books.open->shard;
    for (; p->damage_seen < damaged; p->damage_seen++)
        shard->damaged_bytes += damage[p->damage_seen].bytes;
    return books_end_shard(&p->build->books, &shards[p->shard]);
}

/* Open this shard, unless it is to be read from another file or was read already. */
static enum status begin_shard(struct pass *p, uint32_t index)
{
    size_t count;
    const struct reader_shard *shards = reader_shards(p->reader, &count);
    if (!buffer_reserve(&p->done, count))
        return ST_NOMEM;
    memset(p->done.bytes + p->done.size, 0, count - p->done.size);
    p->done.size = count;
    enum status st = end_shard(p);
    if (st != ST_OK || p->done.bytes[index] ||
        !copies_is_best(&p->build->copies, &shards[index].id, p->path_index))
        return st;
    p->done.bytes[index] = 1;
    p->shard = index;
    st = books_begin_shard(&p->build->books);
    if (st != ST_OK)
        return st;
    p->build->books.open->shard.path = p->path;
    p->is_open = true;
    return ST_OK;
}

static enum status read_frames(struct pass *p, struct fault *fault)
{
    struct reader_frame frame;
    enum status st;
    while ((st = reader_next(p->reader, &frame, fault)) == ST_OK) {
        if (!p->is_open || frame.shard != p->shard)
            st = begin_shard(p, frame.shard);
        if (st == ST_OK && p->is_open && frame.shard == p->shard)
            st = books_add_frame(&p->build->books, p->reader, &frame);
        if (st == ST_LIMIT)
            return fault_set(fault, st,
                             "more than %d distinct signatures in all: summarise fewer files",
                             BOOKS_SIGNATURES_MAX);
        if (st != ST_OK)
            return fault_set(fault, st, "out of memory");
    }
    if (st != ST_END)
        return st;
    /* A process of which nothing but the file header was written counts too. */
    size_t count;
    reader_shards(p->reader, &count);
    st = end_shard(p);
    for (uint32_t i = 0; st == ST_OK && i < count; i++)
        if (i >= p->done.size || !p->done.bytes[i])
            st = begin_shard(p, i);
    if (st == ST_OK)
        st = end_shard(p);
    return st == ST_OK ? st : fault_set(fault, st, "out of memory");
}

static enum status keep_damage(struct build *b, const struct reader *r)
{
    size_t count, known = b->damage.size / sizeof(struct reader_damage);
    const struct reader_damage *damage = reader_damage(r, &count);
    if (count > DAMAGE_ROWS_MAX - known)
        count = DAMAGE_ROWS_MAX - known;
    if (!buffer_reserve(&b->damage, count * sizeof *damage))
        return ST_NOMEM;
    buffer_put(&b->damage, damage, count * sizeof *damage);
    return ST_OK;
}

static enum status read_file(struct build *b, const char *path, size_t index, struct fault *fault)
{
    struct pass p = { .build = b, .path = path, .path_index = index };
    struct fault inner;
    enum status st = reader_open(&p.reader, path, fault);
    if (st != ST_OK)
        return st;
    books_begin_file(&b->books);
    st = read_frames(&p, &inner);
    if (st == ST_OK)
        st = keep_damage(b, p.reader);
    else
        fault_set(fault, st, "%s: %s", path, inner.text);
    reader_close(p.reader);
    buffer_free(&p.done);
    return st;
}

static enum status refuse_results(const char *path, struct fault *fault)
{
    struct reader *r;
    enum status st = reader_open(&r, path, fault);
    if (st != ST_OK)
        return st;
    if (reader_kind(r) == TRACE_KIND_RESULT)
        st = fault_set(fault, ST_INVALID, "%s: a replay result (.twr), not a trace", path);
    reader_close(r);
    return st;
}

static enum status read_all(struct build *b, const char *const *paths, size_t count,
                            struct fault *fault)
{
    enum status st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < count; i++)
        st = refuse_results(paths[i], fault);
    if (st == ST_OK)
        st = copies_find(&b->copies, paths, count, fault);
    for (size_t i = 0; st == ST_OK && i < count; i++)
        if (copies_is_needed(&b->copies, i))
            st = read_file(b, paths[i], i, fault);
    return st;
}

/* Making the summary. Everything is put in an order that depends on content alone. */

struct name {
    const char *text;
    size_t bytes;
    uint32_t id;
};

static int compare_names(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    size_t bytes = a->bytes < b->bytes ? a->bytes : b->bytes;
    int order = memcmp(a->text, b->text, bytes);
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* The texts of a table in order, and one block of memory with all of them (each with its NUL). */
static struct name *sort_names(const struct intern *t, char **bytes)
{
    struct name *names = malloc((t->count ? t->count : 1) * sizeof *names);
    *bytes = malloc(t->arena.size ? t->arena.size : 1);
    if (!names || !*bytes) {
        free(names);
        return NULL;
    }
    if (t->arena.size)
        memcpy(*bytes, t->arena.bytes, t->arena.size);
    for (uint32_t i = 0; i < t->count; i++) {
        names[i].id = i;
        const char *text = intern_get(t, i, &names[i].bytes);
        names[i].text = *bytes + (text - (const char *)t->arena.bytes);
    }
    if (t->count)
        qsort(names, t->count, sizeof *names, compare_names);
    return names;
}

/* Fill summary.strings; `rank` gets the index of each name. */
static enum status make_strings(struct owned *o, const struct books *b, uint32_t *rank)
{
    struct summary *s = &o->summary;
    struct name *names = sort_names(&b->names, &o->string_bytes);
    s->strings = malloc((b->names.count + 1) * sizeof *s->strings);
    if (!names || !s->strings) {
        free(names);
        return ST_NOMEM;
    }
    s->nstrings = b->names.count;
    for (uint32_t i = 0; i < b->names.count; i++) {
        s->strings[i] = names[i].text;
        rank[names[i].id] = i;
    }
    free(names);
    return ST_OK;
}

static enum status make_facts(struct owned *o, const struct books *b)
{
    struct summary *s = &o->summary;
    struct name *names = sort_names(&b->facts, &o->fact_bytes);
    s->facts = malloc((b->facts.count + 1) * sizeof *s->facts);
    if (!names || !s->facts) {
        free(names);
        return ST_NOMEM;
    }
    s->nfacts = b->facts.count;
    for (size_t i = 0; i < b->facts.count; i++)
        s->facts[i] =
            (struct reader_fact){ names[i].text, names[i].text + strlen(names[i].text) + 1 };
    free(names);
    return ST_OK;
}

static int compare_signatures(const void *left, const void *right, void *all)
{
    const struct summary_signature *a =
        (const struct summary_signature *)all + *(const uint32_t *)left;
    const struct summary_signature *b =
        (const struct summary_signature *)all + *(const uint32_t *)right;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return memcmp(&a->signature, &b->signature, sizeof a->signature);
}

/* Move rows[from[i]] to rows[i], in place: the rows are large. `from` is used up. */
static void permute(struct summary_signature *rows, uint32_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct summary_signature first = rows[i];
        size_t to = i;
        while (from[to] != i) {
            size_t next = from[to];
            rows[to] = rows[next];
            from[to] = (uint32_t)to;
            to = next;
        }
        rows[to] = first;
        from[to] = (uint32_t)to;
    }
}

/* Fill summary.signatures, taking over the totals of the books; `rank` gets the index of each. */
static enum status make_signatures(struct summary *s, struct books *b, const uint32_t *name_rank,
                                   uint32_t *rank)
{
    size_t count = b->signatures.count;
    uint32_t *from = malloc((count ? count : 1) * sizeof *from);
    if (!from)
        return ST_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct summary_signature *t = &b->totals[i];
        t->signature = *(const struct tilewise_signature *)intern_get(&b->signatures, i, NULL);
        t->signature.entry = name_rank[t->signature.entry];
        from[i] = i;
        if (t->calls == 0)
            t->min_ns = 0; /* defined, never called */
        s->calls += t->calls;
        s->time_ns += t->time_ns;
    }
    qsort_r(from, count, sizeof *from, compare_signatures, b->totals);
    for (uint32_t i = 0; i < count; i++)
        rank[from[i]] = i;
    permute(b->totals, from, count);
    free(from);
    s->signatures = b->totals;
    s->nsignatures = count;
    b->totals = NULL;
    b->totals_capacity = 0;
    return ST_OK;
}

static int compare_ops(const void *left, const void *right)
{
    const struct summary_op *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    return a->op != b->op ? a->op - b->op : a->dtype - b->dtype;
}

static enum status make_ops(struct summary *s, const struct books *b)
{
    s->ops = malloc((b->nops ? b->nops : 1) * sizeof *s->ops);
    if (!s->ops)
        return ST_NOMEM;
    for (; s->nops < b->nops; s->nops++)
        s->ops[s->nops] = b->ops[s->nops].sums;
    qsort(s->ops, s->nops, sizeof *s->ops, compare_ops);
    return ST_OK;
}

static int compare_shards(const void *left, const void *right)
{
    const struct summary_shard *a = left, *b = right;
    return frame_compare_shards(&a->shard.id, &b->shard.id);
}

static enum status make_shards(struct summary *s, const struct books *b)
{
    s->shards = malloc((b->nshards ? b->nshards : 1) * sizeof *s->shards);
    if (!s->shards)
        return ST_NOMEM;
    s->complete = s->ndamage == 0;
    for (; s->nshards < b->nshards; s->nshards++) {
        struct summary_shard *shard = &s->shards[s->nshards];
        *shard = b->shards[s->nshards].shard;
        shard->path = strdup(shard->path);
        if (!shard->path)
            return ST_NOMEM;
        counters_add(&s->counters, &shard->shard.counters);
        s->wall_ns += shard->wall_ns;
        s->busy_ns += shard->busy_ns;
        s->complete &= shard->shard.complete && shard->unresolved == 0;
    }
    if (s->nshards)
        qsort(s->shards, s->nshards, sizeof *s->shards, compare_shards);
    return ST_OK;
}

static int compare_damage(const void *left, const void *right)
{
    const struct reader_damage *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return strcmp(a->what, b->what);
}

static enum status make_damage(struct summary *s, const struct buffer *damage)
{
    s->ndamage = damage->size / sizeof *s->damage;
    s->damage = malloc(damage->size ? damage->size : 1);
    if (!s->damage)
        return ST_NOMEM;
    if (s->ndamage) {
        memcpy(s->damage, damage->bytes, damage->size);
        qsort(s->damage, s->ndamage, sizeof *s->damage, compare_damage);
    }
    return ST_OK;
}

static size_t default_windows(uint64_t calls)
{
    uint64_t windows = calls / CALLS_PER_WINDOW;
    return windows < WINDOWS_LEAST  ? WINDOWS_LEAST
           : windows > WINDOWS_MOST ? WINDOWS_MOST
                                    : (size_t)windows;
}

static enum status make(struct owned *o, struct build *b, size_t windows)
{
    struct summary *s = &o->summary;
    uint32_t *name_rank = malloc((b->books.names.count + 1) * sizeof *name_rank);
    uint32_t *rank = malloc((b->books.signatures.count + 1) * sizeof *rank);
    enum status st = name_rank && rank ? ST_OK : ST_NOMEM;
    s->events = b->books.events;
    s->is_of_phase = b->books.phase != NULL;
    if (st == ST_OK)
        st = make_strings(o, &b->books, name_rank);
    if (st == ST_OK)
        st = make_facts(o, &b->books);
    if (st == ST_OK)
        st = make_signatures(s, &b->books, name_rank, rank);
    if (st == ST_OK)
        st = make_ops(s, &b->books);
    if (st == ST_OK)
        st = gpubook_make(&b->books.gpu, s, name_rank, rank);
    if (st == ST_OK)
        st = phasebook_make(&b->books.phases, s, name_rank, rank);
    if (st == ST_OK)
        st = make_damage(s, &b->damage);
    if (st == ST_OK)
        st = make_shards(s, &b->books);
    if (st == ST_OK)
        st = windows_make(&b->books, rank, windows ? windows : default_windows(s->calls),
                          &s->windows, &s->nwindows, &o->cells);
    free(name_rank);
    free(rank);
    return st;
}

/* What of the files is summarised. */
struct selection {
    const char *const *paths;
    size_t count, windows;
    const char *phase;
};

static enum status build(struct summary **out, const struct selection *of, struct fault *fault)
{
    *out = NULL;
    struct build b = { 0 };
    struct owned *o = calloc(1, sizeof *o);
    enum status st = o ? books_open(&b.books) : ST_NOMEM;
    b.books.phase = of->phase;
    if (st != ST_OK)
        fault_set(fault, st, "out of memory");
    else
        st = read_all(&b, of->paths, of->count, fault);
    if (st == ST_OK) {
        st = make(o, &b, of->windows);
        if (st != ST_OK)
            fault_set(fault, st, "out of memory");
    }
    books_free(&b.books);
    copies_free(&b.copies);
    buffer_free(&b.damage);
    if (st == ST_OK)
        *out = &o->summary;
    else if (o)
        summary_free(&o->summary);
    return st;
}

enum status summary_build(struct summary **out, const char *const *paths, size_t count,
                          size_t windows, struct fault *fault)
{
    return build(out, &(struct selection){ paths, count, windows, NULL }, fault);
}

enum status summary_build_phase(struct summary **out, const char *const *paths, size_t count,
                                const char *phase, struct fault *fault)
{
    return build(out, &(struct selection){ paths, count, 0, phase }, fault);
}

void summary_free(struct summary *s)
{
    if (!s)
        return;
    struct owned *o = (struct owned *)s;
    for (size_t i = 0; i < s->nshards; i++)
        free((char *)s->shards[i].path);
    free(s->shards);
    free(s->signatures);
    free(s->windows);
    free(s->ops);
    free(s->strings);
    free(s->damage);
    free(s->facts);
    free(s->kernels);
    free(s->grids);
    free(s->phases.phases);
    free(s->phases.cells);
    free(s->phases.marks);
    free(o->cells);
    free(o->string_bytes);
    free(o->fact_bytes);
    free(o);
}
