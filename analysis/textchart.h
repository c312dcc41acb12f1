/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts of the shapes of one group in plain ASCII, 80 columns wide, for a terminal: the lengths
 * say it, no colour.
 */
#ifndef TILEWISE_ANALYSIS_TEXTCHART_H
#define TILEWISE_ANALYSIS_TEXTCHART_H

#include <stdio.h>

#include "analysis/shape_bins.h"

/* Shares of time and calls by the values of one dimension; bars are of one of them. NOMEM. */
enum status textchart_dimension(const struct analysis *a, const struct analysis_group *g,
                                enum shape_dimension d, bool by_calls, FILE *out);
/* The same by the largest shapes. NOMEM. */
enum status textchart_shapes(const struct analysis *a, const struct analysis_group *g,
                             bool by_calls, FILE *out);
/* The largest shapes by window: the denser the sign, the more of the group's time (or of its calls)
 * in that window; below, whatever the others hold. Wider where there are many windows. NOMEM. */
enum status textchart_windows(const struct analysis *a, const struct analysis_group *g,
                              bool by_calls, FILE *out);

#endif
