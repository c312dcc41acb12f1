/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/bench.h"

#include "replayer/clock.h"
#include "replayer/isolate.h"

static const double target = 0.0025; /* +- of a ln ratio */
enum { CACHES_OF_FOOTPRINT = 3, ROUNDS_MIN = 8, ROUNDS_MAX = 256 };
enum { WARM_UP_CALLS = 16 };

int bench_call(struct bench *b, const struct bench_arm *arm, const struct tilewise_args *args)
{
    return arm->kind == BENCH_CANDIDATE
               ? b->candidate->run(b->candidate, b->signature, args)
               : b->setup->backend->baseline(b->session, arm->routine, args);
}

int bench_step(void *bench)
{
    struct bench *b = bench;
    return bench_call(b, b->current, rotation_step(&b->rotation));
}

double bench_burst(void *bench, unsigned arm, uint64_t calls)
{
    struct bench *b = bench;
    b->current = &b->arms[arm];
    if (b->current->kind == BENCH_COMPANION)
        return companion_burst(b->companion, calls);
    return b->setup->backend->burst(
        b->session,
        &(struct backend_burst){ bench_step, b, calls, arm, b->setup->cold, BACKEND_AS_BEST });
}

/* What this process has open: NULL, or a session that the next case finds ready. */
static struct backend_session *kept;

static enum status open_session(struct bench *b, struct fault *fault)
{
    const struct backend *backend = b->setup->backend;
    enum status st = kept ? ST_OK : backend->open(&kept, &b->setup->open, fault);
    b->session = kept;
    if (st == ST_OK)
        backend->describe(b->session, &b->info);
    return st;
}

enum status bench_open(struct bench *b, struct fault *fault)
{
    enum status st = open_session(b, fault);
    if (st != ST_OK)
        return st;
    st = b->setup->backend->prepare(b->session, b->signature, &b->routines);
    return st == ST_OK ? st : fault_set(fault, st, "the library has no routine for it");
}

/* An error may show first when the device is used again. */
static bool still_works(const struct bench *b)
{
    static const unsigned char bytes[16];
    const struct backend *backend = b->setup->backend;
    void *memory = backend->alloc(b->session, sizeof bytes);
    bool works = memory && backend->write(b->session, memory, bytes, sizeof bytes) == ST_OK;
    backend->release(b->session, memory);
    return works;
}

void bench_close(struct bench *b, bool good)
{
    const struct backend *backend = b->setup->backend;
    if (good && backend->opens_slowly && still_works(b))
        return;
    if (good)
        backend->close(b->session);
    kept = NULL;
    isolate_retire();
}

const char *bench_complaint(const struct bench *b, enum status st)
{
    const struct backend *backend = b->setup->backend;
    const char *text = backend->complaint ? backend->complaint(b->session) : "";
    return text[0] ? text : status_text(st);
}

struct rotation_options bench_buffers(const struct bench *b, size_t scratch_bytes)
{
    return (struct rotation_options){
        .footprint_bytes = b->setup->cold ? CACHES_OF_FOOTPRINT * b->info.cache_bytes : 0,
        .max_bytes = b->setup->max_bytes,
        .scratch_bytes = scratch_bytes,
        .seed = b->setup->seed,
    };
}

/* Until the device's clock has settled under this very load. A single call comes first: what loads
 * its code at the first use must not do so while a burst is recorded. */
static void warm_up(struct bench *b)
{
    double end_ns = clock_now_ns(NULL) + b->info.warm_up_ns;
    for (unsigned arm = 0; arm < b->narms; arm++)
        bench_burst(b, arm, 1);
    while (clock_now_ns(NULL) < end_ns)
        if (!(bench_burst(b, 0, WARM_UP_CALLS) > 0))
            return;
}

/* The companion has as many sets of buffers. */
static enum status prepare_companion(struct bench *b)
{
    const struct tilewise_signature *s = b->signature;
    if (b->companion == NULL)
        return ST_OK;
    struct companion_case of = {
        .signature = s,
        .alpha = data_scalar(OPERAND_A, s->alpha),
        .beta = s->op == TILEWISE_OP_ADD ? 1 : data_scalar(OPERAND_C, s->beta),
        .sets = b->rotation.sets,
        .threads = b->info.threads,
        .cold = b->setup->cold,
        .seed = b->setup->seed,
    };
    return companion_prepare(b->companion, &of, b->companion_call, sizeof b->companion_call,
                             &b->fault);
}

enum status bench_time(struct bench *b, double budget_ns, size_t scratch_bytes,
                       struct timing_samples *samples)
{
    struct rotation_options buffers = bench_buffers(b, scratch_bytes);
    struct timing_options options = {
        .arms = b->narms,
        .burst_ns = b->info.burst_ns,
        .budget_ns = budget_ns,
        .target = target,
        .min_rounds = ROUNDS_MIN,
        .max_rounds = ROUNDS_MAX,
        .seed = b->setup->seed,
    };
    struct timing_source source = { b, bench_burst, clock_now_ns };
    enum status st =
        rotation_open(&b->rotation, b->setup->backend, b->session, b->signature, &buffers);
    if (st == ST_OK)
        st = prepare_companion(b);
    if (st == ST_OK)
        warm_up(b);
    if (st == ST_OK)
        st = timing_measure(&source, &options, samples);
    rotation_close(&b->rotation);
    if (b->companion)
        companion_release(b->companion);
    return st;
}
