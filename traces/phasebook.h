/* SPDX-License-Identifier: Apache-2.0
 *
 * What a summary keeps of phases while it reads: by name, by name and signature, and marks by name,
 * over all shards. Zero-initialise. One thread. The outcome does not depend on the order of shards
 * and frames.
 */
#ifndef TILEWISE_TRACES_PHASEBOOK_H
#define TILEWISE_TRACES_PHASEBOOK_H

#include "traces/intern.h"
#include "traces/summary.h"

struct phasebook {
    struct intern names; /* uint32_t, an id of the summary's names: what phases[i] is about */
    struct intern pairs; /* struct pair: what cells[i] is about */
    struct intern marks; /* as names, of summary.marks */
    struct buffer phase_rows, cell_rows, mark_rows;
    uint64_t lost;
};

void phasebook_free(struct phasebook *p);

/* Names become ids of `names`, signatures ids of the summary by `index`; times count from
 * `start_unix_ns`. NOMEM; LIMIT. */
enum status phasebook_add(struct phasebook *p, struct intern *names, const struct reader *r,
                          const struct phase_rows *rows, const uint32_t *index,
                          uint64_t start_unix_ns);

/* Fill the phases of the summary: the ranks map ids to its indexes. NOMEM. */
enum status phasebook_make(struct phasebook *p, struct summary *s, const uint32_t *name_rank,
                           const uint32_t *rank);

#endif
