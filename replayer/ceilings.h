/* SPDX-License-Identifier: Apache-2.0
 *
 * What this machine can do at best, measured once per run: the rate of the library's matrix
 * product, the memory bandwidth, and the cost of the smallest call.
 */
#ifndef TILEWISE_REPLAYER_CEILINGS_H
#define TILEWISE_REPLAYER_CEILINGS_H

#include "replayer/backend.h"
#include "traces/result.h"

/* Fill `out` for one element type; `bandwidth` from backend->bandwidth(). Numbers that cannot be
 * measured are NaN. */
void ceilings_measure(const struct backend *backend, struct backend_session *session, uint8_t dtype,
                      double bandwidth, struct result_ceiling *out);

#endif
