/* SPDX-License-Identifier: Apache-2.0
 *
 * Which result of a replay is of which recorded signature.
 */
#ifndef TILEWISE_ANALYSIS_MATCH_H
#define TILEWISE_ANALYSIS_MATCH_H

#include "traces/result.h"
#include "traces/summary.h"

/* Name of the entry point, "" if unknown. */
const char *match_entry(const struct summary *s, const struct tilewise_signature *signature);

/* One per signature of the summary, NULL: not replayed. malloc'd and the caller's. NOMEM. */
enum status match_results(const struct result_case ***out, const struct summary *s,
                          const struct result_set *results);

#endif
