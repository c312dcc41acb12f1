/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/order_filler.h"

#include <math.h>

enum { GRAIN_BYTES = 256, CACHES_OF_FAR = 4, TRIES = 3, SMALL_CALLS = 64, LARGE_CALLS = 8 };

static size_t whole(size_t bytes)
{
    return bytes / GRAIN_BYTES * GRAIN_BYTES;
}

/* The size of a region. */
static size_t at_least_two(size_t bytes)
{
    return bytes < 2 * GRAIN_BYTES ? 2 * GRAIN_BYTES : whole(bytes);
}

static bool is_far(enum order_traffic t)
{
    return t == ORDER_FAR_COPY || t == ORDER_FAR_READ;
}

static bool is_of_operands(enum order_traffic t)
{
    return t == ORDER_OPERAND_WRITE || t == ORDER_OPERAND_READ;
}

const char *order_traffic_name(enum order_traffic traffic)
{
    static const char *const names[] = {
        [ORDER_NEAR_COPY] = "near copy",         [ORDER_NEAR_READ] = "near read",
        [ORDER_FAR_COPY] = "far copy",           [ORDER_FAR_READ] = "far read",
        [ORDER_OPERAND_WRITE] = "operand write", [ORDER_OPERAND_READ] = "operand read",
    };
    return names[traffic];
}

/* Whole vectors of 16 bytes: what a recorded alignment class leaves at both ends is nothing. */
static void align(void **hot, size_t *bytes)
{
    size_t skip = -(uintptr_t)*hot % 16;
    *bytes = *bytes > skip ? (*bytes - skip) / 16 * 16 : 0;
    *hot = *bytes ? (char *)*hot + skip : NULL;
}

/* Where a filler works, and its pool from there on. */
static struct backend_touch place_of(struct order_fillers *f, const struct order_filler *filler,
                                     size_t bytes)
{
    enum order_traffic t = filler->traffic;
    if (is_of_operands(t)) {
        unsigned char *operands = f->far.to + filler->at;
        return (struct backend_touch){ .region = operands,
                                       .other = t == ORDER_OPERAND_WRITE ? operands : NULL,
                                       .region_bytes = filler->region_bytes,
                                       .bytes = bytes };
    }
    struct order_pool *pool = is_far(t) ? &f->far : &f->near;
    size_t at = pool->at;
    pool->at = (at + bytes) % pool->bytes;
    bool copies = t == ORDER_NEAR_COPY || t == ORDER_FAR_COPY;
    return (struct backend_touch){ .region = pool->from,
                                   .other = copies ? pool->to : NULL,
                                   .region_bytes = pool->bytes,
                                   .at = at,
                                   .bytes = bytes };
}

int order_filler_run(struct order_fillers *f, const struct order_filler *filler, void *hot,
                     size_t hot_bytes)
{
    size_t least = filler->bytes > f->near.bytes ? filler->bytes : f->near.bytes;
    hot_bytes = hot == NULL ? 0 : hot_bytes < least ? hot_bytes : least;
    align(&hot, &hot_bytes);
    size_t bytes = filler->bytes > hot_bytes ? whole(filler->bytes - hot_bytes) : 0;
    struct backend_touch touch = place_of(f, filler, bytes);
    touch.hot = hot;
    touch.hot_bytes = hot_bytes;
    return f->backend->touch(f->session, &touch);
}

void order_filler_rewind(struct order_fillers *f)
{
    f->near.at = f->far.at = 0;
}

/* ---- measure ---- */

struct probe {
    struct order_fillers *fillers;
    struct order_filler filler;
};

static int step(void *context)
{
    struct probe *p = context;
    return order_filler_run(p->fillers, &p->filler, NULL, 0);
}

/* Shortest time of one; NaN if it does not run. */
static double time_of(struct order_fillers *f, enum order_traffic traffic, size_t bytes,
                      unsigned arm)
{
    struct probe p = { f, { traffic, bytes, 0, at_least_two(f->operand_bytes / 2) } };
    uint64_t calls = bytes > GRAIN_BYTES ? LARGE_CALLS : SMALL_CALLS;
    struct backend_burst burst = { step, &p, calls, arm, false, BACKEND_AS_BEST };
    double best_ns = NAN;
    for (int i = 0; i < TRIES; i++)
        best_ns = fmin(best_ns, f->backend->burst(f->session, &burst) / (double)calls);
    return best_ns;
}

static enum status measure(struct order_fillers *f, const struct order_filler_options *o)
{
    bool good = true;
    f->floor_ns = time_of(f, ORDER_NEAR_READ, GRAIN_BYTES, o->arm);
    for (int t = 0; t < ORDER_TRAFFIC_COUNT; t++) {
        enum order_traffic traffic = (enum order_traffic)t;
        size_t bytes = is_far(traffic) ? f->far.bytes : whole(o->cache_bytes / 2) + GRAIN_BYTES;
        double ns = time_of(f, traffic, bytes, o->arm + 1 + (unsigned)t) - f->floor_ns;
        f->per_byte_ns[t] = ns / (double)bytes;
        good = good && ns > 0;
    }
    f->far_from_ns = (double)o->cache_bytes * f->per_byte_ns[ORDER_FAR_READ];
    /* Between the kernels of a burst are gaps; the recorder measured without. */
    if (o->least_ns > 0)
        f->floor_ns = fmin(f->floor_ns, o->least_ns);
    return good ? ST_OK : ST_DEVICE;
}

