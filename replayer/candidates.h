/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels to offer: those built in, those of plug-ins and those of manifests. Loaded before the
 * children are forked, which inherit them.
 */
#ifndef TILEWISE_REPLAYER_CANDIDATES_H
#define TILEWISE_REPLAYER_CANDIDATES_H

#include "replayer/candidate.h"
#include "replayer/manifest.h"
#include "traces/status.h"

enum { CANDIDATES_MAX = 512, CANDIDATES_PLUGINS_MAX = 32 };

#define CANDIDATES_BUILT_IN "built in"

struct candidates {
    size_t count, nplugins, nmanifests;
    const struct tilewise_candidate *row[CANDIDATES_MAX];
    const char
        *origin[CANDIDATES_MAX]; /* path of the plug-in or the manifest; CANDIDATES_BUILT_IN */
    void *plugin[CANDIDATES_PLUGINS_MAX];
    struct manifest *manifest[CANDIDATES_PLUGINS_MAX];
};

/* Append a table, checking each row: ABI and size, required fields, unique name.
 * VERSION or INVALID, naming `origin` and both numbers; LIMIT. */
enum status candidates_add(struct candidates *c, const struct tilewise_candidate *const *table,
                           size_t count, const char *origin, struct fault *fault);

/* Load what `path` names: a manifest (NAME.yaml), a folder with manifests, or else a plug-in.
 * Loading a plug-in runs its code: only an absolute path to a regular file that nobody but its
 * owner (root or the caller) can write. INVALID, IO, VERSION, LIMIT, with the remedy. `path` must
 * outlive `c`. */
enum status candidates_load(struct candidates *c, const char *path, struct fault *fault);

/* What a candidate says about its last failure; `otherwise` when it says nothing. */
const char *candidates_complaint(const struct tilewise_candidate *c, const char *otherwise);

/* Unload the plug-ins and the manifests. */
void candidates_close(struct candidates *c);

#endif
