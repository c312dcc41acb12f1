/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds of PyTorch, which the recorder knows by the name of their operator alone: sizes, no types.
 */
#ifndef TILEWISE_REPLAYER_PLAN_ADD_H
#define TILEWISE_REPLAYER_PLAN_ADD_H

#include "replayer/plan.h"

/* Make it an add of vectors that can be replayed, where its sizes are whole and the kernel that
 * it launched names the type; says in item->reason what is assumed. Else nothing changes. `index`:
 * of the signature in the summary; `number`: plan_options.entry. */
void plan_add_resolve(struct plan_item *item, const struct summary *summary, uint32_t index,
                      uint32_t (*number)(const char *name));

#endif
