/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/timeline.h"

enum { SYMBOLS_MAX = 1 << 15, REPEATS_MIN = 3 };

/* A recorded run of work, before it is cut to one period. */
struct track {
    size_t count;
    uint64_t *symbols; /* the same work has the same symbol */
    double *ns;
    int64_t *items;
    bool *reads;   /* sequence_step.reads */
    size_t graphs; /* steps launched by a graph */
};

struct search {
    const struct plan *plan;
    const struct reader *reader;
    int64_t *item_of; /* per signature of the reader, plus 2; 0: not looked up */
    size_t nitems_of;
    struct track track;
    struct sequence *best;
};

/* ---- signatures ---- */

static bool is_item(const struct plan_item *item, const struct tilewise_signature *s,
                    const char *entry)
{
    struct tilewise_signature recorded = plan_recorded(item);
    return signature_equal(s, &recorded) && strcmp(entry, item->entry) == 0;
}

static int64_t look_up(const struct search *in, uint32_t signature)
{
    size_t known;
    const struct tilewise_signature *all = reader_signatures(in->reader, &known);
    struct tilewise_signature s = all[signature];
    const char *entry = reader_string(in->reader, s.entry);
    s.entry = 0;
    if (s.batch_kind == TILEWISE_BATCH_NONE)
        s.batch = 1;
    for (size_t i = 0; i < in->plan->nitems; i++)
        if (in->plan->items[i].fate == PLAN_MEASURE && is_item(&in->plan->items[i], &s, entry))
            return (int64_t)i;
    return SEQUENCE_FILLER;
}

static int64_t item_of(struct search *in, uint32_t signature)
{
    size_t known;
    reader_signatures(in->reader, &known);
    if (signature >= known)
        return SEQUENCE_FILLER;
    if (known > in->nitems_of) {
        int64_t *grown = realloc(in->item_of, known * sizeof *grown);
        if (grown == NULL)
            return SEQUENCE_FILLER;
        memset(grown + in->nitems_of, 0, (known - in->nitems_of) * sizeof *grown);
        in->item_of = grown;
        in->nitems_of = known;
    }
    if (in->item_of[signature] == 0)
        in->item_of[signature] = look_up(in, signature) + 2;
    return in->item_of[signature] - 2;
}

/* ---- periods ---- */

/* Longest run of positions that equal the one `period` later. */
static size_t longest_run(const uint64_t *symbols, size_t count, size_t period, size_t *start)
{
    size_t best = 0, run = 0;
    for (size_t i = 0; i + period < count; i++) {
        run = symbols[i] == symbols[i + period] ? run + 1 : 0;
        if (run > best) {
            best = run;
            *start = i + 1 - run;
        }
    }
    return best;
}

bool sequence_find_period(const uint64_t *symbols, size_t count, struct sequence_period *out)
{
    size_t best = 0;
    *out = (struct sequence_period){ 0 };
    for (size_t period = 1; period <= SEQUENCE_STEPS_MAX && period * REPEATS_MIN <= count;
         period++) {
        size_t start = 0, covered = longest_run(symbols, count, period, &start) + period;
        if (covered < REPEATS_MIN * period || covered <= best)
            continue;
        /* A longer period wins by more than its own beginning: a layer within a step is none. */
        best = covered;
        *out = (struct sequence_period){ start, period, covered / period };
    }
    return best > 0;
}

/* ---- tracks ---- */

static bool open_track(struct track *t)
{
    t->symbols = calloc(SYMBOLS_MAX, sizeof *t->symbols);
    t->ns = calloc(SYMBOLS_MAX, sizeof *t->ns);
    t->items = calloc(SYMBOLS_MAX, sizeof *t->items);
    t->reads = calloc(SYMBOLS_MAX, sizeof *t->reads);
    return t->symbols && t->ns && t->items && t->reads;
}

static void close_track(struct track *t)
{
    free(t->symbols);
    free(t->ns);
    free(t->items);
    free(t->reads);
}

static void add_step(struct track *t, uint64_t symbol, int64_t item, bool reads, double ns)
{
    if (t->count == SYMBOLS_MAX)
        return;
    t->symbols[t->count] = symbol;
    t->items[t->count] = item;
    t->reads[t->count] = reads;
    t->ns[t->count++] = ns;
}

/* Names of kernels that read weights, a cache of keys and values, or a tensor down to a few sums.
 */
static bool name_reads(const char *name)
{
    static const char *const parts[] = { "attention", "attn", "flash",  "fmha", "sdpa",
                                         "gemm",      "gemv", "matmul", "moe",  "reduce" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(name, parts[i]))
            return true;
    return false;
}

static bool call_reads(const struct search *in, uint32_t signature)
{
    size_t known;
    const struct tilewise_signature *all = reader_signatures(in->reader, &known);
    return signature < known && all[signature].op != TILEWISE_OP_ADD &&
           all[signature].op != TILEWISE_OP_OTHER;
}

/* Kernels of one call are one step. */
static void add_interval(struct search *in, const struct timeline_interval *v)
{
    struct track *t = &in->track;
    double ns = (double)(v->end_ns - v->start_ns);
    bool is_call = v->signature != GPU_NO_SIGNATURE;
    uint64_t symbol = (is_call ? (uint64_t)v->signature << 1 : (uint64_t)v->name << 1 | 1) << 2;
    symbol |= v->work;
    if (is_call && !v->is_first && t->count && t->symbols[t->count - 1] == symbol) {
        t->ns[t->count - 1] += ns;
        return;
    }
    t->graphs += t->count < SYMBOLS_MAX && v->in_graph;
    bool reads = is_call ? call_reads(in, v->signature)
                         : v->work == GPU_KERNEL && name_reads(reader_string(in->reader, v->name));
    add_step(t, symbol, is_call ? item_of(in, v->signature) : SEQUENCE_FILLER, reads, ns);
}

