/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows that were closed, until they are written, and their sums. Under the lock of cupti.c; only
 * ledger_is_dirty is for any thread.
 */
#ifndef TILEWISE_TRACER_LEDGER_H
#define TILEWISE_TRACER_LEDGER_H

#include <stdbool.h>

#include "tracer/drain.h"
#include "traces/gpu.h"

void ledger_add(const struct gpu_window *w);
/* The writer thread: as many windows, with their intervals, as fit into the frame; the sums. */
void ledger_write(struct drain *d);
bool ledger_is_dirty(void);

/* In a fork child. */
void ledger_forget(void);

#endif
