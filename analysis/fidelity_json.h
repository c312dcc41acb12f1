/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of the fidelity of a replay, shape by shape and as a whole, isolated and in order.
 */
#ifndef TILEWISE_ANALYSIS_FIDELITY_JSON_H
#define TILEWISE_ANALYSIS_FIDELITY_JSON_H

#include <yajl/yajl_gen.h>

#include "analysis/analysis.h"

/* Append a "fidelity" to the open object: of one shape; of the report. */
void fidelity_json_shape(yajl_gen g, const struct fidelity_row *row);
void fidelity_json(yajl_gen g, const struct analysis *a);

#endif
