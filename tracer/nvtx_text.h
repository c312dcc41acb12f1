/* SPDX-License-Identifier: Apache-2.0
 *
 * What the name of an NVTX range says. PyTorch's emit_nvtx names the ranges of its operators
 *   NAME[, seq = N][, op_id = N][, sizes = [[2, 3], [], ...]][, input_op_ids = [...]]
 * and everything else is a name that somebody chose: a phase. No data type stands there and none is
 * guessed. Pure functions; at most NVTX_TEXT_BYTES are looked at.
 */
#ifndef TILEWISE_TRACER_NVTX_TEXT_H
#define TILEWISE_TRACER_NVTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/signature.h"

enum { NVTX_TEXT_BYTES = 512 };

enum nvtx_work {
    NVTX_WORK_PHASE, /* not an operator */
    NVTX_WORK_NONE,  /* an operator that does no work itself, or is counted elsewhere */
    NVTX_WORK_LEAF,  /* counted when nothing inside it was counted */
    NVTX_WORK_OTHER,
    NVTX_WORK_ADD,
};

struct nvtx_text {
    enum nvtx_work work;
    const char *name; /* in the message: what it is called, without sizes */
    size_t bytes;
    const char *sizes; /* behind "sizes = ", NULL: none */
    const char *end;   /* of what is looked at */
};

void nvtx_text_parse(const char *message, struct nvtx_text *text);

/* Signature of an operator, without entry. Dimensions (docs/trace-format.md) are 0 where the sizes
 * are missing, cut or absurd. */
void nvtx_text_signature(const struct nvtx_text *text, struct tilewise_signature *key);

/* The name that stands for all instances of a phase, into `name`: a number at the end becomes '#'.
 * Returns its length. */
size_t nvtx_text_phase(const struct nvtx_text *text, char name[NVTX_TEXT_BYTES + 2]);

/* Wide characters to UTF-8, at most NVTX_TEXT_BYTES. */
void nvtx_text_narrow(const void *wide, char text[NVTX_TEXT_BYTES + 1]);

#endif
