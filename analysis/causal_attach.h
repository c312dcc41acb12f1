/* SPDX-License-Identifier: Apache-2.0
 *
 * The causal heat of the groups of an analysis, and how a report tells of idle time.
 */
#ifndef TILEWISE_ANALYSIS_CAUSAL_ATTACH_H
#define TILEWISE_ANALYSIS_CAUSAL_ATTACH_H

#include <yajl/yajl_gen.h>

#include "analysis/analysis.h"

/* Fill a->causal: effects of all ops, then of all classes. It stays NULL where there is nothing to
 * replay, and where the files cannot be read again: then a->timeline_fault has the cause. NOMEM. */
enum status causal_attach(struct analysis *a);

/* "idle": { "host", "kernel", "communication", "copy", "of" } */
void causal_json_idle(yajl_gen g, const struct analysis *a);
/* "of the wall time nothing ran and nothing was launched for 12 %, ..."; false: nothing is known.
 */
bool causal_words_idle(const struct analysis *a, char *text, size_t bytes);

#endif
