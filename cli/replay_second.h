/* SPDX-License-Identifier: Apache-2.0
 *
 * The second baseline of `tilewise replay`: PyTorch, where a Python has it.
 */
#ifndef TILEWISE_CLI_REPLAY_SECOND_H
#define TILEWISE_CLI_REPLAY_SECOND_H

#include "replayer/backend.h"
#include "replayer/companion.h"

enum { REPLAY_SECOND_BYTES = 320 };

/* Start it for this kind of device. `text` gets its name, or "none: " and why there is none. */
bool replay_second_start(struct companion *c, const char *python, const struct backend *backend,
                         char text[REPLAY_SECOND_BYTES]);

#endif
