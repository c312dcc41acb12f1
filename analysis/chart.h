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

/* Heat against coverage of tomorrow's shapes, both logarithmic and with their intervals, thresholds
 * as the cross. Operations carry their names, where there is room; classes, and operations without
 * room, the numbers of their table rows (from 1). */
void chart_matrix(const struct analysis *a, FILE *out);

/* How many values of dimension d hold how much of the time (bars) and of the calls (outlines). */
void chart_histogram(const struct analysis *a, const struct analysis_group *g,
                     enum shape_dimension d, FILE *out);

/* The largest shapes of the group by window: the darker, the more of the window's time. */
void chart_windows(const struct analysis *a, const struct analysis_group *g, FILE *out);

/* Busy and idle by cause over the time of the run, and when each operation was at work. The causal
 * heat's slices are there. */
void chart_timeline(const struct analysis *a, FILE *out);

/* Rate of the library against flops a byte, under the measured ceilings, for the largest replayed
 * shapes. This and the next two: false, and nothing is drawn, if there is nothing to draw. */
bool chart_roofline(const struct analysis *a, FILE *out);

/* Candidate against best baseline with its interval, for the largest replayed shapes. */
bool chart_ratios(const struct analysis *a, FILE *out);

/* Replayed against recorded time, for the largest replayed shapes. */
bool chart_fidelity(const struct analysis *a, FILE *out);

#endif
