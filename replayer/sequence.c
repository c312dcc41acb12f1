/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/sequence_cut.h"
#include "traces/fnv.h"
#include "traces/timeline.h"

static const double enough_share = 0.8;  /* of the recorded time: then no more stretches */
static const double little_share = 0.01; /* what is not worth one */

struct search {
    const struct plan *plan;
    const struct reader *reader;
    int64_t *item_of; /* per signature of the reader, plus 2; 0: not looked up */
    size_t nitems_of;
    struct sequence_track track;
    struct sequence_kinds kinds;
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

/* What its signature says of a call that is not replayed. */
static void set_traffic(const struct search *in, uint32_t signature, struct sequence_step *step)
{
    size_t known;
    const struct tilewise_signature *all = reader_signatures(in->reader, &known);
    if (signature >= known)
        return;
    const struct tilewise_signature *s = &all[signature];
    step->reads = s->op != TILEWISE_OP_ADD && s->op != TILEWISE_OP_OTHER;
    if (s->op == TILEWISE_OP_ATTENTION)
        step->operand_bytes = signature_read_bytes(s);
}

/* ---- tracks ---- */

static void add_step(struct search *in, struct sequence_step step)
{
    in->kinds.total_ns += step.ns;
    if (in->track.count < SEQUENCE_TRACK_MAX)
        in->track.steps[in->track.count++] = step;
}

/* Work that cannot be replayed is the same if its kernel is: the length of a context grows from
 * step to step. */
static struct sequence_step step_of(struct search *in, uint32_t signature, const char *name,
                                    unsigned work)
{
    bool is_call = signature != GPU_NO_SIGNATURE;
    struct sequence_step s = { .item = is_call ? item_of(in, signature) : SEQUENCE_FILLER };
    if (is_call)
        set_traffic(in, signature, &s);
    else
        s.reads = work == GPU_KERNEL && name_reads(name);
    s.symbol = s.item == SEQUENCE_FILLER ? fnv_text(FNV_START ^ work, name) : (uint64_t)s.item;
    return s;
}

/* Kernels of one call are one step. */
static void add_interval(struct search *in, const struct timeline_interval *v)
{
    struct sequence_track *t = &in->track;
    struct sequence_step step =
        step_of(in, v->signature, reader_string(in->reader, v->name), v->work);
    struct sequence_step *before = t->count ? &t->steps[t->count - 1] : NULL;
    step.ns = (double)(v->end_ns - v->start_ns);
    bool goes_on =
        v->signature != GPU_NO_SIGNATURE && !v->is_first && before && before->item == step.item;
    t->graphs += v->in_graph && !goes_on && t->count < SEQUENCE_TRACK_MAX;
    if (!goes_on) {
        add_step(in, step);
        return;
    }
    in->kinds.total_ns += step.ns;
    before->ns += step.ns;
}

static uint32_t pid_of(const struct reader *reader, uint32_t shard)
{
    size_t count;
    const struct reader_shard *shards = reader_shards(reader, &count);
    return shard < count ? shards[shard].id.pid : 0;
}

static enum status end_track(struct search *in, bool is_kernel_time, uint32_t number, uint32_t pid)
{
    char source[sizeof in->kinds.row[0]->source];
    snprintf(source, sizeof source, "%s %u of process %u", is_kernel_time ? "stream" : "thread",
             number, pid);
    in->track.is_kernel_time = is_kernel_time;
    in->track.source = source;
    return sequence_cut(&in->kinds, &in->track);
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
            st = end_track(in, true, w.streams[i].stream, pid_of(in->reader, w.shard));
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
            for (size_t k = 0; e->duration_ns && k < e->count; k++) {
                struct sequence_step step = step_of(in, e->signature[k], "", 0);
                step.ns = e->duration_ns[k];
                add_step(in, step);
            }
            st = end_track(in, false, e->thread, pid_of(r, f.shard));
        }
    reader_close(r);
    return st == ST_END ? ST_OK : st;
}

/* ---- choice ---- */

static int by_share(const void *a, const void *b)
{
    const struct sequence *x = *(struct sequence *const *)a, *y = *(struct sequence *const *)b;
    return (x->time_share < y->time_share) - (x->time_share > y->time_share);
}

static void choose(struct sequence_kinds *kinds, struct sequences *out)
{
    double share = 0;
    for (size_t i = 0; i < kinds->count; i++) {
        struct sequence *s = kinds->row[i];
        s->time_share = (s->call_ns + s->filler_ns) * (double)s->repeats / kinds->total_ns;
    }
    qsort(kinds->row, kinds->count, sizeof *kinds->row, by_share);
    for (size_t i = 0; i < kinds->count; i++) {
        struct sequence *s = kinds->row[i];
        bool wanted = out->count == 0 || (share < enough_share && s->time_share >= little_share);
        if (!wanted || out->count == SEQUENCES_MAX) {
            sequence_free(s);
            continue;
        }
        share += s->time_share;
        out->row[out->count++] = s;
    }
    kinds->count = 0;
}

enum status sequences_find(struct sequences *out, const struct plan *plan, const char *const *paths,
                           size_t count, struct fault *fault)
{
    struct search in = { .plan = plan };
    enum status st = ST_OK;
    *out = (struct sequences){ 0 };
    in.track.steps = calloc(SEQUENCE_TRACK_MAX, sizeof *in.track.steps);
    if (in.track.steps == NULL)
        return fault_set(fault, ST_NOMEM, "out of memory");
    for (int pass = 0; pass < 2 && in.kinds.count == 0; pass++) { /* the GPU's before the host's */
        in.kinds.total_ns = 0;
        for (size_t i = 0; st == ST_OK && i < count; i++) {
            in.nitems_of = 0; /* signatures of another reader */
            st = pass ? read_events(&in, paths[i], fault) : read_timeline(&in, paths[i], fault);
        }
    }
    choose(&in.kinds, out);
    free(in.track.steps);
    free(in.item_of);
    if (st != ST_OK)
        sequences_free(out);
    return st;
}

void sequences_free(struct sequences *s)
{
    for (size_t i = 0; i < s->count; i++)
        sequence_free(s->row[i]);
    *s = (struct sequences){ 0 };
}
