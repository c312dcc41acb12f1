/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader's PHASES rows of one frame, with ids of the reader. Zero-initialise. One thread.
 */
#ifndef TILEWISE_TRACES_PHASEROWS_H
#define TILEWISE_TRACES_PHASEROWS_H

#include "traces/buffer.h"
#include "traces/dictionary.h"
#include "traces/phase.h"
#include "traces/status.h"

struct phaserows {
    struct buffer totals, calls, marks;
    struct phase_rows rows;
};

/* Append a section. Names whose definition was lost become the empty one; calls whose signature was
 * lost are left out. FORMAT; NOMEM. */
enum status phaserows_read(struct phaserows *p, const struct dictionary *names, struct cursor *in);
/* What was read, valid until the next call; NULL: nothing. */
const struct phase_rows *phaserows_get(struct phaserows *p);
void phaserows_clear(struct phaserows *p);
void phaserows_free(struct phaserows *p);

#endif
