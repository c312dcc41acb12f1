/* SPDX-License-Identifier: Apache-2.0
 *
 * What a candidate may be called: its name stands in lists with commas, in command lines and in
 * files.
 */
#ifndef TILEWISE_REPLAYER_CANDIDATE_NAME_H
#define TILEWISE_REPLAYER_CANDIDATE_NAME_H

#include "traces/status.h"

/* INVALID: "the name 'a b' is not 1 to 60 letters, ..." */
enum status candidate_name_check(const char *name, struct fault *fault);

#endif
