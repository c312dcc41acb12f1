/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer thread: takes events out of the rings, gives them to the trace writer, makes a frame
 * every half second at most, looks at the control file once a second. It is the only one that
 * touches files; all signals are blocked in it, and where the kernel can, it has a table of
 * descriptors of its own.
 *
 * A process whose main thread left by pthread_exit ends when its last thread ends, and that thread
 * runs the exit handlers, with the host's descriptors. So a second thread of ours, the keeper, does
 * little but wait for the writer (it opens and closes the windows of GPU time meanwhile): when the
 * writer finds that only we are left, it finishes the file and ends, and then the keeper is that
 * last thread.
 */
#ifndef TILEWISE_TRACER_FLUSH_H
#define TILEWISE_TRACER_FLUSH_H

#include <stdbool.h>

/* Create the threads. False when that fails. Any host thread, once per process. */
bool flush_start(void);

/* Have the keeper look again at what it is to do for GPU time (cupti_turn). Any thread. */
void flush_kick(void);

/* Have everything written and the file closed; returns when that is done, at the latest after
 * 500 ms. */
void flush_finish(void);

#endif
