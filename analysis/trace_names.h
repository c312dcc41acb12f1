/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a report is about, and where they were recorded. What comes from a trace goes
 * through `escape`.
 */
#ifndef TILEWISE_ANALYSIS_TRACE_NAMES_H
#define TILEWISE_ANALYSIS_TRACE_NAMES_H

#include <stdio.h>

#include "analysis/analysis.h"

/* "a.twt, b.twt and 3 more": the last parts of their paths. */
void trace_names(const struct summary *s, void (*escape)(FILE *out, const char *text), FILE *out);
/* The device, or `unknown`; then, if the program used a GPU, `between` and that. */
void trace_devices(const struct analysis *a, const char *unknown, const char *between,
                   void (*escape)(FILE *out, const char *text), FILE *out);

#endif
