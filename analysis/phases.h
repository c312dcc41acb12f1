/* SPDX-License-Identifier: Apache-2.0
 *
 * Phases of the recorded program (traces/phase.h) in a report: which of a shape's calls were made
 * in which, and a table of all of them.
 */
#ifndef TILEWISE_ANALYSIS_PHASES_H
#define TILEWISE_ANALYSIS_PHASES_H

#include <stdio.h>

#include "analysis/analysis.h"

/* Give every shape its phases; shape_of[i] is the shape of signature i. NOMEM. */
enum status phases_attach(struct analysis *a, const uint32_t *shape_of);

/* The name of a phase, not escaped. */
const char *phases_name(const struct summary *s, uint32_t phase);
/* Time of the ranges of a phase; NaN: none of them ended. */
double phases_time_ns(const struct summary_phase *p);
/* Calls made in no phase. */
uint64_t phases_outside(const struct summary *s);

/* The table; nothing where there are no phases. */
void phases_text(const struct analysis *a, FILE *out);
void phases_md(const struct analysis *a, FILE *out);
void phases_html(const struct analysis *a, FILE *out);

#endif
