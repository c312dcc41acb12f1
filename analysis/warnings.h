/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recorder knows to be missing from a trace. Coverage speaks of the calls that were seen;
 * these facts say which were not, so no reader may be shown the one without the other.
 */
#ifndef TILEWISE_ANALYSIS_WARNINGS_H
#define TILEWISE_ANALYSIS_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/summary.h"

enum { WARNINGS_BYTES = 240 };

/* Is `fact` such a one? Then `text` holds a line for people, cut to its room; hostile text is not
 * escaped. */
bool warnings_of(const struct reader_fact *fact, char text[WARNINGS_BYTES]);

#endif
