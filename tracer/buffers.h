/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers that CUPTI fills with activity records: a fixed pool, mapped as it is needed. Records
 * go to kernels.h as soon as a buffer comes back. Any thread.
 */
#ifndef TILEWISE_TRACER_BUFFERS_H
#define TILEWISE_TRACER_BUFFERS_H

#include <stdbool.h>

#include "tracer/cupti_find.h"

/* False without memory for the first buffer. `api` is kept. */
bool buffers_start(const struct cupti_functions *api);

/* For CUPTI. */
cupti_request buffers_request;
cupti_completed buffers_completed;

/* Hand on the records that came before their calls returned: some time after a flush. */
void buffers_settle(void);

/* Kernels recorded, and the CPU time that this took, since the start. */
uint64_t buffers_records(void);
uint64_t buffers_handling_ns(void);

#endif
