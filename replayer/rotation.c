/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/rotation.h"

#include <stdlib.h>

static const size_t sets_max = 1 << 16;

static size_t round_up(size_t bytes)
{
    return (bytes + DATA_ALIGN_BYTES - 1) / DATA_ALIGN_BYTES * DATA_ALIGN_BYTES;
}

/* Offsets in a set; returns the bytes that one call touches. Alignment classes as recorded. */
static size_t lay_out(struct rotation *r, const struct operand *shapes)
{
    size_t touched = 0;
    for (int i = 0; i < OPERAND_COUNT; i++) {
        r->present[i] = shapes[i].present;
        if (!r->present[i])
            continue;
        size_t align = data_first_byte(&shapes[i]) - DATA_RED_ZONE_BYTES;
        /* The best recorded class says "at least": as well aligned as allocators give it here. */
        if (align >= 16 && r->backend->align_bytes > align)
            align = 0;
        r->offset[i] = r->set_bytes + align;
        r->set_bytes = round_up(r->offset[i] + shapes[i].bytes);
        touched += shapes[i].bytes;
    }
    return touched;
}

static enum status count_sets(struct rotation *r, size_t touched,
                              const struct rotation_options *options)
{
    size_t fit = (size_t)(options->max_bytes / r->set_bytes);
    size_t wanted = (size_t)(options->footprint_bytes / touched) + 1;
    if (fit == 0)
        return ST_LIMIT;
    /* One large set would find its own end in the cache. */
    if (options->footprint_bytes && wanted < 2)
        wanted = 2;
    r->sets = wanted < fit ? wanted : fit;
    r->sets = r->sets < sets_max ? r->sets : sets_max;
    return ST_OK;
}

/* The first `have` bytes again and again, to the end: on the device, whose memory is near. */
static enum status repeat(struct rotation *r, unsigned char *at, size_t have, size_t bytes)
{
    int failed = 0;
    for (size_t more; !failed && have < bytes; have += more) {
        more = have < bytes - have ? have : bytes - have;
        failed = r->backend->copy(r->session, at + have, at, more);
    }
    return failed ? ST_DEVICE : ST_OK;
}

static enum status fill_operand(struct rotation *r, int i, const struct operand *shape,
                                uint64_t seed)
{
    size_t have = data_noise_bytes(shape);
    unsigned char *pattern = malloc(have), *at = r->memory + r->offset[i];
    if (pattern == NULL)
        return ST_NOMEM;
    data_noise(pattern, shape, seed);
    enum status st = r->backend->write(r->session, at, pattern, have);
    free(pattern);
    return st == ST_OK ? repeat(r, at, have, shape->bytes) : st;
}

static enum status fill_sets(struct rotation *r, const struct operand *shapes, uint64_t seed)
{
    enum status st = ST_OK;
    for (int i = 0; st == ST_OK && i < OPERAND_COUNT; i++)
        if (r->present[i])
            st = fill_operand(r, i, &shapes[i], seed * OPERAND_COUNT + (uint64_t)i);
    return st == ST_OK ? repeat(r, r->memory, r->set_bytes, r->sets * r->set_bytes) : st;
}

static void set_args(struct rotation *r, const struct tilewise_signature *s)
{
    double beta = s->op == TILEWISE_OP_ADD ? 1 : data_scalar(OPERAND_C, s->beta);
    data_scalar_store(r->alpha_value, s->scale, data_scalar(OPERAND_A, s->alpha));
    data_scalar_store(r->beta_value, s->scale, beta);
    r->args = (struct tilewise_args){
        .abi = TILEWISE_CANDIDATE_ABI,
        .bytes = sizeof r->args,
        .alpha = r->alpha_value,
        .beta = r->beta_value,
        .scratch = r->scratch,
    };
    r->backend->fill_args(r->session, &r->args);
}

enum status rotation_open(struct rotation *r, const struct backend *backend,
                          struct backend_session *session, const struct tilewise_signature *s,
                          const struct rotation_options *options)
{
    struct operand shapes[OPERAND_COUNT];
    *r = (struct rotation){ .backend = backend, .session = session };
    enum status st = operand_layout(s, shapes, NULL);
    if (st == ST_OK)
        st = count_sets(r, lay_out(r, shapes), options);
    if (st == ST_OK) {
        r->memory = backend->alloc(session, r->sets * r->set_bytes);
        if (options->scratch_bytes)
            r->scratch = backend->alloc(session, options->scratch_bytes);
        st = r->memory && (r->scratch || !options->scratch_bytes) ? ST_OK : ST_NOMEM;
    }
    if (st == ST_OK)
        st = fill_sets(r, shapes, options->seed);
    if (st == ST_OK)
        set_args(r, s);
    else
        rotation_close(r);
    return st;
}

void rotation_close(struct rotation *r)
{
    if (r->backend == NULL)
        return;
    r->backend->release(r->session, r->memory);
    r->backend->release(r->session, r->scratch);
    *r = (struct rotation){ 0 };
}
