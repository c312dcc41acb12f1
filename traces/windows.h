/* SPDX-License-Identifier: Apache-2.0
 *
 * The bins of all shards, in order of time, as windows that hold equal numbers of calls.
 */
#ifndef TILEWISE_TRACES_WINDOWS_H
#define TILEWISE_TRACES_WINDOWS_H

#include "traces/books.h"

/* `rank`: index of each signature of the books in the summary; `target`: how many windows to aim
 * for (fewer where the bins are too few). Arrays are malloc'd and the caller's. NOMEM. */
enum status windows_make(const struct books *b, const uint32_t *rank, size_t target,
                         struct summary_window **windows, size_t *nwindows,
                         struct summary_cell **cells);

#endif
