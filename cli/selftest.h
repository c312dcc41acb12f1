/* SPDX-License-Identifier: Apache-2.0
 *
 * Does this installation measure what it says? What `doctor` proves instead of believing: wrong
 * kernels are refused, a time includes the work, and the way back works. Jobs for isolate_run.
 */
#ifndef TILEWISE_CLI_SELFTEST_H
#define TILEWISE_CLI_SELFTEST_H

#include <stdbool.h>

#include "replayer/measure.h"

struct selftest {
    bool passed;
    char text[192]; /* what was seen */
};

/* `setup`: backend, open and references of a struct measure_setup; `message`: a struct selftest. */
void selftest_verification(void *setup, void *message);
void selftest_timing(void *setup, void *message);

/* kernels/tile.h with and without TILEWISE_FORCE_BASELINE. `unused` may be NULL. */
void selftest_rollback(void *unused, void *message);

#endif
