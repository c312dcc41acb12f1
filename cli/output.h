/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a command writes its data: standard output, or a file that is complete or not there.
 */
#ifndef TILEWISE_CLI_OUTPUT_H
#define TILEWISE_CLI_OUTPUT_H

#include <stdio.h>

#include "traces/status.h"

struct output {
    FILE *stream;
    const char *path; /* the caller's, for messages */
    char *temporary;  /* NULL: written in place */
};

/* May a command that writes something else put it where `path` leads? INVALID where no file, or a
 * trace or a result stands there (`-o *.twt` takes the first trace for the name of the output),
 * unless it is of this kind (enum trace_kind; 0: none). */
enum status output_spares(const char *path, unsigned kind, struct fault *fault);

/* "" and "-" are standard output. A regular file is written beside its place (mode 0600) and
 * renamed by output_close; a pipe or a device is written to, never replaced. IO, NOMEM; INVALID
 * (output_spares). */
enum status output_open(struct output *o, const char *path, struct fault *fault);

/* Finish what `st` says about the data: keep the file for ST_OK, discard it otherwise. Returns
 * `st`, or IO when the last bytes could not be written. */
enum status output_close(struct output *o, enum status st, struct fault *fault);

#endif
