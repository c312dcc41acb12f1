/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader of the trace must know about the process: program, processor, BLAS libraries. No
 * environment, no paths but the names of libraries, no command line unless asked for. The writer
 * thread only.
 */
#ifndef TILEWISE_TRACER_FACTS_H
#define TILEWISE_TRACER_FACTS_H

#include <stdbool.h>

#include "traces/format.h"
#include "traces/writer.h"

/* Fill host, boot, pid and start of the shard. */
void facts_shard(struct shard_id *shard);

/* Facts that do not change: once, behind writer_open. */
void facts_process(struct writer *w, bool with_cmdline);

/* Facts about the libraries met so far and the cards behind them: again whenever one was added. */
void facts_libraries(struct writer *w);

/* What is known to be missing from the trace: now and then, and before the last frame. */
void facts_notes(struct writer *w, bool last);

#endif
