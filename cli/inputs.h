/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command is given to read: traces, results of replays, and directories of them, told apart
 * and analysed by one policy.
 */
#ifndef TILEWISE_CLI_INPUTS_H
#define TILEWISE_CLI_INPUTS_H

#include "analysis/analysis.h"

struct inputs_paths {
    size_t count;
    char **path; /* owned */
};

/* Replace every directory by the *.twt and *.twr in it, by name. IO, NOMEM; INVALID for a directory
 * without any. Free in every case. */
enum status inputs_expand(struct inputs_paths *out, char *const *args, size_t count,
                          struct fault *fault);
void inputs_free_paths(struct inputs_paths *p);

struct inputs {
    /* Set by the caller: */
    bool may_lack_traces; /* results alone will do */
    bool files_only;      /* no directories */
    const char *phase;    /* calls made in it only; NULL: all */

    struct inputs_paths paths; /* the summary points into them */
    struct result_set results;
    struct summary *summary;
    struct analysis *analysis;
};

/* Read everything at `args` (expanded) and analyse it. `in` is zeroed by the caller and freed in
 * every case; the policy must outlive it. Without a trace among them INVALID, or, where it may be,
 * neither summary nor analysis. */
enum status inputs_read(struct inputs *in, char *const *args, size_t count,
                        const struct policy *policy, struct fault *fault);
void inputs_free(struct inputs *in);

#endif
