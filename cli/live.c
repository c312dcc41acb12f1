/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/live.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/shape.h"
#include "traces/gpubusy.h"

enum { FILES_MAX = 4096 };

struct sums {
    uint64_t calls, time_ns, gpu_calls, gpu_ns;
    uint64_t before; /* calls at the poll before */
};

struct file {
    char *path;
    struct reader *reader; /* NULL: could not be opened so far */
    struct sums *sums;     /* per signature of the reader */
    size_t nsums;
    uint64_t end_ns, before_ns;     /* of the last frame; at the poll before */
    uint32_t shard;                 /* of the last frame */
    struct gpu_totals closed, open; /* of the shards before; of that one so far */
    struct gpubusy busy;
    uint64_t kernel_ns;
};

struct live {
    const char *directory;
    struct file *files;
    size_t nfiles;
    struct live_row *rows;
};

struct live *live_open(const char *directory)
{
    struct live *l = calloc(1, sizeof *l);
    if (l)
        l->directory = directory;
    return l;
}

void live_close(struct live *l)
{
    for (size_t i = 0; l && i < l->nfiles; i++) {
        reader_close(l->files[i].reader);
        free(l->files[i].sums);
        free(l->files[i].path);
    }
    if (l) {
        free(l->files);
        free(l->rows);
    }
    free(l);
}

static int is_trace(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && strcmp(dot, ".twt") == 0;
}

static bool is_known(const struct live *l, const char *path)
{
    for (size_t i = 0; i < l->nfiles; i++)
        if (strcmp(l->files[i].path, path) == 0)
            return true;
    return false;
}

/* Takes over `path`. */
static bool add_file(struct live *l, char *path)
{
    void *more = NULL;
    if (path && !is_known(l, path) && l->nfiles < FILES_MAX) {
        more = realloc(l->files, (l->nfiles + 1) * sizeof *l->files);
        if (more) {
            l->files = more;
            l->files[l->nfiles++] = (struct file){ .path = path };
            return true;
        }
    }
    bool fine = path && (more || is_known(l, path) || l->nfiles == FILES_MAX);
    free(path);
    return fine;
}

static enum status find_files(struct live *l, struct fault *fault)
{
    struct dirent **entries;
    int count = scandir(l->directory, &entries, is_trace, alphasort);
    bool fine = true;
    if (count < 0)
        return fault_set(fault, ST_IO, "%s: %s", l->directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", l->directory, entries[i]->d_name) < 0)
            path = NULL;
        fine &= add_file(l, path);
        free(entries[i]);
    }
    free(entries);
    return fine ? ST_OK : fault_set(fault, ST_NOMEM, "out of memory");
}

static bool reserve(struct file *f)
{
    size_t count;
    reader_signatures(f->reader, &count);
    if (count <= f->nsums)
        return true;
    void *more = realloc(f->sums, 2 * count * sizeof *f->sums);
    if (!more)
        return false;
    f->sums = more;
    memset(f->sums + f->nsums, 0, (2 * count - f->nsums) * sizeof *f->sums);
    f->nsums = 2 * count;
    return true;
}

static void add_gpu(struct file *f, const struct reader_frame *frame)
{
    if (frame->shard != f->shard) {
        gpubusy_end_shard(&f->busy);
        gpu_totals_add(&f->closed, &f->open);
        f->open = (struct gpu_totals){ 0 };
        f->shard = frame->shard;
    }
    for (size_t i = 0; i < frame->ngpu_windows; i++)
        gpubusy_add(&f->busy, &frame->gpu_windows[i]);
    if (frame->gpu_totals)
        f->open = *frame->gpu_totals;
}

static void add_frame(struct file *f, const struct reader_frame *frame)
{
    for (size_t run = 0; run < frame->nevents; run++) {
        const struct reader_events *e = &frame->events[run];
        for (size_t i = 0; i < e->count; i++) {
            f->sums[e->signature[i]].calls++;
            f->sums[e->signature[i]].time_ns += e->duration_ns[i];
        }
    }
    for (size_t i = 0; i < frame->ncounts; i++) {
        f->sums[frame->counts[i].signature].calls += frame->counts[i].calls;
        f->sums[frame->counts[i].signature].time_ns += frame->counts[i].sum_ns;
    }
    for (size_t i = 0; i < frame->nkernels; i++) {
        const struct gpu_kernel *k = &frame->kernels[i];
        f->kernel_ns += k->sum_ns;
        if (k->signature == GPU_NO_SIGNATURE)
            continue;
        f->sums[k->signature].gpu_calls += k->calls;
        f->sums[k->signature].gpu_ns += k->sum_ns;
    }
    add_gpu(f, frame);
    f->end_ns = frame->end_ns;
}

/* A file whose header is not whole yet, or that is no trace, is tried again at the next poll. */
static enum status read_on(struct file *f)
{
    struct reader_frame frame;
    struct fault fault;
    enum status st;
    if (!f->reader) {
        if (reader_open(&f->reader, f->path, &fault) != ST_OK)
            return fault.status == ST_NOMEM ? ST_NOMEM : ST_OK;
        reader_follow(f->reader);
    }
    f->before_ns = f->end_ns;
    for (size_t i = 0; i < f->nsums; i++)
        f->sums[i].before = f->sums[i].calls;
    while ((st = reader_next(f->reader, &frame, &fault)) == ST_OK) {
        if (!reserve(f))
            return ST_NOMEM;
        add_frame(f, &frame);
    }
    return st == ST_NOMEM ? ST_NOMEM : ST_OK;
}

