/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWISE_TRACES_SHARD_H
#define TILEWISE_TRACES_SHARD_H

#include "traces/format.h"

/* The shard id of this process, now, part 0. What cannot be found out stays 0. Opens one file in
 * /proc; for programs of ours, not for the shim. */
void shard_of_this_process(struct shard_id *id);

#endif
