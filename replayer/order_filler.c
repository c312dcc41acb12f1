/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/order_filler.h"

#include <math.h>

enum { GRAIN_BYTES = 256, CACHES_OF_FAR = 4, TRIES = 3, SMALL_CALLS = 64, LARGE_CALLS = 8 };

static size_t whole(size_t bytes)
{
    return bytes / GRAIN_BYTES * GRAIN_BYTES;
}

static bool is_far(enum order_traffic t)
{
    return t == ORDER_FAR_COPY || t == ORDER_FAR_READ;
}

static bool copies(enum order_traffic t)
{
    return t == ORDER_NEAR_COPY || t == ORDER_FAR_COPY;
}

/* Whole vectors of 16 bytes: what a recorded alignment class leaves at both ends is nothing. */
static void align(void **hot, size_t *bytes)
{
    size_t skip = -(uintptr_t)*hot % 16;
    *bytes = *bytes > skip ? (*bytes - skip) / 16 * 16 : 0;
    *hot = *bytes ? (char *)*hot + skip : NULL;
}

int order_filler_run(struct order_fillers *f, const struct order_filler *filler, void *hot,
                     size_t hot_bytes)
{
    struct order_pool *pool = is_far(filler->traffic) ? &f->far : &f->near;
    size_t least = filler->bytes > f->near.bytes ? filler->bytes : f->near.bytes;
    hot_bytes = hot == NULL ? 0 : hot_bytes < least ? hot_bytes : least;
    align(&hot, &hot_bytes);
    size_t bytes = filler->bytes > hot_bytes ? whole(filler->bytes - hot_bytes) : 0;
    struct backend_touch touch = {
        .region = pool->from,
        .other = copies(filler->traffic) ? pool->to : NULL,
        .region_bytes = pool->bytes,
        .at = pool->at,
        .bytes = bytes,
        .hot = hot,
        .hot_bytes = hot_bytes,
    };
    pool->at = (pool->at + bytes) % pool->bytes;
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
    struct probe p = { f, { traffic, bytes } };
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
    pool->bytes = bytes < 2 * GRAIN_BYTES ? 2 * GRAIN_BYTES : whole(bytes);
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

struct order_filler order_filler_for(const struct order_fillers *f, const struct sequence_step *one)
{
    double ns = fmax(one->ns - f->floor_ns, 0);
    bool far = ns >= f->far_from_ns;
    enum order_traffic traffic = far          ? one->reads ? ORDER_FAR_READ : ORDER_FAR_COPY
                                 : one->reads ? ORDER_NEAR_READ
                                              : ORDER_NEAR_COPY;
    return (struct order_filler){ traffic,
                                  whole((size_t)(ns / f->per_byte_ns[traffic])) + GRAIN_BYTES };
}