static double age_of(const struct reader_shard *shard)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double then_s = (double)shard->start_unix_ns * 1e-9 + (double)shard->end_ns * 1e-9;
    return fmax((double)now.tv_sec + (double)now.tv_nsec * 1e-9 - then_s, 0);
}

static void view_gpu(struct live_view *v, const struct file *f)
{
    struct gpubusy busy = f->busy; /* as if the file ended here */
    gpubusy_end_shard(&busy);
    gpu_totals_add(&v->gpu, &f->closed);
    gpu_totals_add(&v->gpu, &f->open);
    v->gpu_busy_ns += busy.busy_ns;
    v->gpu_ns += busy.stands_for_ns;
    v->kernel_ns += f->kernel_ns;
}

static void view_file(struct live_view *v, const struct file *f)
{
    size_t shards, damage;
    v->files++;
    v->unreadable += !f->reader;
    if (!f->reader)
        return;
    const struct reader_shard *shard = reader_shards(f->reader, &shards);
    reader_damage(f->reader, &damage);
    v->damage += damage;
    v->bytes += reader_bytes(f->reader);
    for (size_t i = 0; i < shards; i++) {
        counters_add(&v->counters, &shard[i].counters);
        v->running += !shard[i].complete;
        if (f->end_ns)
            v->age_s = fmin(v->age_s, age_of(&shard[i])); /* fmin drops a NaN */
    }
    view_gpu(v, f);
}

static size_t add_rows(struct live *l, const struct file *f, size_t used)
{
    static const struct shape_rule raw = { .grain = SHAPE_RAW };
    size_t count = 0;
    const struct tilewise_signature *all = f->reader ? reader_signatures(f->reader, &count) : NULL;
    double seconds = (double)(f->end_ns - f->before_ns) * 1e-9;
    for (size_t i = 0; i < count && i < f->nsums; i++) {
        const struct sums *s = &f->sums[i];
        if (s->calls)
            l->rows[used++] = (struct live_row){
                .shape = shape_project(&all[i], &raw),
                .calls = s->calls,
                .time_ns = s->time_ns,
                .gpu_calls = s->gpu_calls,
                .gpu_ns = s->gpu_ns,
                .calls_per_s = seconds > 0 ? (double)(s->calls - s->before) / seconds : 0,
            };
    }
    return used;
}

static int by_shape(const void *a, const void *b)
{
    const struct live_row *x = a, *y = b;
    return memcmp(&x->shape, &y->shape, sizeof x->shape);
}

double live_time_ns(const struct live_view *v, const struct live_row *row)
{
    if (v->kernel_ns == 0)
        return (double)row->time_ns;
    return row->gpu_calls ? (double)row->gpu_ns / (double)row->gpu_calls * (double)row->calls : NAN;
}

static int by_time(const void *a, const void *b, void *view)
{
    const struct live_row *x = a, *y = b;
    double time_x = live_time_ns(view, x), time_y = live_time_ns(view, y);
    time_x = isnan(time_x) ? -1 : time_x;
    time_y = isnan(time_y) ? -1 : time_y;
    if (time_x < time_y || time_x > time_y)
        return time_x < time_y ? 1 : -1;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return by_shape(a, b);
}

static enum status view_rows(struct live *l, struct live_view *v)
{
    size_t most = 0, used = 0;
    for (size_t i = 0; i < l->nfiles; i++)
        most += l->files[i].nsums;
    free(l->rows);
    l->rows = calloc(most + 1, sizeof *l->rows);
    if (!l->rows)
        return ST_NOMEM;
    for (size_t i = 0; i < l->nfiles; i++)
        used = add_rows(l, &l->files[i], used);
    qsort(l->rows, used, sizeof *l->rows, by_shape);
    for (size_t i = 0; i < used; i++) {
        const struct live_row *row = &l->rows[i];
        v->calls_per_s += row->calls_per_s;
        struct live_row *same = v->nrows ? &l->rows[v->nrows - 1] : NULL;
        if (same && by_shape(same, row) == 0) {
            same->calls += row->calls;
            same->time_ns += row->time_ns;
            same->gpu_calls += row->gpu_calls;
            same->gpu_ns += row->gpu_ns;
            same->calls_per_s += row->calls_per_s;
        } else
            l->rows[v->nrows++] = *row;
    }
    qsort_r(l->rows, v->nrows, sizeof *l->rows, by_time, v);
    v->rows = l->rows;
    return ST_OK;
}

enum status live_poll(struct live *l, struct live_view *view, struct fault *fault)
{
    *view = (struct live_view){ .age_s = NAN };
    enum status st = find_files(l, fault);
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < l->nfiles; i++) {
        if (read_on(&l->files[i]) != ST_OK)
            return fault_set(fault, ST_NOMEM, "out of memory");
        view_file(view, &l->files[i]);
    }
    return view_rows(l, view) == ST_OK ? ST_OK : fault_set(fault, ST_NOMEM, "out of memory");
}
