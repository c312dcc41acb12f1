/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of buffers for one signature, used one after the other so that every call finds its
 * operands out of the caches (cold), or one set used again and again (hot).
 */
#ifndef TILEWISE_REPLAYER_ROTATION_H
#define TILEWISE_REPLAYER_ROTATION_H

#include "replayer/backend.h"
#include "replayer/data.h"

struct rotation {
    const struct backend *backend;
    struct backend_session *session;
    unsigned char *memory;
    void *scratch;
    size_t sets, set_bytes, next;
    size_t offset[OPERAND_COUNT]; /* of each operand in a set */
    bool present[OPERAND_COUNT];
    _Alignas(16) unsigned char alpha_value[16];
    _Alignas(16) unsigned char beta_value[16];
    struct tilewise_args args;
};

struct rotation_options {
    uint64_t footprint_bytes; /* of all sets together, at least; 0 = one set (hot) */
    uint64_t max_bytes;       /* but never more memory than this */
    size_t scratch_bytes;     /* a buffer of it, shared by all sets */
    uint64_t seed;
};

/* Allocate and fill with random data (normal). LIMIT when not even one set fits; NOMEM. */
enum status rotation_open(struct rotation *r, const struct backend *backend,
                          struct backend_session *session, const struct tilewise_signature *s,
                          const struct rotation_options *options);
void rotation_close(struct rotation *r); /* accepts a zeroed one */

/* Arguments of the next call; valid until the call after. */
static inline const struct tilewise_args *rotation_step(struct rotation *r)
{
    unsigned char *set = r->memory + r->next * r->set_bytes;
    r->next = r->next + 1 == r->sets ? 0 : r->next + 1;
    r->args.a = r->present[OPERAND_A] ? set + r->offset[OPERAND_A] : NULL;
    r->args.b = set + r->offset[r->present[OPERAND_B] ? OPERAND_B : OPERAND_A];
    r->args.c = set + r->offset[OPERAND_C];
    return &r->args;
}

#endif
