/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer thread: takes events out of the rings, gives them to the trace writer, makes a frame
 * every half second at most, looks at the control file once a second. It is the only thread of ours
 * and the only one that touches files; all signals are blocked in it, and where the kernel can, it
 * has a table of descriptors of its own.
 */
#ifndef TILEWISE_TRACER_FLUSH_H
#define TILEWISE_TRACER_FLUSH_H

#include <stdbool.h>

/* Create the thread. False when that fails. Any host thread, once per process. */
bool flush_start(void);

/* Have everything written and the file closed; returns when that is done, at the latest after
 * 500 ms. */
void flush_finish(void);

#endif
