/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a manifest: a YAML file that describes candidates made of cubins (docs/candidate-abi.md).
 * One thread.
 */
#ifndef TILEWISE_REPLAYER_MANIFEST_H
#define TILEWISE_REPLAYER_MANIFEST_H

#include "replayer/cubin.h"
#include "traces/status.h"

enum { MANIFEST_BYTES_MAX = 1 << 20, MANIFEST_CANDIDATES_MAX = 256, MANIFEST_MODULES_MAX = 256 };

struct manifest {
    char *path;
    size_t nmodules, ncandidates;
    struct cubin_module *modules[MANIFEST_MODULES_MAX];
    struct cubin_candidate *candidates[MANIFEST_CANDIDATES_MAX];
    const struct tilewise_candidate *rows[MANIFEST_CANDIDATES_MAX]; /* of the candidates */
};

/* INVALID, and the text starts with FILE:LINE:COLUMN: ; IO, LIMIT, NOMEM. Reads every file that it
 * names and holds it against its hash. */
enum status manifest_read(struct manifest **out, const char *path, struct fault *fault);
/* The same from memory; `path` stands for the file in messages, and its files lie beside it. */
enum status manifest_read_text(struct manifest **out, const char *path, const char *text,
                               size_t bytes, struct fault *fault);
void manifest_free(struct manifest *manifest); /* accepts NULL */

#endif
