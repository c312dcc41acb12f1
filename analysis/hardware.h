/* SPDX-License-Identifier: Apache-2.0
 *
 * On what a replay ran, and whether two replays may be compared.
 */
#ifndef TILEWISE_ANALYSIS_HARDWARE_H
#define TILEWISE_ANALYSIS_HARDWARE_H

#include <stdbool.h>

#include "traces/result.h"

/* Same backend, same device, same core of the baseline library (that is: the same instructions). */
bool hardware_same(const struct result_run *a, const struct result_run *b);

/* "AMD EPYC (Zen, cpu)", clean. Returns `text`. */
char *hardware_words(const struct result_run *run, char text[160]);

#endif
