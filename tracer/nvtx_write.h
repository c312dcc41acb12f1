/* SPDX-License-Identifier: Apache-2.0
 *
 * Phases on their way to the trace: the calls that the writer thread takes out of the threads, and
 * what the threads noted themselves. The writer thread only.
 */
#ifndef TILEWISE_TRACER_NVTX_WRITE_H
#define TILEWISE_TRACER_NVTX_WRITE_H

#include "tracer/drain.h"

/* A new file begins. */
void nvtx_write_begin(void);
/* `calls` calls of a thread's table entry go into the next frame; shortest and longest of them. */
void nvtx_write_calls(struct thread *t, uint32_t entry, const struct table_phase *calls);
/* Add what the file does not tell yet to the next frame, as far as it fits. */
void nvtx_write(struct drain *d);
bool nvtx_write_is_dirty(void);

/* The name of an operator (NVTX_OP_FIRST and above) as an entry point; NULL: not there yet. */
const char *nvtx_write_op(uint32_t entry);

#endif