static bool allocate(struct order_fillers *f, struct order_pool *pool, size_t bytes)
{
    pool->bytes = at_least_two(bytes);
    pool->from = f->backend->alloc(f->session, pool->bytes);
    pool->to = f->backend->alloc(f->session, pool->bytes);
    return pool->from && pool->to;
}

enum status order_filler_open(struct order_fillers *f, const struct backend *backend,
                              struct backend_session *session, const struct order_filler_options *o)
{
    size_t far = CACHES_OF_FAR * o->cache_bytes, near = o->near_bytes;
    *f = (struct order_fillers){ .backend = backend, .session = session };
    far = far < o->max_bytes / 4 ? far : o->max_bytes / 4;
    near = near < o->cache_bytes / 8 ? near : o->cache_bytes / 8;
    if (!allocate(f, &f->far, far) || !allocate(f, &f->near, near))
        return ST_NOMEM;
    f->operand_bytes = o->cache_bytes < f->far.bytes ? o->cache_bytes : f->far.bytes;
    enum status st = measure(f, o);
    order_filler_rewind(f);
    return st;
}

void order_filler_close(struct order_fillers *f)
{
    if (f->backend == NULL)
        return;
    f->backend->release(f->session, f->near.from);
    f->backend->release(f->session, f->near.to);
    f->backend->release(f->session, f->far.from);
    f->backend->release(f->session, f->far.to);
    *f = (struct order_fillers){ 0 };
}

/* ---- choose ---- */

static struct order_filler lasting(const struct order_fillers *f, enum order_traffic traffic,
                                   const struct sequence_step *step)
{
    double ns = fmax(step->ns - f->floor_ns, 0);
    return (struct order_filler){ .traffic = traffic,
                                  .bytes =
                                      whole((size_t)(ns / f->per_byte_ns[traffic])) + GRAIN_BYTES };
}

static struct order_filler filler_for(const struct order_fillers *f,
                                      const struct sequence_step *step)
{
    if (step->operand_bytes > 0 && step->operand_bytes <= (double)f->operand_bytes) {
        struct order_filler filler = lasting(f, ORDER_OPERAND_READ, step);
        filler.region_bytes = at_least_two((size_t)step->operand_bytes);
        return filler;
    }
    bool far = step->ns - f->floor_ns >= f->far_from_ns;
    enum order_traffic traffic = far           ? step->reads ? ORDER_FAR_READ : ORDER_FAR_COPY
                                 : step->reads ? ORDER_NEAR_READ
                                               : ORDER_NEAR_COPY;
    return lasting(f, traffic, step);
}

/* How many fillers come right before an attention: back to a call, or to another attention.
 * `copy_ns`: the time of those that stream copies. */
static size_t count_before(const struct sequence *s, const struct order_filler *out, size_t reader,
                           double *copy_ns)
{
    size_t n = 0;
    *copy_ns = 0;
    while (n + 1 < s->count) {
        size_t i = (reader + s->count - n - 1) % s->count;
        if (s->steps[i].item != SEQUENCE_FILLER || is_of_operands(out[i].traffic))
            break;
        *copy_ns += out[i].traffic == ORDER_FAR_COPY ? s->steps[i].ns : 0;
        n++;
    }
    return n;
}

/* Copies write the operands of the attention behind them, as much of them as of their time. Who
 * would have next to nothing to write did something else. */
static void write_operands(const struct order_fillers *f, const struct sequence *s,
                           struct order_filler *out, size_t reader)
{
    double copy_ns, ns = 0, bytes = (double)out[reader].region_bytes;
    for (size_t n = count_before(s, out, reader, &copy_ns); n > 0; n--) {
        size_t i = (reader + s->count - n) % s->count;
        if (out[i].traffic != ORDER_FAR_COPY)
            continue;
        size_t at = whole((size_t)(bytes * ns / copy_ns));
        ns += s->steps[i].ns;
        size_t end = whole((size_t)(bytes * ns / copy_ns));
        if (end - at < 2 * GRAIN_BYTES)
            continue;
        out[i] = lasting(f, ORDER_OPERAND_WRITE, &s->steps[i]);
        out[i].at = at;
        out[i].region_bytes = end - at;
    }
}

void order_fillers_for(const struct order_fillers *f, const struct sequence *s,
                       struct order_filler *out)
{
    for (size_t i = 0; i < s->count; i++)
        out[i] = filler_for(f, &s->steps[i]);
    for (size_t i = 0; i < s->count; i++)
        if (out[i].traffic == ORDER_OPERAND_READ)
            write_operands(f, s, out, i);
}
