/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts of the shapes of one group in plain ASCII, for a terminal: the lengths say it, no colour.
 */
#ifndef TILEWISE_ANALYSIS_TEXTCHART_H
#define TILEWISE_ANALYSIS_TEXTCHART_H

#include <stdio.h>

#include "analysis/analysis.h"

/* Shares of time (bars) and calls by the values of one dimension. NOMEM. */
enum status textchart_dimension(const struct analysis *a, const struct analysis_group *g,
                                enum shape_dimension d, FILE *out);
/* The same by the largest shapes. */
void textchart_shapes(const struct analysis *a, const struct analysis_group *g, FILE *out);
/* The largest shapes by window: the denser the sign, the more of the group's time (or of its calls)
 * in that window. NOMEM. */
enum status textchart_windows(const struct analysis *a, const struct analysis_group *g,
                              bool by_calls, FILE *out);

/* Share that member `i` of the group (i < members) holds of its time or calls in window w:
 * shares[w * members + i]; a window without the group has zeros. To be freed; NULL without memory.
 */
double *textchart_window_shares(const struct analysis *a, const struct analysis_group *g,
                                size_t members, bool by_calls);

#endif
