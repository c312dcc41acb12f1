/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of what happened the trace can speak for.
 */
#ifndef TILEWISE_ANALYSIS_EVIDENCE_H
#define TILEWISE_ANALYSIS_EVIDENCE_H

#include "analysis/decide.h"
#include "traces/summary.h"

/* Calls that were seen, were not counted as dropped, and are not there all the same: in a damaged
 * frame, as a rule. */
uint64_t evidence_missing(const struct summary *s);
/* Calls in the trace / calls seen; NaN if none was seen. */
double evidence_coverage_calls(const struct summary *s);
/* What the calls of a row weigh: the time of their kernels where the trace has any of its recorded
 * calls, else the time that they took on the host. NaN: on a GPU and not measured there. */
double evidence_time_ns(const struct summary *s, const struct summary_signature *row);
struct decide_evidence evidence_of(const struct summary *s, const struct policy_evidence *policy);

#endif
