/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of the HTML page, as inline SVG without script and without style attributes: colours
 * come from the page's style sheet by class. Every chart says in words what it shows, and every
 * number in it stands in a table of the page too.
 */
#ifndef TILEWISE_ANALYSIS_CHART_H
#define TILEWISE_ANALYSIS_CHART_H

#include <stdio.h>

#include "analysis/analysis.h"

/* Heat against coverage of tomorrow's shapes, both logarithmic, thresholds as the cross. Classes
 * carry the numbers of their table rows (from 1), operations their names. */
void chart_matrix(const struct analysis *a, FILE *out);

/* How many values of dimension d hold how much of the time (bars) and of the calls (outlines). */
void chart_histogram(const struct analysis *a, const struct analysis_group *g,
                     enum shape_dimension d, FILE *out);

/* The largest shapes of the group by window: the darker, the more of the window's time. */
void chart_windows(const struct analysis *a, const struct analysis_group *g, FILE *out);

/* Candidate against best baseline with its interval, for the largest replayed shapes. */
void chart_ratios(const struct analysis *a, FILE *out);

#endif
