/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reader of a report must know beside its numbers.
 */
#ifndef TILEWISE_ANALYSIS_NOTES_H
#define TILEWISE_ANALYSIS_NOTES_H

#include "analysis/analysis.h"

/* Fill `notes` and `nnotes`, once everything else of `a` is known. NOMEM. */
enum status notes_collect(struct analysis *a);

#endif
