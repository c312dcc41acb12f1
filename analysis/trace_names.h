/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a report is about.
 */
#ifndef TILEWISE_ANALYSIS_TRACE_NAMES_H
#define TILEWISE_ANALYSIS_TRACE_NAMES_H

#include <stdio.h>

#include "traces/summary.h"

/* "a.twt, b.twt and 3 more": the last parts of their paths, through `escape`. */
void trace_names(const struct summary *s, void (*escape)(FILE *out, const char *text), FILE *out);

#endif
