/* SPDX-License-Identifier: Apache-2.0
 *
 * Phases and marks in the JSON report. The generator stands inside a map.
 */
#ifndef TILEWISE_ANALYSIS_PHASES_JSON_H
#define TILEWISE_ANALYSIS_PHASES_JSON_H

#include <yajl/yajl_gen.h>

#include "analysis/analysis.h"

/* "phases", "marks" and "phases_lost". */
void phases_json(yajl_gen g, const struct summary *s);
/* "phases" of one shape, by index into the array above; nothing where it has none. */
void phases_json_shape(yajl_gen g, const struct analysis_shape *shape);

#endif
