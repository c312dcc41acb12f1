/* SPDX-License-Identifier: Apache-2.0
 *
 * The execution plans of this process by the address of their descriptor: what each one does, found
 * out once when it is finalized. A plan that found no place here is counted without a shape. Any
 * thread, no lock; an address that is used again never answers for the plan before.
 */
#ifndef TILEWISE_TRACER_CUDNN_PLANS_H
#define TILEWISE_TRACER_CUDNN_PLANS_H

#include <stdbool.h>

#include "traces/signature.h"

/* False: no plan that we know. */
bool cudnn_plans_get(const void *plan, struct tilewise_signature *out);
/* New, or in place of what was known. */
void cudnn_plans_put(const void *plan, const struct tilewise_signature *key);
/* The descriptor is about to be destroyed. */
void cudnn_plans_forget(const void *plan);

#endif
