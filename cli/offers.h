/* SPDX-License-Identifier: Apache-2.0
 *
 * The candidates that a command is about: those built in, and those of every --candidate.
 */
#ifndef TILEWISE_CLI_OFFERS_H
#define TILEWISE_CLI_OFFERS_H

#include "replayer/candidates.h"

#define OFFERS_OPTION "candidate"
#define OFFERS_OPTION_DOC                                                                          \
    "manifest (NAME.yaml), folder of manifests or plug-in with more candidates; may be repeated"

struct offers_paths {
    size_t count;
    const char *path[CANDIDATES_PLUGINS_MAX];
};

/* The paths of a command line, as typed (before options_parse(), which keeps only the last). */
struct offers_paths offers_find(int argc, char **argv);

/* `otherwise`: the option's value from the environment or a file, where the command line has none;
 * may be NULL. */
enum status offers_load(struct candidates *all, struct offers_paths *paths, const char *otherwise,
                        struct fault *fault);

#endif