static void add_up(struct sequence *s)
{
    s->fillers = 0;
    s->call_ns = s->filler_ns = s->least_filler_ns = 0;
    for (size_t i = 0; i < s->count; i++) {
        bool filler = s->steps[i].item == SEQUENCE_FILLER;
        if (filler && (s->fillers == 0 || s->steps[i].ns < s->least_filler_ns))
            s->least_filler_ns = s->steps[i].ns;
        s->fillers += filler;
        *(filler ? &s->filler_ns : &s->call_ns) += s->steps[i].ns;
    }
}

/* One period, with the mean times of its repeats; all of the track where nothing repeats. */
static struct sequence *cut(const struct track *t)
{
    struct sequence_period p;
    struct sequence *s = calloc(1, sizeof *s);
    if (!sequence_find_period(t->symbols, t->count, &p)) {
        size_t count = t->count < SEQUENCE_STEPS_MAX ? t->count : SEQUENCE_STEPS_MAX;
        p = (struct sequence_period){ 0, count, 1 };
    }
    if (s)
        s->steps = calloc(p.period + 1, sizeof *s->steps);
    if (s == NULL || s->steps == NULL) {
        sequence_free(s);
        return NULL;
    }
    s->count = p.period;
    s->repeats = p.repeats;
    s->in_graph = 2 * t->graphs > t->count;
    for (size_t i = 0; i < p.period; i++) {
        s->steps[i].item = t->items[p.start + i];
        s->steps[i].reads = t->reads[p.start + i];
        for (size_t r = 0; r < p.repeats; r++)
            s->steps[i].ns += t->ns[p.start + r * p.period + i] / (double)p.repeats;
    }
    add_up(s);
    return s;
}

static double weight(const struct sequence *s)
{
    return s->call_ns * (double)s->repeats;
}

/* Keep the track's stretch if it holds more time of calls that can be replayed. */
static enum status offer(struct search *in, bool is_kernel_time, uint32_t stream, uint32_t pid)
{
    double most_ns = 0;
    for (size_t i = 0; i < in->track.count; i++)
        most_ns += in->track.items[i] == SEQUENCE_FILLER ? 0 : in->track.ns[i];
    if (most_ns <= (in->best ? weight(in->best) : 0))
        return ST_OK;
    struct sequence *s = cut(&in->track);
    if (s == NULL)
        return ST_NOMEM;
    s->is_kernel_time = is_kernel_time;
    snprintf(s->source, sizeof s->source, "%s %u of process %u",
             is_kernel_time ? "stream" : "thread", stream, pid);
    if (weight(s) <= (in->best ? weight(in->best) : 0)) {
        sequence_free(s);
        return ST_OK;
    }
    sequence_free(in->best);
    in->best = s;
    return ST_OK;
}

static uint32_t pid_of(const struct reader *reader, uint32_t shard)
{
    size_t count;
    const struct reader_shard *shards = reader_shards(reader, &count);
    return shard < count ? shards[shard].id.pid : 0;
}

static enum status read_timeline(struct search *in, const char *path, struct fault *fault)
{
    struct timeline *t;
    struct timeline_window w;
    enum status st = timeline_open(&t, path, fault);
    if (st != ST_OK)
        return st;
    in->reader = timeline_reader(t);
    while (st == ST_OK && (st = timeline_next(t, &w, fault)) == ST_OK)
        for (size_t i = 0; st == ST_OK && i < w.nstreams; i++) {
            in->track.count = in->track.graphs = 0;
            for (size_t k = 0; k < w.streams[i].count; k++)
                add_interval(in, &w.streams[i].interval[k]);
            st = offer(in, true, w.streams[i].stream, pid_of(in->reader, w.shard));
        }
    timeline_close(t);
    return st == ST_END ? ST_OK : st;
}

/* The calls of one thread, in their order: the runs of a frame. */
static enum status read_events(struct search *in, const char *path, struct fault *fault)
{
    struct reader *r;
    struct reader_frame f;
    enum status st = reader_open(&r, path, fault);
    if (st != ST_OK)
        return st;
    in->reader = r;
    while (st == ST_OK && (st = reader_next(r, &f, fault)) == ST_OK)
        for (size_t i = 0; st == ST_OK && i < f.nevents; i++) {
            const struct reader_events *e = &f.events[i];
            in->track.count = in->track.graphs = 0;
            for (size_t k = 0; e->duration_ns && k < e->count; k++)
                add_step(&in->track, e->signature[k], item_of(in, e->signature[k]),
                         call_reads(in, e->signature[k]), e->duration_ns[k]);
            st = offer(in, false, e->thread, pid_of(r, f.shard));
        }
    reader_close(r);
    return st == ST_END ? ST_OK : st;
}

enum status sequence_find(struct sequence **out, const struct plan *plan, const char *const *paths,
                          size_t count, struct fault *fault)
{
    struct search in = { .plan = plan };
    enum status st = open_track(&in.track) ? ST_OK : fault_set(fault, ST_NOMEM, "out of memory");
    *out = NULL;
    for (int pass = 0; pass < 2 && in.best == NULL; pass++) /* time of the GPU before the host's */
        for (size_t i = 0; st == ST_OK && i < count; i++) {
            in.nitems_of = 0; /* signatures of another reader */
            st = pass ? read_events(&in, paths[i], fault) : read_timeline(&in, paths[i], fault);
        }
    close_track(&in.track);
    free(in.item_of);
    if (st != ST_OK) {
        sequence_free(in.best);
        return st;
    }
    *out = in.best;
    return ST_OK;
}

void sequence_free(struct sequence *s)
{
    if (s == NULL)
        return;
    free(s->steps);
    free(s);
}
