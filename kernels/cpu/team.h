/* SPDX-License-Identifier: Apache-2.0
 *
 * A team of threads for one piece of work at a time. Written here and not taken from OpenMP because
 * the replayer forks a child per case, and GNU's OpenMP hangs in a child whose parent had threads.
 */
#ifndef TILEWISE_KERNELS_CPU_TEAM_H
#define TILEWISE_KERNELS_CPU_TEAM_H

#include <stdint.h>

enum { TEAM_MAX = 64 };

typedef void team_fn(void *work, uint32_t part);

/* Call fn(work, 0) ... fn(work, parts - 1), each once, on up to `parts` threads including this one,
 * and return when all are done. Any thread may call it: when the team is busy with somebody else's
 * work, parts are more than TEAM_MAX or no thread can be made, this thread does all the parts; one
 * that comes late is not waited for. parts = 1 costs a plain call.
 * A child after fork() starts its own team. */
void team_run(uint32_t parts, team_fn *fn, void *work);

#endif
