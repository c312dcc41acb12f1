/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/offers.h"

#include <string.h>

#include "kernels/builtin.h"

struct offers_paths offers_find(int argc, char **argv)
{
    static const char option[] = "--" OFFERS_OPTION;
    struct offers_paths found = { 0 };
    size_t length = sizeof option - 1;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (found.count == CANDIDATES_PLUGINS_MAX || strncmp(argv[i], option, length) != 0)
            continue;
        if (argv[i][length] == '=')
            found.path[found.count++] = argv[i] + length + 1;
        else if (argv[i][length] == '\0' && i + 1 < argc)
            found.path[found.count++] = argv[++i];
    }
    return found;
}

enum status offers_load(struct candidates *all, struct offers_paths *paths, const char *otherwise,
                        struct fault *fault)
{
    size_t count;
    const struct tilewise_candidate *const *table = builtin_candidates(&count);
    enum status st = candidates_add(all, table, count, CANDIDATES_BUILT_IN, fault);
    if (paths->count == 0 && otherwise)
        paths->path[paths->count++] = otherwise;
    for (size_t i = 0; st == ST_OK && i < paths->count; i++)
        st = candidates_load(all, paths->path[i], fault);
    return st;
}
