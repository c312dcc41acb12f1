/* SPDX-License-Identifier: Apache-2.0
 *
 * What a recorded signature is of: its entry point, and the result of a replay.
 */
#ifndef TILEWISE_ANALYSIS_MATCH_H
#define TILEWISE_ANALYSIS_MATCH_H

#include <stdbool.h>

#include "traces/result.h"
#include "traces/summary.h"

/* Name of the entry point, "" if unknown. */
const char *match_entry(const struct summary *s, const struct tilewise_signature *signature);
/* Does the entry point launch work on a GPU? Then the time of the call is not that of the work. */
bool match_is_on_gpu(const struct summary *s, const struct tilewise_signature *signature);

/* Is one of the replays of a GPU? */
bool match_has_gpu(const struct result_set *results);

/* One per signature of the summary, NULL: not replayed, or `elsewhere`: a call that launched work
 * on a GPU and was replayed on processors alone, which says nothing about it. malloc'd and the
 * caller's. NOMEM. */
enum status match_results(const struct result_case ***out, size_t *elsewhere,
                          const struct summary *s, const struct result_set *results);

#endif
