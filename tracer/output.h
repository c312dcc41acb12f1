/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a recorded process, in a directory that is ours: the trace, a small status file that
 * `tilewise ctl DIR status` shows, and the control files that switch recording. Only the writer
 * thread calls this. Nothing falls back to another place: no safe directory, no recording.
 */
#ifndef TILEWISE_TRACER_OUTPUT_H
#define TILEWISE_TRACER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/format.h"

struct output_guard { /* what a descriptor was when we opened it */
    int fd;
    uint64_t device, inode;
};

struct output {
    bool private_table; /* the host cannot reach our descriptors */
    struct output_guard directory, trace;
    char name[128]; /* of the trace, without its ending */
};

enum output_order { OUTPUT_ON, OUTPUT_OFF, OUTPUT_DISABLED };

/* Leave the host's descriptors, open the directory (made 0700 if it is missing; it must belong to
 * us and be writable by nobody else). False: record nothing. */
bool output_open(struct output *o, const char *directory);

/* Create the trace file, 0600, never following or replacing anything. Its descriptor, or -1. */
int output_create(struct output *o, const struct shard_id *shard);

/* Are the descriptors still ours? Where they are shared with the host, it may have closed them and
 * opened its own under the same numbers: then nothing may be written ever again. */
bool output_is_safe(const struct output *o);

/* What the control files say: off where `control` begins with "off", disabled where `disable`
 * exists, which keeps new processes out too. */
enum output_order output_read_order(const struct output *o);

/* Replace the status file with this text; remove it. Failures do not matter. */
void output_status(const struct output *o, const char *text, size_t bytes);
void output_remove_status(const struct output *o);

#endif
